//! Texts of results that are not the engine's.

use reeve_api::names;

/// A policy that is disabled.
pub(crate) const DISABLED: &str = "disabled";
/// A policy that no controller has looked at yet.
pub(crate) const NOT_EVALUATED: &str = "not evaluated yet";
/// A template without an answer.
pub(crate) const NO_ANSWER: &str = "no answer yet";
/// No binding names the policy.
pub(crate) const UNBOUND: &str = "no PlacementBinding names it";
/// The bindings of a policy add overrides only.
pub(crate) const RESTRICTED: &str = "its PlacementBindings are restricted: none places it";
/// An object is there that must not be.
pub(crate) const UNWANTED: &str = "found, must not exist";
/// An object is missing.
pub(crate) const MISSING: &str = "not found";
/// An object is missing whose name or namespace a template has made of nothing.
pub(crate) const NO_VALUE: &str =
    "not found (<no value> is what a template prints for a value that does not exist)";
/// A field differs whose values are sensitive.
pub(crate) const REDACTED: &str = "differs (redacted, recordDiff: InStatus shows it)";

/// A policy has no replicas, because their label could not name it.
pub(crate) fn name_too_long(length: usize) -> String {
    let most = names::MAX_NAMESPACE_AND_NAME;
    format!(
        "not on any cluster: its namespace and name have {length} characters, at most {most} are possible"
    )
}

/// An object was applied to the hub that is evaluated on managed clusters only.
pub(crate) fn on_the_hub(kind: &str) -> String {
    format!("a {kind} is not evaluated on the hub: make it a template of a Policy")
}

/// A kind that a template names is not there. `named_in` is a text that names its group, such as the `apiVersion`.
pub(crate) fn kind_not_installed(kind: &str, named_in: &str) -> String {
    let option = if named_in.contains("gatekeeper.sh/") {
        "--constraints=on"
    } else {
        "--crds, --assume-kinds"
    };
    format!("kind {kind} is not installed ({option})")
}

/// A template could not be resolved.
pub(crate) fn unresolved(cause: &str, line: &str, expression: Option<&str>) -> String {
    match expression {
        Some(expression) => format!("{cause} (template line {line}: {expression})"),
        None => format!("{cause} (template line {line})"),
    }
}

/// A placement that a binding names is not there.
pub(crate) fn no_placement(kind: &str, name: &str) -> String {
    format!("{kind} {name}: not found")
}

/// A placement without a decision.
pub(crate) fn nothing_chosen(kind: &str, name: &str, why: &str) -> String {
    format!("{kind} {name}: {why}")
}

/// No cluster fulfils the predicates.
pub(crate) fn no_cluster_with(predicates: &str) -> String {
    format!("no cluster with {predicates}")
}

/// No set of clusters is bound to the namespace of a placement.
pub(crate) fn no_set_bound(namespace: &str) -> String {
    format!("no ManagedClusterSetBinding in namespace {namespace}")
}

/// A placement that chose nothing, and says no reason.
pub(crate) const NO_CLUSTER: &str = "no cluster chosen";
