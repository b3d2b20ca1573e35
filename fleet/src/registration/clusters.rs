//! Clusters: the taints of those that are not available, and the lease that shows it.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use reeve_api::ocm::{ManagedCluster, Taint};
use serde_json::{Value, json};

use super::messages;

/// The type of the condition for an available cluster.
pub const AVAILABLE: &str = "ManagedClusterConditionAvailable";
/// The type of the condition for a cluster that the hub accepts.
pub const ACCEPTED: &str = "HubAcceptedManagedCluster";
/// The taint of a cluster whose condition `Available` is `False`.
pub const UNAVAILABLE: &str = "cluster.open-cluster-management.io/unavailable";
/// The taint of a cluster whose condition `Available` is unknown.
pub const UNREACHABLE: &str = "cluster.open-cluster-management.io/unreachable";
/// The lease that a cluster's agent renews, in the cluster's namespace on the hub.
pub const LEASE: &str = "managed-cluster-lease";

/// The keys of taints that a cluster has been given, separated by commas. Such a taint stays, whatever the conditions of the cluster are.
pub const GIVEN_TAINTS_ANNOTATION: &str = "reeve.open-cluster-management.io/given-taints";

/// How many renewals may be missed.
const MISSED: i64 = 5;
const DEFAULT_SECONDS: i32 = 60;

/// The desired taints of a cluster, if they differ. Taints that have a time keep it.
pub fn taints(cluster: &ManagedCluster) -> Option<Vec<Taint>> {
    if cluster.is_terminating() {
        return None;
    }
    let available = cluster
        .status
        .as_ref()
        .and_then(|status| status.condition(AVAILABLE));
    let wanted = match available {
        Some("True") => None,
        Some("False") => Some(UNAVAILABLE),
        _ => Some(UNREACHABLE),
    };
    let is = |taint: &Taint, key: &str| {
        taint.key == key && taint.value.is_empty() && taint.effect == "NoSelect"
    };
    let annotations = cluster.metadata.annotations.as_ref();
    let given = annotations.and_then(|all| all.get(GIVEN_TAINTS_ANNOTATION));
    let is_given = |key: &str| given.is_some_and(|given| given.split(',').any(|one| one == key));
    let mut taints = cluster.spec.taints.clone();
    for key in [UNAVAILABLE, UNREACHABLE] {
        let present = taints.iter().any(|one| is(one, key));
        if wanted != Some(key) && is_given(key) {
            continue;
        }
        if wanted != Some(key) {
            taints.retain(|one| !is(one, key));
        } else if !present {
            taints.push(Taint {
                key: key.to_owned(),
                value: String::new(),
                effect: "NoSelect".to_owned(),
                time_added: None,
            });
        }
    }
    (taints != cluster.spec.taints).then_some(taints)
}

/// The state of a cluster's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// The lease does not count: the hub has not accepted or denied the cluster.
    Undecided,
    /// The cluster has no lease yet: it is to be created.
    Missing,
    /// The agent renewed the lease in time. Check again after this duration.
    Renewed(SignedDuration),
    /// The lease has expired. Check again after this duration.
    Expired(SignedDuration),
    /// The agent will not renew the lease again.
    Abandoned,
}

/// The state of a cluster's lease at `now`.
pub fn lease_state(cluster: &ManagedCluster, lease: Option<&Lease>, now: Timestamp) -> LeaseState {
    let status = cluster.status.as_ref();
    if status
        .and_then(|status| status.condition(ACCEPTED))
        .is_none()
    {
        return LeaseState::Undecided;
    }
    let Some(lease) = lease else {
        return if cluster.is_terminating() {
            LeaseState::Abandoned
        } else {
            LeaseState::Missing
        };
    };
    let seconds = match cluster.spec.lease_duration_seconds {
        0 => DEFAULT_SECONDS,
        seconds => seconds,
    };
    let grace = SignedDuration::from_secs(i64::from(seconds) * MISSED);
    let renewed = lease
        .spec
        .as_ref()
        .and_then(|spec| spec.renew_time.as_ref());
    let left = renewed
        .and_then(|time| time.0.checked_add(grace).ok())
        .map(|ends| ends.duration_since(now))
        .filter(SignedDuration::is_positive);
    match left {
        Some(left) => LeaseState::Renewed(left),
        None => LeaseState::Expired(grace),
    }
}

/// The conditions of a cluster whose lease has expired; `None` if they are set already.
pub fn unknown(cluster: &ManagedCluster, now: Timestamp) -> Option<Vec<Value>> {
    let status = cluster.status.as_ref();
    if status.and_then(|status| status.condition(AVAILABLE)) == Some("Unknown") {
        return None;
    }
    let conditions = status.map(|status| status.conditions.clone());
    let mut conditions = conditions.unwrap_or_default();
    let unknown = json!({
        "type": AVAILABLE,
        "status": "Unknown",
        "reason": "ManagedClusterLeaseUpdateStopped",
        "message": messages::SILENT,
        "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    });
    let present = conditions
        .iter_mut()
        .find(|one| one.get("type").and_then(Value::as_str) == Some(AVAILABLE));
    match present {
        Some(present) => *present = unknown,
        None => conditions.push(unknown),
    }
    Some(conditions)
}

/// The lease to create for a cluster.
pub fn lease(cluster: &str, now: Timestamp) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": LEASE,
            "namespace": cluster,
            "labels": {"open-cluster-management.io/cluster-name": cluster},
        },
        "spec": {
            "holderIdentity": cluster,
            "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string(),
        },
    })
}
