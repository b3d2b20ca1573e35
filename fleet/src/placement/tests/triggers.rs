//! Which placements a change enqueues: PLC-14 to PLC-16. Upstream's tombstones are deletions here; its objects of a
//! wrong type are unreadable ones.

use std::sync::Arc;

use reeve_api::ocm::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::Cached;
use rstest::rstest;
use serde_json::{Value, json};

use super::super::index::{Concerned, Index};
use super::fixture::{cluster, decision, exclusive, labelled, now, score, set};

fn valid<T>(object: &Arc<T>) -> Option<Cached<T>> {
    Some(Cached::Valid(Arc::clone(object)))
}

fn broken<T>() -> Option<Cached<T>> {
    Some(Cached::Invalid("not readable".into()))
}

fn binding() -> Arc<ManagedClusterSetBinding> {
    Arc::new(serde_json::from_value(json!({"metadata": {}, "spec": {}})).unwrap())
}

/// An index with sets, bindings (`namespace/set`) and placements (`namespace/name`, spec).
fn hub(
    sets: Vec<Arc<ManagedClusterSet>>,
    bindings: &[(&str, &str)],
    placements: &[(&str, &str, Value)],
) -> Index {
    let mut index = Index::default();
    for one in sets {
        index.set(one.metadata.name.as_deref().unwrap(), valid(&one));
    }
    for (namespace, name) in bindings {
        index.binding(&ObjectKey::new(*namespace, *name), valid(&binding()));
    }
    for (namespace, name, spec) in placements {
        let object = json!({"metadata": {"name": name, "namespace": namespace}, "spec": spec});
        let object: Arc<Placement> = Arc::new(serde_json::from_value(object).unwrap());
        index.placement(&ObjectKey::new(*namespace, *name), valid(&object));
    }
    index
}

fn names(concerned: &Concerned) -> Vec<String> {
    concerned.iter().map(ToString::to_string).collect()
}

fn of(name: &str) -> Value {
    json!({"cluster.open-cluster-management.io/clusterset": name})
}

fn by_vendor(name: &str) -> Arc<ManagedClusterSet> {
    set(
        name,
        json!({"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"vendor": "openShift"}}}),
    )
}

fn global() -> Arc<ManagedClusterSet> {
    set(
        "global",
        json!({"selectorType": "LabelSelector", "labelSelector": {}}),
    )
}

fn two() -> Index {
    hub(
        vec![],
        &[("ns1", "s1")],
        &[
            ("ns1", "p1", json!({})),
            ("ns1", "p2", json!({"clusterSets": ["s2"]})),
        ],
    )
}

#[rstest]
#[case::plc_14_4_a_set(exclusive("s1"))]
#[case::plc_14_4_exclusive(set("s1", json!({})))]
#[case::plc_14_4_exclusive(set("s1", json!({"selectorType": ""})))]
#[case::plc_14_4_by_labels(by_vendor("s1"))]
#[case::plc_14_4_of_all(set("s1", json!({"selectorType": "LabelSelector", "labelSelector": {}})))]
fn change_of_set_enqueues_its_placements(#[case] changed: Arc<ManagedClusterSet>) {
    let mut index = two();
    assert_eq!(names(&index.set("s1", valid(&changed))), ["ns1/p1"]);
}

#[test]
fn plc_14_4_unreadable_or_deleted_sets() {
    let mut index = two();
    assert_eq!(names(&index.set("s1", broken())), [""; 0]);
    assert_eq!(names(&index.set("s1", None)), [""; 0]);
    index.set("s1", valid(&exclusive("s1")));
    assert_eq!(names(&index.set("s1", None)), ["ns1/p1"]);
}

#[test]
fn plc_14_3_change_of_binding_enqueues_its_placements() {
    let mut index = hub(
        vec![],
        &[],
        &[
            ("ns1", "p1", json!({})),
            ("ns1", "p2", json!({"clusterSets": ["s2"]})),
            ("ns2", "p3", json!({})),
        ],
    );
    let key = ObjectKey::new("ns1", "s1");
    assert_eq!(names(&index.binding(&key, broken())), [""; 0]);
    assert_eq!(names(&index.binding(&key, None)), [""; 0]);
    assert_eq!(names(&index.binding(&key, valid(&binding()))), ["ns1/p1"]);
    assert_eq!(names(&index.binding(&key, None)), ["ns1/p1"]);
    index.set("s1", valid(&exclusive("s1")));
    assert_eq!(names(&index.binding(&key, valid(&binding()))), ["ns1/p1"]);
}

fn prefers(score: &str) -> Value {
    json!({"prioritizerPolicy": {"configurations": [
        {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": score, "scoreName": "any"}}}]}})
}

fn scored(bindings: &[(&str, &str)]) -> Index {
    let mut index = hub(
        vec![exclusive("s1"), exclusive("s2")],
        bindings,
        &[
            ("ns1", "p1", prefers("score1")),
            ("ns1", "p2", prefers("score2")),
            ("ns3", "p3", prefers("score1")),
        ],
    );
    index.cluster("c1", valid(&labelled("c1", of("s1"))));
    index
}

#[test]
fn plc_14_6_change_of_score_enqueues_placements_that_prefer_it() {
    let (key, object) = score("c1", "score1", &[("any", 1)], None);
    let mut index = scored(&[("ns1", "s1"), ("ns3", "s1")]);
    assert_eq!(
        names(&index.score(&key, valid(&object))),
        ["ns1/p1", "ns3/p3"]
    );
    assert_eq!(names(&index.score(&key, valid(&object))), [""; 0]);
    assert_eq!(names(&index.score(&key, None)), ["ns1/p1", "ns3/p3"]);
    let mut index = scored(&[("ns1", "s2"), ("ns3", "s1")]);
    assert_eq!(names(&index.score(&key, valid(&object))), ["ns3/p3"]);
}

#[test]
fn plc_16_change_of_score_enqueues_placements_with_expressions() {
    let spec = |expression: &str| json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": [expression]}}}]});
    let mut index = hub(
        vec![exclusive("s1")],
        &[("ns1", "s1")],
        &[
            (
                "ns1",
                "p1",
                spec("managedCluster.scores('score1').size() > 0"),
            ),
            ("ns1", "p2", spec("managedCluster.metadata.name == 'c1'")),
        ],
    );
    index.cluster("c1", valid(&labelled("c1", of("s1"))));
    let (key, object) = score("c1", "score1", &[("any", 1)], None);
    assert_eq!(names(&index.score(&key, valid(&object))), ["ns1/p1"]);
}

#[test]
fn plc_14_5_unreadable_cluster_or_cluster_without_set() {
    let mut index = hub(vec![], &[("ns1", "s1")], &[("ns1", "p1", json!({}))]);
    assert_eq!(names(&index.cluster("c1", broken())), [""; 0]);
    assert_eq!(
        names(&index.cluster("c1", valid(&labelled("c1", of("s1"))))),
        [""; 0]
    );
    assert_eq!(names(&index.cluster("c2", None)), [""; 0]);
}

#[test]
fn plc_14_5_set_bound_twice() {
    let mut index = hub(
        vec![exclusive("s1"), exclusive("s2")],
        &[("ns1", "s1"), ("ns2", "s1")],
        &[
            ("ns1", "p1", json!({})),
            ("ns2", "p2", json!({})),
            ("ns1", "p3", json!({"clusterSets": ["s2"]})),
        ],
    );
    let concerned = index.cluster("c1", valid(&labelled("c1", of("s1"))));
    assert_eq!(names(&concerned), ["ns1/p1", "ns2/p2"]);
}

/// An index where `p1` uses `s1`, `p2` uses `s2`, `p3` uses a set of a vendor's clusters, and `p4` all.
fn four(bound: &[(&str, &str)]) -> Index {
    hub(
        vec![
            exclusive("s1"),
            exclusive("s2"),
            by_vendor("vendor"),
            global(),
        ],
        bound,
        &[
            ("n1", "p1", json!({})),
            ("n2", "p2", json!({})),
            ("n3", "p3", json!({})),
            ("n4", "p4", json!({})),
        ],
    )
}

const ALL: &[(&str, &str)] = &[
    ("n1", "s1"),
    ("n2", "s2"),
    ("n3", "vendor"),
    ("n4", "global"),
];
const SOME: &[(&str, &str)] = &[("n1", "s1"), ("n2", "s2"), ("n3", "vendor")];

fn with(set: Option<&str>, vendor: Option<&str>, other: Option<&str>) -> Arc<ManagedCluster> {
    let mut labels = json!({});
    if let Some(set) = set {
        labels["cluster.open-cluster-management.io/clusterset"] = set.into();
    }
    if let Some(vendor) = vendor {
        labels["vendor"] = vendor.into();
    }
    if let Some(other) = other {
        labels["other"] = other.into();
    }
    labelled("c1", labels)
}

#[test]
fn plc_14_5_new_member_of_three_sets() {
    let concerned = four(ALL).cluster("c1", valid(&with(Some("s1"), Some("openShift"), None)));
    assert_eq!(names(&concerned), ["n1/p1", "n3/p3", "n4/p4"]);
}

#[rstest]
#[case::plc_14_5_without_set(SOME, with(None, None, None), with(None, None, Some("x")), &[])]
#[case::plc_14_5_leaves_vendor_set(
    ALL, with(Some("s1"), Some("openShift"), None), with(Some("s1"), Some("other"), None), &["n1/p1", "n3/p3", "n4/p4"]
)]
#[case::plc_14_5_joins(SOME, with(None, None, None), with(Some("s1"), None, None), &["n1/p1"])]
#[case::plc_14_5_leaves_two_sets(
    ALL, with(Some("s2"), Some("openShift"), None), with(None, None, None), &["n2/p2", "n3/p3", "n4/p4"]
)]
#[case::plc_14_5_other_label(SOME, with(Some("s1"), None, None), with(Some("s1"), None, Some("x")), &["n1/p1"])]
#[case::plc_14_5_moves_to_other_set(SOME, with(Some("s1"), None, None), with(Some("s2"), None, None), &["n1/p1", "n2/p2"])]
fn change_of_cluster_enqueues_placements_of_its_sets(
    #[case] bound: &[(&str, &str)],
    #[case] old: Arc<ManagedCluster>,
    #[case] new: Arc<ManagedCluster>,
    #[case] expected: &[&str],
) {
    let mut index = four(bound);
    index.cluster("c1", valid(&old));
    assert_eq!(names(&index.cluster("c1", valid(&new))), expected);
}

#[test]
fn plc_14_5_deleted_member_of_three_sets() {
    let mut index = four(ALL);
    index.cluster("c1", valid(&with(Some("s1"), Some("openShift"), None)));
    assert_eq!(
        names(&index.cluster("c1", None)),
        ["n1/p1", "n3/p3", "n4/p4"]
    );
    assert_eq!(names(&index.cluster("c1", None)), [""; 0]);
}

#[test]
fn plc_15_heartbeat_enqueues_nothing() {
    let cel = json!({"predicates": [{"requiredClusterSelector": {"celSelector": {
        "celExpressions": ["managedCluster.status.conditions.size() > 0"]}}}]});
    let mut index = hub(
        vec![exclusive("s1")],
        &[("ns1", "s1")],
        &[("ns1", "p1", json!({})), ("ns1", "p2", cel)],
    );
    let at = |seconds: i64, version: &str, claim: &str| {
        let time = now() + jiff::SignedDuration::from_secs(seconds);
        let condition = json!({"type": "ManagedClusterConditionAvailable", "status": "True",
            "reason": "r", "message": "m", "lastTransitionTime": time.to_string()});
        cluster(
            "c1",
            json!({
                "metadata": {"labels": of("s1"), "resourceVersion": version},
                "status": {"conditions": [condition], "clusterClaims": [{"name": "a", "value": claim}]},
            }),
        )
    };
    assert_eq!(
        names(&index.cluster("c1", valid(&at(0, "1", "x")))),
        ["ns1/p1", "ns1/p2"]
    );
    assert_eq!(
        names(&index.cluster("c1", valid(&at(0, "2", "x")))),
        [""; 0]
    );
    assert_eq!(
        names(&index.cluster("c1", valid(&at(5, "3", "x")))),
        ["ns1/p2"]
    );
    assert_eq!(
        names(&index.cluster("c1", valid(&at(5, "4", "y")))),
        ["ns1/p1", "ns1/p2"]
    );
}

#[test]
fn change_of_decision_enqueues_placement_of_its_label() {
    let mut index = Index::default();
    let key = ObjectKey::new("ns1", "p1-decision-1");
    let first = decision("p1", 1, &[]);
    assert_eq!(names(&index.decision(&key, valid(&first))), ["ns1/p1"]);
    let moved = decision("p2", 1, &[]);
    assert_eq!(
        names(&index.decision(&key, valid(&moved))),
        ["ns1/p1", "ns1/p2"]
    );
    assert_eq!(names(&index.decision(&key, None)), ["ns1/p2"]);
}

#[test]
fn plc_6_older_watch_event_does_not_undo_own_write() {
    let at = |version: &str, clusters: &[&str]| {
        let mut one = decision("p1", 1, clusters);
        Arc::make_mut(&mut one).metadata.resource_version = Some(version.to_owned());
        one
    };
    let mut index = Index::default();
    let key = ObjectKey::new("ns1", "p1-decision-1");
    index.decision(&key, valid(&at("10", &["c1"])));
    assert_eq!(names(&index.decision(&key, valid(&at("9", &[])))), [""; 0]);
    let here = index.placed(&ObjectKey::new("ns1", "p1")).here;
    assert!(here.contains("c1"));
    assert_eq!(
        names(&index.decision(&key, valid(&at("11", &[])))),
        ["ns1/p1"]
    );
}

#[test]
fn created_decision_without_watch_event_is_dropped_after_limit() {
    let placement = ObjectKey::new("ns1", "p1");
    let later = now() + jiff::SignedDuration::from_secs(3);
    let mut index = Index::default();
    index.wrote(decision("p1", 1, &["c1"]), Some(now()));
    assert!(index.drop_undelivered(&placement, now()));
    assert_eq!(index.decisions(&placement).len(), 1);
    assert!(!index.drop_undelivered(&placement, later));
    assert!(index.decisions(&placement).is_empty());
    // A decision that the watch delivered is not dropped.
    index.wrote(decision("p1", 1, &["c1"]), Some(now()));
    let key = ObjectKey::new("ns1", "p1-decision-1");
    index.decision(&key, valid(&decision("p1", 1, &["c1"])));
    assert!(!index.drop_undelivered(&placement, later));
    assert_eq!(index.decisions(&placement).len(), 1);
}

#[test]
fn plc_6_decision_that_the_watch_delivers_before_the_response_is_kept() {
    let placement = ObjectKey::new("ns1", "p1");
    let later = now() + jiff::SignedDuration::from_secs(3);
    let mut created = decision("p1", 1, &["c1"]);
    Arc::make_mut(&mut created).metadata.resource_version = Some("10".to_owned());
    let mut index = Index::default();
    index.decision(&ObjectKey::of(created.as_ref()), valid(&created));
    index.wrote(created, Some(now()));
    assert!(!index.drop_undelivered(&placement, later));
    assert_eq!(index.decisions(&placement).len(), 1);
}
