//! Hub templates: what stands between `{{hub` and `hub}}` is resolved on the hub, separately for each cluster.
//!
//! [`render`] resolves the templates of one replica; what they read is watched ([`lookups`]), in our own name or in that
//! of a service account ([`accounts`]), and a change brings the replica back into its queue. Nothing unresolved leaves
//! the hub.

pub mod accounts;
mod gauge;
pub mod lookups;
mod plan;
pub mod render;

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt};
use parking_lot::Mutex;
use reeve_api::Policy;
use reeve_api::names::{DISABLE_TEMPLATES_ANNOTATION, ENCRYPTION_IV_ANNOTATION, parse_go_bool};
use reeve_api::ocm::ManagedCluster;
use reeve_runtime::dependencies::{Batch, DependencyWatches};
use reeve_runtime::kinds::Kinds;
use reeve_runtime::metrics::Metrics;
use reeve_runtime::object::ObjectKey;
use reeve_template_reads::{ReadCache, run_blocking};
use reeve_templates_engine::encryption::decode_base64;
use reeve_templates_engine::resolver::{IncompleteDelimiters, Resolver};

use self::accounts::{Account, AccountError, Accounts};
use self::lookups::{HubLookups, Trouble};
use self::plan::Plan;
use self::render::{Cipher, Outcome, Task, has_hub_templates, withhold_all};
use crate::cache::HubCache;
use crate::index::Pair;
use crate::keys::KeyDigest;
use crate::policy_encryption_keys::ring::{self, Found, KeyError};
use crate::replica::ReplicaFacts;

/// Bytes in an initialisation vector.
const VECTOR_BYTES: usize = 16;

/// Resolves hub templates; clones share what they watch.
#[derive(Clone)]
pub struct HubTemplates(Arc<Inner>);

struct Inner {
    resolver: Resolver,
    denied: Vec<String>,
    hub: Arc<HubCache>,
    client: Client,
    kinds: Kinds<ObjectKey>,
    own: DependencyWatches<ObjectKey>,
    accounts: Accounts,
    /// Service accounts that are missing, on behalf of the replicas that wait for them.
    awaited: DependencyWatches<ObjectKey>,
    /// The replicas that anything is watched for.
    readers: Mutex<HashSet<ObjectKey>>,
}

/// What templates are resolved with and through.
pub struct Deps {
    /// Functions that fail when called.
    pub denied: Vec<String>,
    /// What the hub holds.
    pub hub: Arc<HubCache>,
    /// Makes keys.
    pub client: Client,
    /// Knows the hub's kinds.
    pub kinds: Kinds<ObjectKey>,
    /// Reads in our own name.
    pub own: DependencyWatches<ObjectKey>,
    /// Read in their names.
    pub accounts: Accounts,
    /// Reads the accounts themselves.
    pub awaited: DependencyWatches<ObjectKey>,
}

/// What comes of resolving the templates of a replica.
pub enum Resolution {
    /// The replica as it should be.
    Rendered(Box<Rendered>),
    /// Its key has just been deleted: it is resolved when this time is over.
    After(Duration),
}

/// A desired replica whose templates are resolved, or withheld.
pub struct Rendered {
    /// The replica.
    pub policy: Policy,
    /// Why templates were withheld; empty if all is well.
    pub failures: Vec<String>,
    /// Whether the failures may go away with nothing to tell of it.
    pub again: Option<Trouble>,
    /// With which key its values are encrypted, if any are.
    pub key: Option<KeyDigest>,
}

impl Rendered {
    fn of(policy: Policy, outcome: Outcome, key: Option<KeyDigest>) -> Self {
        Self {
            policy,
            failures: outcome.failures,
            again: outcome.trouble,
            key,
        }
    }

    fn plain(policy: Policy) -> Self {
        Self {
            policy,
            failures: Vec::new(),
            again: None,
            key: None,
        }
    }

    fn withheld(mut policy: Policy, why: String, again: Option<Trouble>) -> Self {
        withhold_all(&mut policy, &why);
        Self {
            failures: vec![why],
            again,
            ..Self::plain(policy)
        }
    }
}

/// Whether a root policy's hub templates are to be left as they are.
fn are_disabled(root: &Policy) -> bool {
    let disabled = root.annotations().get(DISABLE_TEMPLATES_ANNOTATION);
    disabled
        .and_then(|value| parse_go_bool(value))
        .unwrap_or(false)
}

impl HubTemplates {
    /// Nothing is read yet.
    pub fn new(means: Deps) -> Result<Self, IncompleteDelimiters> {
        Ok(Self(Arc::new(Inner {
            resolver: render::resolver()?,
            denied: means.denied,
            hub: means.hub,
            client: means.client,
            kinds: means.kinds,
            own: means.own,
            accounts: means.accounts,
            awaited: means.awaited,
            readers: Mutex::default(),
        })))
    }

    /// Adds the gauge of watched objects to the registry.
    pub fn register(&self, metrics: &Metrics) {
        let gauge = gauge::WatchedObjects(Arc::downgrade(&self.0));
        metrics.register(|registry| registry.register_collector(Box::new(gauge)));
    }

    /// Nothing is read any more for a replica that is gone, or has no templates.
    pub fn forget(&self, replica: &ObjectKey) {
        if !self.0.readers.lock().remove(replica) {
            return;
        }
        self.0.own.unwatch(replica);
        self.0.awaited.unwatch(replica);
        self.0.kinds.unwatch(replica);
        self.0.accounts.release(replica);
        self.0.hub.record_label_reader(replica, false);
    }

    /// Resolves the hub templates of a desired replica, given the one that there is.
    pub async fn resolve(
        &self,
        pair: &Pair,
        root: &Arc<Policy>,
        desired: Policy,
        live: Option<&ReplicaFacts>,
    ) -> Resolution {
        let replica = pair.key();
        let templates = &desired.spec.policy_templates;
        if are_disabled(root) || !templates.iter().any(has_hub_templates) {
            self.forget(&replica);
            return Resolution::Rendered(Box::new(Rendered::plain(desired)));
        }
        self.0.readers.lock().insert(replica.clone());
        let record_label_reader = render::needs_labels(&desired);
        self.0
            .hub
            .record_label_reader(&replica, record_label_reader);
        let (watches, account) = match self.identity(pair, root, &replica).await {
            Ok(identity) => identity,
            Err(error) => {
                let again = match &error {
                    AccountError::Missing(account) => self.await_account(account, &replica).await,
                    AccountError::Unusable { .. } => Some(Trouble::Denied),
                };
                let withheld = Rendered::withheld(desired, error.to_string(), again);
                return Resolution::Rendered(Box::new(withheld));
            }
        };
        let job = Arc::new(Job {
            pair: pair.clone(),
            root: Arc::clone(root),
            labels: if record_label_reader {
                self.0.hub.cluster_labels(&pair.cluster)
            } else {
                Some(BTreeMap::new())
            },
            account,
            desired,
        });
        let batch = Arc::new(watches.begin(&replica));
        let rendered = self.attempt(&job, &batch, live).await;
        // The threads are done, so this is the last holder.
        if let Some(batch) = Arc::into_inner(batch) {
            batch.end();
        }
        rendered.unwrap_or_else(|error| {
            let desired = job.desired.clone();
            let (why, again) = (error.to_string(), Some(Trouble::Passing));
            Resolution::Rendered(Box::new(Rendered::withheld(desired, why, again)))
        })
    }

    /// Renders, with keys if the text asks for them, or if it turns out that values came from Secrets in a way that the
    /// text does not show.
    async fn attempt(
        &self,
        job: &Arc<Job>,
        batch: &Arc<Batch<ObjectKey>>,
        live: Option<&ReplicaFacts>,
    ) -> Result<Resolution, KeyError> {
        if !render::needs_encryption(&job.desired) {
            let inner = Arc::clone(&self.0);
            let (job, batch) = (Arc::clone(job), Arc::clone(batch));
            let work = move || {
                let (policy, outcome) = inner.render(&job, &inner.reads(&job, batch), None);
                (!outcome.needs_cipher).then(|| Rendered::of(policy, outcome, None))
            };
            if let Some(rendered) = run_blocking(work).await {
                return Ok(Resolution::Rendered(Box::new(rendered)));
            }
        }
        let cluster = &job.pair.cluster;
        let keys = match ring::find_or_make(&self.0.hub, &self.0.client, cluster).await? {
            Found::Keys(keys) => keys,
            Found::After(wait) => return Ok(Resolution::After(wait)),
        };
        let vector = job.desired.annotations().get(ENCRYPTION_IV_ANNOTATION);
        let vector = vector.and_then(|vector| decode_base64(vector).ok());
        let plan = Plan {
            live: live.map(|live| live.digest),
            kept: vector.filter(|vector| vector.len() == VECTOR_BYTES),
            fresh: ring::random(VECTOR_BYTES)?.to_vec(),
            keys,
        };
        let inner = Arc::clone(&self.0);
        let (job, batch) = (Arc::clone(job), Arc::clone(batch));
        let work = move || {
            let reads = inner.reads(&job, batch);
            plan.carry_out(|cipher| inner.render(&job, &reads, Some(cipher)))
        };
        Ok(Resolution::Rendered(Box::new(run_blocking(work).await)))
    }

    /// In whose name the templates of a policy read.
    async fn identity(
        &self,
        pair: &Pair,
        root: &Policy,
        replica: &ObjectKey,
    ) -> Result<(DependencyWatches<ObjectKey>, Option<Arc<Account>>), AccountError> {
        let Some(name) = account_of(root) else {
            self.0.accounts.release(replica);
            self.0.awaited.unwatch(replica);
            return Ok((self.0.own.clone(), None));
        };
        self.0.own.unwatch(replica);
        let account = ObjectKey::new(pair.root.namespace.clone(), name);
        let found = self.0.accounts.acquire(&account, replica).await?;
        self.0.awaited.unwatch(replica);
        Ok((found.watches.clone(), Some(found)))
    }

    /// Watches an account that is missing: its creation brings the replica back.
    async fn await_account(&self, account: &ObjectKey, replica: &ObjectKey) -> Option<Trouble> {
        let kind = GroupVersionKind::gvk("", "v1", "ServiceAccount");
        let Ok(kind) = self.0.kinds.find(&kind, replica).await else {
            return Some(Trouble::Denied);
        };
        let batch = self.0.awaited.begin(replica);
        let found = batch.get(&kind, &account.namespace, &account.name).await;
        batch.end();
        // It may have come in between.
        match found {
            Ok(None) => None,
            Ok(Some(_)) | Err(_) => Some(Trouble::Denied),
        }
    }
}

impl Inner {
    /// How many objects and selections templates watch. The labels of a cluster are that cluster, which a lookup may watch
    /// as well.
    fn watched_objects(&self) -> usize {
        let kind = ApiResource::erase::<ManagedCluster>(&());
        let labels = self.hub.clusters_with_read_labels().into_iter();
        let mut clusters = labels.map(|name| ObjectKey::new("", name)).collect();
        self.own.retain_unwatched(&kind, &mut clusters);
        self.accounts.retain_unwatched(&kind, &mut clusters);
        self.own.targets() + self.accounts.targets() + clusters.len()
    }

    fn reads(&self, job: &Job, batch: Arc<Batch<ObjectKey>>) -> Rc<ReadCache<HubLookups>> {
        let lookups = HubLookups::new(batch, self.kinds.clone(), job.pair.key());
        Rc::new(ReadCache::new(lookups.read_as(job.account.clone())))
    }

    fn render(
        &self,
        job: &Job,
        reads: &Rc<ReadCache<HubLookups>>,
        cipher: Option<&Cipher>,
    ) -> (Policy, Outcome) {
        let mut policy = job.desired.clone();
        let task = Task {
            resolver: &self.resolver,
            denied: &self.denied,
            pair: &job.pair,
            root: &job.root,
            labels: job.labels.as_ref(),
            restricted: job.account.is_none(),
            cipher,
        };
        let outcome = render::render(&task, &mut policy, reads);
        (policy, outcome)
    }
}

fn account_of(root: &Policy) -> Option<&str> {
    let options = root.spec.hub_template_options.as_ref()?;
    let name = options.service_account_name.as_deref()?;
    Some(name).filter(|name| !name.is_empty())
}

/// One replica to render.
struct Job {
    pair: Pair,
    root: Arc<Policy>,
    desired: Policy,
    labels: Option<BTreeMap<String, String>>,
    /// In whose name it reads, if not in ours.
    account: Option<Arc<Account>>,
}
