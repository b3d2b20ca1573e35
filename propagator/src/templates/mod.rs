//! Hub templates: what stands between `{{hub` and `hub}}` is resolved on the hub, separately for each cluster.
//!
//! [`render`] resolves the templates of one replica; what they read is watched ([`lookups`]), in our own name or in that
//! of a service account ([`accounts`]), and a change brings the replica back into its queue. Nothing unresolved leaves
//! the hub.

pub mod accounts;
pub mod lookups;
pub mod render;

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt};
use parking_lot::Mutex;
use reeve_api::Policy;
use reeve_api::names::{DISABLE_TEMPLATES_ANNOTATION, parse_go_bool};
use reeve_runtime::dependencies::DependencyWatches;
use reeve_runtime::kinds::Kinds;
use reeve_runtime::object::ObjectKey;
use reeve_template_reads::{Fetched, on_a_thread};
use reeve_templates_engine::encryption::decode_base64;
use reeve_templates_engine::resolver::{HalfDelimiters, Resolver};

use self::accounts::{AccountError, Accounts};
use self::lookups::{HubLookups, Trouble};
use self::render::{Cipher, Outcome, Task, has_hub_templates, withhold_all};
use crate::index::Pair;
use crate::keys::ring::{self, KeyError};
use crate::keys::{KeyDigest, KeyFacts};
use crate::observe::Hub;
use crate::replica::{Digest, ReplicaFacts};

/// Bytes in an initialisation vector.
const VECTOR_BYTES: usize = 16;

/// Resolves hub templates; clones share what they watch.
#[derive(Clone)]
pub struct HubTemplates(Arc<Inner>);

struct Inner {
    resolver: Resolver,
    denied: Vec<String>,
    hub: Arc<Hub>,
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
pub struct Means {
    /// Functions that fail when called.
    pub denied: Vec<String>,
    /// What the hub holds.
    pub hub: Arc<Hub>,
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
    pub fn new(means: Means) -> Result<Self, HalfDelimiters> {
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

    /// How many watches templates keep open; the labels of clusters, which all share one, count once.
    pub fn watches(&self) -> usize {
        let labels = usize::from(self.0.hub.serves_labels());
        self.0.own.active() + self.0.accounts.watches() + labels
    }

    /// Nothing is read any more for a replica that is gone, or has no templates.
    pub fn forget(&self, replica: &ObjectKey) {
        if !self.0.readers.lock().remove(replica) {
            return;
        }
        self.0.own.forget(replica);
        self.0.awaited.forget(replica);
        self.0.kinds.forget(replica);
        self.0.accounts.release(replica);
        self.0.hub.reads_labels(replica, false);
    }

    /// Resolves the hub templates of a desired replica, given the one that there is.
    pub async fn resolve(
        &self,
        pair: &Pair,
        root: &Arc<Policy>,
        desired: Policy,
        live: Option<&ReplicaFacts>,
    ) -> Rendered {
        let replica = pair.key();
        let templates = &desired.spec.policy_templates;
        if are_disabled(root) || !templates.iter().any(has_hub_templates) {
            self.forget(&replica);
            return Rendered::plain(desired);
        }
        self.0.readers.lock().insert(replica.clone());
        let reads_labels = render::needs_labels(&desired);
        self.0.hub.reads_labels(&replica, reads_labels);
        let watches = match self.identity(pair, root, &replica).await {
            Ok(watches) => watches,
            Err(error) => {
                let again = match &error {
                    AccountError::Missing(account) => self.await_account(account, &replica).await,
                    AccountError::Unusable { .. } => Some(Trouble::Denied),
                };
                return Rendered::withheld(desired, error.to_string(), again);
            }
        };
        let keys = match self.keys(&desired, pair).await {
            Ok(keys) => keys,
            Err(error) => {
                let again = Some(Trouble::Passing);
                return Rendered::withheld(desired, error.to_string(), again);
            }
        };
        let job = Job {
            pair: pair.clone(),
            root: Arc::clone(root),
            labels: if reads_labels {
                self.0.hub.cluster_labels(&pair.cluster)
            } else {
                Some(BTreeMap::new())
            },
            restricted: account_of(root).is_none(),
            desired,
        };
        self.render(job, watches, keys, live).await
    }

    /// In whose name the templates of a policy read.
    async fn identity(
        &self,
        pair: &Pair,
        root: &Policy,
        replica: &ObjectKey,
    ) -> Result<DependencyWatches<ObjectKey>, AccountError> {
        let Some(name) = account_of(root) else {
            self.0.accounts.release(replica);
            self.0.awaited.forget(replica);
            return Ok(self.0.own.clone());
        };
        self.0.own.forget(replica);
        let account = ObjectKey::new(pair.root.namespace.clone(), name);
        let found = self.0.accounts.acquire(&account, replica).await?;
        self.0.awaited.forget(replica);
        Ok(found.watches.clone())
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

    async fn keys(&self, desired: &Policy, pair: &Pair) -> Result<Option<Arc<KeyFacts>>, KeyError> {
        if !render::needs_encryption(desired) {
            return Ok(None);
        }
        let keys = ring::find_or_make(&self.0.hub, &self.0.client, &pair.cluster).await?;
        Ok(Some(keys))
    }

    /// Renders with the vector that the replica has. If the key is another one since, a new vector is drawn: equal
    /// values must not have equal ciphertexts under two keys that an attacker may compare.
    async fn render(
        &self,
        job: Job,
        watches: DependencyWatches<ObjectKey>,
        keys: Option<Arc<KeyFacts>>,
        live: Option<&ReplicaFacts>,
    ) -> Rendered {
        let replica = job.pair.key();
        let kept = live.and_then(|live| live.vector.as_deref());
        let kept = kept.and_then(|vector| decode_base64(vector).ok());
        let kept = kept.filter(|vector| vector.len() == VECTOR_BYTES);
        let fresh = match ring::random(VECTOR_BYTES) {
            Ok(fresh) => fresh.to_vec(),
            Err(error) => {
                let why = KeyError::from(error).to_string();
                return Rendered::withheld(job.desired, why, Some(Trouble::Passing));
            }
        };
        let plan = Plan {
            live: live.map(|live| live.digest),
            kept,
            fresh,
            keys,
        };
        let batch = Arc::new(watches.begin(&replica));
        let inner = Arc::clone(&self.0);
        let at = Arc::clone(&batch);
        let work = move || {
            let lookups = HubLookups::new(at, inner.kinds.clone(), job.pair.key());
            let reads = Rc::new(Fetched::new(lookups));
            plan.carry_out(|cipher| {
                let mut policy = job.desired.clone();
                let task = Task {
                    resolver: &inner.resolver,
                    denied: &inner.denied,
                    pair: &job.pair,
                    root: &job.root,
                    labels: job.labels.as_ref(),
                    restricted: job.restricted,
                    cipher,
                };
                let outcome = render::render(&task, &mut policy, &reads);
                (policy, outcome)
            })
        };
        let rendered = on_a_thread(work).await;
        // The thread is done, so this is the last holder.
        if let Some(batch) = Arc::into_inner(batch) {
            batch.end();
        }
        rendered
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
    restricted: bool,
}

/// Which key and vector to encrypt with.
struct Plan {
    live: Option<Digest>,
    kept: Option<Vec<u8>>,
    fresh: Vec<u8>,
    keys: Option<Arc<KeyFacts>>,
}

impl Plan {
    fn carry_out(self, render: impl Fn(Option<&Cipher>) -> (Policy, Outcome)) -> Rendered {
        let finish = |(policy, outcome): (Policy, Outcome), key| Rendered {
            policy,
            failures: outcome.failures,
            again: outcome.trouble,
            key,
        };
        let Some(keys) = &self.keys else {
            return finish(render(None), None);
        };
        let with = |key: &[u8], vector: &[u8]| {
            render(Some(&Cipher {
                key: key.to_vec().into(),
                vector: vector.to_vec(),
            }))
        };
        let digest = Some(keys.digest());
        let Some(kept) = &self.kept else {
            return finish(with(&keys.key, &self.fresh), digest);
        };
        let result = with(&keys.key, kept);
        let is_live = |policy: &Policy| self.live == Some(Digest::of(policy));
        if is_live(&result.0) || keys.previous.is_empty() {
            return finish(result, digest);
        }
        // What is live is what the previous key would make: the key, and nothing else, has changed.
        let (before, _) = with(&keys.previous, kept);
        if is_live(&before) {
            return finish(with(&keys.key, &self.fresh), digest);
        }
        finish(result, digest)
    }
}
