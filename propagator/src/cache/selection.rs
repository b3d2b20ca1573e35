//! Enqueues the cached objects that belong to a shard.

use reeve_api::names::RootPolicyName;
use reeve_runtime::object::ObjectKey;

use super::HubCache;

impl HubCache {
    /// Enqueues the root policies, policy sets and automations that `selects_object` selects, and the replicas and encryption
    /// keys of the clusters that `selects_cluster` selects.
    pub fn enqueue_selected(
        &self,
        selects_object: &dyn Fn(&ObjectKey) -> bool,
        selects_cluster: &mut dyn FnMut(&str) -> bool,
    ) {
        let is_selected =
            |key: &ObjectKey| self.namespaces.contains(&key.namespace) && selects_object(key);
        for key in self.roots.keys() {
            let root = RootPolicyName::new(key.namespace.clone(), key.name.clone());
            // The lock is taken for each policy separately, because watch events must not wait for all pairs.
            let pairs = self.index.read().pairs(&root);
            for pair in pairs {
                if selects_cluster(&pair.cluster) {
                    self.enqueue_replica(&pair.key());
                }
            }
            if is_selected(&key) {
                self.queues.roots.add(root);
            }
        }
        // Replicas whose root policy does not exist are in no pair.
        for key in self.replicas.keys() {
            if selects_cluster(&key.namespace) {
                self.enqueue_replica(&key);
            }
        }
        let keys = self.keys.keys().into_iter();
        for key in keys.filter(|key| selects_cluster(&key.namespace)) {
            self.queues.keys.add(key);
        }
        for key in self.sets.keys().into_iter().filter(is_selected) {
            self.queues.sets.add(key);
        }
        for key in self.automations.keys().into_iter().filter(is_selected) {
            self.queues.automations.add(key);
        }
    }
}
