//! Decides what becomes of a replicated policy. Pure.

use std::sync::Arc;

use reeve_api::Policy;
use reeve_api::names::RootPolicyName;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::Cached;

use crate::index::{Pair, Placed};
use crate::messages;
use crate::replica::{Digest, ReplicaFacts};

/// What the decision about one replica rests on.
pub struct ObservedReplica {
    /// The replica there is.
    pub replica: Option<Cached<ReplicaFacts>>,
    /// The root policy that its name points to.
    pub root: Option<Cached<Policy>>,
    /// Whether the root should be on this cluster.
    pub placed: Option<Placed>,
    /// Whether everything that could place it was readable.
    pub placement_known: bool,
    /// Whether the replica's namespace belongs to a managed cluster of this hub.
    pub in_cluster_namespace: bool,
    /// Whether the root's namespace does, where only replicas belong.
    pub root_among_replicas: bool,
}

/// What is to become of one replica.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplicaDecision {
    /// It must not exist, and does not.
    Absent,
    /// It must go: the object with this UID.
    Delete(String),
    /// It is not ours to touch, or cannot be judged; why.
    Leave(&'static str),
    /// It must be there.
    Present {
        /// The root policy and the cluster.
        pair: Pair,
        /// The policy that it is a replica of.
        root: Arc<Policy>,
        /// How it is placed.
        placed: Placed,
    },
}

/// Decides about the replica named by `key`.
pub fn replica(key: &ObjectKey, observed: &ObservedReplica) -> ReplicaDecision {
    let Some(root_name) = RootPolicyName::parse(&key.name) else {
        return remove(observed);
    };
    let root = match &observed.root {
        None => return remove(observed),
        Some(Cached::Invalid(_)) => return ReplicaDecision::Leave(messages::LEAVE_UNREADABLE_ROOT),
        Some(Cached::Valid(root)) => root,
    };
    if root.spec.disabled {
        return remove(observed);
    }
    if observed.root_among_replicas {
        return match observed.replica {
            None => ReplicaDecision::Absent,
            Some(_) => ReplicaDecision::Leave(messages::LEAVE_ROOT_AMONG_REPLICAS),
        };
    }
    let Some(placed) = &observed.placed else {
        return if observed.placement_known {
            remove(observed)
        } else {
            ReplicaDecision::Leave(messages::LEAVE_UNREADABLE_PLACEMENT)
        };
    };
    if root_name.fits().is_err() {
        return ReplicaDecision::Leave(messages::LEAVE_LONG_NAME);
    }
    ReplicaDecision::Present {
        pair: Pair {
            root: root_name,
            cluster: key.namespace.clone(),
        },
        root: Arc::clone(root),
        placed: placed.clone(),
    }
}

fn remove(observed: &ObservedReplica) -> ReplicaDecision {
    match &observed.replica {
        None => ReplicaDecision::Absent,
        Some(_) if !observed.in_cluster_namespace => {
            ReplicaDecision::Leave(messages::LEAVE_FOREIGN)
        }
        Some(Cached::Valid(live)) => ReplicaDecision::Delete(live.uid.to_string()),
        Some(Cached::Invalid(_)) => ReplicaDecision::Leave(messages::LEAVE_UNREADABLE_REPLICA),
    }
}

/// How a wanted replica has to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// It is as it should be.
    Nothing,
    /// It does not exist.
    Create,
    /// It differs, or cannot be read.
    Update,
}

/// Compares a replica with what it should be.
pub fn write(live: Option<&Cached<ReplicaFacts>>, desired: &Digest) -> Write {
    match live {
        None => Write::Create,
        Some(Cached::Valid(live)) if live.digest == *desired => Write::Nothing,
        // An unreadable replica is replaced by a readable one.
        Some(_) => Write::Update,
    }
}
