use kube::ResourceExt as _;
use reeve_api::Policy;
use reeve_api::names::{ENCRYPTION_IV_ANNOTATION, RootPolicyName};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::Cached;
use rstest::rstest;
use serde_json::{Value, json};

use super::decide::{self, ObservedReplica, ReplicaDecision, WriteAction};
use crate::index::{Pair, Placed};
use crate::replica::{Digest, ReplicaFacts};

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
    placed(&policy(extra), &Placed::default())
}

/// The replica on a hub with one policy set, `n/set`.
fn placed(root: &Policy, placed: &Placed) -> Policy {
    let members = |set: &ObjectKey| {
        let known = *set == ObjectKey::new("n", "set") || *set == ObjectKey::new("policies", "own");
        known.then(|| vec!["b".to_owned(), "a".to_owned()])
    };
    super::desired::desired(root, &pair(), placed, None, &members)
}

#[rstest]
#[case::new_replica(None, None)]
#[case::replica_with_a_vector_of_its_own(Some("bGl2ZQ=="), Some("bGl2ZQ=="))]
#[case::replica_with_the_vector_of_the_root(Some("cm9vdA=="), None)]
fn prop_131_vector_of_the_root_is_never_used(
    #[case] live: Option<&str>,
    #[case] expected: Option<&str>,
    #[values(true, false)] copies_metadata: bool,
) {
    let root = policy(json!({
        "metadata": { "annotations": { ENCRYPTION_IV_ANNOTATION: "cm9vdA==" } },
        "spec": { "copyPolicyMetadata": copies_metadata }
    }));
    let replica = super::desired::desired(&root, &pair(), &Placed::default(), live, &|_| None);
    let vector = replica.annotations().get(ENCRYPTION_IV_ANNOTATION);
    assert_eq!(vector.map(String::as_str), expected);
}

#[test]
fn replica_has_the_framework_labels_and_no_server_metadata() {
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
fn user_metadata_is_not_copied_when_copy_policy_metadata_is_false() {
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
fn override_only_enforces(
    #[case] root: Value,
    #[case] binding: Option<&str>,
    #[case] want: Option<&str>,
) {
    let root = policy(json!({ "spec": { "remediationAction": root } }));
    let enforced = Placed {
        enforce: binding.map(str::to_owned),
    };
    let replica = placed(&root, &enforced);
    assert_eq!(replica.spec.remediation_action.as_deref(), want);
}

#[rstest]
#[case(json!({ "name": "other" }), json!({ "name": "policies.other" }))]
#[case(json!({ "name": "o.ther", "namespace": "n" }), json!({ "name": "n.o.ther" }))]
#[case(json!({ "name": "n.other" }), json!({ "name": "n.other" }))]
#[case(json!({ "name": "t", "kind": "ConfigurationPolicy" }), json!({ "name": "t", "kind": "ConfigurationPolicy" }))]
#[case(json!({ "name": "other", "namespace": "n", "apiVersion": "x/v1" }), json!({ "name": "other", "namespace": "n", "apiVersion": "x/v1" }))]
fn prop_98_dependencies_on_policies_name_their_replicas(#[case] item: Value, #[case] want: Value) {
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
fn prop_98_dependencies_on_sets_name_their_members() {
    let on = |name: &str, namespace: Option<&str>, compliance: &str| {
        json!({
            "apiVersion": "policy.open-cluster-management.io/v1beta1", "kind": "PolicySet",
            "name": name, "namespace": namespace, "compliance": compliance
        })
    };
    let dependencies = json!([
        on("set", Some("n"), "Compliant"),
        on("own", None, "NonCompliant"),
        on("missing", None, "Pending")
    ]);
    let on_policy = |name: &str, compliance: &str| {
        json!({
            "apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy",
            "name": name, "compliance": compliance
        })
    };
    let expected = json!([
        on_policy("n.b", "Compliant"),
        on_policy("n.a", "Compliant"),
        on_policy("policies.b", "NonCompliant"),
        on_policy("policies.a", "NonCompliant"),
        on("missing", Some("policies"), "Pending")
    ]);
    let template = json!({ "objectDefinition": {}, "extraDependencies": dependencies });
    let replica = desired(json!({ "spec": {
        "dependencies": dependencies, "policy-templates": [template]
    } }));
    let got = |list: &Option<Vec<_>>| serde_json::to_value(list).unwrap();
    assert_eq!(got(&replica.spec.dependencies), expected);
    assert_eq!(
        got(&replica.spec.policy_templates[0].extra_dependencies),
        expected
    );
    let empty = desired(json!({ "spec": { "dependencies": [] } }));
    assert_eq!(empty.spec.dependencies, Some(Vec::new()));
}

fn observed(root: Option<Policy>, replica: Option<ReplicaFacts>, placed: bool) -> ObservedReplica {
    ObservedReplica {
        replica: replica.map(|replica| Cached::Valid(replica.into())),
        root: root.map(|root| Cached::Valid(root.into())),
        placed: placed.then(Placed::default),
        placement_known: true,
        in_cluster_namespace: true,
        root_in_cluster_namespace: false,
    }
}

fn live(policy: &Policy) -> ReplicaFacts {
    ReplicaFacts {
        digest: Digest::of(policy),
        uid: "u".into(),
        compliance: None,
        vector: None,
    }
}

#[test]
fn replica_is_created_where_placed_and_deleted_elsewhere() {
    let key = pair().key();
    let root = || Some(policy(json!({})));
    let act = |observed: &ObservedReplica| decide::replica(&key, observed);
    let desired_replica = act(&observed(root(), None, true));
    assert!(
        matches!(desired_replica, ReplicaDecision::Present { .. }),
        "{desired_replica:?}"
    );
    assert_eq!(act(&observed(root(), None, false)), ReplicaDecision::Absent);
    let right = live(&desired(json!({})));
    let delete = ReplicaDecision::Delete("u".to_owned());
    assert_eq!(act(&observed(root(), Some(right.clone()), false)), delete);
    assert_eq!(act(&observed(None, Some(right.clone()), true)), delete);
    let disabled = Some(policy(json!({ "spec": { "disabled": true } })));
    assert_eq!(act(&observed(disabled, Some(right), true)), delete);
}

#[test]
fn prop_90_replica_is_written_when_annotations_labels_or_spec_differ() {
    let desired_replica = desired(json!({}));
    let digest = Digest::of(&desired_replica);
    assert_eq!(decide::write_action(None, &digest), WriteAction::Create);
    let compare = |other: Value| {
        let mut whole = serde_json::to_value(&desired_replica).unwrap();
        json_patch::merge(&mut whole, &other);
        let other = live(&serde_json::from_value(whole).unwrap());
        decide::write_action(Some(&Cached::Valid(other.into())), &digest)
    };
    assert_eq!(compare(json!({})), WriteAction::Nothing);
    let status =
        json!({ "status": { "compliant": "Compliant" }, "metadata": { "finalizers": ["x"] } });
    assert_eq!(compare(status), WriteAction::Nothing);
    for other in [
        json!({ "metadata": { "annotations": { "x": "y" } } }),
        json!({ "metadata": { "labels": { "x": "y" } } }),
        json!({ "metadata": { "labels": { "team": null } } }),
        json!({ "spec": { "remediationAction": "enforce" } }),
    ] {
        assert_eq!(compare(other.clone()), WriteAction::Update, "{other}");
    }
    let undecodable = Cached::Invalid("bad".into());
    assert_eq!(
        decide::write_action(Some(&undecodable), &digest),
        WriteAction::Update
    );
}

#[test]
fn prop_90_order_of_keys_makes_no_difference() {
    let parse = |text: &str| -> Policy { serde_json::from_str(text).unwrap() };
    let one = parse(
        r#"{"metadata":{},"spec":{"disabled":false,"policy-templates":[{"objectDefinition":{"a":1,"b":{"x":1,"y":2}}}]}}"#,
    );
    let two = parse(
        r#"{"spec":{"policy-templates":[{"objectDefinition":{"b":{"y":2,"x":1},"a":1}}],"disabled":false},"metadata":{}}"#,
    );
    assert_eq!(Digest::of(&one), Digest::of(&two));
}

#[test]
fn prop_86_no_replica_is_deleted_outside_of_cluster_namespaces() {
    let elsewhere = |root| ObservedReplica {
        in_cluster_namespace: false,
        ..observed(root, Some(live(&desired(json!({})))), false)
    };
    let disabled = policy(json!({ "spec": { "disabled": true } }));
    for root in [None, Some(policy(json!({}))), Some(disabled)] {
        let action = decide::replica(&pair().key(), &elsewhere(root));
        assert!(matches!(action, ReplicaDecision::Leave(_)), "{action:?}");
    }
    let nameless = decide::replica(&ObjectKey::new("c1", "nodot"), &elsewhere(None));
    assert!(matches!(nameless, ReplicaDecision::Leave(_)));
}

#[test]
fn root_in_a_cluster_namespace_is_not_propagated_and_keeps_its_replicas() {
    let in_cluster_namespace = |replica| ObservedReplica {
        root_in_cluster_namespace: true,
        ..observed(Some(policy(json!({}))), replica, true)
    };
    let key = pair().key();
    assert_eq!(
        decide::replica(&key, &in_cluster_namespace(None)),
        ReplicaDecision::Absent
    );
    let replica = Some(live(&desired(json!({}))));
    let decision = decide::replica(&key, &in_cluster_namespace(replica));
    assert!(
        matches!(decision, ReplicaDecision::Leave(_)),
        "{decision:?}"
    );
}

#[test]
fn undecodable_root_keeps_its_replicas() {
    let replica = live(&desired(json!({})));
    let undecodable = ObservedReplica {
        root: Some(Cached::Invalid("bad".into())),
        ..observed(None, Some(replica), true)
    };
    assert!(matches!(
        decide::replica(&pair().key(), &undecodable),
        ReplicaDecision::Leave(_)
    ));
}

#[test]
fn replica_is_kept_while_an_object_that_may_place_it_is_undecodable() {
    let replica = live(&desired(json!({})));
    let unclear = |root| ObservedReplica {
        placement_known: false,
        ..observed(Some(root), Some(replica.clone()), false)
    };
    let action = decide::replica(&pair().key(), &unclear(policy(json!({}))));
    assert!(matches!(action, ReplicaDecision::Leave(_)), "{action:?}");
    let disabled = policy(json!({ "spec": { "disabled": true } }));
    let action = decide::replica(&pair().key(), &unclear(disabled));
    assert!(
        matches!(action, ReplicaDecision::Delete(_)),
        "a disabled policy is certain"
    );
}

#[test]
fn last_applied_annotation_and_empty_lists_make_no_difference() {
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
