//! The scheduler: which of the available clusters a placement chooses. A pure decision.

pub mod cel;
mod predicate;
mod prioritizers;
pub mod selectors;
mod taints;
mod weights;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use reeve_runtime::object::ObjectKey;

use super::messages;
use super::types::{AddOnPlacementScore, ManagedCluster, Placement, PlacementDecision};

/// The scores of add-ons, by the namespace of the cluster and the name of the object.
pub type Scores = BTreeMap<ObjectKey, Arc<AddOnPlacementScore>>;

/// What the scheduler looks at.
#[derive(Clone)]
pub struct Inputs {
    /// The placement.
    pub placement: Arc<Placement>,
    /// The clusters among which it may choose.
    pub clusters: Vec<Arc<ManagedCluster>>,
    /// Which clusters are chosen so far, here and elsewhere.
    pub placed: Placed,
    /// The scores of add-ons.
    pub scores: Arc<Scores>,
    /// The present.
    pub now: Timestamp,
}

/// Which clusters are chosen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// By this placement.
    pub here: BTreeSet<String>,
    /// By how many decisions of all others.
    pub elsewhere: HashMap<String, u32>,
}

impl Placed {
    /// What the decisions of a hub say, seen from one placement. Decisions without a label count as others'.
    pub fn of<'a>(
        placement: &ObjectKey,
        decisions: impl IntoIterator<Item = &'a PlacementDecision>,
    ) -> Self {
        let mut placed = Self::default();
        for decision in decisions {
            let ours = decision.placement() == Some(&placement.name)
                && decision.metadata.namespace.as_deref() == Some(&placement.namespace);
            for cluster in decision.clusters() {
                if ours {
                    placed.here.insert(cluster.to_owned());
                } else {
                    *placed.elsewhere.entry(cluster.to_owned()).or_default() += 1;
                }
            }
        }
        placed
    }
}

/// How a schedule, or a step of it, went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// As it should.
    #[default]
    Success,
    /// The result can be used, but something is odd.
    Warning(Complaint),
    /// It could not be made. Nothing is chosen.
    Error(Complaint),
    /// The placement is written wrongly. Nothing is chosen.
    Misconfigured(Complaint),
}

/// What is wrong, and who says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Complaint {
    /// The filter or prioritizer; empty for what is none of theirs.
    pub plugin: String,
    /// What is wrong.
    pub message: String,
}

impl Verdict {
    /// Misconfigured, says `plugin`.
    pub fn misconfigured(plugin: &str, message: impl Into<String>) -> Self {
        Self::Misconfigured(Complaint {
            plugin: plugin.to_owned(),
            message: message.into(),
        })
    }

    /// What is wrong, if anything is.
    pub fn complaint(&self) -> Option<&Complaint> {
        match self {
            Self::Success => None,
            Self::Warning(complaint) | Self::Error(complaint) | Self::Misconfigured(complaint) => {
                Some(complaint)
            }
        }
    }

    /// Whether nothing is chosen because of it.
    pub fn aborts(&self) -> bool {
        matches!(self, Self::Error(_) | Self::Misconfigured(_))
    }
}

/// What was left after a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterRecord {
    /// The filters so far, comma-joined.
    pub name: String,
    /// Who was left. In the last record, those who are preferred come first.
    pub clusters: Vec<String>,
}

/// What a prioritizer said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrioritizerRecord {
    /// The name of the prioritizer.
    pub name: String,
    /// How much it counts.
    pub weight: i32,
    /// From -100 to 100, by cluster; a cluster without a score has 0.
    pub scores: BTreeMap<String, i64>,
}

/// What a placement chooses, and why.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// What each filter left.
    pub filters: Vec<FilterRecord>,
    /// What each prioritizer said, by name.
    pub prioritizers: Vec<PrioritizerRecord>,
    /// The weighted sums, by cluster.
    pub totals: BTreeMap<String, i64>,
    /// Who is chosen, the preferred first.
    pub selected: Vec<Arc<ManagedCluster>>,
    /// How many more were asked for.
    pub unscheduled: usize,
    /// How it went.
    pub verdict: Verdict,
    /// When the answer may change by itself.
    pub again_at: Option<Timestamp>,
}

/// A step of scheduling that has just been made, for who measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark<'a> {
    /// The plugin that follows begins.
    Begin,
    /// The expressions of the filter that ends next.
    Expressions,
    /// A filter, by its name.
    Filter(&'a str),
    /// A prioritizer, by its name.
    Prioritizer(&'a str),
}

/// Chooses, and tells `watch` of every step.
pub fn schedule(inputs: &Inputs, watch: &mut dyn FnMut(Mark<'_>)) -> Schedule {
    let mut schedule = Schedule::default();
    if let Err(verdict) = run(inputs, &mut schedule, watch) {
        schedule.verdict = verdict;
        schedule.selected.clear();
        schedule.unscheduled = 0;
        schedule.again_at = None;
    }
    schedule
}

fn run(
    inputs: &Inputs,
    schedule: &mut Schedule,
    watch: &mut dyn FnMut(Mark<'_>),
) -> Result<(), Verdict> {
    let left = filtered(inputs, schedule, watch)?;
    let left = ranked(inputs, left, schedule, watch)?;
    select(&inputs.placement, left, schedule);
    Ok(())
}

fn names(clusters: &[Arc<ManagedCluster>]) -> Vec<String> {
    let names = clusters.iter().map(|cluster| cluster.name().to_owned());
    names.collect()
}

/// The clusters that the placement may choose.
fn filtered(
    inputs: &Inputs,
    schedule: &mut Schedule,
    watch: &mut dyn FnMut(Mark<'_>),
) -> Result<Vec<Arc<ManagedCluster>>, Verdict> {
    let spec = &inputs.placement.spec;
    if let Some(number) = spec.number_of_clusters.filter(|number| *number < 0) {
        return Err(Verdict::misconfigured(
            "",
            messages::negative_number(number),
        ));
    }
    watch(Mark::Begin);
    let predicates = predicate::Predicates::of(spec, &inputs.scores)
        .map_err(|message| Verdict::misconfigured(predicate::NAME, message))?;
    let left = predicates.filter(&inputs.clusters);
    if predicates.have_expressions() {
        watch(Mark::Expressions);
    }
    watch(Mark::Filter(predicate::NAME));
    schedule.filters.push(FilterRecord {
        name: predicate::NAME.to_owned(),
        clusters: names(&left),
    });
    taints::check(&spec.tolerations)
        .map_err(|message| Verdict::misconfigured(taints::NAME, message))?;
    let tolerated = taints::filter(&left, &spec.tolerations, &inputs.placed.here, inputs.now);
    watch(Mark::Filter(taints::NAME));
    schedule.again_at = tolerated.again_at;
    let left = tolerated.clusters;
    schedule.filters.push(FilterRecord {
        name: format!("{},{}", predicate::NAME, taints::NAME),
        clusters: names(&left),
    });

    Ok(left)
}

/// The same clusters, the preferred first.
fn ranked(
    inputs: &Inputs,
    mut left: Vec<Arc<ManagedCluster>>,
    schedule: &mut Schedule,
    watch: &mut dyn FnMut(Mark<'_>),
) -> Result<Vec<Arc<ManagedCluster>>, Verdict> {
    let weights = weights::weights(&inputs.placement.spec.prioritizer_policy)
        .map_err(|message| Verdict::misconfigured("", message))?;
    let mut totals: BTreeMap<String, i64> = left
        .iter()
        .map(|cluster| (cluster.name().to_owned(), 0))
        .collect();
    for (prioritizer, weight) in weights {
        watch(Mark::Begin);
        let said = prioritizers::score(&prioritizer, &left, inputs);
        watch(Mark::Prioritizer(&prioritizer.to_string()));
        for (cluster, score) in &said.scores {
            *totals.entry(cluster.clone()).or_default() += i64::from(weight) * score;
        }
        schedule.again_at = earliest(schedule.again_at, said.again_at);
        if let (Verdict::Success, Some(message)) = (&schedule.verdict, said.warning) {
            schedule.verdict = Verdict::Warning(Complaint {
                plugin: prioritizer.to_string(),
                message,
            });
        }
        schedule.prioritizers.push(PrioritizerRecord {
            name: prioritizer.to_string(),
            weight,
            scores: said.scores,
        });
    }
    left.sort_by(|a, b| {
        let total = |cluster: &ManagedCluster| totals.get(cluster.name()).copied().unwrap_or(0);
        let by_total = total(b).cmp(&total(a));
        by_total.then_with(|| a.name().cmp(b.name()))
    });
    if let Some(last) = schedule.filters.last_mut() {
        last.clusters = names(&left);
    }
    schedule.totals = totals;
    Ok(left)
}

/// As many as were asked for.
fn select(placement: &Placement, mut left: Vec<Arc<ManagedCluster>>, schedule: &mut Schedule) {
    if let Some(number) = placement.spec.number_of_clusters {
        let number = usize::try_from(number).unwrap_or(0);
        left.truncate(number);
        schedule.unscheduled = number - left.len();
    }
    schedule.selected = left;
}

/// The earlier of two times that may be absent.
pub fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
