//! Hub templates: the propagator resolves text between `{{hub` and `hub}}` on the hub, separately for each cluster.
//!
//! [`render`] resolves the templates of one replica. Each read starts a watch ([`lookups`]), with the propagator's own client
//! or with that of a service account ([`accounts`]), and a change enqueues the replica again. An unresolved template is never
//! written to a cluster namespace.

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
use reeve_api::names::{DISABLE_TEMPLATES_ANNOTATION, ENCRYPTION_IV_ANNOTATION};
use reeve_api::ocm::ManagedCluster;
use reeve_go_compat::strconv::parse_bool;
use reeve_runtime::dependencies::{Batch, DependencyWatches};
use reeve_runtime::kinds::Kinds;
use reeve_runtime::metrics::Metrics;
use reeve_runtime::object::ObjectKey;
use reeve_template_reads::{ReadCache, run_blocking};
use reeve_templates_engine::encryption::decode_base64;
use reeve_templates_engine::resolver::{IncompleteDelimiters, Resolver};

use self::accounts::{Account, AccountError, Accounts};
use self::lookups::{HubLookups, ReadFailure};
use self::plan::EncryptionPlan;
use self::render::{Cipher, RenderInput, RenderOutcome, has_hub_templates, withhold_all};
use crate::cache::HubCache;
use crate::index::Pair;
use crate::keys::KeyDigest;
use crate::policy_encryption_keys::ring::{self, KeyError, KeyLookup};
use crate::replica::ReplicaFacts;

/// Bytes in an initialisation vector.
const VECTOR_BYTES: usize = 16;

/// Resolves hub templates; clones share the watches.
#[derive(Clone)]
pub struct HubTemplates(Arc<Inner>);

struct Inner {
    resolver: Resolver,
    denied: Vec<String>,
    hub: Arc<HubCache>,
    client: Client,
    kinds: Kinds<ObjectKey>,
    own_watches: DependencyWatches<ObjectKey>,
    accounts: Accounts,
    /// Watches of missing service accounts, on behalf of the replicas that need them.
    missing_accounts: DependencyWatches<ObjectKey>,
    /// The replicas that have watches.
    readers: Mutex<HashSet<ObjectKey>>,
}

/// The dependencies of [`HubTemplates`].
pub struct Deps {
    /// Functions that fail when called.
    pub denied: Vec<String>,
    /// The cache of the hub.
    pub hub: Arc<HubCache>,
    /// Creates key Secrets.
    pub client: Client,
    /// Maps kinds to resources of the hub.
    pub kinds: Kinds<ObjectKey>,
    /// Reads with the propagator's own client.
    pub own_watches: DependencyWatches<ObjectKey>,
    /// Service accounts that policies read with.
    pub accounts: Accounts,
    /// Watches of service accounts that do not exist yet.
    pub missing_accounts: DependencyWatches<ObjectKey>,
}

/// The result of resolving the templates of a replica.
pub enum Resolution {
    /// The rendered replica.
    Rendered(Box<Rendered>),
    /// The cluster's key has just been deleted: resolve again after this time.
    RetryAfter(Duration),
}

/// A desired replica whose templates are resolved, or withheld.
pub struct Rendered {
    /// The replica.
    pub policy: Policy,
    /// The errors of the templates that were withheld; empty if all were resolved.
    pub failures: Vec<String>,
    /// The worst read failure, if a retry can succeed although no watched object changes.
    pub retry: Option<ReadFailure>,
    /// The key that its values are encrypted with, if any are.
    pub key: Option<KeyDigest>,
}

impl Rendered {
    fn of(policy: Policy, outcome: RenderOutcome, key: Option<KeyDigest>) -> Self {
        Self {
            policy,
            failures: outcome.failures,
            retry: outcome.worst_failure,
            key,
        }
    }

    fn plain(policy: Policy) -> Self {
        Self {
            policy,
            failures: Vec::new(),
            retry: None,
            key: None,
        }
    }

    fn withheld(mut policy: Policy, reason: String, retry: Option<ReadFailure>) -> Self {
        withhold_all(&mut policy, &reason);
        Self {
            failures: vec![reason],
            retry,
            ..Self::plain(policy)
        }
    }
}

/// Whether a root policy disables hub templates.
fn are_disabled(root: &Policy) -> bool {
    let disabled = root.annotations().get(DISABLE_TEMPLATES_ANNOTATION);
    disabled
        .and_then(|value| parse_bool(value))
        .unwrap_or(false)
}

impl HubTemplates {
    /// No templates and no watches yet.
    pub fn new(deps: Deps) -> Result<Self, IncompleteDelimiters> {
        Ok(Self(Arc::new(Inner {
            resolver: render::resolver()?,
            denied: deps.denied,
            hub: deps.hub,
            client: deps.client,
            kinds: deps.kinds,
            own_watches: deps.own_watches,
            accounts: deps.accounts,
            missing_accounts: deps.missing_accounts,
            readers: Mutex::default(),
        })))
    }

    /// Adds the gauge of watched objects to the registry.
    pub fn register(&self, metrics: &Metrics) {
        let gauge = gauge::WatchedObjects(Arc::downgrade(&self.0));
        metrics.register_collector(gauge);
    }

    /// Stops all watches of a replica that is deleted or has no templates.
    pub fn unwatch(&self, replica: &ObjectKey) {
        if !self.0.readers.lock().remove(replica) {
            return;
        }
        self.0.own_watches.unwatch(replica);
        self.0.missing_accounts.unwatch(replica);
        self.0.kinds.unwatch(replica);
        self.0.accounts.release(replica);
        self.0.hub.record_label_reader(replica, false);
    }

    /// Resolves the hub templates of a desired replica, given the live one.
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
            self.unwatch(&replica);
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
                let retry = match &error {
                    AccountError::Missing(account) => {
                        self.watch_missing_account(account, &replica).await
                    }
                    AccountError::Unusable { .. } => Some(ReadFailure::Denied),
                };
                let withheld = Rendered::withheld(desired, error.to_string(), retry);
                return Resolution::Rendered(Box::new(withheld));
            }
        };
        let replica_job = Arc::new(ReplicaJob {
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
        let rendered = self.render_with_keys(&replica_job, &batch, live).await;
        // The rendering threads have ended, so this is the last reference.
        if let Some(batch) = Arc::into_inner(batch) {
            batch.end();
        }
        rendered.unwrap_or_else(|error| {
            let desired = replica_job.desired.clone();
            let (reason, retry) = (error.to_string(), Some(ReadFailure::Transient));
            Resolution::Rendered(Box::new(Rendered::withheld(desired, reason, retry)))
        })
    }

    /// Renders without keys where possible. Keys are read, or created, if the text calls for encryption, or if rendering shows
    /// that values come from Secrets.
    async fn render_with_keys(
        &self,
        replica_job: &Arc<ReplicaJob>,
        batch: &Arc<Batch<ObjectKey>>,
        live: Option<&ReplicaFacts>,
    ) -> Result<Resolution, KeyError> {
        if !render::needs_encryption(&replica_job.desired) {
            let inner = Arc::clone(&self.0);
            let (replica_job, batch) = (Arc::clone(replica_job), Arc::clone(batch));
            let work = move || {
                let (policy, outcome) =
                    inner.render(&replica_job, &inner.reads(&replica_job, batch), None);
                (!outcome.needs_cipher).then(|| Rendered::of(policy, outcome, None))
            };
            if let Some(rendered) = run_blocking(work).await {
                return Ok(Resolution::Rendered(Box::new(rendered)));
            }
        }
        let cluster = &replica_job.pair.cluster;
        let keys = match ring::find_or_create(&self.0.hub, &self.0.client, cluster).await? {
            KeyLookup::Keys(keys) => keys,
            KeyLookup::RetryAfter(wait) => return Ok(Resolution::RetryAfter(wait)),
        };
        let vector = replica_job
            .desired
            .annotations()
            .get(ENCRYPTION_IV_ANNOTATION);
        let vector = vector.and_then(|vector| decode_base64(vector).ok());
        let plan = EncryptionPlan {
            live: live.map(|live| live.digest),
            current_vector: vector.filter(|vector| vector.len() == VECTOR_BYTES),
            new_vector: ring::random(VECTOR_BYTES)?.to_vec(),
            keys,
        };
        let inner = Arc::clone(&self.0);
        let (replica_job, batch) = (Arc::clone(replica_job), Arc::clone(batch));
        let work = move || {
            let reads = inner.reads(&replica_job, batch);
            plan.render(|cipher| inner.render(&replica_job, &reads, Some(cipher)))
        };
        Ok(Resolution::Rendered(Box::new(run_blocking(work).await)))
    }

    /// The watches and the service account that the templates of a policy read with.
    async fn identity(
        &self,
        pair: &Pair,
        root: &Policy,
        replica: &ObjectKey,
    ) -> Result<(DependencyWatches<ObjectKey>, Option<Arc<Account>>), AccountError> {
        let Some(name) = account_of(root) else {
            self.0.accounts.release(replica);
            self.0.missing_accounts.unwatch(replica);
            return Ok((self.0.own_watches.clone(), None));
        };
        self.0.own_watches.unwatch(replica);
        let account = ObjectKey::new(pair.root.namespace.clone(), name);
        let found = self.0.accounts.acquire(&account, replica).await?;
        self.0.missing_accounts.unwatch(replica);
        Ok((found.watches.clone(), Some(found)))
    }

    /// Watches a missing service account: its creation enqueues the replica.
    async fn watch_missing_account(
        &self,
        account: &ObjectKey,
        replica: &ObjectKey,
    ) -> Option<ReadFailure> {
        let kind = GroupVersionKind::gvk("", "v1", "ServiceAccount");
        let Ok(kind) = self.0.kinds.find(&kind, replica).await else {
            return Some(ReadFailure::Denied);
        };
        let batch = self.0.missing_accounts.begin(replica);
        let found = batch.get(&kind, &account.namespace, &account.name).await;
        batch.end();
        // The account may have been created in between.
        match found {
            Ok(None) => None,
            Ok(Some(_)) | Err(_) => Some(ReadFailure::Denied),
        }
    }
}

impl Inner {
    /// The number of objects and selections that templates watch. Reading the labels of a cluster counts as watching that
    /// `ManagedCluster`, once with a lookup of the same object.
    fn watched_objects(&self) -> usize {
        let kind = ApiResource::erase::<ManagedCluster>(&());
        let labels = self.hub.clusters_with_read_labels().into_iter();
        let mut clusters = labels.map(|name| ObjectKey::new("", name)).collect();
        self.own_watches.retain_unwatched(&kind, &mut clusters);
        self.accounts.retain_unwatched(&kind, &mut clusters);
        self.own_watches.targets() + self.accounts.targets() + clusters.len()
    }

    fn reads(
        &self,
        replica_job: &ReplicaJob,
        batch: Arc<Batch<ObjectKey>>,
    ) -> Rc<ReadCache<HubLookups>> {
        let lookups = HubLookups::new(batch, self.kinds.clone(), replica_job.pair.key());
        Rc::new(ReadCache::new(lookups.read_as(replica_job.account.clone())))
    }

    fn render(
        &self,
        replica_job: &ReplicaJob,
        reads: &Rc<ReadCache<HubLookups>>,
        cipher: Option<&Cipher>,
    ) -> (Policy, RenderOutcome) {
        let mut policy = replica_job.desired.clone();
        let task = RenderInput {
            resolver: &self.resolver,
            denied: &self.denied,
            pair: &replica_job.pair,
            root: &replica_job.root,
            labels: replica_job.labels.as_ref(),
            restricted: replica_job.account.is_none(),
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

/// A replica to render.
struct ReplicaJob {
    pair: Pair,
    root: Arc<Policy>,
    desired: Policy,
    labels: Option<BTreeMap<String, String>>,
    /// The service account that its templates read with; `None` for the propagator's own client.
    account: Option<Arc<Account>>,
}
