//! Property tests of the index against a model that keeps every object and computes each answer from scratch.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use reeve_api::Compliance;
use reeve_api::names::RootPolicyName;
use reeve_runtime::object::ObjectKey;

use super::*;

const NAMES: u8 = 3;
const CLUSTERS: u8 = 4;

/// All objects of the hub.
#[derive(Clone, Debug, Default)]
struct Model {
    roots: BTreeMap<RootPolicyName, RootFacts>,
    sets: BTreeMap<ObjectKey, SetFacts>,
    bindings: BTreeMap<ObjectKey, BindingFacts>,
    decisions: BTreeMap<ObjectKey, DecisionFacts>,
    placements: BTreeSet<PlacementName>,
    rules: BTreeMap<PlacementName, DecisionFacts>,
    managed: BTreeSet<String>,
    replicas: BTreeMap<Pair, Option<Compliance>>,
}

/// The compliance of a replica, if there is one; it may not be known.
#[allow(clippy::option_option)]
type ReplicaCompliance = Option<Option<Compliance>>;

/// A change of one object.
#[derive(Clone, Debug)]
enum Step {
    Root(RootPolicyName, Option<RootFacts>),
    Set(ObjectKey, Option<SetFacts>),
    Binding(ObjectKey, Option<BindingFacts>),
    Decision(ObjectKey, Option<DecisionFacts>),
    Placement(PlacementName, bool),
    Rule(PlacementName, Option<DecisionFacts>),
    Managed(String, bool),
    Replica(Pair, ReplicaCompliance),
}

fn put<K: Ord + Clone, V: Clone>(map: &mut BTreeMap<K, V>, key: &K, value: Option<&V>) {
    match value {
        Some(value) => drop(map.insert(key.clone(), value.clone())),
        None => drop(map.remove(key)),
    }
}

fn set_membership<K: Ord + Clone>(set: &mut BTreeSet<K>, key: &K, exists: bool) {
    if exists {
        set.insert(key.clone());
    } else {
        set.remove(key);
    }
}

impl Model {
    fn apply(&mut self, step: &Step) {
        match step {
            Step::Root(key, new) => put(&mut self.roots, key, new.as_ref()),
            Step::Set(key, new) => put(&mut self.sets, key, new.as_ref()),
            Step::Binding(key, new) => put(&mut self.bindings, key, new.as_ref()),
            Step::Decision(key, new) => put(&mut self.decisions, key, new.as_ref()),
            Step::Placement(name, exists) => set_membership(&mut self.placements, name, *exists),
            Step::Rule(name, new) => put(&mut self.rules, name, new.as_ref()),
            Step::Managed(name, exists) => set_membership(&mut self.managed, name, *exists),
            Step::Replica(pair, new) => put(&mut self.replicas, pair, new.as_ref()),
        }
    }

    fn clusters(&self, binding: &BindingFacts) -> BTreeSet<String> {
        match binding.placement.kind {
            PlacementKind::Placement => {
                let exists = self.placements.contains(&binding.placement);
                let decisions = self.decisions.values().filter(|_| exists);
                decisions
                    .filter(|decision| decision.placement == binding.placement)
                    .flat_map(|decision| decision.clusters.clone())
                    .collect()
            }
            PlacementKind::PlacementRule => {
                let rule = self.rules.get(&binding.placement);
                rule.map(|rule| rule.clusters.clone()).unwrap_or_default()
            }
        }
    }

    fn places(&self, binding: &BindingFacts, pair: &Pair) -> bool {
        let through = |key: &ObjectKey| {
            self.sets.get(key).is_some_and(|set| {
                set.policies.contains(&pair.root.name)
                    && !set
                        .exclusions
                        .get(&pair.root.name)
                        .is_some_and(|clusters| clusters.contains(&pair.cluster))
            })
        };
        (binding.policies.contains(&pair.root) || binding.sets.iter().any(through))
            && self.clusters(binding).contains(&pair.cluster)
    }

    /// The placement rules of the behaviour reference.
    fn placed(&self, pair: &Pair) -> Option<Placed> {
        let matching = |restricted: bool| {
            let bindings = self.bindings.values();
            let bindings = bindings.filter(move |binding| binding.restricted == restricted);
            bindings.filter(|binding| self.places(binding, pair))
        };
        matching(false).next()?;
        let mut all = matching(false).chain(matching(true));
        let enforce = all.find_map(|binding| binding.enforce.clone());
        Some(Placed { enforce })
    }

    /// PROP-145: the clusters in the status with the bindings that select each; none for a disabled policy.
    fn selected(&self, root: &RootPolicyName) -> BTreeMap<String, Vec<String>> {
        let mut selected: BTreeMap<String, Vec<String>> = BTreeMap::new();
        if self.roots.get(root).is_some_and(|root| root.disabled) {
            return selected;
        }
        for (key, binding) in self.bindings.iter().filter(|(_, b)| !b.restricted) {
            if self.entries(binding, root).is_empty() {
                continue;
            }
            for cluster in self.clusters(binding) {
                selected.entry(cluster).or_default().push(key.name.clone());
            }
        }
        selected
    }

    /// The sets by which a binding names a policy; `None` stands for the policy as its subject.
    fn entries(&self, binding: &BindingFacts, root: &RootPolicyName) -> Vec<Option<ObjectKey>> {
        let direct = binding.policies.contains(root).then_some(None);
        let lists = |key: &&ObjectKey| {
            let set = self.sets.get(*key);
            set.is_some_and(|set| set.policies.contains(&root.name))
        };
        let sets = binding.sets.iter().filter(lists);
        direct
            .into_iter()
            .chain(sets.map(|key| Some(key.clone())))
            .collect()
    }

    /// PROP-142: bindings, sets and excluded clusters of the entries in a status.
    fn listed(&self, root: &RootPolicyName) -> BTreeSet<(String, Option<String>, Vec<String>)> {
        let selected = self.selected(root);
        let mut listed = BTreeSet::new();
        for (key, binding) in &self.bindings {
            let counts = !binding.restricted
                || self
                    .clusters(binding)
                    .iter()
                    .any(|c| selected.contains_key(c));
            for set in self.entries(binding, root).into_iter().filter(|_| counts) {
                let excluded = set.as_ref().and_then(|set| {
                    let excluded = self.sets[set].exclusions.get(&root.name)?;
                    Some(excluded.iter().cloned().collect())
                });
                listed.insert((
                    key.name.clone(),
                    set.map(|set| set.name),
                    excluded.unwrap_or_default(),
                ));
            }
        }
        listed
    }

    fn clusters_of_status(&self, root: &RootPolicyName) -> BTreeMap<String, ClusterSummary> {
        let listed = self.listed(root);
        let mut clusters = BTreeMap::new();
        for (cluster, bindings) in self.selected(root) {
            let pair = Pair {
                root: root.clone(),
                cluster: cluster.clone(),
            };
            let excluding: BTreeSet<_> = listed
                .iter()
                .filter(|(_, _, excluded)| excluded.contains(&cluster))
                .map(|(binding, _, _)| binding.clone())
                .collect();
            let remaining = bindings.into_iter().filter(|b| !excluding.contains(b));
            let summary = ClusterSummary {
                compliance: self.replicas.get(&pair).copied().flatten(),
                placed: self.placed(&pair).is_some(),
                remaining: if excluding.is_empty() {
                    Vec::new()
                } else {
                    remaining.collect()
                },
            };
            clusters.insert(cluster, summary);
        }
        clusters
    }
}

fn apply(index: &mut Index, step: &Step) -> Dirty {
    match step.clone() {
        Step::Root(key, new) => index.set_root(&key, new),
        Step::Set(key, new) => index.set_set(&key, new),
        Step::Binding(key, new) => index.set_binding(&key, new),
        Step::Decision(key, new) => index.set_decision(&key, new),
        Step::Placement(name, exists) => index.set_placement(&name, exists),
        Step::Rule(name, new) => index.set_rule(&name, new),
        Step::Managed(name, exists) => index.set_managed_cluster(&name, exists),
        Step::Replica(pair, new) => index.set_replica(&pair, new),
    }
}

fn key(kind: &str, number: u8) -> ObjectKey {
    ObjectKey::new("policies", format!("{kind}{number}"))
}

fn root(number: u8) -> RootPolicyName {
    RootPolicyName::new("policies", format!("p{number}"))
}

fn cluster(number: u8) -> String {
    format!("c{number}")
}

fn placement_name(kind: PlacementKind, number: u8) -> PlacementName {
    let prefix = match kind {
        PlacementKind::Placement => "pl",
        PlacementKind::PlacementRule => "rule",
    };
    PlacementName {
        kind,
        key: key(prefix, number),
    }
}

fn kind() -> impl Strategy<Value = PlacementKind> {
    prop_oneof![
        Just(PlacementKind::Placement),
        Just(PlacementKind::PlacementRule)
    ]
}

fn some_of(count: u8) -> impl Strategy<Value = BTreeSet<u8>> {
    prop::collection::btree_set(0..count, 0..=usize::from(count))
}

fn binding() -> impl Strategy<Value = BindingFacts> {
    let effect = (any::<bool>(), any::<bool>());
    (kind(), 0..NAMES, some_of(NAMES), some_of(NAMES), effect).prop_map(
        |(kind, to, policies, sets, (restricted, enforce))| BindingFacts {
            placement: placement_name(kind, to),
            policies: policies.into_iter().map(root).collect(),
            sets: sets.into_iter().map(|number| key("s", number)).collect(),
            restricted,
            enforce: enforce.then(|| "enforce".to_owned()),
        },
    )
}

fn set() -> impl Strategy<Value = SetFacts> {
    let exclusions = prop::collection::btree_map(0..NAMES, some_of(CLUSTERS), 0..3);
    (some_of(NAMES), exclusions).prop_map(|(policies, exclusions)| SetFacts {
        policies: policies.iter().map(|p| root(*p).name).collect(),
        listed: policies.into_iter().map(|p| root(p).name).collect(),
        exclusions: exclusions
            .into_iter()
            .map(|(p, clusters)| (root(p).name, clusters.into_iter().map(cluster).collect()))
            .collect(),
    })
}

fn compliance() -> impl Strategy<Value = Compliance> {
    prop_oneof![
        Just(Compliance::Compliant),
        Just(Compliance::Pending),
        Just(Compliance::NonCompliant)
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let facts = (any::<bool>(), some_of(NAMES)).prop_map(|(disabled, sets)| RootFacts {
        disabled,
        set_dependencies: sets.into_iter().map(|number| key("s", number)).collect(),
    });
    let decided = |kind| {
        (0..NAMES, some_of(CLUSTERS)).prop_map(move |(of, clusters)| DecisionFacts {
            placement: placement_name(kind, of),
            clusters: clusters.into_iter().map(cluster).collect(),
        })
    };
    let maybe = prop::option::of::<BoxedStrategy<DecisionFacts>>;
    let rules = (
        0..NAMES,
        maybe(decided(PlacementKind::PlacementRule).boxed()),
    );
    prop_oneof![
        (0..NAMES, prop::option::of(facts)).prop_map(|(n, new)| Step::Root(root(n), new)),
        (0..NAMES, prop::option::of(set())).prop_map(|(n, new)| Step::Set(key("s", n), new)),
        (0..NAMES, prop::option::of(binding()))
            .prop_map(|(n, new)| Step::Binding(key("b", n), new)),
        (0..NAMES, maybe(decided(PlacementKind::Placement).boxed()))
            .prop_map(|(n, new)| Step::Decision(key("d", n), new)),
        (0..NAMES, any::<bool>()).prop_map(|(n, exists)| {
            Step::Placement(placement_name(PlacementKind::Placement, n), exists)
        }),
        rules.prop_map(|(n, new)| {
            let name = placement_name(PlacementKind::PlacementRule, n);
            let new = new.map(|facts| DecisionFacts {
                placement: name.clone(),
                ..facts
            });
            Step::Rule(name, new)
        }),
        (0..CLUSTERS, any::<bool>()).prop_map(|(n, exists)| Step::Managed(cluster(n), exists)),
        (
            0..NAMES,
            0..CLUSTERS,
            prop::option::of(prop::option::of(compliance()))
        )
            .prop_map(|(n, on, compliance)| {
                let pair = Pair {
                    root: root(n),
                    cluster: cluster(on),
                };
                Step::Replica(pair, compliance)
            }),
    ]
}

fn pairs() -> impl Iterator<Item = Pair> {
    (0..NAMES).flat_map(|policy| {
        (0..CLUSTERS).map(move |on| Pair {
            root: root(policy),
            cluster: cluster(on),
        })
    })
}

fn assert_agreement(index: &Index, model: &Model) -> Result<(), TestCaseError> {
    for pair in pairs() {
        prop_assert_eq!(index.placed(&pair), model.placed(&pair), "{}", pair);
    }
    for root in (0..NAMES).map(root) {
        let summary = index.summary(&root);
        prop_assert_eq!(
            &summary.clusters,
            &model.clusters_of_status(&root),
            "{}",
            root
        );
        let entries = summary.placements.iter().map(|entry| {
            let excluded = entry.exclusions.iter().flatten();
            (
                entry.placement_binding.clone().unwrap_or_default(),
                entry.policy_set.clone(),
                excluded
                    .map(|cluster| cluster.cluster_name.clone())
                    .collect(),
            )
        });
        let entries: Vec<_> = entries.collect();
        let listed = model.listed(&root);
        prop_assert_eq!(entries.len(), listed.len());
        prop_assert_eq!(entries.into_iter().collect::<BTreeSet<_>>(), listed);
    }
    Ok(())
}

/// The members of all sets.
fn members(index: &Index) -> BTreeMap<(ObjectKey, String), SetMember> {
    let sets = (0..NAMES).map(|number| key("s", number));
    sets.flat_map(|set| {
        let policies = index.members(&set).unwrap_or_default().to_vec();
        let member = move |policy: String| {
            let compliance = index.member(&set, &policy);
            ((set.clone(), policy), compliance)
        };
        policies.into_iter().map(member).collect::<Vec<_>>()
    })
    .collect()
}

/// Reconciles the queued pairs: writes and deletes replicas as the index places them.
fn drain_queue(
    index: &mut Index,
    queue: &mut BTreeSet<Pair>,
    replicas_written: &mut BTreeMap<Pair, Placed>,
) {
    while let Some(pair) = queue.pop_first() {
        match index.placed(&pair) {
            Some(placed) => drop(replicas_written.insert(pair.clone(), placed)),
            None => drop(replicas_written.remove(&pair)),
        }
        let exists = replicas_written.contains_key(&pair).then_some(None);
        let dirty = index.set_replica(&pair, exists);
        queue.extend(dirty.pairs);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// After any history, with repetitions, the index answers as the model does.
    #[test]
    fn index_agrees_with_model(steps in prop::collection::vec(step(), 0..40)) {
        let (mut index, mut model) = (Index::default(), Model::default());
        for step in &steps {
            apply(&mut index, step);
            model.apply(step);
            assert_agreement(&index, &model)?;
        }
    }

    /// Watches deliver objects of different kinds in any order, and some twice: the last version of each object counts.
    #[test]
    fn order_of_delivery_does_not_matter(
        steps in prop::collection::vec(step(), 0..40),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let mut model = Model::default();
        let mut last: BTreeMap<String, Step> = BTreeMap::new();
        for step in &steps {
            model.apply(step);
            let name = match step {
                Step::Root(key, _) => format!("root {key}"),
                Step::Set(key, _) => format!("set {key}"),
                Step::Binding(key, _) => format!("binding {key}"),
                Step::Decision(key, _) => format!("decision {key}"),
                Step::Placement(name, _) | Step::Rule(name, _) => format!("{name:?}"),
                Step::Managed(name, _) => format!("cluster {name}"),
                Step::Replica(pair, _) => format!("replica {pair}"),
            };
            last.insert(name, step.clone());
        }
        let last: Vec<Step> = last.into_values().collect();
        let mut index = Index::default();
        if !last.is_empty() {
            for at in &order {
                apply(&mut index, at.get(&last));
            }
        }
        for step in last.iter().rev() {
            apply(&mut index, step);
        }
        assert_agreement(&index, &model)?;
    }

    /// Every answer that a step changes is among the dirty keys.
    #[test]
    fn every_changed_answer_is_dirty(steps in prop::collection::vec(step(), 0..30)) {
        let mut index = Index::default();
        for step in &steps {
            let placed: Vec<_> = pairs().map(|pair| index.placed(&pair)).collect();
            let summary: Vec<_> = (0..NAMES).map(|n| index.summary(&root(n))).collect();
            let before_members = members(&index);
            let dirty = apply(&mut index, step);
            for (pair, before) in pairs().zip(placed) {
                let changed = index.placed(&pair) != before;
                prop_assert!(!changed || dirty.pairs.contains(&pair), "{step:?}: {pair}");
            }
            for (n, before) in (0..NAMES).zip(summary) {
                let changed = index.summary(&root(n)) != before;
                prop_assert!(!changed || dirty.roots.contains(&root(n)), "{step:?}: p{n}");
            }
            let compliance = members(&index);
            for (set, policy) in before_members.keys().chain(compliance.keys()) {
                let at = (set.clone(), policy.clone());
                let changed = before_members.get(&at) != compliance.get(&at);
                prop_assert!(!changed || dirty.sets.contains(set), "{step:?}: {set}");
            }
        }
    }

    /// Reconciling the dirty pairs, whenever there is time, leads to the desired replicas.
    #[test]
    fn reconciled_replicas_equal_the_desired_ones(
        steps in prop::collection::vec((step(), any::<bool>()), 0..40),
    ) {
        let (mut index, mut model) = (Index::default(), Model::default());
        let (mut queue, mut replicas_written) = (BTreeSet::new(), BTreeMap::new());
        for (step, pause) in &steps {
            // A foreign write or deletion of a replica is undone.
            if let Step::Replica(pair, compliance) = step {
                match compliance {
                    Some(_) => replicas_written.entry(pair.clone()).or_insert(Placed {
                        enforce: Some("foreign".to_owned()),
                    }).enforce = Some("foreign".to_owned()),
                    None => drop(replicas_written.remove(pair)),
                }
                queue.insert(pair.clone());
            }
            queue.extend(apply(&mut index, step).pairs);
            model.apply(step);
            if *pause {
                drain_queue(&mut index, &mut queue, &mut replicas_written);
            }
        }
        drain_queue(&mut index, &mut queue, &mut replicas_written);
        let desired = pairs().filter_map(|pair| Some((pair.clone(), model.placed(&pair)?)));
        prop_assert_eq!(replicas_written, desired.collect::<BTreeMap<_, _>>());
    }
}
