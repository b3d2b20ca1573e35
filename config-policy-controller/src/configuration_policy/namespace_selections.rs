//! Which namespaces each policy's selector chooses, kept up to date.
//!
//! One watch of all namespaces serves every policy. A change of a namespace concerns the policies that choose it now
//! and did not before, or the other way round; no other policy is enqueued.

use std::collections::{BTreeSet, HashMap};

use parking_lot::Mutex;
use reeve_api::configuration_policy::NamespaceSelector;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::{Change, Store};

use crate::evaluate::selectors::namespaces::{
    Namespace, NamespaceMatcher, SelectedNamespaces, SelectorError, TerminatingInclusion,
};

/// The selections of all policies.
pub struct NamespaceSelections {
    namespaces: Store<Namespace>,
    terminating: TerminatingInclusion,
    of: Mutex<HashMap<ObjectKey, TrackedSelection>>,
}

/// What one policy's selector chooses.
struct TrackedSelection {
    selector: NamespaceSelector,
    matcher: Result<NamespaceMatcher, SelectorError>,
    names: BTreeSet<String>,
    /// The selection changed since the last evaluation.
    changed: bool,
}

impl NamespaceSelections {
    /// Chooses among the namespaces of a watch, which must have synced before the first selection.
    pub fn new(namespaces: Store<Namespace>, terminating: TerminatingInclusion) -> Self {
        Self {
            namespaces,
            terminating,
            of: Mutex::default(),
        }
    }

    /// The namespaces that the policy's selector chooses now. Changes of the selection are tracked from here on.
    pub fn select(&self, policy: &ObjectKey, selector: &NamespaceSelector) -> SelectedNamespaces {
        let mut all = self.of.lock();
        let known = all
            .get_mut(policy)
            .filter(|known| known.selector == *selector);
        if let Some(known) = known {
            known.changed = false;
            return known.selection();
        }
        let matcher = NamespaceMatcher::new(selector, self.terminating);
        let chosen = |_: &ObjectKey, namespace: &std::sync::Arc<Namespace>| {
            let matcher = matcher.as_ref().ok()?;
            matcher.matches(namespace).then(|| namespace.name.clone())
        };
        let names = self.namespaces.collect(chosen).into_iter().collect();
        let chosen = TrackedSelection {
            selector: selector.clone(),
            matcher,
            names,
            changed: false,
        };
        let selection = chosen.selection();
        all.insert(policy.clone(), chosen);
        selection
    }

    /// Whether the selector may choose other namespaces than at the policy's last evaluation.
    pub fn has_changed(&self, policy: &ObjectKey, selector: &NamespaceSelector) -> bool {
        let all = self.of.lock();
        let known = all.get(policy).filter(|known| known.selector == *selector);
        known.is_none_or(|known| known.changed)
    }

    /// A namespace changed: the policies that choose it now and did not before, or did and do not any more.
    pub fn affected_policies(&self, change: &Change<Namespace>) -> Vec<ObjectKey> {
        let (_, now) = change.valid();
        let name = &change.key.name;
        let mut concerned = Vec::new();
        for (policy, chosen) in self.of.lock().iter_mut() {
            let Ok(matcher) = &chosen.matcher else {
                continue;
            };
            let differs = if now.is_some_and(|namespace| matcher.matches(namespace)) {
                chosen.names.insert(name.clone())
            } else {
                chosen.names.remove(name)
            };
            if differs {
                chosen.changed = true;
                concerned.push(policy.clone());
            }
        }
        concerned
    }

    /// Removes the entry of a policy that was deleted, or whose selector was removed.
    pub fn forget(&self, policy: &ObjectKey) {
        self.of.lock().remove(policy);
    }
}

impl TrackedSelection {
    fn selection(&self) -> SelectedNamespaces {
        match &self.matcher {
            Ok(_) => Ok(self.names.iter().cloned().collect()),
            Err(error) => Err(error.clone()),
        }
    }
}
