//! `OperatorPolicy` v1beta1: which operator a cluster must or must not have, by the Operator Lifecycle Manager.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::compliance::{Compliance, RemediationAction};
use crate::configuration_policy::{HistoryEntry, ObjectReference};
use crate::schema;

/// The operator, how it is subscribed to, and what may be done to have it.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[kube(
    group = "policy.open-cluster-management.io",
    version = "v1beta1",
    kind = "OperatorPolicy",
    plural = "operatorpolicies",
    namespaced,
    status = "OperatorPolicyStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "OperatorPolicy says which operator the cluster must or must not have.",
    label("policy.open-cluster-management.io/policy-type", "template"),
    printcolumn(
        name = "Compliance state",
        type_ = "string",
        json_path = ".status.compliant"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct OperatorPolicySpec {
    /// What the states of the operator's parts mean for the policy.
    #[serde(default)]
    pub compliance_config: ComplianceConfig,
    /// Whether the operator must or must not be there: `musthave` or `mustnothave`.
    #[serde(default)]
    #[schemars(extend("enum" = ["musthave", "mustnothave"]))]
    pub compliance_type: String,
    /// The `OperatorGroup`: `name`, optionally `namespace`, and the fields of its spec beside them. A template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub operator_group: Option<Map<String, Value>>,
    /// Report violations, or repair them.
    #[serde(default = "inform_word")]
    #[schemars(extend("enum" = ["Inform", "inform", "Enforce", "enforce"]))]
    pub remediation_action: String,
    /// What becomes of the operator's objects when it must not be there.
    #[serde(default)]
    pub removal_behavior: RemovalBehavior,
    /// How bad a violation is; a metric label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["low", "Low", "medium", "Medium", "high", "High", "critical", "Critical"]))]
    pub severity: Option<String>,
    /// The Subscription: `name` (of the package), optionally `namespace`, and the fields of its spec beside them. A
    /// template.
    #[serde(default)]
    #[schemars(schema_with = "schema::any_object")]
    pub subscription: Map<String, Value>,
    /// Who approves upgrades: `Automatic` lets the policy do it, `None` leaves them. The first installation is not an
    /// upgrade.
    #[serde(default)]
    #[schemars(extend("enum" = ["None", "Automatic"]))]
    pub upgrade_approval: String,
    /// The names of the `ClusterServiceVersions` that may be installed; each entry a template that may give several,
    /// divided by commas. Empty means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Vec<String>>,
}

impl OperatorPolicySpec {
    /// The typed reading of [`Self::remediation_action`]; `None` when it is empty or unknown.
    pub fn remediation(&self) -> Option<RemediationAction> {
        RemediationAction::parse(&self.remediation_action)
    }
}

fn inform_word() -> String {
    "inform".to_owned()
}

// serde's default functions return the field's type.
#[allow(clippy::unnecessary_wraps)]
fn compliant_word() -> Option<String> {
    Some("Compliant".to_owned())
}

#[allow(clippy::unnecessary_wraps)]
fn non_compliant_word() -> Option<String> {
    Some("NonCompliant".to_owned())
}

#[allow(clippy::unnecessary_wraps)]
fn keep_word() -> Option<String> {
    Some("Keep".to_owned())
}

#[allow(clippy::unnecessary_wraps)]
fn delete_word() -> Option<String> {
    Some("Delete".to_owned())
}

#[allow(clippy::unnecessary_wraps)]
fn delete_if_unused_word() -> Option<String> {
    Some("DeleteIfUnused".to_owned())
}

/// What the states of the operator's parts mean for the policy: each is `Compliant` or `NonCompliant`. Absent only
/// where no API server has filled in the defaults.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComplianceConfig {
    /// The `CatalogSource` is not healthy.
    #[serde(default = "compliant_word", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Compliant", "NonCompliant"]))]
    pub catalog_source_unhealthy: Option<String>,
    /// A Deployment of the operator is not available.
    #[serde(
        default = "non_compliant_word",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("enum" = ["Compliant", "NonCompliant"]))]
    pub deployments_unavailable: Option<String>,
    /// The package, the channel or the installed version is deprecated.
    #[serde(default = "compliant_word", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Compliant", "NonCompliant"]))]
    pub deprecations_present: Option<String>,
    /// There is a channel of a newer minor version.
    #[serde(default = "compliant_word", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Compliant", "NonCompliant"]))]
    pub minor_channel_upgrade_available: Option<String>,
    /// An upgrade waits for its approval.
    #[serde(default = "compliant_word", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Compliant", "NonCompliant"]))]
    pub upgrades_available: Option<String>,
}

/// What becomes of the objects of an operator that must not be there. Absent only where no API server has filled in
/// the defaults.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovalBehavior {
    /// The `ClusterServiceVersions`: `Keep` or `Delete`.
    #[serde(default = "delete_word", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Keep", "Delete"]))]
    pub cluster_service_versions: Option<String>,
    /// The `CustomResourceDefinitions`, and with them all objects of their kinds: `Keep` or `Delete`.
    #[serde(default = "keep_word", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Keep", "Delete"]))]
    pub custom_resource_definitions: Option<String>,
    /// The `OperatorGroup`: `Keep`, or `DeleteIfUnused` by another operator of its namespace.
    #[serde(
        default = "delete_if_unused_word",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("enum" = ["Keep", "DeleteIfUnused"]))]
    pub operator_groups: Option<String>,
    /// The Subscription: `Keep` or `Delete`.
    #[serde(default = "delete_word", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Keep", "Delete"]))]
    pub subscriptions: Option<String>,
}

/// What was found.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorPolicyStatus {
    /// The sum of the conditions. Empty or absent asks for a new report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Compliant", "Pending", "NonCompliant", "Terminating"]))]
    pub compliant: Option<String>,
    /// One per part of the operator, sorted by type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"]
    ))]
    pub conditions: Option<Vec<OperatorCondition>>,
    /// What was reported, newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<HistoryEntry>>,
    /// The generation that was last evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The policies about the same operator, `<name>.<namespace>`, sorted, this one among them. Absent if there is no
    /// other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlapping_policies: Option<Vec<String>>,
    /// The objects that decided the answer. Written even if there are none.
    #[serde(default)]
    pub related_objects: Vec<RelatedOperatorObject>,
    /// `<subscription>.<namespace>`, shortened as labels are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_subscription_label: Option<String>,
    /// Until when a failed resolution is left to itself, RFC 3339 in UTC, whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub subscription_intervention_time: Option<String>,
}

impl OperatorPolicyStatus {
    /// The typed reading of [`Self::compliant`].
    pub fn compliance(&self) -> Option<Compliance> {
        self.compliant.as_deref().and_then(Compliance::parse)
    }
}

/// What is known about one part of the operator: a Kubernetes condition.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorCondition {
    /// When the condition last changed, RFC 3339 in UTC, whole seconds.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,
    /// What was found.
    #[schemars(length(max = 32768))]
    pub message: String,
    /// The generation that the condition is about. Never written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0))]
    pub observed_generation: Option<i64>,
    /// Why, as one word.
    #[schemars(
        length(min = 1, max = 1024),
        regex(pattern = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    )]
    pub reason: String,
    /// `True`, `False` or `Unknown`.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,
    /// The part that the condition is about.
    #[serde(rename = "type")]
    #[schemars(
        length(max = 316),
        regex(
            pattern = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
        )
    )]
    pub type_: String,
}

/// One object that decided the answer.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RelatedOperatorObject {
    /// `Compliant`, `NonCompliant` or `Inapplicable`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compliant: Option<String>,
    /// The object; its name is `-` when it is not known or not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectReference>,
    /// What else is known about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<OperatorObjectProperties>,
    /// Why it complies or not, as a short fixed text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What else is known about a related object.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorObjectProperties {
    /// Whether this policy created the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by_policy: Option<bool>,
    /// The object's UID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}
