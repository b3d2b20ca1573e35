//! The policies to reconcile again when the templates or dependencies of another policy change.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;

/// Policies that report why a template is pending: a dependency that no policy of the cluster has as a template, or a loop of
/// dependencies. Every other policy of the cluster can end that reason. Clones share the set.
#[derive(Clone, Debug, Default)]
pub struct PendingPolicies(Arc<Mutex<BTreeSet<String>>>);

impl PendingPolicies {
    /// Adds a policy by its name. Add it before you read the other policies: a change after that takes it out.
    pub fn add(&self, policy: &str) {
        self.0.lock().insert(policy.to_owned());
    }

    /// Takes all policies out. A policy that is still pending adds itself when it is reconciled.
    pub fn take(&self) -> BTreeSet<String> {
        mem::take(&mut *self.0.lock())
    }
}
