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
        sets: BTreeSet::new(),
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
fn decision_dirties_exactly_the_clusters_that_changed() {
    let mut index = bound();
    let dirty = index.set_decision(&key("d"), Some(decision("pl", &["c1", "c2"])));
    assert_eq!(dirty.pairs, [pair("p", "c1"), pair("p", "c2")].into());
    let dirty = index.set_decision(&key("d"), Some(decision("pl", &["c2", "c3"])));
    assert_eq!(dirty.pairs, [pair("p", "c1"), pair("p", "c3")].into());
    assert!(index.placed(&pair("p", "c1")).is_none());
    assert!(index.placed(&pair("p", "c3")).is_some());
}

#[test]
fn cluster_that_moves_between_decisions_of_a_placement_is_not_dirty() {
    let mut index = bound();
    index.set_decision(&key("d1"), Some(decision("pl", &["c1"])));
    let dirty = index.set_decision(&key("d2"), Some(decision("pl", &["c1"])));
    assert!(dirty.pairs.is_empty());
    let dirty = index.set_decision(&key("d1"), None);
    assert!(dirty.pairs.is_empty());
    assert!(index.placed(&pair("p", "c1")).is_some());
}

#[test]
fn prop_65_placement_created_after_its_decisions_places() {
    let mut index = Index::default();
    index.set_binding(&key("b"), Some(binding("pl", &["p"])));
    index.set_decision(&key("d"), Some(decision("pl", &["c1"])));
    assert!(index.placed(&pair("p", "c1")).is_none());
    let dirty = index.set_placement(&placement("pl"), true);
    assert_eq!(dirty.pairs, [pair("p", "c1")].into());
    assert!(index.placed(&pair("p", "c1")).is_some());
}

#[test]
fn prop_63_deleted_binding_dirties_only_its_own_clusters() {
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
fn binding_that_names_a_policy_instead_of_a_set_places_it_where_the_set_excluded_it() {
    let mut index = bound();
    index.set_decision(&key("d"), Some(decision("pl", &["c1", "c2"])));
    let set = SetFacts {
        policies: ["p".to_owned()].into(),
        listed: vec!["p".to_owned()],
        exclusions: [("p".to_owned(), ["c1".to_owned()].into())].into(),
    };
    index.set_set(&key("s"), Some(set));
    let through_set = BindingFacts {
        sets: [key("s")].into(),
        ..binding("pl", &[])
    };
    index.set_binding(&key("b"), Some(through_set));
    assert_eq!(index.placed(&pair("p", "c1")), None);
    let dirty = index.set_binding(&key("b"), Some(binding("pl", &["p"])));
    assert!(index.placed(&pair("p", "c1")).is_some());
    assert_eq!(dirty.pairs, [pair("p", "c1")].into());
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
fn prop_144_restricted_binding_adds_no_clusters_to_the_status() {
    let mut index = bound();
    index.set_decision(&key("d"), Some(decision("pl", &["c1"])));
    index.set_placement(&placement("some"), true);
    index.set_decision(&key("e"), Some(decision("some", &["c1", "c2"])));
    let restricted = BindingFacts {
        restricted: true,
        ..binding("some", &["p"])
    };
    index.set_binding(&key("r"), Some(restricted));
    let summary = index.summary(&root("p"));
    assert_eq!(summary.clusters.keys().collect::<Vec<_>>(), ["c1"]);
    assert_eq!(summary.placements.len(), 2);
}

#[test]
fn binding_to_a_missing_placement_is_listed_without_it() {
    let mut index = bound();
    index.set_placement(&placement("pl"), false);
    let summary = index.summary(&root("p"));
    assert_eq!(
        summary.placements[0].placement_binding.as_deref(),
        Some("b")
    );
    assert_eq!(summary.placements[0].placement, None);
}

#[test]
fn unchanged_compliance_of_a_replica_dirties_nothing() {
    let mut index = bound();
    let report =
        |index: &mut Index| index.set_replica(&pair("p", "c1"), Some(Some(Compliance::Compliant)));
    assert_eq!(report(&mut index).roots, [root("p")].into());
    assert_eq!(report(&mut index), Dirty::default());
}

#[test]
fn replica_without_compliance_dirties_nothing() {
    let mut index = bound();
    let replica = pair("p", "c1");
    let before = index.summary(&root("p"));
    for new in [Some(None), None] {
        assert_eq!(index.set_replica(&replica, new), Dirty::default());
        assert_eq!(index.summary(&root("p")), before);
    }
    index.set_replica(&replica, Some(Some(Compliance::Compliant)));
    assert_eq!(index.set_replica(&replica, None).roots, [root("p")].into());
}

fn set(policies: &[&str], exclusions: &[(&str, &[&str])]) -> SetFacts {
    let owned = |names: &[&str]| -> Vec<String> { names.iter().map(|&n| n.to_owned()).collect() };
    SetFacts {
        policies: owned(policies).into_iter().collect(),
        listed: owned(policies),
        exclusions: exclusions
            .iter()
            .map(|(policy, clusters)| ((*policy).to_owned(), owned(clusters).into_iter().collect()))
            .collect(),
    }
}

/// Policies `p` and `q` of the set `s`, bound to `c1` and `c2`.
fn bound_through_a_set() -> Index {
    let mut index = Index::default();
    index.set_placement(&placement("pl"), true);
    index.set_decision(&key("d"), Some(decision("pl", &["c1", "c2"])));
    let through = BindingFacts {
        sets: [key("s")].into(),
        ..binding("pl", &[])
    };
    index.set_binding(&key("b"), Some(through));
    index.set_set(&key("s"), Some(set(&["p", "q"], &[])));
    for name in ["p", "q"] {
        index.set_root(&root(name), Some(RootFacts::default()));
    }
    index
}

#[test]
fn set_places_its_policies_except_on_excluded_clusters() {
    let mut index = bound_through_a_set();
    assert!(index.placed(&pair("p", "c2")).is_some());
    let excluding = set(&["p", "q"], &[("p", &["c2", "c9"])]);
    let dirty = index.set_set(&key("s"), Some(excluding));
    assert_eq!(dirty.pairs, [pair("p", "c2")].into());
    assert_eq!(dirty.roots, [root("p")].into());
    assert!(index.placed(&pair("p", "c2")).is_none());
    assert!(index.placed(&pair("q", "c2")).is_some());
    let entry = &index.summary(&root("p")).placements[0];
    assert_eq!(entry.policy_set.as_deref(), Some("s"));
    let names = entry.exclusions.iter().flatten();
    let names: Vec<_> = names.map(|entry| entry.cluster_name.as_str()).collect();
    assert_eq!(names, ["c2", "c9"]);
}

#[test]
fn prop_142_excluded_clusters_are_sorted_and_listed_once() {
    let mut policy_set = reeve_api::PolicySet::default();
    let excluding = |clusters: &[&str]| reeve_api::policy_set::PolicyExclusion {
        policy_name: "p".to_owned(),
        cluster_names: clusters.iter().map(|&name| name.to_owned()).collect(),
        reason: None,
    };
    policy_set.spec.exclusions = Some(vec![excluding(&["z", "a"]), excluding(&["m", "a"])]);
    let facts = SetFacts::of(&policy_set);
    assert_eq!(
        facts.exclusions["p"].iter().collect::<Vec<_>>(),
        ["a", "m", "z"]
    );
}

#[test]
fn prop_142_policy_named_and_listed_by_one_binding_has_two_entries() {
    let mut index = bound_through_a_set();
    let both = BindingFacts {
        sets: [key("s")].into(),
        ..binding("pl", &["p"])
    };
    index.set_binding(&key("b"), Some(both));
    index.set_set(&key("s"), Some(set(&["p"], &[("p", &["c2"])])));
    let summary = index.summary(&root("p"));
    assert_eq!(summary.clusters.keys().collect::<Vec<_>>(), ["c1", "c2"]);
    let sets = summary.placements.iter().map(|e| e.policy_set.as_deref());
    let sets: Vec<_> = sets.collect();
    assert_eq!(sets, [None, Some("s")]);
    assert_eq!(summary.placements[0].exclusions, None);
    assert!(summary.placements[1].exclusions.is_some());
    assert!(
        summary.clusters["c2"].placed,
        "the binding places it as its subject"
    );
}

#[test]
fn prop_146_remaining_bindings_are_those_without_an_excluding_entry() {
    let remaining = |index: &Index| {
        let summary = index.summary(&root("p"));
        summary
            .clusters
            .get("c2")
            .map(|cluster| cluster.remaining.clone())
    };
    let mut index = bound_through_a_set();
    assert_eq!(remaining(&index), Some(vec![]), "nothing is excluded");
    let excluding = || Some(set(&["p"], &[("p", &["c2"])]));
    index.set_set(&key("s"), excluding());
    assert_eq!(
        remaining(&index),
        Some(vec![]),
        "only an excluding binding is there"
    );
    // A binding that names the policy and an excluding set does not remain.
    let both = BindingFacts {
        sets: [key("s")].into(),
        ..binding("pl", &["p"])
    };
    index.set_binding(&key("both"), Some(both));
    index.set_binding(&key("direct"), Some(binding("pl", &["p"])));
    assert_eq!(remaining(&index), Some(vec!["direct".to_owned()]));
    // A second excluding set changes nothing.
    index.set_set(&key("t"), excluding());
    let second = BindingFacts {
        sets: [key("t")].into(),
        ..binding("pl", &[])
    };
    index.set_binding(&key("second"), Some(second));
    assert_eq!(remaining(&index), Some(vec!["direct".to_owned()]));
    let disabled = RootFacts {
        disabled: true,
        ..RootFacts::default()
    };
    index.set_root(&root("p"), Some(disabled));
    assert_eq!(remaining(&index), None);
    let mut empty = Index::default();
    empty.set_root(&root("p"), Some(RootFacts::default()));
    assert_eq!(remaining(&empty), None);
}

#[test]
fn prop_146_restricted_bindings_never_remain() {
    let mut index = bound_through_a_set();
    index.set_set(&key("s"), Some(set(&["p"], &[("p", &["c2"])])));
    let restricted = BindingFacts {
        restricted: true,
        ..binding("pl", &["p"])
    };
    index.set_binding(&key("r"), Some(restricted));
    let summary = index.summary(&root("p"));
    assert!(summary.clusters["c2"].remaining.is_empty());
    assert!(!summary.clusters["c2"].placed);
}

#[test]
fn prop_71_set_is_dirty_when_its_member_appears() {
    let mut index = Index::default();
    index.set_set(&key("s"), Some(set(&["p"], &[])));
    assert_eq!(index.member(&key("s"), "p"), SetMember::Missing);
    let dirty = index.set_root(&root("p"), Some(RootFacts::default()));
    assert_eq!(dirty.sets, [key("s")].into());
    assert_eq!(
        index.member(&key("s"), "p"),
        SetMember::Compliance(None, Vec::new())
    );
}

#[test]
fn replicas_are_dirty_when_a_set_that_the_policy_depends_on_changes() {
    let mut index = bound_through_a_set();
    let set_dependencies = RootFacts {
        set_dependencies: [key("other")].into(),
        ..RootFacts::default()
    };
    index.set_root(&root("p"), Some(set_dependencies));
    let dirty = index.set_set(&key("other"), Some(set(&[], &[])));
    assert_eq!(dirty.pairs, [pair("p", "c1"), pair("p", "c2")].into());
    let dirty = index.set_set(&key("other"), Some(set(&["x"], &[])));
    assert_eq!(dirty.pairs.len(), 2);
    let dirty = index.set_set(&key("other"), Some(set(&["x"], &[("x", &["c1"])])));
    assert_eq!(dirty.pairs.len(), 0, "exclusions do not show in a replica");
}

#[test]
fn prop_64_decisions_of_a_rule_dirty_only_changed_clusters() {
    let rule = PlacementName {
        kind: PlacementKind::PlacementRule,
        key: key("rule"),
    };
    let decided = |clusters: &[&str]| {
        Some(DecisionFacts {
            placement: rule.clone(),
            ..decision("rule", clusters)
        })
    };
    let mut index = Index::default();
    let to_rule = BindingFacts {
        placement: rule.clone(),
        ..binding("rule", &["p"])
    };
    index.set_binding(&key("b"), Some(to_rule));
    let dirty = index.set_rule(&rule, decided(&["c1", "c2"]));
    assert_eq!(dirty.pairs, [pair("p", "c1"), pair("p", "c2")].into());
    let dirty = index.set_rule(&rule, decided(&["c1", "c3"]));
    assert_eq!(dirty.pairs, [pair("p", "c2"), pair("p", "c3")].into());
    let entry = &index.summary(&root("p")).placements[0];
    assert_eq!(entry.placement_rule.as_deref(), Some("rule"));
    let dirty = index.set_rule(&rule, None);
    assert_eq!(dirty.pairs, [pair("p", "c1"), pair("p", "c3")].into());
    assert!(index.placed(&pair("p", "c1")).is_none());
}
