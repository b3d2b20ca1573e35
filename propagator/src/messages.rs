//! Every text that a user can see.

use reeve_api::names::RootPolicyName;
use reeve_runtime::object::ObjectKey;

use crate::index::Pair;

/// Reason and action of the events on root policies.
pub const PROPAGATION: &str = "PolicyPropagation";

/// Why a policy template with hub templates does not reach the cluster yet.
pub const HUB_TEMPLATES_UNSUPPORTED: &str = "the policy template uses hub templates ({{hub ... hub}}), which this version does not resolve yet";

/// A rotation period of zero days.
pub const KEY_ROTATION_ZERO: &str = "the encryption-key-rotation flag must be greater than 0";
/// No workers for key rotation.
pub const KEY_ROTATION_WORKERS_ZERO: &str =
    "the key-rotation-max-concurrency flag must be greater than 0";

/// A policy's name leaves no room for the label on its replicas.
pub const LONG_NAME: &str =
    "the combined length of the policy namespace and name cannot exceed 62 characters";
/// Nobody says what to do about violations.
pub const NO_REMEDIATION: &str =
    "RemediationAction field of the policy and policy template cannot both be unset";
/// Before the policies that a set excludes more than once.
pub const DUPLICATE_EXCLUSION: &str = "policy in spec.exclusions has a duplicate entry";
/// Before the policies that a set excludes without having them.
pub const FOREIGN_EXCLUSION: &str = "policy in spec.exclusions is not listed in spec.policies";

/// A policy template that no policy engine can know.
pub fn template_without_kind(position: usize) -> String {
    format!(
        "spec.policy-templates[{position}].objectDefinition has no kind: managed clusters will report it as invalid"
    )
}

/// A policy set excludes a cluster that cannot exist.
pub fn strange_cluster(policy: &str, cluster: &str) -> String {
    format!("spec.exclusions of {policy}: {cluster:?} cannot be the name of a cluster")
}

/// The API server, or somebody else, sent nonsense to a webhook.
pub fn malformed_review(kind: &str, error: &dyn std::fmt::Display) -> String {
    format!("not an AdmissionReview of a {kind}: {error}")
}

/// There is no `PlacementRule` kind on the hub.
pub const NO_PLACEMENT_RULES: &str = "PlacementRule CRD not found. Disabling PlacementRule watches. Restart the container if the CRD is installed later.";

/// A binding pairs a kind with a foreign API group.
pub fn invalid_placement_ref(binding: &ObjectKey) -> String {
    format!("PlacementBinding {binding} placementRef is not valid. Ignoring.")
}

/// A binding names a kind of placement that is not built yet.
pub fn placement_rule_unsupported(binding: &ObjectKey) -> String {
    format!(
        "PlacementBinding {binding} names a PlacementRule, which this version does not read yet: it places nothing"
    )
}

/// A binding names policy sets, which are not built yet.
pub fn policy_sets_unsupported(binding: &ObjectKey) -> String {
    format!(
        "PlacementBinding {binding} names a PolicySet, which this version does not read yet: its policies are not placed by it"
    )
}

/// A policy with a binding lies in a namespace that belongs to a managed cluster.
pub fn in_cluster_namespace(root: &RootPolicyName) -> String {
    format!(
        "Policy {}/{} is bound but lies in the namespace of a managed cluster, where only replicated policies belong: it is not propagated",
        root.namespace, root.name
    )
}

/// A replica was created.
pub fn propagated(pair: &Pair) -> String {
    let Pair { root, cluster } = pair;
    format!(
        "Policy {}/{} was propagated to cluster {cluster}",
        root.namespace, root.name
    )
}

/// A replica was changed.
pub fn updated(pair: &Pair) -> String {
    let Pair { root, cluster } = pair;
    format!(
        "Policy {}/{} was updated for cluster {cluster}",
        root.namespace, root.name
    )
}

/// A policy with replicas was disabled.
pub fn disabled(root: &RootPolicyName) -> String {
    format!("Policy {}/{} was disabled", root.namespace, root.name)
}

/// A root policy's name is too long for the label that its replicas need.
pub fn name_too_long(root: &RootPolicyName) -> String {
    format!(
        "Policy {}/{} cannot be propagated: the combined length of the policy namespace and name cannot exceed 62 characters",
        root.namespace, root.name
    )
}
