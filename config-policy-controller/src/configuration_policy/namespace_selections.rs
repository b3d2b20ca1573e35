//! Which namespaces each policy's selector chooses, kept up to date.
//!
//! One watch of all namespaces serves every policy. A change of a namespace concerns the policies that choose it now
//! and did not before, or the other way round; no other policy hears of it.

use std::collections::{BTreeSet, HashMap};

use parking_lot::Mutex;
use reeve_api::configuration_policy::NamespaceSelector;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::{Change, Store};

use crate::evaluate::selectors::namespaces::{
    Chooser, Namespace, Selection, SelectorError, Terminating,
};

/// The selections of all policies.
pub struct Selections {
    namespaces: Store<Namespace>,
    terminating: Terminating,
    of: Mutex<HashMap<ObjectKey, Chosen>>,
}

/// What one policy's selector chooses.
struct Chosen {
    selector: NamespaceSelector,
    chooser: Result<Chooser, SelectorError>,
    names: BTreeSet<String>,
    /// Something changed since an evaluation asked.
    news: bool,
}

impl Selections {
    /// Chooses among the namespaces of a watch, which is to be ready before anybody asks.
    pub fn new(namespaces: Store<Namespace>, terminating: Terminating) -> Self {
        Self {
            namespaces,
            terminating,
            of: Mutex::default(),
        }
    }

    /// The namespaces that the policy's selector chooses now. From here on the policy hears of changes.
    pub fn choose(&self, policy: &ObjectKey, selector: &NamespaceSelector) -> Selection {
        let mut all = self.of.lock();
        let known = all
            .get_mut(policy)
            .filter(|known| known.selector == *selector);
        if let Some(known) = known {
            known.news = false;
            return known.selection();
        }
        let chooser = Chooser::new(selector, self.terminating);
        let chosen = |_: &ObjectKey, namespace: &std::sync::Arc<Namespace>| {
            let chooser = chooser.as_ref().ok()?;
            chooser.chooses(namespace).then(|| namespace.name.clone())
        };
        let names = self.namespaces.collect(chosen).into_iter().collect();
        let chosen = Chosen {
            selector: selector.clone(),
            chooser,
            names,
            news: false,
        };
        let selection = chosen.selection();
        all.insert(policy.clone(), chosen);
        selection
    }

    /// Whether the selector may choose other namespaces than at the policy's last evaluation.
    pub fn has_news(&self, policy: &ObjectKey, selector: &NamespaceSelector) -> bool {
        let all = self.of.lock();
        let known = all.get(policy).filter(|known| known.selector == *selector);
        known.is_none_or(|known| known.news)
    }

    /// A namespace changed: the policies that choose it now and did not before, or did and do not any more.
    pub fn changed(&self, change: &Change<Namespace>) -> Vec<ObjectKey> {
        let (_, now) = change.valid();
        let name = &change.key.name;
        let mut concerned = Vec::new();
        for (policy, chosen) in self.of.lock().iter_mut() {
            let Ok(chooser) = &chosen.chooser else {
                continue;
            };
            let differs = if now.is_some_and(|namespace| chooser.chooses(namespace)) {
                chosen.names.insert(name.clone())
            } else {
                chosen.names.remove(name)
            };
            if differs {
                chosen.news = true;
                concerned.push(policy.clone());
            }
        }
        concerned
    }

    /// Forgets a policy that is gone, or that chooses no namespaces any more.
    pub fn forget(&self, policy: &ObjectKey) {
        self.of.lock().remove(policy);
    }
}

impl Chosen {
    fn selection(&self) -> Selection {
        match &self.chooser {
            Ok(_) => Ok(self.names.iter().cloned().collect()),
            Err(error) => Err(error.clone()),
        }
    }
}
