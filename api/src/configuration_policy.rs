//! `ConfigurationPolicy` v1: what objects a cluster must, must not or must only have.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compliance::{Compliance, RemediationAction};
use crate::{schema, shared};

/// The desired objects and what may be done to have them. Exactly one of `object-templates` and
/// `object-templates-raw` is given.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[kube(
    group = "policy.open-cluster-management.io",
    version = "v1",
    kind = "ConfigurationPolicy",
    plural = "configurationpolicies",
    namespaced,
    status = "ConfigurationPolicyStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "ConfigurationPolicy says which objects the cluster must, must not or must only have.",
    label("policy.open-cluster-management.io/policy-type", "template"),
    printcolumn(
        name = "Compliance state",
        type_ = "string",
        json_path = ".status.compliant"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationPolicySpec {
    /// Texts that replace the default compliance message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_message: Option<CustomMessage>,
    /// How often to evaluate. Absent: whenever a watched object changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation_interval: Option<EvaluationInterval>,
    /// The namespaces for objects that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub namespace_selector: Option<NamespaceSelector>,
    /// The desired objects.
    #[serde(
        rename = "object-templates",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub object_templates: Option<Vec<ObjectTemplate>>,
    /// The desired objects as one text: a YAML list, usually made by a Go template.
    #[serde(
        rename = "object-templates-raw",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub object_templates_raw: Option<String>,
    /// What becomes of the objects when the policy is deleted or no longer names them.
    #[serde(default = "none_word", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["DeleteAll", "DeleteIfCreated", "None"]))]
    pub prune_object_behavior: Option<String>,
    /// Report violations, or repair them.
    #[serde(default = "inform_word")]
    #[schemars(extend("enum" = ["Inform", "inform", "Enforce", "enforce"]))]
    pub remediation_action: String,
    /// How bad a violation is; a metric label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["low", "Low", "medium", "Medium", "high", "High", "critical", "Critical"]))]
    pub severity: Option<String>,
}

impl ConfigurationPolicySpec {
    /// The typed reading of [`Self::remediation_action`]; `None` when it is empty or unknown.
    pub fn remediation(&self) -> Option<RemediationAction> {
        RemediationAction::parse(&self.remediation_action)
    }
}

// serde's default functions return the field's type.
#[allow(clippy::unnecessary_wraps)]
fn none_word() -> Option<String> {
    Some("None".to_owned())
}

fn inform_word() -> String {
    "inform".to_owned()
}

/// Texts that replace the default compliance message; Go templates.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    /// Used while the policy is compliant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compliant: Option<String>,
    /// Used in every other state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noncompliant: Option<String>,
}

/// How often to evaluate: a Go duration, `never`, or `watch`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluationInterval {
    /// While the policy is compliant. Absent means `watch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(
        pattern = "^(?:(?:(?:[0-9]+(?:.[0-9])?)(?:h|m|s|(?:ms)|(?:us)|(?:ns)))|never|watch)+$"
    ))]
    pub compliant: Option<String>,
    /// In every other state. Absent means `watch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(
        pattern = "^(?:(?:(?:[0-9]+(?:.[0-9])?)(?:h|m|s|(?:ms)|(?:us)|(?:ns)))|never|watch)+$"
    ))]
    pub noncompliant: Option<String>,
}

/// Chooses namespaces by name pattern and label. Selects nothing without `include` or labels.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceSelector {
    /// Shell-style patterns of names to leave out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(length(min = 1)))]
    pub exclude: Option<Vec<String>>,
    /// Shell-style patterns of names to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(length(min = 1)))]
    pub include: Option<Vec<String>>,
    /// Labels a namespace must have, by expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_expressions: Option<Vec<LabelRequirement>>,
    /// Labels a namespace must have, by value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<std::collections::BTreeMap<String, String>>,
    /// Whether namespaces that are being deleted are taken.
    #[serde(default = "default_word", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["IfMatch", "Never", "Default"]))]
    pub terminating_inclusion: Option<String>,
}

// serde's default functions return the field's type.
#[allow(clippy::unnecessary_wraps)]
fn default_word() -> Option<String> {
    Some("Default".to_owned())
}

/// One label expression. The operator is free text here and judged at run time, as the error
/// belongs into the policy's status.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelRequirement {
    /// The label's key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The values for `In` and `NotIn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Option<Vec<String>>,
}

/// One desired object, or one kind of objects chosen by labels.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectTemplate {
    /// Whether the object must, must not or must only exist as described.
    #[schemars(extend("enum" = [
        "MustHave", "Musthave", "musthave",
        "MustOnlyHave", "Mustonlyhave", "mustonlyhave",
        "MustNotHave", "Mustnothave", "mustnothave"
    ]))]
    pub compliance_type: String,
    /// The same for labels and annotations. Absent means the value of `complianceType`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = [
        "MustHave", "Musthave", "musthave", "MustOnlyHave", "Mustonlyhave", "mustonlyhave"
    ]))]
    pub metadata_compliance_type: Option<String>,
    /// The object, or the part of it that matters.
    // Policies with equal definitions can have it in common.
    #[serde(with = "shared")]
    #[schemars(schema_with = "schema::any_object")]
    pub object_definition: Arc<Value>,
    /// Chooses objects by label when the definition names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub object_selector: Option<LabelSelector>,
    /// Where the difference between the object and its description is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Log", "InStatus", "None"]))]
    pub record_diff: Option<String>,
    /// Whether to delete and create the object when it cannot be updated.
    #[serde(default = "none_word", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["None", "IfRequired", "Always"]))]
    pub recreate_option: Option<String>,
}

/// What an evaluation found.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationPolicyStatus {
    /// One entry per object template, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compliancy_details: Option<Vec<TemplateStatus>>,
    /// The sum over the object templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Compliant", "Pending", "NonCompliant", "Terminating"]))]
    pub compliant: Option<String>,
    /// What was reported, newest first, at most ten entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<HistoryEntry>>,
    /// When the policy was last evaluated, RFC 3339 in UTC, whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_evaluated: Option<String>,
    /// The generation that was last evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_evaluated_generation: Option<i64>,
    /// The objects that decided the answer, sorted by kind, namespace, name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_objects: Option<Vec<RelatedObject>>,
}

impl ConfigurationPolicyStatus {
    /// The typed reading of [`Self::compliant`].
    pub fn compliance(&self) -> Option<Compliance> {
        self.compliant.as_deref().and_then(Compliance::parse)
    }
}

/// The answer for one object template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
pub struct TemplateStatus {
    /// The template's compliance; absent while unknown. The capital is upstream's.
    #[serde(rename = "Compliant", default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Compliant", "Pending", "NonCompliant", "Terminating"]))]
    pub compliant: Option<String>,
    /// Always an empty object; readers of older releases expect it.
    #[serde(rename = "Validity", default)]
    #[schemars(schema_with = "schema::any_object")]
    pub validity: serde_json::Map<String, Value>,
    /// Exactly one condition once the template has been evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
}

/// The verdict for one object template, in words.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// When the verdict last changed, RFC 3339 in UTC, whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: Option<String>,
    /// What was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why, as a short fixed text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Always `True`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// `violation` or `notification`.
    #[serde(rename = "type")]
    pub type_: String,
}

/// One report.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// When, RFC 3339 with six fractional digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_timestamp: Option<String>,
    /// `<compliance>; <text>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// One object that decided the answer.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RelatedObject {
    /// Whether this object complies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compliant: Option<String>,
    /// The object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectReference>,
    /// What else is known about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<ObjectProperties>,
    /// Why it complies or not, as a short fixed text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Names an object.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// Its `apiVersion`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its name and namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<ObjectReferenceMetadata>,
}

/// The name and namespace of a referenced object.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReferenceMetadata {
    /// The name; `-` stands for "no object was chosen".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The namespace, for namespaced kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// What else is known about a related object.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectProperties {
    /// Whether this policy created the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by_policy: Option<bool>,
    /// How the object differs from its description, a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Field by field, how the object differs from its description. At most 20 fields are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<FieldDifference>>,
    /// The object was found by its content, for a template that names none. It is never changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_by_content: Option<bool>,
    /// The object differs in text, but the API server would store no difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches_after_dry_run: Option<bool>,
    /// The object's UID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Why the verdict rests on a comparison alone: the API server was not asked what an update would change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unverified: Option<String>,
}

/// One field that is not as wanted.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldDifference {
    /// Where the field is, such as `spec.containers[name=web].image`.
    pub path: String,
    /// The value that is there, as JSON. Absent if nothing is there, or if it must not be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The values are sensitive and not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
    /// The value that the policy wants, as JSON. Absent if nothing is to be there, or if it must not be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
}
