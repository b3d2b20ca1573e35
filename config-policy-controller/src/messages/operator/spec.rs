//! Why the spec of an `OperatorPolicy` is invalid.

pub const NAME_REQUIRED: &str = "name is required in spec.subscription";
pub const NAMESPACE_REQUIRED: &str = "namespace is required in spec.subscription";
pub const APPROVAL_PROHIBITED: &str = "installPlanApproval is prohibited in spec.subscription";
pub const GROUP_NAME_REQUIRED: &str = "name is required in spec.operatorGroup";

pub const NO_PACKAGE_MANIFEST: &str =
    "the subscription defaults could not be determined because the PackageManifest was not found";
pub const NO_CATALOG: &str = "the subscription defaults could not be determined because the PackageManifest didn't specify a catalog";
pub const OTHER_CATALOG: &str = "the subscription defaults could not be determined because the catalog specified in the policy does not match what was found in the PackageManifest on the cluster";
pub const NO_DEFAULT_CHANNEL: &str =
    "the default channel could not be determined because the PackageManifest didn't specify one";

/// The sentences of Kubernetes about names.
pub const TOO_LONG: &str = "must be no more than 63 characters";
pub const NO_DOTS: &str = "must not contain dots";
pub const LABEL_RULE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

pub fn versions_unresolved(error: &str) -> String {
    format!("unable to create template resolver: could not resolve the version template: {error}")
}

pub fn versions_unreadable(error: &str) -> String {
    format!(
        "unable to create template resolver: failed to unmarshal the spec.versions field after template resolution: {error}"
    )
}

pub fn subscription_unresolved(error: &str) -> String {
    format!("could not build subscription: {error}")
}

pub fn subscription_invalid(error: &str) -> String {
    format!("the policy spec.subscription is invalid: {error}")
}

pub fn name_invalid(name: &str, reasons: &[&str]) -> String {
    format!(
        "the name '{name}' used for the subscription is invalid: {}",
        reasons.join(", ")
    )
}

pub fn namespace_invalid(namespace: &str) -> String {
    format!(
        "the namespace '{namespace}' used for the subscription is not a valid namespace identifier"
    )
}

pub fn group_unresolved(error: &str) -> String {
    format!("could not build operator group: {error}")
}

pub fn group_invalid(error: &str) -> String {
    format!("the policy spec.operatorGroup is invalid: {error}")
}

pub fn namespaces_differ(group: &str, subscription: &str) -> String {
    format!(
        "the namespace specified in spec.operatorGroup ('{group}') must match the namespace used for the subscription ('{subscription}')"
    )
}

pub fn namespace_missing(namespace: &str) -> String {
    format!("the operator namespace ('{namespace}') does not exist")
}

pub fn overlapping(policies: &[String]) -> String {
    format!(
        "the specified operator is managed by multiple enforced policies ({})",
        policies.join(", ")
    )
}

/// Go's decoder about a value of another type.
pub fn wrong_type(found: &str, field: &str, expected: &str) -> String {
    format!("json: cannot unmarshal {found} into Go struct field {field} of type {expected}")
}
