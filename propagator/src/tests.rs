use reeve_api::Policy;
use reeve_api::names::RootPolicyName;
use reeve_api::policy::PolicyPlacement;
use reeve_runtime::metrics::Metrics;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::Known;
use rstest::rstest;
use serde_json::{Value, json};

use crate::decide::{self, Observed, ReplicaAction, RootAction};
use crate::index::{Pair, Placed, Reach};
use crate::metrics::PropagatorMetrics;
use crate::replica::{Digest, ReplicaFacts};
use reeve_api::Compliance::{self, Compliant, NonCompliant, Pending, Terminating};

// By value, so that calls read as one literal.
#[allow(clippy::needless_pass_by_value)]
fn policy(extra: Value) -> Policy {
    let mut whole = json!({
        "apiVersion": "policy.open-cluster-management.io/v1",
        "kind": "Policy",
        "metadata": {
            "name": "p", "namespace": "policies", "uid": "root",
            "labels": { "team": "a", "policy.open-cluster-management.io/x": "y" },
            "annotations": { "note": "n", "policy.open-cluster-management.io/trigger-update": "1" },
            "finalizers": ["f"]
        },
        "spec": { "disabled": false, "remediationAction": "inform", "policy-templates": [
            { "objectDefinition": { "kind": "ConfigurationPolicy", "metadata": { "name": "t" } } }
        ] }
    });
    json_patch::merge(&mut whole, &extra);
    serde_json::from_value(whole).unwrap()
}

fn pair() -> Pair {
    Pair {
        root: RootPolicyName::new("policies", "p"),
        cluster: "c1".to_owned(),
    }
}

fn desired(extra: Value) -> Policy {
    decide::desired(&policy(extra), &pair(), &Placed::default())
}

#[test]
fn a_replica_carries_the_frameworks_labels_and_nothing_of_the_roots_life() {
    let replica = desired(json!({}));
    insta::assert_json_snapshot!(serde_json::to_value(&replica).unwrap(), @r#"
    {
      "apiVersion": "policy.open-cluster-management.io/v1",
      "kind": "Policy",
      "metadata": {
        "annotations": {
          "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
          "note": "n"
        },
        "labels": {
          "policy.open-cluster-management.io/cluster-name": "c1",
          "policy.open-cluster-management.io/cluster-namespace": "c1",
          "policy.open-cluster-management.io/root-policy": "policies.p",
          "policy.open-cluster-management.io/x": "y",
          "team": "a"
        },
        "name": "policies.p",
        "namespace": "c1"
      },
      "spec": {
        "disabled": false,
        "policy-templates": [
          {
            "objectDefinition": {
              "kind": "ConfigurationPolicy",
              "metadata": {
                "name": "t"
              }
            }
          }
        ],
        "remediationAction": "inform"
      }
    }
    "#);
}

#[test]
fn user_metadata_stays_behind_when_the_policy_says_so() {
    let replica = desired(json!({ "spec": { "copyPolicyMetadata": false } }));
    let labels = replica.metadata.labels.unwrap();
    assert!(!labels.contains_key("team"));
    assert!(labels.contains_key("policy.open-cluster-management.io/x"));
    assert!(!replica.metadata.annotations.unwrap().contains_key("note"));
}

#[rstest]
#[case(json!("inform"), Some("enforce"), Some("enforce"))]
#[case(json!(null), Some("Enforce"), Some("Enforce"))]
#[case(json!("Enforce"), Some("enforce"), Some("Enforce"))]
#[case(json!("inform"), None, Some("inform"))]
fn an_override_only_ever_enforces(
    #[case] root: Value,
    #[case] binding: Option<&str>,
    #[case] want: Option<&str>,
) {
    let root = policy(json!({ "spec": { "remediationAction": root } }));
    let placed = Placed {
        enforce: binding.map(str::to_owned),
    };
    let replica = decide::desired(&root, &pair(), &placed);
    assert_eq!(replica.spec.remediation_action.as_deref(), want);
}

#[rstest]
#[case(json!({ "name": "other" }), json!({ "name": "policies.other" }))]
#[case(json!({ "name": "o.ther", "namespace": "n" }), json!({ "name": "n.o.ther" }))]
#[case(json!({ "name": "n.other" }), json!({ "name": "n.other" }))]
#[case(json!({ "name": "t", "kind": "ConfigurationPolicy" }), json!({ "name": "t", "kind": "ConfigurationPolicy" }))]
#[case(json!({ "name": "other", "namespace": "n", "apiVersion": "x/v1" }), json!({ "name": "other", "namespace": "n", "apiVersion": "x/v1" }))]
fn dependencies_on_policies_are_renamed_as_their_replicas_are(
    #[case] item: Value,
    #[case] want: Value,
) {
    let whole = |part: Value| {
        let mut item = json!({
            "apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy", "compliance": "Compliant"
        });
        json_patch::merge(&mut item, &part);
        item
    };
    let replica = desired(json!({ "spec": { "dependencies": [whole(item)] } }));
    let got = serde_json::to_value(replica.spec.dependencies.unwrap()).unwrap();
    assert_eq!(got, json!([whole(want)]));
}

#[test]
fn raw_hub_templates_never_leave_the_hub() {
    let template = json!({ "objectDefinition": {
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy",
        "metadata": { "name": "t" },
        "spec": { "secret": "{{hub fromSecret \"n\" \"s\" \"k\" hub}}" }
    } });
    let root = json!({ "spec": { "policy-templates": [template] } });
    let text = serde_json::to_string(&desired(root.clone())).unwrap();
    assert!(!text.contains("fromSecret"), "{text}");
    assert!(text.contains("hub-templates-error"), "{text}");
    let disabled = json!({ "metadata": { "annotations": {
        "policy.open-cluster-management.io/disable-templates": "true"
    } } });
    let mut untouched = root;
    json_patch::merge(&mut untouched, &disabled);
    assert!(
        serde_json::to_string(&desired(untouched))
            .unwrap()
            .contains("fromSecret")
    );
}

fn observed(root: Option<Policy>, replica: Option<ReplicaFacts>, placed: bool) -> Observed {
    Observed {
        replica: replica.map(|replica| Known::Valid(replica.into())),
        root: root.map(|root| Known::Valid(root.into())),
        placed: placed.then(Placed::default),
        placement_known: true,
        in_cluster_namespace: true,
    }
}

fn live(policy: &Policy) -> ReplicaFacts {
    ReplicaFacts {
        digest: Digest::of(policy),
        uid: "u".to_owned(),
        compliance: None,
    }
}

#[test]
fn a_replica_is_created_kept_changed_and_removed() {
    let key = pair().key();
    let root = || Some(policy(json!({})));
    let act = |observed: &Observed| decide::replica(&key, observed);
    assert!(matches!(
        act(&observed(root(), None, true)),
        ReplicaAction::Create(_)
    ));
    assert_eq!(act(&observed(root(), None, false)), ReplicaAction::Nothing);
    let right = live(&desired(json!({})));
    assert_eq!(
        act(&observed(root(), Some(right.clone()), true)),
        ReplicaAction::Nothing
    );
    let edited = live(&desired(
        json!({ "spec": { "remediationAction": "enforce" } }),
    ));
    assert!(matches!(
        act(&observed(root(), Some(edited), true)),
        ReplicaAction::Update(_)
    ));
    let delete = ReplicaAction::Delete("u".to_owned());
    assert_eq!(act(&observed(root(), Some(right.clone()), false)), delete);
    assert_eq!(act(&observed(None, Some(right.clone()), true)), delete);
    let disabled = Some(policy(json!({ "spec": { "disabled": true } })));
    assert_eq!(act(&observed(disabled, Some(right), true)), delete);
}

#[test]
fn rough_edge_17_nothing_is_deleted_outside_cluster_namespaces() {
    let elsewhere = |root| Observed {
        in_cluster_namespace: false,
        ..observed(root, Some(live(&desired(json!({})))), false)
    };
    let disabled = policy(json!({ "spec": { "disabled": true } }));
    for root in [None, Some(policy(json!({}))), Some(disabled)] {
        let action = decide::replica(&pair().key(), &elsewhere(root));
        assert!(matches!(action, ReplicaAction::Leave(_)), "{action:?}");
    }
    let nameless = decide::replica(&ObjectKey::new("c1", "nodot"), &elsewhere(None));
    assert!(matches!(nameless, ReplicaAction::Leave(_)));
}

#[test]
fn an_unreadable_root_keeps_its_replicas() {
    let replica = live(&desired(json!({})));
    let unreadable = Observed {
        root: Some(Known::Invalid("bad".into())),
        ..observed(None, Some(replica), true)
    };
    assert!(matches!(
        decide::replica(&pair().key(), &unreadable),
        ReplicaAction::Leave(_)
    ));
}

#[test]
fn nothing_is_removed_while_what_may_place_it_cannot_be_read() {
    let replica = live(&desired(json!({})));
    let unclear = |root| Observed {
        placement_known: false,
        ..observed(Some(root), Some(replica.clone()), false)
    };
    let action = decide::replica(&pair().key(), &unclear(policy(json!({}))));
    assert!(matches!(action, ReplicaAction::Leave(_)), "{action:?}");
    let disabled = policy(json!({ "spec": { "disabled": true } }));
    let action = decide::replica(&pair().key(), &unclear(disabled));
    assert!(
        matches!(action, ReplicaAction::Delete(_)),
        "a disabled policy is certain"
    );
}

#[test]
fn strays_in_cluster_namespaces_go_unless_somebody_binds_them() {
    let bound = Reach {
        placements: vec![PolicyPlacement::default()],
        ..Reach::default()
    };
    let stray = policy(json!({}));
    assert_eq!(
        decide::root(&stray, true, &Reach::default()),
        RootAction::RemoveStray
    );
    assert_eq!(decide::root(&stray, true, &bound), RootAction::LeaveStray);
    assert!(matches!(
        decide::root(&stray, false, &bound),
        RootAction::Write(_)
    ));
    assert_eq!(
        decide::root(&stray, false, &Reach::default()),
        RootAction::Nothing
    );
}

#[test]
fn what_kubectl_apply_remembers_and_empty_lists_make_no_difference() {
    let plain = desired(json!({}));
    let mut same = plain.clone();
    let annotations = same.metadata.annotations.as_mut().unwrap();
    annotations.insert(
        reeve_api::names::LAST_APPLIED_ANNOTATION.to_owned(),
        "{}".to_owned(),
    );
    same.spec.dependencies = Some(Vec::new());
    assert_eq!(Digest::of(&plain), Digest::of(&same));
}

#[rstest]
#[case(&[], None)]
#[case(&[Some(Compliant), Some(Compliant)], Some(Compliant))]
#[case(&[Some(Compliant), Some(NonCompliant)], Some(NonCompliant))]
#[case(&[Some(Compliant), Some(Pending)], Some(Pending))]
#[case(&[Some(Compliant), None], None)]
#[case(&[Some(Compliant), Some(Terminating)], None)]
#[case(&[Some(NonCompliant), Some(Pending)], Some(NonCompliant))]
#[case(&[Some(Pending), None], Some(Pending))]
#[case(&[Some(Compliant), Some(Pending), Some(NonCompliant), None], Some(NonCompliant))]
fn root_compliance(#[case] answers: &[Option<Compliance>], #[case] want: Option<Compliance>) {
    let clusters = answers
        .iter()
        .enumerate()
        .map(|(n, says)| (format!("c{n}"), *says))
        .collect();
    let reach = Reach {
        clusters,
        ..Reach::default()
    };
    let status = decide::root_status(&policy(json!({})), &reach);
    assert_eq!(status.unwrap_or_default().compliance(), want);
}

#[test]
fn a_status_is_written_only_when_it_changes_and_ends_as_an_empty_object() {
    let placements = vec![PolicyPlacement {
        placement_binding: Some("b".to_owned()),
        placement: Some("pl".to_owned()),
        ..PolicyPlacement::default()
    }];
    let reach = Reach {
        placements,
        clusters: [("c1".to_owned(), Some(Compliant))].into(),
    };
    let mut root = policy(json!({}));
    let status = decide::root_status(&root, &reach).unwrap();
    assert_eq!(
        serde_json::to_value(&status).unwrap(),
        json!({
            "compliant": "Compliant",
            "placement": [{ "placement": "pl", "placementBinding": "b" }],
            "status": [{ "clustername": "c1", "clusternamespace": "c1", "compliant": "Compliant" }]
        })
    );
    root.status = Some(status);
    assert_eq!(decide::root_status(&root, &reach), None);
    let unbound = decide::root_status(&root, &Reach::default()).unwrap();
    assert_eq!(serde_json::to_value(&unbound).unwrap(), json!({}));
    root.status = None;
    assert_eq!(
        decide::root_status(&root, &Reach::default()),
        None,
        "rough edge 4"
    );
    root.spec.disabled = true;
    let disabled = decide::root_status(&root, &reach).unwrap();
    assert!(disabled.placement.is_some() && disabled.status.is_none());
}

#[test]
fn metrics_are_written_as_scripts_grep_them() {
    let metrics = Metrics::default();
    let ours = PropagatorMetrics::new(&metrics);
    ours.replica(
        &pair(),
        Some(&ReplicaFacts {
            compliance: Some(NonCompliant),
            ..live(&policy(json!({})))
        }),
    );
    let line = r#"policy_governance_info{cluster_namespace="c1",policy="p",policy_namespace="policies",type="propagated"} 1"#;
    assert!(
        metrics.text().lines().any(|found| found == line),
        "{}",
        metrics.text()
    );
    ours.replica(&pair(), None);
    assert!(!metrics.text().contains("propagated\"}"));
}
