use proptest::prelude::*;

use super::*;

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("policies", name)
}

fn root(name: &str) -> RootPolicyName {
    RootPolicyName::new("policies", name)
}

fn placement(name: &str) -> PlacementName {
    PlacementName {
        kind: PlacementKind::Placement,
        key: key(name),
    }
}

fn pair(policy: &str, cluster: &str) -> Pair {
    Pair {
        root: root(policy),
        cluster: cluster.to_owned(),
    }
}

fn binding(placement_name: &str, policies: &[&str]) -> BindingFacts {
    BindingFacts {
        placement: placement(placement_name),
        policies: policies.iter().map(|name| root(name)).collect(),
        policy_sets: 0,
        restricted: false,
        enforce: None,
    }
}

fn decision(placement_name: &str, clusters: &[&str]) -> DecisionFacts {
    DecisionFacts {
        placement: placement(placement_name),
        clusters: clusters.iter().map(|&name| name.to_owned()).collect(),
    }
}

fn bound() -> Index {
    let mut index = Index::default();
    index.set_placement(&placement("pl"), true);
    index.set_binding(&key("b"), Some(binding("pl", &["p"])));
    index
}

#[test]
fn a_decision_touches_exactly_the_clusters_that_changed() {
    let mut index = bound();
    let dirty = index.set_decision(&key("d"), Some(decision("pl", &["c1", "c2"])));
    assert_eq!(dirty.pairs, [pair("p", "c1"), pair("p", "c2")].into());
    let dirty = index.set_decision(&key("d"), Some(decision("pl", &["c2", "c3"])));
    assert_eq!(dirty.pairs, [pair("p", "c1"), pair("p", "c3")].into());
    assert!(index.placed(&pair("p", "c1")).is_none());
    assert!(index.placed(&pair("p", "c3")).is_some());
}

#[test]
fn a_cluster_moving_between_decisions_of_one_placement_is_not_touched() {
    let mut index = bound();
    index.set_decision(&key("d1"), Some(decision("pl", &["c1"])));
    let dirty = index.set_decision(&key("d2"), Some(decision("pl", &["c1"])));
    assert!(dirty.pairs.is_empty());
    let dirty = index.set_decision(&key("d1"), None);
    assert!(dirty.pairs.is_empty());
    assert!(index.placed(&pair("p", "c1")).is_some());
}

#[test]
fn rough_edge_06_a_placement_created_after_its_decisions_places() {
    let mut index = Index::default();
    index.set_binding(&key("b"), Some(binding("pl", &["p"])));
    index.set_decision(&key("d"), Some(decision("pl", &["c1"])));
    assert!(index.placed(&pair("p", "c1")).is_none());
    let dirty = index.set_placement(&placement("pl"), true);
    assert_eq!(dirty.pairs, [pair("p", "c1")].into());
    assert!(index.placed(&pair("p", "c1")).is_some());
}

#[test]
fn rough_edge_12_deleting_a_binding_touches_its_own_clusters_only() {
    let mut index = bound();
    for cluster in 0..100 {
        index.set_managed_cluster(&format!("c{cluster}"), true);
    }
    index.set_decision(&key("d"), Some(decision("pl", &["c1"])));
    let dirty = index.set_binding(&key("b"), None);
    assert_eq!(dirty.pairs, [pair("p", "c1")].into());
    assert_eq!(dirty.roots, [root("p")].into());
}

#[test]
fn overrides_come_from_plain_bindings_first_and_restricted_ones_never_place() {
    let mut index = bound();
    index.set_decision(&key("d"), Some(decision("pl", &["c1"])));
    index.set_placement(&placement("some"), true);
    index.set_decision(&key("e"), Some(decision("some", &["c1", "c2"])));
    let restricted = BindingFacts {
        restricted: true,
        enforce: Some("Enforce".to_owned()),
        ..binding("some", &["p"])
    };
    let dirty = index.set_binding(&key("r"), Some(restricted));
    assert_eq!(dirty.pairs.len(), 2);
    let enforce = Some(Placed {
        enforce: Some("Enforce".to_owned()),
    });
    assert_eq!(index.placed(&pair("p", "c1")), enforce);
    assert_eq!(index.placed(&pair("p", "c2")), None);
}

#[test]
fn rough_edge_02_restricted_bindings_add_no_clusters_to_the_status() {
    let mut index = bound();
    index.set_decision(&key("d"), Some(decision("pl", &["c1"])));
    index.set_placement(&placement("some"), true);
    index.set_decision(&key("e"), Some(decision("some", &["c1", "c2"])));
    let restricted = BindingFacts {
        restricted: true,
        ..binding("some", &["p"])
    };
    index.set_binding(&key("r"), Some(restricted));
    let reach = index.reach(&root("p"));
    assert_eq!(reach.clusters.keys().collect::<Vec<_>>(), ["c1"]);
    assert_eq!(reach.placements.len(), 2);
}

#[test]
fn a_binding_to_a_missing_placement_is_listed_without_it() {
    let mut index = bound();
    index.set_placement(&placement("pl"), false);
    let reach = index.reach(&root("p"));
    assert_eq!(reach.placements[0].placement_binding.as_deref(), Some("b"));
    assert_eq!(reach.placements[0].placement, None);
}

#[test]
fn a_replica_that_repeats_itself_touches_nothing() {
    let mut index = bound();
    let said =
        |index: &mut Index| index.set_replica(&pair("p", "c1"), Some(Some(Compliance::Compliant)));
    assert_eq!(said(&mut index).roots, [root("p")].into());
    assert_eq!(said(&mut index), Dirty::default());
}

#[derive(Clone, Debug)]
enum Step {
    Binding(u8, Option<(u8, Vec<u8>, bool, bool)>),
    Decision(u8, Option<(u8, Vec<u8>)>),
    Placement(u8, bool),
}

fn step() -> impl Strategy<Value = Step> {
    let few = || 0..3_u8;
    let some = || prop::collection::vec(0..4_u8, 0..4);
    prop_oneof![
        (
            few(),
            prop::option::of((few(), some(), any::<bool>(), any::<bool>()))
        )
            .prop_map(|(name, facts)| Step::Binding(name, facts)),
        (few(), prop::option::of((few(), some())))
            .prop_map(|(name, facts)| Step::Decision(name, facts)),
        (few(), any::<bool>()).prop_map(|(name, exists)| Step::Placement(name, exists)),
    ]
}

fn take(index: &mut Index, step: &Step) -> Dirty {
    match step {
        Step::Binding(name, facts) => {
            let facts = facts
                .as_ref()
                .map(|(to, policies, restricted, enforce)| BindingFacts {
                    placement: placement(&format!("pl{to}")),
                    policies: policies
                        .iter()
                        .map(|policy| root(&format!("p{policy}")))
                        .collect(),
                    policy_sets: 0,
                    restricted: *restricted,
                    enforce: enforce.then(|| "enforce".to_owned()),
                });
            index.set_binding(&key(&format!("b{name}")), facts)
        }
        Step::Decision(name, facts) => {
            let facts = facts.as_ref().map(|(of, clusters)| DecisionFacts {
                placement: placement(&format!("pl{of}")),
                clusters: clusters
                    .iter()
                    .map(|cluster| format!("c{cluster}"))
                    .collect(),
            });
            index.set_decision(&key(&format!("d{name}")), facts)
        }
        Step::Placement(name, exists) => {
            index.set_placement(&placement(&format!("pl{name}")), *exists)
        }
    }
}

fn everything(index: &Index) -> BTreeMap<Pair, Option<Placed>> {
    let policies = (0..4).map(|policy| format!("p{policy}"));
    policies
        .flat_map(|policy| (0..4).map(move |cluster| pair(&policy, &format!("c{cluster}"))))
        .map(|pair| (pair.clone(), index.placed(&pair)))
        .collect()
}

proptest! {
    /// An index that saw a history answers as one that saw only its end, in any order.
    #[test]
    fn history_does_not_matter(steps in prop::collection::vec(step(), 0..40)) {
        let mut index = Index::default();
        let mut last: BTreeMap<String, Step> = BTreeMap::new();
        for step in &steps {
            take(&mut index, step);
            let name = match step {
                Step::Binding(name, _) => format!("b{name}"),
                Step::Decision(name, _) => format!("d{name}"),
                Step::Placement(name, _) => format!("p{name}"),
            };
            last.insert(name, step.clone());
        }
        let mut fresh = Index::default();
        for step in last.values().rev() {
            take(&mut fresh, step);
        }
        prop_assert_eq!(everything(&index), everything(&fresh));
        for policy in 0..4 {
            let root = root(&format!("p{policy}"));
            prop_assert_eq!(index.reach(&root), fresh.reach(&root));
        }
    }

    /// Whatever a step changes, it names.
    #[test]
    fn every_changed_pair_and_root_is_dirty(steps in prop::collection::vec(step(), 0..30)) {
        let mut index = Index::default();
        for step in &steps {
            let before = everything(&index);
            let roots: Vec<_> = (0..4).map(|p| root(&format!("p{p}"))).collect();
            let reach: Vec<_> = roots.iter().map(|root| index.reach(root)).collect();
            let dirty = take(&mut index, step);
            for (pair, placed) in everything(&index) {
                if before[&pair] != placed {
                    prop_assert!(dirty.pairs.contains(&pair), "{step:?} changed {pair} in silence");
                }
            }
            for (root, reach) in roots.iter().zip(reach) {
                if index.reach(root) != reach {
                    prop_assert!(dirty.roots.contains(root), "{step:?} changed {root} in silence");
                }
            }
        }
    }
}
