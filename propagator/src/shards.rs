//! How the propagators of a hub share its work: replicas and encryption keys by cluster namespace, everything else by the
//! namespace and name of the object.

use std::collections::HashMap;
use std::fmt::Display;

use reeve_runtime::leader::shards::Ownership;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::{Action, Key};

use crate::cache::HubCache;

/// A reconciler whose keys are divided into shards.
pub trait ShardedReconciler: Clone + Send + Sync + 'static {
    /// The keys of its queue.
    type Key: Key;
    /// Why a reconcile failed.
    type Error: Display + Send + 'static;

    /// Reconciles one key, in the process that works on its shard.
    fn reconcile(
        self,
        key: Self::Key,
    ) -> impl Future<Output = Result<Action, Self::Error>> + Send + 'static;

    /// The text that decides which shard a key is in.
    fn shard_key(key: &Self::Key) -> String;

    /// Drops what this process holds for a key, because another process works on its shard.
    fn release(&self, _key: &Self::Key) {}
}

/// Reconciles one key if this process works on its shard; otherwise releases what it holds for the key.
pub async fn reconcile_owned<R: ShardedReconciler>(
    reconciler: R,
    ownership: Ownership,
    key: R::Key,
) -> Result<Action, R::Error> {
    // Held until the reconcile has ended: the shard is not given up before.
    let Some(_turn) = ownership.begin(&R::shard_key(&key)) else {
        reconciler.release(&key);
        return Ok(Action::AwaitChange);
    };
    reconciler.reconcile(key).await
}

/// Enqueues all keys of a shard, because this process has begun or ended to work on it.
pub fn enqueue_shard(cache: &HubCache, ownership: &Ownership, shard: u16) {
    let is_object_in_shard = |key: &ObjectKey| ownership.is_in_shard(&object_shard_key(key), shard);
    let mut clusters: HashMap<String, bool> = HashMap::new();
    // A cluster has many replicas, and its shard is a cryptographic hash.
    let mut is_cluster_in_shard = |cluster: &str| {
        if let Some(known) = clusters.get(cluster) {
            return *known;
        }
        let is_in_shard = ownership.is_in_shard(cluster, shard);
        clusters.insert(cluster.to_owned(), is_in_shard);
        is_in_shard
    };
    cache.enqueue_selected(&is_object_in_shard, &mut is_cluster_in_shard);
}

/// The shard key of an object that is not in a cluster's namespace.
pub fn object_shard_key(key: &ObjectKey) -> String {
    format!("{}/{}", key.namespace, key.name)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Recorder(Arc<Mutex<Vec<&'static str>>>);

    impl ShardedReconciler for Recorder {
        type Key = ObjectKey;
        type Error = Infallible;

        async fn reconcile(self, _: ObjectKey) -> Result<Action, Infallible> {
            self.0.lock().push("reconciled");
            Ok(Action::Requeue)
        }

        fn shard_key(key: &ObjectKey) -> String {
            key.namespace.clone()
        }

        fn release(&self, _: &ObjectKey) {
            self.0.lock().push("released");
        }
    }

    #[tokio::test]
    async fn key_of_another_process_is_released_and_not_reconciled() {
        let recorder = Recorder::default();
        let key = || ObjectKey::new("cluster1", "n.p");
        let other = Ownership::none_of(2);
        let action = reconcile_owned(recorder.clone(), other, key()).await;
        assert_eq!(action, Ok(Action::AwaitChange));
        let action = reconcile_owned(recorder.clone(), Ownership::all(), key()).await;
        assert_eq!(action, Ok(Action::Requeue));
        assert_eq!(*recorder.0.lock(), ["released", "reconciled"]);
    }
}
