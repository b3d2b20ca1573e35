//! The messages of placement's statuses and events.

/// A requirement has an unknown operator.
pub fn unknown_operator(operator: &str) -> String {
    format!("{operator:?} is not a valid label selector operator")
}

/// A requirement has `In` or `NotIn`, and no values.
pub const NO_VALUES: &str =
    "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty";

/// A requirement has `Exists` or `DoesNotExist`, and values; `json` is the list of them.
pub fn values_for_existence(json: &str) -> String {
    format!("values: Invalid value: {json}: values set must be empty for exists and does not exist")
}

/// The key of a requirement is not a valid label key.
pub fn bad_key(key: &str, rules: &str) -> String {
    format!("key: Invalid value: {key:?}: {rules}")
}

/// A value of a requirement is not a valid label value.
pub fn bad_value(index: usize, key: &str, value: &str, rules: &str) -> String {
    format!("values[{index}][{key}]: Invalid value: {value:?}: {rules}")
}

/// An expression that does not compile.
pub fn does_not_compile(issue: &str) -> String {
    format!("compilation failed: {issue}")
}

/// An expression uses an unknown identifier or function.
pub fn undeclared(name: &str) -> String {
    format!("ERROR: <input>: undeclared reference to '{name}' (in container '')")
}

/// A toleration without a key has an operator that compares values.
pub const KEY_IS_EMPTY: &str = "If the key is empty, operator must be Exists.";

/// A toleration has the operator `Exists` and a value.
pub const VALUE_IS_GIVEN: &str = "If the operator is Exists, the value should be empty.";

/// The mode of the prioritizers is unknown.
pub fn unknown_mode(mode: &str) -> String {
    format!("incorrect prioritizer policy mode: {mode}")
}

/// A prioritizer without a name.
pub const NO_COORDINATE: &str = "scoreCoordinate field is required";

/// A built-in prioritizer is unknown.
pub fn unknown_prioritizer(name: &str) -> String {
    format!("incorrect builtin prioritizer: {name}")
}

/// The score of an add-on does not name the add-on.
pub const NO_ADD_ON: &str = "addOn should not be empty";

/// Scores have expired, each as namespace and name.
pub fn scores_expired(which: &[(String, &str)]) -> String {
    let list: Vec<String> = which
        .iter()
        .map(|(namespace, name)| format!("{namespace}/{name}"))
        .collect();
    format!("AddOnPlacementScores {} expired", list.join(" "))
}

/// The size of groups is neither a number nor a percentage.
pub fn not_a_percentage(text: &str) -> String {
    format!("{text} invalid type: string is not a percentage")
}

/// The type of a set's selector is unknown.
pub fn unknown_selector_type(kind: &str) -> String {
    format!("selectorType is not right: {kind}")
}

/// A set cannot be used.
pub fn unusable_set(set: &str, reason: &str) -> String {
    format!("failed to get clusters from ClusterSet {set:?}: {reason}")
}

/// The number of clusters is negative.
pub fn negative_number(number: i32) -> String {
    format!("numberOfClusters must not be negative: {number}")
}

/// The name of the placement is not a valid value of the decisions' label.
pub fn name_too_long(name: &str) -> String {
    format!(
        "the name of the placement must be no more than 63 bytes to label its decisions, this one has {}",
        name.len()
    )
}

/// `PlacementMisconfigured` of a valid placement.
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

/// No cluster matches the predicates.
pub const NO_MATCH: &str = "No ManagedCluster matches any of the cluster predicate";

/// As many clusters are chosen as the placement asks for.
pub const SATISFIED: &str = "All cluster decisions scheduled";

/// Fewer clusters are chosen than the placement asks for.
pub fn unscheduled(count: usize) -> String {
    format!("{count} cluster decisions unscheduled")
}

/// A decision was written; `verb` is `created`, `updated` or `deleted`.
pub fn decision(name: &str, verb: &str, placement: &str, namespace: &str) -> String {
    format!("Decision {name} is {verb} with placement {placement} in namespace {namespace}")
}
