//! Taints and leases: PLC-89 to PLC-92.

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use rstest::rstest;
use serde_json::{Value, json};

use super::super::clusters::{self, LeaseState};
use super::{cluster, now};

fn available(status: Option<&str>) -> Value {
    let conditions = status.map(|status| {
        json!({"type": "ManagedClusterConditionAvailable", "status": status, "reason": "r",
            "message": "", "lastTransitionTime": "2026-08-01T12:00:00Z"})
    });
    json!({ "conditions": conditions.into_iter().collect::<Vec<_>>() })
}

#[rstest]
#[case::plc_89_available(Some("True"), &[])]
#[case::plc_89_not_available(Some("False"), &["unavailable"])]
#[case::plc_89_no_condition(None, &["unreachable"])]
#[case::plc_89_unknown(Some("Unknown"), &["unreachable"])]
fn taints_follow_condition(#[case] status: Option<&str>, #[case] expected: &[&str]) {
    for present in [
        &[][..],
        &["unavailable"],
        &["unreachable"],
        &["unavailable", "unreachable"],
    ] {
        let of = |key: &&str| {
            json!({"key": format!("cluster.open-cluster-management.io/{key}"), "effect": "NoSelect",
                "timeAdded": "2026-08-01T11:00:00Z"})
        };
        let mut taints: Vec<Value> = present.iter().map(of).collect();
        taints.push(json!({"key": "own", "value": "v", "effect": "NoSelect"}));
        let before = cluster(
            "c1",
            json!({"spec": {"taints": taints}, "status": available(status)}),
        );
        let after = clusters::taints(&before);
        assert_eq!(after.is_none(), present == expected, "{present:?}");
        let after = after.unwrap_or_else(|| before.spec.taints.clone());
        let mut keys: Vec<&str> = after
            .iter()
            .filter_map(|one| one.key.strip_prefix("cluster.open-cluster-management.io/"))
            .collect();
        keys.sort_unstable();
        assert_eq!(keys, expected, "{present:?}");
        assert!(after.iter().any(|one| one.key == "own"));
        // Unchanged taints keep their time.
        let stays = after.iter().filter(|one| before.spec.taints.contains(one));
        assert!(
            stays
                .filter(|one| one.key != "own")
                .all(|one| one.time_added.is_some())
        );
    }
}

#[test]
fn plc_90_terminating_cluster_keeps_its_taints() {
    let metadata = json!({"deletionTimestamp": "2026-08-01T12:00:00Z"});
    let going = cluster(
        "c1",
        json!({ "metadata": metadata, "status": available(None) }),
    );
    assert_eq!(clusters::taints(&going), None);
}

fn lease(ago: i64) -> Lease {
    let at = now() - SignedDuration::from_secs(ago);
    let time = at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    serde_json::from_value(json!({"metadata": {}, "spec": {"renewTime": time}})).unwrap()
}

fn accepted(status: &str, seconds: i32) -> Value {
    let condition = json!({"type": "HubAcceptedManagedCluster", "status": status, "reason": "r",
        "message": "", "lastTransitionTime": "2026-08-01T12:00:00Z"});
    json!({"spec": {"leaseDurationSeconds": seconds}, "status": {"conditions": [condition]}})
}

fn after(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

#[rstest]
#[case::plc_91_not_decided(json!({}), None, LeaseState::Undecided)]
#[case::plc_91_accepted(accepted("True", 60), None, LeaseState::Missing)]
#[case::plc_91_denied(accepted("False", 60), None, LeaseState::Missing)]
#[case::plc_92_stale(accepted("True", 60), Some(301), LeaseState::Expired(after(300)))]
#[case::plc_92_stale_to_the_second(
    accepted("False", 60),
    Some(300),
    LeaseState::Expired(after(300))
)]
#[case::plc_92_fresh(accepted("True", 60), Some(240), LeaseState::Renewed(after(60)))]
#[case::plc_92_fresher(accepted("True", 60), Some(30), LeaseState::Renewed(after(270)))]
#[case::no_duration(accepted("True", 0), Some(299), LeaseState::Renewed(after(1)))]
#[case::a_short_duration(accepted("True", 1), Some(6), LeaseState::Expired(after(5)))]
fn lease_sets_condition_and_requeue(
    #[case] of: Value,
    #[case] renewed: Option<i64>,
    #[case] expected: LeaseState,
) {
    let lease = renewed.map(lease);
    assert_eq!(
        clusters::lease_state(&cluster("c1", of), lease.as_ref(), now()),
        expected
    );
}

#[test]
fn plc_92_terminating_cluster_without_lease_is_unknown() {
    let mut of = accepted("True", 60);
    of["metadata"] = json!({"deletionTimestamp": "2026-08-01T12:00:00Z"});
    let going = cluster("c1", of);
    assert_eq!(
        clusters::lease_state(&going, None, now()),
        LeaseState::Abandoned
    );
    let conditions = clusters::unknown(&going, now()).unwrap();
    assert_eq!(conditions.len(), 2);
    let unknown = &conditions[1];
    assert_eq!(unknown["status"], "Unknown");
    assert_eq!(unknown["reason"], "ManagedClusterLeaseUpdateStopped");
    assert_eq!(
        unknown["message"],
        "Registration agent stopped updating its lease."
    );
}

#[test]
fn plc_92_unknown_cluster_is_not_written_again() {
    let unknown = cluster("c1", json!({"status": available(Some("Unknown"))}));
    assert_eq!(clusters::unknown(&unknown, now()), None);
    let known = cluster("c1", json!({"status": available(Some("True"))}));
    assert_eq!(clusters::unknown(&known, now()).unwrap().len(), 1);
}
