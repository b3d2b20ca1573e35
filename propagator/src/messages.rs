//! Every text that a user can see.

use std::time::Duration;

use reeve_api::names::RootPolicyName;
use reeve_runtime::object::ObjectKey;

use crate::index::Pair;
use crate::status_size::Omission;
use reeve_runtime::discovery::ServedKind;

/// What several clusters are in events.
pub const CLUSTERS: &str = "clusters";

/// Reason and action of the events on root policies.
pub const PROPAGATION: &str = "PolicyPropagation";

/// Reason and action of the events on policy sets.
pub const SET_STATUS: &str = "PolicySetStatusUpdate";
/// Reason and action of the events about policies that a set misses.
pub const SET_MEMBER_MISSING: &str = "PolicyNotFound";

/// Why a replica is left alone.
pub const LEAVE_UNDECODABLE_ROOT: &str = "the root policy cannot be decoded";
/// Why a replica is left alone.
pub const LEAVE_UNDECODABLE_PLACEMENT: &str =
    "a binding, set or decision that may place it cannot be decoded";
/// Why a replica is left alone.
pub const LEAVE_UNDECODABLE_REPLICA: &str = "the replicated policy cannot be decoded";
/// Why a replica is left alone.
pub const LEAVE_LONG_NAME: &str = "the name of the root policy is too long for a label";
/// Why a replica is left alone.
pub const LEAVE_ROOT_IN_CLUSTER_NAMESPACE: &str = "the root policy lies in the namespace of a managed cluster, where only replicated policies belong";
/// Why a replica is left alone.
pub const LEAVE_FOREIGN: &str = "its namespace belongs to no managed cluster of this hub";

/// Why replicas are not deleted yet.
pub const CACHE_IS_BEHIND: &str =
    "the watches are behind the API server, not deleting replicated policies yet";

/// Before the policies of a set that wait for others.
pub const SET_PENDING: &str = "Policies awaiting pending dependencies";
/// Before the disabled policies of a set.
pub const SET_DISABLED: &str = "Disabled policies";
/// Before the policies of a set whose compliance is not known.
pub const SET_UNKNOWN: &str = "No status provided while awaiting policy status";
/// Before the policies of a set that do not exist.
pub const SET_DELETED: &str = "Deleted policies";
/// All policies of a set are known.
pub const SET_REPORTING: &str = "All policies are reporting status";
/// After the message about a set with exclusions.
pub const SET_EXCLUSIONS: &str =
    "; One or more policies were excluded. For details, see status.exclusions.";

/// The templates of a policy have computed for too long together.
pub fn policy_computes_too_long(limit: Duration) -> String {
    format!(
        "the templates of the policy exceeded the limit of {limit:?} of processor time together"
    )
}

/// A template failed on a value that was computed from a Secret: the error would quote it. `place` is where, if that is
/// known.
pub fn failed_on_a_secret(place: &str) -> String {
    let place = if place.is_empty() {
        String::new()
    } else {
        format!("{place}: ")
    };
    format!(
        "failed to resolve the template: {place}the error is withheld, as it may quote a value computed from a Secret"
    )
}

/// Why a template is withheld: a value computed from a Secret would be readable, and cannot be encrypted in this field. `field`
/// is a JSON pointer.
pub fn exposed(expression: &str, field: &str) -> String {
    format!(
        "failed to resolve the template: the value of <{expression}> was computed from a Secret and cannot be encrypted in {field}; only texts within spec can, and those within object-templates-raw with the function protect"
    )
}

/// Why a template is withheld: its `object-templates-raw` would show text of a Secret.
pub const EXPOSED_RAW: &str = "failed to resolve the template: object-templates-raw would hold text of a Secret for all to read: pipe it to protect";

/// The API server answered a request for a token with none.
pub const NO_TOKEN: &str = "the API server returned no token";

/// A rotation period of zero days.
pub const KEY_ROTATION_ZERO: &str = "the encryption-key-rotation flag must be greater than 0";
/// No workers for key rotation.
pub const KEY_ROTATION_WORKERS_ZERO: &str =
    "the key-rotation-max-concurrency flag must be greater than 0";
/// Shards that no lease protects.
pub const SHARDS_WITHOUT_ELECTION: &str =
    "the shards flag needs the leader-elect flag: each shard has a lease";

/// A policy's name leaves no room for the label on its replicas.
pub const LONG_NAME: &str =
    "the combined length of the policy namespace and name cannot exceed 62 characters";
/// Neither the policy nor the template has a remediation action.
pub const NO_REMEDIATION: &str =
    "RemediationAction field of the policy and policy template cannot both be unset";
/// Before the policies that a set excludes more than once.
pub const DUPLICATE_EXCLUSION: &str = "policy in spec.exclusions has a duplicate entry";
/// Before the policies that a set excludes without having them.
pub const FOREIGN_EXCLUSION: &str = "policy in spec.exclusions is not listed in spec.policies";

/// A policy template has no kind.
pub fn template_without_kind(position: usize) -> String {
    format!(
        "spec.policy-templates[{position}].objectDefinition has no kind: managed clusters will report it as invalid"
    )
}

/// A policy set excludes a cluster that cannot exist.
pub fn invalid_cluster_name(policy: &str, cluster: &str) -> String {
    format!("spec.exclusions of {policy}: {cluster:?} cannot be the name of a cluster")
}

/// After the names that a text lists: there are so many that it leaves out.
pub fn more_names(count: usize) -> String {
    format!("and {count} more")
}

/// After the warnings that a response has: there are so many that it leaves out.
pub fn more_warnings(count: usize) -> String {
    format!("{count} more warnings")
}

/// The body of a request to a webhook is no review of its kind.
pub fn malformed_review(kind: &str, error: &dyn std::fmt::Display) -> String {
    format!("not an AdmissionReview of a {kind}: {error}")
}

/// A request to a webhook was not answered in time.
pub const SLOW_REVIEW: &str = "the review took longer than the API server waits for it";

/// There is no `PlacementRule` kind on the hub.
pub const NO_PLACEMENT_RULES: &str = "PlacementRule CRD not found. Disabling PlacementRule watches. Restart the container if the CRD is installed later.";

/// A binding pairs a kind with a foreign API group.
pub fn invalid_placement_ref(binding: &ObjectKey) -> String {
    format!("PlacementBinding {binding} placementRef is not valid. Ignoring.")
}

/// A binding names a placement rule on a hub that has none.
pub fn placement_rule_ignored(binding: &ObjectKey) -> String {
    format!(
        "PlacementBinding {binding} names a PlacementRule, but PlacementRules are not installed or switched off: it places nothing"
    )
}

/// The service account that a policy's templates read with does not exist.
pub fn account_missing(account: &ObjectKey) -> String {
    format!(
        "the service account in hubTemplateOptions.serviceAccountName ({account}) does not exist"
    )
}

/// The service account that a policy's templates read with cannot be used.
pub fn account_unusable(account: &ObjectKey, reason: &str) -> String {
    format!(
        "failed to set up the template resolver for the service account in hubTemplateOptions.serviceAccountName ({account}): {reason}"
    )
}

/// A read that the API server refused.
pub struct RefusedQuery<'a> {
    /// What is read.
    pub kind: &'a ServedKind,
    /// Empty for cluster-scoped kinds.
    pub namespace: &'a str,
    /// Empty for a list.
    pub name: &'a str,
    /// A label selector; empty for none.
    pub selector: &'a str,
}

/// The API server's error, and the permission that is missing.
pub fn missing_permission(refusal: &str, query: &RefusedQuery<'_>) -> String {
    let resource = &query.kind.resource;
    let mut text = format!(
        "{refusal}: ensure the client has the list and watch permissions for the query: GroupVersion={}, Kind={}, Namespace={}, Name={}",
        resource.api_version, resource.kind, query.namespace, query.name
    );
    if !query.selector.is_empty() {
        text.push_str(", Selector=");
        text.push_str(query.selector);
    }
    text
}

/// A template reads the labels of a cluster that does not exist.
pub fn managed_cluster_missing(cluster: &str) -> String {
    format!(
        "failed to resolve the template: the ManagedCluster {cluster} does not exist, so .ManagedClusterLabels is not known"
    )
}

/// Values are to be encrypted for a cluster that does not exist.
pub fn no_cluster_to_encrypt_for(cluster: &str) -> String {
    format!(
        "the ManagedCluster {cluster} does not exist, so there is no key to encrypt values with"
    )
}

/// A template cannot be parsed.
pub fn unparsable(reason: &str) -> String {
    format!("failed to parse the template JSON string: {reason}")
}

/// A template failed.
pub fn unresolvable(reason: &str) -> String {
    format!("failed to resolve the template: {reason}")
}

/// Templates could not be resolved for a cluster.
pub fn templates_failed(cluster: &str, reason: &str) -> String {
    format!("{TEMPLATES_FAILED_FOR} cluster {cluster}: {reason}")
}

/// Before the clusters for which templates could not be resolved.
pub const TEMPLATES_FAILED_FOR: &str = "Failed to resolve templates for";

/// The status of a policy set changed.
pub fn set_updated(set: &ObjectKey) -> String {
    format!(
        "Status successfully updated for policySet {} in namespace {}",
        set.name, set.namespace
    )
}

/// A policy set lists a policy that does not exist.
pub fn set_member_missing(set: &ObjectKey, policy: &str) -> String {
    format!(
        "Policy {policy} is in PolicySet {} but could not be found in namespace {}",
        set.name, set.namespace
    )
}

/// A policy that has a binding is in the namespace of a managed cluster.
pub fn in_cluster_namespace(root: &RootPolicyName) -> String {
    format!(
        "Policy {}/{} is bound but lies in the namespace of a managed cluster, where only replicated policies belong: it is not propagated",
        root.namespace, root.name
    )
}

/// A replica was created.
pub fn propagated(pair: &Pair) -> String {
    format!("{} cluster {}", propagated_to(&pair.root), pair.cluster)
}

/// Before the clusters of created replicas.
pub fn propagated_to(root: &RootPolicyName) -> String {
    format!("Policy {}/{} was propagated to", root.namespace, root.name)
}

/// A replica was changed.
pub fn updated(pair: &Pair) -> String {
    format!("{} cluster {}", updated_for(&pair.root), pair.cluster)
}

/// Before the clusters of changed replicas.
pub fn updated_for(root: &RootPolicyName) -> String {
    format!("Policy {}/{} was updated for", root.namespace, root.name)
}

/// The type of the condition of a status that does not list all clusters.
pub const CLUSTERS_OMITTED: &str = "ClustersOmitted";
/// Its reason.
pub const STATUS_TOO_LARGE: &str = "StatusTooLarge";

/// The message of that condition: how many clusters are listed, and the compliance of all of them.
pub fn clusters_omitted(omission: &Omission) -> String {
    let counts = omission.counts.iter().map(|(compliance, count)| {
        let compliance = compliance.map(|compliance| compliance.to_string());
        format!("{count} {}", compliance.as_deref().unwrap_or("not known"))
    });
    let counts: Vec<String> = counts.collect();
    format!(
        "The status lists {} of {} clusters, because an object must fit into etcd. All clusters: {}",
        omission.listed,
        omission.total,
        counts.join(", ")
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
