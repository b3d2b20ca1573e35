//! Decides about a replicated policy. It does no I/O.

use std::sync::Arc;

use reeve_api::Policy;
use reeve_api::names::RootPolicyName;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::Cached;

use crate::index::{Pair, Placed};
use crate::messages;
use crate::replica::{Digest, ReplicaFacts};

/// The cached objects that the decision about one replica rests on.
pub struct ObservedReplica {
    /// The live replica.
    pub replica: Option<Cached<ReplicaFacts>>,
    /// The root policy that its name refers to.
    pub root: Option<Cached<Policy>>,
    /// How the root policy is placed on this cluster, if it is.
    pub placed: Option<Placed>,
    /// Whether every object that could place it was decodable.
    pub placement_known: bool,
    /// Whether the replica's namespace belongs to a managed cluster of this hub.
    pub in_cluster_namespace: bool,
    /// Whether the root policy's namespace does, where only replicas belong.
    pub root_in_cluster_namespace: bool,
}

/// The decision about one replica.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplicaDecision {
    /// It should not exist, and does not.
    Absent,
    /// The object with this UID has to be deleted.
    Delete(String),
    /// It must not be written or deleted, for this reason.
    Leave(&'static str),
    /// It should exist.
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
        return deletion(observed);
    };
    let root = match &observed.root {
        None => return deletion(observed),
        Some(Cached::Invalid(_)) => {
            return ReplicaDecision::Leave(messages::LEAVE_UNDECODABLE_ROOT);
        }
        Some(Cached::Valid(root)) => root,
    };
    if root.spec.disabled {
        return deletion(observed);
    }
    if observed.root_in_cluster_namespace {
        return match observed.replica {
            None => ReplicaDecision::Absent,
            Some(_) => ReplicaDecision::Leave(messages::LEAVE_ROOT_IN_CLUSTER_NAMESPACE),
        };
    }
    let Some(placed) = &observed.placed else {
        return if observed.placement_known {
            deletion(observed)
        } else {
            ReplicaDecision::Leave(messages::LEAVE_UNDECODABLE_PLACEMENT)
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

fn deletion(observed: &ObservedReplica) -> ReplicaDecision {
    match &observed.replica {
        None => ReplicaDecision::Absent,
        Some(_) if !observed.in_cluster_namespace => {
            ReplicaDecision::Leave(messages::LEAVE_FOREIGN)
        }
        Some(Cached::Valid(live)) => ReplicaDecision::Delete(live.uid.to_string()),
        Some(Cached::Invalid(_)) => ReplicaDecision::Leave(messages::LEAVE_UNDECODABLE_REPLICA),
    }
}

/// How to write a replica that should exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteAction {
    /// It equals the desired one.
    Nothing,
    /// It does not exist.
    Create,
    /// It differs, or cannot be read.
    Update,
}

/// Compares the live replica with the desired one.
pub fn write_action(live: Option<&Cached<ReplicaFacts>>, desired: &Digest) -> WriteAction {
    match live {
        None => WriteAction::Create,
        Some(Cached::Valid(live)) if live.digest == *desired => WriteAction::Nothing,
        // An undecodable replica is replaced by a readable one.
        Some(_) => WriteAction::Update,
    }
}
