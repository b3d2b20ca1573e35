//! The finalizers that keep a `ManagedClusterAddOn` until its agent has cleaned up.

/// Held until the hook on the managed cluster has run.
pub const PRE_DELETE: &str = "addon.open-cluster-management.io/addon-pre-delete";
/// Held until the hook on the hosting cluster has run.
pub const HOSTING_PRE_DELETE: &str = "addon.open-cluster-management.io/hosting-addon-pre-delete";
/// Held until the works for the hosting cluster are deleted; they have no owner.
pub const HOSTING_CLEANUP: &str = "addon.open-cluster-management.io/hosting-manifests-cleanup";

/// Kubernetes' own: the garbage collector deletes the dependents first.
const FOREGROUND: &str = "foregroundDeletion";

/// The former names of the three.
const OLD: [&str; 3] = [
    "cluster.open-cluster-management.io/addon-pre-delete",
    "cluster.open-cluster-management.io/hosting-addon-pre-delete",
    "cluster.open-cluster-management.io/hosting-manifests-cleanup",
];

/// The finalizers of an add-on, and the changes of this controller's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finalizers {
    present: Vec<String>,
    wanted: Vec<&'static str>,
    is_deleting: bool,
}

impl Finalizers {
    /// The existing finalizers. This controller's stay until they are dropped.
    pub fn new(present: &[String], is_deleting: bool) -> Self {
        let ours = [PRE_DELETE, HOSTING_PRE_DELETE, HOSTING_CLEANUP];
        let is_there = |name: &&'static str| present.iter().any(|found| found == name);
        Self {
            present: present.to_vec(),
            wanted: ours.into_iter().filter(is_there).collect(),
            is_deleting,
        }
    }

    /// Whether a finalizer existed from the start and has not been dropped.
    pub fn hold(&self, name: &str) -> bool {
        self.wanted.contains(&name) && self.present.iter().any(|found| found == name)
    }

    /// Whether the garbage collector is deleting the dependents right now, before any cleanup.
    pub fn is_foreground(present: &[String]) -> bool {
        present.iter().any(|found| found == FOREGROUND)
    }

    /// Adds a finalizer. The API server rejects new finalizers on a terminating object.
    pub fn add(&mut self, name: &'static str) {
        if !self.is_deleting && !self.wanted.contains(&name) {
            self.wanted.push(name);
        }
    }

    /// Removes one finalizer.
    pub fn drop_one(&mut self, name: &str) {
        self.wanted.retain(|wanted| *wanted != name);
    }

    /// Removes all finalizers of this controller.
    pub fn drop_all(&mut self) {
        self.wanted.clear();
    }

    /// The change to write, if any.
    pub fn change(&self) -> Option<Edit> {
        let ours = [PRE_DELETE, HOSTING_PRE_DELETE, HOSTING_CLEANUP];
        let is_there = |name: &str| self.present.iter().any(|found| found == name);
        let add: Vec<_> = self
            .wanted
            .iter()
            .copied()
            .filter(|name| !is_there(name))
            .collect();
        let unwanted = ours.iter().filter(|name| !self.wanted.contains(*name));
        let remove: Vec<_> = unwanted
            .chain(&OLD)
            .copied()
            .filter(|name| is_there(name))
            .collect();
        (!add.is_empty() || !remove.is_empty()).then_some(Edit { add, remove })
    }
}

/// A change of an object's finalizers that keeps those of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    add: Vec<&'static str>,
    remove: Vec<&'static str>,
}

impl Edit {
    /// The finalizers after it.
    pub fn apply(&self, present: &[String]) -> Vec<String> {
        let stays = |name: &&String| !self.remove.iter().any(|gone| gone == *name);
        let mut names: Vec<String> = present.iter().filter(stays).cloned().collect();
        for name in &self.add {
            if !names.iter().any(|found| found == name) {
                names.push((*name).to_owned());
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn addon_133_terminating_addon_gets_no_finalizer() {
        let mut finalizers = Finalizers::new(&named(&["foregroundDeletion"]), true);
        finalizers.add(PRE_DELETE);
        assert_eq!(finalizers.change(), None);
        let mut finalizers = Finalizers::new(&named(&["other"]), false);
        finalizers.add(PRE_DELETE);
        let edit = finalizers.change().unwrap();
        assert_eq!(
            edit.apply(&named(&["other", "new"])),
            named(&["other", "new", PRE_DELETE])
        );
        assert!(!finalizers.hold(PRE_DELETE), "it is not there yet");
    }

    #[test]
    fn old_names_are_removed_and_finalizers_of_others_stay() {
        let present = named(&[OLD[0], "other", PRE_DELETE]);
        let mut finalizers = Finalizers::new(&present, false);
        assert!(finalizers.hold(PRE_DELETE));
        assert_eq!(
            finalizers.change().unwrap().apply(&present),
            named(&["other", PRE_DELETE])
        );
        finalizers.drop_one(PRE_DELETE);
        assert_eq!(
            finalizers.change().unwrap().apply(&present),
            named(&["other"])
        );
    }
}
