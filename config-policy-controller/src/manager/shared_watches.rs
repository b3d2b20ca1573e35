//! The watches that the reconcilers of both kinds of policies share: a process has one watch a kind.

use std::pin::Pin;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use kube::{Client, Resource};
use reeve_runtime::kinds::{KindWatches, Kinds};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Queue;
use reeve_runtime::supervisor::Supervisor;
use reeve_runtime::watch::{Store, Watch};

use crate::evaluate::encryption_keys::{self, KeyPair};
use crate::metrics::PolicyRef;

/// Ends when a cache has synced.
pub(super) type CacheSync = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Called with the namespace of keys that changed.
type KeyListener = Box<dyn Fn(&str) + Send + Sync>;

/// The kinds of the target cluster, and the encryption keys beside the policies. Nothing is watched before
/// [`start`](Self::start).
pub struct SharedWatches {
    pub kinds: Kinds<PolicyRef>,
    kind_watches: KindWatches<PolicyRef>,
    keys: Vec<Watch<Secret, KeyPair>>,
    on_changed_keys: Vec<KeyListener>,
}

impl SharedWatches {
    /// Watches of kinds on the target cluster, and of keys in these namespaces of the hosting one. `enqueue` is called for
    /// policies that a missing kind concerns when it may be served.
    pub fn new(
        target: &Client,
        (hosting, namespaces): (&Client, &[String]),
        enqueue: impl Fn(&PolicyRef) + Send + Sync + 'static,
    ) -> Self {
        let (kinds, kind_watches) = Kinds::new(target.clone(), enqueue);
        let keys = namespaces.iter();
        Self {
            kinds,
            kind_watches,
            keys: keys
                .map(|namespace| watch_keys(hosting, namespace))
                .collect(),
            on_changed_keys: Vec::new(),
        }
    }

    /// The keys, a store for each namespace.
    pub fn keys(&self) -> Vec<Store<KeyPair>> {
        self.keys.iter().map(Watch::store).collect()
    }

    /// Enqueues the policies with encrypted values when the keys of their namespace change. Returns when each
    /// store of keys has synced.
    pub fn enqueue_on_changed_keys<P: Resource + Send + Sync + 'static>(
        &mut self,
        policies: &[Store<P>],
        queue: &Queue<ObjectKey>,
    ) -> Vec<CacheSync> {
        let (policies, queue) = (policies.to_vec(), queue.clone());
        self.on_changed_keys.push(Box::new(move |namespace| {
            for policy in encryption_keys::policies_with_encryption(&policies, namespace) {
                queue.add(policy);
            }
        }));
        let synced = |store: Store<KeyPair>| -> CacheSync {
            Box::pin(async move { store.wait_for_cache_sync().await })
        };
        self.keys().into_iter().map(synced).collect()
    }

    /// Starts the watches.
    pub fn start(self, tasks: &mut Supervisor) {
        self.kind_watches.start(tasks);
        let on_changed_keys: Arc<[_]> = self.on_changed_keys.into();
        for watch in self.keys {
            let on_changed_keys = Arc::clone(&on_changed_keys);
            let watching = watch.run(tasks.stop(), move |change| {
                for enqueue in on_changed_keys.iter() {
                    enqueue(&change.key.namespace);
                }
            });
            tasks.spawn_infallible("the watch of encryption keys", watching);
        }
    }
}

/// Watches the Secrets with the keys. Nothing else of any Secret is kept.
fn watch_keys(client: &Client, namespace: &str) -> Watch<Secret, KeyPair> {
    let api = if namespace.is_empty() {
        Api::all(client.clone())
    } else {
        Api::namespaced(client.clone(), namespace)
    };
    Watch::projected(api, KeyPair::of).fields(&format!("metadata.name={}", encryption_keys::SECRET))
}
