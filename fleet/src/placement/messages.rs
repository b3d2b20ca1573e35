//! The texts that users of placements see.

/// An operator of a requirement that there is not.
pub fn unknown_operator(operator: &str) -> String {
    format!("{operator:?} is not a valid label selector operator")
}

/// `In` or `NotIn` without values.
pub const NO_VALUES: &str =
    "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty";

/// `Exists` or `DoesNotExist` with values; `json` is the list of them.
pub fn values_for_existence(json: &str) -> String {
    format!("values: Invalid value: {json}: values set must be empty for exists and does not exist")
}

/// A key of a requirement that no label can have.
pub fn bad_key(key: &str, rules: &str) -> String {
    format!("key: Invalid value: {key:?}: {rules}")
}

/// A value of a requirement that no label can have.
pub fn bad_value(index: usize, key: &str, value: &str, rules: &str) -> String {
    format!("values[{index}][{key}]: Invalid value: {value:?}: {rules}")
}

/// An expression that does not compile.
pub fn does_not_compile(issue: &str) -> String {
    format!("compilation failed: {issue}")
}

/// An identifier or function that there is not.
pub fn undeclared(name: &str) -> String {
    format!("ERROR: <input>: undeclared reference to '{name}' (in container '')")
}

/// A toleration of every taint with an operator that compares values.
pub const KEY_IS_EMPTY: &str = "If the key is empty, operator must be Exists.";

/// A toleration that asks for existence and for a value.
pub const VALUE_IS_GIVEN: &str = "If the operator is Exists, the value should be empty.";

/// A mode of prioritizers that there is not.
pub fn unknown_mode(mode: &str) -> String {
    format!("incorrect prioritizer policy mode: {mode}")
}

/// A prioritizer without a name.
pub const NO_COORDINATE: &str = "scoreCoordinate field is required";

/// A built-in prioritizer that there is not.
pub fn unknown_prioritizer(name: &str) -> String {
    format!("incorrect builtin prioritizer: {name}")
}

/// A score of an add-on that does not say of which.
pub const NO_ADD_ON: &str = "addOn should not be empty";

/// Scores that are too old, each as namespace and name.
pub fn scores_expired(which: &[(String, &str)]) -> String {
    let list: Vec<String> = which
        .iter()
        .map(|(namespace, name)| format!("{namespace}/{name}"))
        .collect();
    format!("AddOnPlacementScores {} expired", list.join(" "))
}

/// A size of groups that is neither a number nor a percentage.
pub fn not_a_percentage(text: &str) -> String {
    format!("{text} invalid type: string is not a percentage")
}

/// A set whose selector is of a type that there is not.
pub fn unknown_selector_type(kind: &str) -> String {
    format!("selectorType is not right: {kind}")
}

/// A set whose clusters are not known.
pub fn unusable_set(set: &str, reason: &str) -> String {
    format!("failed to get clusters from ClusterSet {set:?}: {reason}")
}

/// A number of clusters below zero.
pub fn negative_number(number: i32) -> String {
    format!("numberOfClusters must not be negative: {number}")
}

/// A name that cannot be the value of the label of decisions.
pub fn name_too_long(name: &str) -> String {
    format!(
        "the name of the placement must be no more than 63 bytes to label its decisions, this one has {}",
        name.len()
    )
}

/// `PlacementMisconfigured` when nothing is wrong.
pub const CONFIGURED: &str = "Placement configurations check pass";

/// No set is bound to the namespace.
pub const NO_BINDINGS: &str = "No valid ManagedClusterSetBindings found in placement namespace";

/// None of the sets that the placement names is bound to the namespace.
pub fn no_intersection(sets: &[String]) -> String {
    format!(
        "None of ManagedClusterSets [{}] is bound to placement namespace",
        sets.join(",")
    )
}

/// No set that the placement may use has a cluster.
pub fn sets_empty(sets: &[String]) -> String {
    format!(
        "All ManagedClusterSets [{}] have no member ManagedCluster",
        sets.join(",")
    )
}

/// No cluster is as the placement wants it.
pub const NO_MATCH: &str = "No ManagedCluster matches any of the cluster predicate";

/// Everything is chosen that was asked for.
pub const SATISFIED: &str = "All cluster decisions scheduled";

/// Fewer clusters are chosen than were asked for.
pub fn unscheduled(count: usize) -> String {
    format!("{count} cluster decisions unscheduled")
}

/// What was done to a decision; `verb` is `created`, `updated` or `deleted`.
pub fn decision(name: &str, verb: &str, placement: &str, namespace: &str) -> String {
    format!("Decision {name} is {verb} with placement {placement} in namespace {namespace}")
}
