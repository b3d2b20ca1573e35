//! `Policy` v1: what users write on the hub, and what the hub writes into cluster namespaces.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compliance::{Compliance, RemediationAction};
use crate::schema;

/// What a policy asks for.
// Each column of the table has its own `type_` and `json_path`.
#[allow(clippy::duplicated_attributes)]
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[kube(
    group = "policy.open-cluster-management.io",
    version = "v1",
    kind = "Policy",
    plural = "policies",
    shortname = "plc",
    namespaced,
    status = "PolicyStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Policy holds policy templates to distribute to managed clusters, and on the hub the sum of what those clusters answer.",
    printcolumn(
        name = "Remediation action",
        type_ = "string",
        json_path = ".spec.remediationAction"
    ),
    printcolumn(
        name = "Compliance state",
        type_ = "string",
        json_path = ".status.compliant"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct PolicySpec {
    /// Copy the policy's labels and annotations to its replicas. Absent means true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_policy_metadata: Option<bool>,
    /// Objects that must have a given compliance before any template is applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Vec<PolicyDependency>>,
    /// A disabled policy is removed from every managed cluster.
    pub disabled: bool,
    /// How hub templates of this policy are resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hub_template_options: Option<HubTemplateOptions>,
    /// The objects to create on the managed cluster, each of a kind that a policy engine evaluates.
    #[serde(rename = "policy-templates")]
    pub policy_templates: Vec<PolicyTemplate>,
    /// Overrides the remediation action of every template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Inform", "inform", "Enforce", "enforce"]))]
    pub remediation_action: Option<String>,
}

impl PolicySpec {
    /// The typed reading of [`Self::remediation_action`].
    pub fn remediation(&self) -> Option<RemediationAction> {
        self.remediation_action
            .as_deref()
            .and_then(RemediationAction::parse)
    }

    /// Whether replicas take over the root's own labels and annotations.
    pub fn copies_metadata(&self) -> bool {
        self.copy_policy_metadata.unwrap_or(true)
    }
}

/// Whose permissions hub templates use.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HubTemplateOptions {
    /// A service account in the policy's namespace. Absent: the propagator's own, restricted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
}

/// An object whose compliance something waits for.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyDependency {
    /// The object's `apiVersion`.
    pub api_version: String,
    /// The compliance to wait for.
    #[schemars(extend("enum" = ["Compliant", "Pending", "NonCompliant"]))]
    pub compliance: String,
    /// The object's kind.
    pub kind: String,
    /// The object's name.
    pub name: String,
    /// The object's namespace. Must be empty for `ConfigurationPolicy` and `CertificatePolicy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// One object to create on the managed cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyTemplate {
    /// Dependencies of this template alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_dependencies: Option<Vec<PolicyDependency>>,
    /// Count the template as compliant while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_pending: Option<bool>,
    /// The object itself.
    #[schemars(schema_with = "schema::any_object")]
    pub object_definition: Value,
}

impl PolicyTemplate {
    /// A string inside the object definition, by JSON pointer; `None` if absent or not a string.
    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.object_definition
            .pointer(pointer)
            .and_then(Value::as_str)
    }
}

/// What is known about a policy. Root and replicated policies use different fields.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyStatus {
    /// The sum: over clusters on a root policy, over templates on a replicated one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Compliant", "Pending", "NonCompliant"]))]
    pub compliant: Option<String>,
    /// Root policy only: conditions of this status, such as that it does not list all clusters. Upstream's CRD does not have
    /// them, and drops them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<PolicyCondition>>,
    /// Replicated policy only: one entry per template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Vec<DetailsPerTemplate>>,
    /// Root policy only: the bindings and placements that chose the clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Vec<PolicyPlacement>>,
    /// Root policy only: one entry per chosen cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Vec<CompliancePerCluster>>,
}

impl PolicyStatus {
    /// The typed reading of [`Self::compliant`].
    pub fn compliance(&self) -> Option<Compliance> {
        self.compliant.as_deref().and_then(Compliance::parse)
    }
}

/// A condition of a root policy's status.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyCondition {
    /// When the condition began, RFC 3339 in UTC, whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why, as a fixed word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// `True`: a condition that does not hold is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// `ClustersOmitted`.
    #[serde(rename = "type")]
    pub type_: String,
}

/// One way by which a root policy reaches clusters.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyPlacement {
    /// Accepted for compatibility; never written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Vec<PlacementDecisionEntry>>,
    /// Clusters that the policy set keeps this policy from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusions: Option<Vec<ExcludedCluster>>,
    /// The `Placement`, when that is what the binding names and it exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// The `PlacementBinding`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement_binding: Option<String>,
    /// The `PlacementRule`, when that is what the binding names and it exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement_rule: Option<String>,
    /// The `PolicySet` through which the binding selects the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_set: Option<String>,
}

/// A cluster chosen by a placement.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementDecisionEntry {
    /// The cluster's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// The cluster's namespace on the hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_namespace: Option<String>,
}

/// A cluster that a policy set excludes.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExcludedCluster {
    /// The cluster's name.
    pub cluster_name: String,
}

/// What one cluster answers.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
pub struct CompliancePerCluster {
    /// The cluster's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clustername: Option<String>,
    /// The cluster's namespace on the hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusternamespace: Option<String>,
    /// The cluster's compliance; absent until it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Compliant", "Pending", "NonCompliant"]))]
    pub compliant: Option<String>,
    /// Bindings that still select the cluster although a policy set excludes it.
    #[serde(
        rename = "remainingBindings",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub remaining_bindings: Option<Vec<RemainingBinding>>,
}

/// A binding that selects a cluster in spite of an exclusion.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemainingBinding {
    /// The `PlacementBinding`.
    pub placement_binding: String,
}

/// What is known about one template on one cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DetailsPerTemplate {
    /// The template's compliance; absent until it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Compliant", "Pending", "NonCompliant"]))]
    pub compliant: Option<String>,
    /// What was reported, newest first, at most ten entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<ComplianceHistory>>,
    /// Metadata of the template object; only its name is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub template_meta: Option<Value>,
}

impl DetailsPerTemplate {
    /// The name in [`Self::template_meta`], empty when there is none.
    pub fn template_name(&self) -> &str {
        self.template_meta
            .as_ref()
            .and_then(|meta| meta.get("name"))
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

/// One report about one template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComplianceHistory {
    /// The event that carried the report: `<policy>.<hex nanoseconds>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_name: Option<String>,
    /// When it was reported, RFC 3339 in UTC, whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_timestamp: Option<String>,
    /// What was reported: `<compliance>; <text>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
