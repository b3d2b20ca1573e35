//! Every text of explanations.

use reeve_api::ocm::{Placement, Requirement};
use reeve_report::plural;
use reeve_runtime::object::{error_chain, status_message};
use serde_json::Value;

use crate::placement::why::{Fate, Mismatch};
use crate::results::unplaced::requirement;

/// So many objects are named when one is not found.
const NAMED: usize = 8;
/// A value has at most so many characters.
const MOST_OF_VALUE: usize = 80;

/// Why a request failed: what the server says, or why there is no connection.
pub(super) fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(_) => status_message(error),
        other => error_chain(other),
    }
}

/// There is no object of a name.
pub(super) fn not_found(kind: &str, name: &str, known: &[String]) -> String {
    if known.is_empty() {
        return format!("{kind} {name}: not found: there is none");
    }
    let more = known.len().saturating_sub(NAMED);
    let some: Vec<&str> = known.iter().take(NAMED).map(String::as_str).collect();
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{kind} {name}: not found: there are {}{more}",
        some.join(", ")
    )
}

/// A policy on a cluster, as the subject of steps.
pub(super) fn on_cluster(subject: &str, cluster: &str) -> String {
    format!("{subject} on {cluster}")
}

pub(super) const DISABLED: &str = "disabled: it is on no cluster";
pub(super) const NO_TEMPLATES: &str =
    "spec.policy-templates is empty: there is nothing to evaluate";
pub(super) const MISSING: &str = "not found";
pub(super) const NO_CLUSTER: &str = "the hub has no ManagedCluster";
pub(super) const NO_DECISION: &str = "none";
pub(super) const OTHER_SCHEDULER: &str =
    "left to another scheduler by its annotation, or being deleted";
pub(super) const UNUSED: &str = "no PlacementBinding names this placement";
pub(super) const NO_HUB_TEMPLATES: &str = "none";
pub(super) const OTHER_SPEC: &str = "the policy on the cluster has another spec than the replicated one: the framework add-on has not applied it yet";
pub(super) const NOT_CREATED: &str = "not created, because the hub could not resolve it";
pub(super) const NO_STATUS: &str = "nothing reported yet";
pub(super) const BY_HUB: &str = "resolved by the hub";
pub(super) const BY_CLUSTER: &str = "resolved by the cluster";

/// A policy.
pub(super) fn policy(action: &str, templates: usize) -> String {
    let action = if action.is_empty() {
        "remediation action of its templates"
    } else {
        action
    };
    format!("{action}, {}", plural(templates, "template"))
}

/// A binding of a policy, by itself or through policy sets.
pub(super) fn binding(
    name: &str,
    (kind, placement): (&str, &str),
    sets: &[&str],
    is_restricted: bool,
) -> String {
    let through = if sets.is_empty() {
        String::new()
    } else {
        format!(" through PolicySet {}", sets.join(", "))
    };
    let restricted = if is_restricted {
        ": restricted, adds overrides only"
    } else {
        ""
    };
    format!("PlacementBinding {name}{through} to {kind} {placement}{restricted}")
}

/// What is found about something.
pub(super) fn of(title: &str, found: &str) -> String {
    format!("{title}: {found}")
}

/// A placement with its kind.
pub(super) fn placement(kind: &str, name: &str) -> String {
    format!("{kind} {name}")
}

/// No set of clusters is bound to a namespace.
pub(super) fn no_set_bound(namespace: &str) -> String {
    format!(
        "no ManagedClusterSetBinding in namespace {namespace}: bind a set, such as global, to it"
    )
}

/// None of the sets that a placement names is bound.
pub(super) fn no_set_named(asked: &[String], bound: &[String]) -> String {
    format!(
        "spec.clusterSets names {}, bound to the namespace are {}",
        asked.join(", "),
        bound.join(", ")
    )
}

/// The sets that a placement may choose from.
pub(super) fn sets(names: &[String], clusters: usize) -> String {
    format!("{} with {}", names.join(", "), plural(clusters, "cluster"))
}

/// Names in one line.
pub(super) fn names(all: &[String]) -> String {
    all.join(", ")
}

/// The decisions are not those of the current objects.
pub(super) fn not_decided(decided: &[String], chosen: &[String]) -> String {
    let list = |all: &[String]| match all {
        [] => "none".to_owned(),
        all => all.join(", "),
    };
    format!(
        "{}, but the placement chooses {}: the placement controller has not decided yet",
        list(decided),
        list(chosen)
    )
}

/// A binding of a placement.
pub(super) fn binds(name: &str, subjects: &[String]) -> String {
    format!("PlacementBinding {name}: {}", subjects.join(", "))
}

/// What a placement does with a cluster.
pub(super) fn fate(fate: &Fate, placement: &Placement) -> String {
    match fate {
        Fate::Chosen => "chosen".to_owned(),
        Fate::Terminating => "it is being deleted".to_owned(),
        Fate::OutsideSets => "in none of the sets that the placement may choose from".to_owned(),
        Fate::Unmatched(predicates) => {
            let is_one = predicates.len() == 1;
            let parts = predicates.iter().enumerate().map(|(index, mismatches)| {
                let parts: Vec<String> = mismatches.iter().map(mismatch).collect();
                let parts = parts.join(" and ");
                if is_one {
                    format!("dropped by the predicate: {parts}")
                } else {
                    format!("dropped by predicate {}: {parts}", index + 1)
                }
            });
            parts.collect::<Vec<_>>().join("; ")
        }
        Fate::Tainted(taints) => format!("not tolerated: taint {}", taints.join(", ")),
        Fate::Outranked(score) => {
            let most = placement.spec.number_of_clusters.unwrap_or_default();
            format!(
                "score {score}: spec.numberOfClusters is {most}, and others have higher scores or come first by name"
            )
        }
        Fate::Invalid(why) => why.clone(),
    }
}

fn mismatch(one: &Mismatch) -> String {
    let with = |prefix: &str, wanted: &Requirement, value: &Option<String>| {
        let found = match value {
            Some(value) => format!("it is {value:?}"),
            None => "it has none".to_owned(),
        };
        format!("{} ({found})", requirement(wanted, prefix))
    };
    match one {
        Mismatch::Label(wanted, value) => with("label ", wanted, value),
        Mismatch::Claim(wanted, value) => with("claim ", wanted, value),
        Mismatch::Expression(text) => format!("{text} is not true"),
    }
}

/// The replicated policy is not there.
pub(super) fn no_replica(namespace: &str, name: &str) -> String {
    format!("Policy {namespace}/{name} is not on the hub yet: the propagator creates it")
}

/// The replicated policy.
pub(super) fn replica(namespace: &str, name: &str) -> String {
    format!("Policy {namespace}/{name} on the hub")
}

/// The hub has resolved everything.
pub(super) fn hub_templates(count: usize) -> String {
    format!("{} resolved", plural(count, "field"))
}

/// The hub has not resolved everything.
pub(super) fn hub_templates_left(count: usize) -> String {
    format!("{} not resolved yet", plural(count, "field"))
}

/// A cluster was not read.
pub(super) fn not_read(cluster: &str) -> String {
    format!(
        "not read: {cluster} is known by its reports only (--cluster-context {cluster} reads it)"
    )
}

/// The framework add-on has not brought the policy.
pub(super) fn not_synced(cluster: &str) -> String {
    format!(
        "the policy is not in namespace {cluster} of the cluster yet: the framework add-on brings it"
    )
}

/// The cluster has the policy.
pub(super) fn synced(cluster: &str) -> String {
    format!("the policy is in namespace {cluster} of the cluster")
}

/// The object of a template.
pub(super) fn object(kind: &str, name: &str) -> String {
    format!("{kind} {name} on the cluster")
}

/// The object of a template is not there.
pub(super) fn no_object(kind: &str, name: &str) -> String {
    format!("{kind} {name} is not on the cluster: the framework add-on creates it")
}

/// Both statuses are the same.
pub(super) fn status(compliance: &str) -> String {
    format!("{compliance}, on the replicated and on the root policy")
}

/// The statuses differ.
pub(super) fn statuses_differ(replica: &str, root: &str) -> String {
    let word = |text: &str| if text.is_empty() { "nothing" } else { text }.to_owned();
    format!(
        "the replicated policy reports {}, the root policy {}: the propagator adds up reports at intervals",
        word(replica),
        word(root)
    )
}

/// The kind of a template.
pub(super) fn template(kind: &str) -> String {
    kind.to_owned()
}

/// An expression.
pub(super) fn expression(by: &str, text: &str) -> String {
    format!("{} ({by})", short(text))
}

/// What an expression came to. What is encrypted stays so.
pub(super) fn value(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) if text.contains("$ocm_encrypted:") => "(encrypted)".to_owned(),
        Some(Value::String(text)) => short(text),
        Some(other) => short(&other.to_string()),
    }
}

/// A text in one line.
fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    reeve_report::table::cut(&words.join(" "), MOST_OF_VALUE)
}
