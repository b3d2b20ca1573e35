//! The keys that a change affects.

use std::collections::BTreeSet;
use std::fmt;

use reeve_api::names::RootPolicyName;
use reeve_runtime::object::ObjectKey;

/// One root policy on one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair {
    /// The root policy.
    pub root: RootPolicyName,
    /// The managed cluster, whose namespace on the hub has the same name.
    pub cluster: String,
}

impl Pair {
    /// The pair of a replica with this namespace and name; `None` if the name is not that of a replica.
    pub fn of_replica(key: &ObjectKey) -> Option<Self> {
        Some(Self {
            root: RootPolicyName::parse(&key.name)?,
            cluster: key.namespace.clone(),
        })
    }

    /// The replica's namespace and name.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(self.cluster.clone(), self.root.to_string())
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.cluster, self.root)
    }
}

/// The keys to enqueue after a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dirty {
    /// Replicas that may have to be created, changed or deleted.
    pub pairs: BTreeSet<Pair>,
    /// Root policies whose status may have to change.
    pub roots: BTreeSet<RootPolicyName>,
    /// Policy sets whose status may have to change.
    pub sets: BTreeSet<ObjectKey>,
}

impl Dirty {
    /// Adds the keys of another change.
    pub fn merge(&mut self, other: Self) {
        self.pairs.extend(other.pairs);
        self.roots.extend(other.roots);
        self.sets.extend(other.sets);
    }
}
