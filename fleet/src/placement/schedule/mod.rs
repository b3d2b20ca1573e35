//! The scheduler: chooses clusters for a placement. A pure decision.

pub mod cel;
mod predicate;
mod prioritizers;
pub mod selectors;
mod taints;
mod weights;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use reeve_api::ocm::{AddOnPlacementScore, ManagedCluster, Placement, PlacementDecision};
use reeve_runtime::object::ObjectKey;

use super::messages;

/// The scores of add-ons, by the cluster's namespace and the object's name.
pub type Scores = BTreeMap<ObjectKey, Arc<AddOnPlacementScore>>;

/// The inputs of the scheduler.
#[derive(Clone)]
pub struct Inputs {
    /// The placement.
    pub placement: Arc<Placement>,
    /// The clusters that it may choose.
    pub clusters: Vec<Arc<ManagedCluster>>,
    /// The clusters in decisions so far, of this placement and of others.
    pub placed: Placed,
    /// The scores of add-ons.
    pub scores: Arc<Scores>,
    /// The current time.
    pub now: Timestamp,
}

/// The clusters in decisions so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// The clusters of this placement.
    pub here: BTreeSet<String>,
    /// For each cluster, in how many decisions of other placements it is.
    pub elsewhere: HashMap<String, u32>,
}

impl Placed {
    /// The decisions of a hub, seen from one placement. Decisions without a label count as others'.
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

/// The result of a schedule, or of a step of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is wrong.
    #[default]
    Success,
    /// The schedule is usable, and has a warning.
    Warning(PluginStatus),
    /// Scheduling failed. No cluster is chosen.
    Error(PluginStatus),
    /// The placement is invalid. No cluster is chosen.
    Misconfigured(PluginStatus),
}

/// An error or a warning, with the plugin that reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginStatus {
    /// The filter or prioritizer; empty for other errors.
    pub plugin: String,
    /// The text of the error.
    pub message: String,
}

impl Verdict {
    /// An invalid placement, reported by `plugin`.
    pub fn misconfigured(plugin: &str, message: impl Into<String>) -> Self {
        Self::Misconfigured(PluginStatus {
            plugin: plugin.to_owned(),
            message: message.into(),
        })
    }

    /// The error or warning, if there is one.
    pub fn plugin_status(&self) -> Option<&PluginStatus> {
        match self {
            Self::Success => None,
            Self::Warning(plugin_status)
            | Self::Error(plugin_status)
            | Self::Misconfigured(plugin_status) => Some(plugin_status),
        }
    }

    /// Whether no cluster is chosen because of it.
    pub fn aborts(&self) -> bool {
        matches!(self, Self::Error(_) | Self::Misconfigured(_))
    }
}

/// The clusters that passed a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterRecord {
    /// The filters so far, comma-joined.
    pub name: String,
    /// The clusters that passed. In the last record they are ordered by score.
    pub clusters: Vec<String>,
}

/// The scores of a prioritizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrioritizerRecord {
    /// The name of the prioritizer.
    pub name: String,
    /// The weight of its scores.
    pub weight: i32,
    /// From -100 to 100, by cluster; a cluster without a score has 0.
    pub scores: BTreeMap<String, i64>,
}

/// The chosen clusters, with the records of filters and prioritizers.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// The record of each filter.
    pub filters: Vec<FilterRecord>,
    /// The record of each prioritizer, by name.
    pub prioritizers: Vec<PrioritizerRecord>,
    /// The weighted sums, by cluster.
    pub totals: BTreeMap<String, i64>,
    /// The chosen clusters, ordered by score.
    pub selected: Vec<Arc<ManagedCluster>>,
    /// How many clusters are missing.
    pub unscheduled: usize,
    /// The result.
    pub verdict: Verdict,
    /// When the schedule may change without a change of an object.
    pub again_at: Option<Timestamp>,
}

/// The end of a step of scheduling, for measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEnd<'a> {
    /// The next plugin starts.
    Begin,
    /// The expressions were evaluated, by the filter that ends next.
    Expressions,
    /// A filter ended, by its name.
    Filter(&'a str),
    /// A prioritizer ended, by its name.
    Prioritizer(&'a str),
}

/// Chooses clusters, and calls `watch` at every step.
pub fn schedule(inputs: &Inputs, watch: &mut dyn FnMut(StepEnd<'_>)) -> Schedule {
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
    watch: &mut dyn FnMut(StepEnd<'_>),
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

/// The clusters that pass all filters.
fn filtered(
    inputs: &Inputs,
    schedule: &mut Schedule,
    watch: &mut dyn FnMut(StepEnd<'_>),
) -> Result<Vec<Arc<ManagedCluster>>, Verdict> {
    let spec = &inputs.placement.spec;
    if let Some(number) = spec.number_of_clusters.filter(|number| *number < 0) {
        return Err(Verdict::misconfigured(
            "",
            messages::negative_number(number),
        ));
    }
    watch(StepEnd::Begin);
    let predicates = predicate::Predicates::of(spec, &inputs.scores)
        .map_err(|message| Verdict::misconfigured(predicate::NAME, message))?;
    let left = predicates.filter(&inputs.clusters);
    if predicates.have_expressions() {
        watch(StepEnd::Expressions);
    }
    watch(StepEnd::Filter(predicate::NAME));
    schedule.filters.push(FilterRecord {
        name: predicate::NAME.to_owned(),
        clusters: names(&left),
    });
    taints::check(&spec.tolerations)
        .map_err(|message| Verdict::misconfigured(taints::NAME, message))?;
    let tolerated = taints::filter(&left, &spec.tolerations, &inputs.placed.here, inputs.now);
    watch(StepEnd::Filter(taints::NAME));
    schedule.again_at = tolerated.again_at;
    let left = tolerated.clusters;
    schedule.filters.push(FilterRecord {
        name: format!("{},{}", predicate::NAME, taints::NAME),
        clusters: names(&left),
    });

    Ok(left)
}

/// The same clusters, ordered by score.
fn ranked(
    inputs: &Inputs,
    mut left: Vec<Arc<ManagedCluster>>,
    schedule: &mut Schedule,
    watch: &mut dyn FnMut(StepEnd<'_>),
) -> Result<Vec<Arc<ManagedCluster>>, Verdict> {
    let weights = weights::weights(&inputs.placement.spec.prioritizer_policy)
        .map_err(|message| Verdict::misconfigured("", message))?;
    let mut totals: BTreeMap<String, i64> = left
        .iter()
        .map(|cluster| (cluster.name().to_owned(), 0))
        .collect();
    for (prioritizer, weight) in weights {
        watch(StepEnd::Begin);
        let result = prioritizers::score(&prioritizer, &left, inputs);
        watch(StepEnd::Prioritizer(&prioritizer.to_string()));
        for (cluster, score) in &result.scores {
            *totals.entry(cluster.clone()).or_default() += i64::from(weight) * score;
        }
        schedule.again_at = earliest(schedule.again_at, result.again_at);
        if let (Verdict::Success, Some(message)) = (&schedule.verdict, result.warning) {
            schedule.verdict = Verdict::Warning(PluginStatus {
                plugin: prioritizer.to_string(),
                message,
            });
        }
        schedule.prioritizers.push(PrioritizerRecord {
            name: prioritizer.to_string(),
            weight,
            scores: result.scores,
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

/// Chooses as many clusters as the placement asks for.
fn select(placement: &Placement, mut left: Vec<Arc<ManagedCluster>>, schedule: &mut Schedule) {
    if let Some(number) = placement.spec.number_of_clusters {
        let number = usize::try_from(number).unwrap_or(0);
        left.truncate(number);
        schedule.unscheduled = number - left.len();
    }
    schedule.selected = left;
}

/// The earlier of two optional times.
pub fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
