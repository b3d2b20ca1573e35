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
