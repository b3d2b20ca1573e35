//! The index against a model that knows every object and computes each answer from scratch, by the
//! letter of the rules and in no hurry.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use reeve_api::Compliance;
use reeve_api::names::RootPolicyName;
use reeve_runtime::object::ObjectKey;

use super::*;

const NAMES: u8 = 3;
const CLUSTERS: u8 = 4;

/// Everything there is.
#[derive(Clone, Debug, Default)]
struct World {
    roots: BTreeMap<RootPolicyName, RootFacts>,
    sets: BTreeMap<ObjectKey, SetFacts>,
    bindings: BTreeMap<ObjectKey, BindingFacts>,
    decisions: BTreeMap<ObjectKey, DecisionFacts>,
    placements: BTreeSet<PlacementName>,
    rules: BTreeMap<PlacementName, DecisionFacts>,
    managed: BTreeSet<String>,
    replicas: BTreeMap<Pair, Option<Compliance>>,
}

/// What a replica says, if there is one; it may say nothing.
#[allow(clippy::option_option)]
type Answer = Option<Option<Compliance>>;

/// What one object became.
#[derive(Clone, Debug)]
enum Step {
    Root(RootPolicyName, Option<RootFacts>),
    Set(ObjectKey, Option<SetFacts>),
    Binding(ObjectKey, Option<BindingFacts>),
    Decision(ObjectKey, Option<DecisionFacts>),
    Placement(PlacementName, bool),
    Rule(PlacementName, Option<DecisionFacts>),
    Managed(String, bool),
    Replica(Pair, Answer),
}

fn put<K: Ord + Clone, V: Clone>(map: &mut BTreeMap<K, V>, key: &K, value: Option<&V>) {
    match value {
        Some(value) => drop(map.insert(key.clone(), value.clone())),
        None => drop(map.remove(key)),
    }
}

fn keep<K: Ord + Clone>(set: &mut BTreeSet<K>, key: &K, exists: bool) {
    if exists {
        set.insert(key.clone());
    } else {
        set.remove(key);
    }
}

impl World {
    fn take(&mut self, step: &Step) {
        match step {
            Step::Root(key, new) => put(&mut self.roots, key, new.as_ref()),
            Step::Set(key, new) => put(&mut self.sets, key, new.as_ref()),
            Step::Binding(key, new) => put(&mut self.bindings, key, new.as_ref()),
            Step::Decision(key, new) => put(&mut self.decisions, key, new.as_ref()),
            Step::Placement(name, exists) => keep(&mut self.placements, name, *exists),
            Step::Rule(name, new) => put(&mut self.rules, name, new.as_ref()),
            Step::Managed(name, exists) => keep(&mut self.managed, name, *exists),
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

    fn matches(&self, binding: &BindingFacts, pair: &Pair) -> bool {
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

    /// Section 6.2 of the rules.
    fn placed(&self, pair: &Pair) -> Option<Placed> {
        let matching = |restricted: bool| {
            let bindings = self.bindings.values();
            let bindings = bindings.filter(move |binding| binding.restricted == restricted);
            bindings.filter(|binding| self.matches(binding, pair))
        };
        matching(false).next()?;
        let mut all = matching(false).chain(matching(true));
        let enforce = all.find_map(|binding| binding.enforce.clone());
        Some(Placed { enforce })
    }

    /// The clusters of section 6.3 with the bindings that choose each, less what is disabled.
    fn chosen(&self, root: &RootPolicyName) -> BTreeMap<String, Vec<String>> {
        let mut chosen: BTreeMap<String, Vec<String>> = BTreeMap::new();
        if self.roots.get(root).is_some_and(|root| root.disabled) {
            return chosen;
        }
        for (key, binding) in self.bindings.iter().filter(|(_, b)| !b.restricted) {
            if self.entries(binding, root).is_empty() {
                continue;
            }
            for cluster in self.clusters(binding) {
                chosen.entry(cluster).or_default().push(key.name.clone());
            }
        }
        chosen
    }

    /// The sets by which a binding reaches a policy; `None` stands for the direct way.
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

    /// Bindings, sets and excluded clusters of the entries, as a status lists them.
    fn listed(&self, root: &RootPolicyName) -> BTreeSet<(String, Option<String>, Vec<String>)> {
        let chosen = self.chosen(root);
        let mut listed = BTreeSet::new();
        for (key, binding) in &self.bindings {
            let counts = !binding.restricted
                || self
                    .clusters(binding)
                    .iter()
                    .any(|c| chosen.contains_key(c));
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

    fn clusters_of_status(&self, root: &RootPolicyName) -> BTreeMap<String, ClusterReach> {
        let listed = self.listed(root);
        let mut clusters = BTreeMap::new();
        for (cluster, bindings) in self.chosen(root) {
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
            let reach = ClusterReach {
                compliance: self.replicas.get(&pair).copied().flatten(),
                placed: self.placed(&pair).is_some(),
                remaining: if excluding.is_empty() {
                    Vec::new()
                } else {
                    remaining.collect()
                },
            };
            clusters.insert(cluster, reach);
        }
        clusters
    }
}

fn take(index: &mut Index, step: &Step) -> Dirty {
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
        awaits: sets.into_iter().map(|number| key("s", number)).collect(),
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

fn agrees(index: &Index, world: &World) -> Result<(), TestCaseError> {
    for pair in pairs() {
        prop_assert_eq!(index.placed(&pair), world.placed(&pair), "{}", pair);
    }
    for root in (0..NAMES).map(root) {
        let reach = index.reach(&root);
        prop_assert_eq!(
            &reach.clusters,
            &world.clusters_of_status(&root),
            "{}",
            root
        );
        let entries = reach.placements.iter().map(|entry| {
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
        let listed = world.listed(&root);
        prop_assert_eq!(entries.len(), listed.len());
        prop_assert_eq!(entries.into_iter().collect::<BTreeSet<_>>(), listed);
    }
    Ok(())
}

/// What members of sets say, and which sets there are.
fn members(index: &Index) -> BTreeMap<(ObjectKey, String), Member> {
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

/// Replicas that are there and those that should be, after a queue took what was dirty and wrote
/// what the index said.
fn work_off(index: &mut Index, queue: &mut BTreeSet<Pair>, held: &mut BTreeMap<Pair, Placed>) {
    while let Some(pair) = queue.pop_first() {
        match index.placed(&pair) {
            Some(placed) => drop(held.insert(pair.clone(), placed)),
            None => drop(held.remove(&pair)),
        }
        let exists = held.contains_key(&pair).then_some(None);
        let dirty = index.set_replica(&pair, exists);
        queue.extend(dirty.pairs);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// After any history, with repetitions, the index answers as the model does.
    #[test]
    fn the_index_agrees_with_the_model(steps in prop::collection::vec(step(), 0..40)) {
        let (mut index, mut world) = (Index::default(), World::default());
        for step in &steps {
            take(&mut index, step);
            world.take(step);
            agrees(&index, &world)?;
        }
    }

    /// Watches deliver objects of different kinds in any order, and some twice; what counts is the
    /// last that each object was.
    #[test]
    fn the_order_of_delivery_does_not_matter(
        steps in prop::collection::vec(step(), 0..40),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let mut world = World::default();
        let mut last: BTreeMap<String, Step> = BTreeMap::new();
        for step in &steps {
            world.take(step);
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
                take(&mut index, at.get(&last));
            }
        }
        for step in last.iter().rev() {
            take(&mut index, step);
        }
        agrees(&index, &world)?;
    }

    /// Whatever a step changes, it names.
    #[test]
    fn every_change_is_named(steps in prop::collection::vec(step(), 0..30)) {
        let mut index = Index::default();
        for step in &steps {
            let placed: Vec<_> = pairs().map(|pair| index.placed(&pair)).collect();
            let reach: Vec<_> = (0..NAMES).map(|n| index.reach(&root(n))).collect();
            let said = members(&index);
            let dirty = take(&mut index, step);
            for (pair, before) in pairs().zip(placed) {
                let changed = index.placed(&pair) != before;
                prop_assert!(!changed || dirty.pairs.contains(&pair), "{step:?}: {pair}");
            }
            for (n, before) in (0..NAMES).zip(reach) {
                let changed = index.reach(&root(n)) != before;
                prop_assert!(!changed || dirty.roots.contains(&root(n)), "{step:?}: p{n}");
            }
            let compliance = members(&index);
            for (set, policy) in said.keys().chain(compliance.keys()) {
                let at = (set.clone(), policy.clone());
                let changed = said.get(&at) != compliance.get(&at);
                prop_assert!(!changed || dirty.sets.contains(set), "{step:?}: {set}");
            }
        }
    }

    /// The writes that changes ask for, made whenever there is time, lead to the replicas that
    /// should be there.
    #[test]
    fn the_writes_lead_to_what_is_wanted(
        steps in prop::collection::vec((step(), any::<bool>()), 0..40),
    ) {
        let (mut index, mut world) = (Index::default(), World::default());
        let (mut queue, mut held) = (BTreeSet::new(), BTreeMap::new());
        for (step, pause) in &steps {
            // Somebody else's hand on a replica is undone like our own.
            if let Step::Replica(pair, compliance) = step {
                match compliance {
                    Some(_) => held.entry(pair.clone()).or_insert(Placed {
                        enforce: Some("foreign".to_owned()),
                    }).enforce = Some("foreign".to_owned()),
                    None => drop(held.remove(pair)),
                }
                queue.insert(pair.clone());
            }
            queue.extend(take(&mut index, step).pairs);
            world.take(step);
            if *pause {
                work_off(&mut index, &mut queue, &mut held);
            }
        }
        work_off(&mut index, &mut queue, &mut held);
        let wanted = pairs().filter_map(|pair| Some((pair.clone(), world.placed(&pair)?)));
        prop_assert_eq!(held, wanted.collect::<BTreeMap<_, _>>());
    }
}
