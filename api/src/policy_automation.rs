//! `PolicyAutomation` v1beta1: an Ansible job for a policy's violations.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema;

/// When to run which job.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[kube(
    group = "policy.open-cluster-management.io",
    version = "v1beta1",
    kind = "PolicyAutomation",
    plural = "policyautomations",
    shortname = "plca",
    namespaced,
    status = "PolicyAutomationStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "PolicyAutomation starts an Ansible job when a policy of its namespace is violated."
)]
#[serde(rename_all = "camelCase")]
pub struct PolicyAutomationSpec {
    /// The job to run.
    pub automation_def: AutomationDef,
    /// The shortest time between two runs for one cluster in mode `everyEvent`, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub delay_after_run_seconds: Option<i64>,
    /// What counts as an event; only `noncompliant` exists.
    #[serde(
        default = "default_event_hook",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("enum" = ["noncompliant"]))]
    pub event_hook: Option<String>,
    /// `once`: run once, then switch to `disabled`. `everyEvent`: run for each new violation.
    #[schemars(extend("enum" = ["once", "everyEvent", "disabled"]))]
    pub mode: String,
    /// The policy, in the same namespace.
    #[schemars(length(min = 1))]
    pub policy_ref: String,
    /// Reserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rescan_after: Option<String>,
}

// serde's default functions return the field's type.
#[allow(clippy::unnecessary_wraps)]
fn default_event_hook() -> Option<String> {
    Some("noncompliant".to_owned())
}

/// An Ansible job template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
pub struct AutomationDef {
    /// Variables passed to the job beside those the framework adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub extra_vars: Option<Value>,
    /// How long a finished job is kept, in seconds. Absent means 86400.
    #[serde(rename = "jobTtl", default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub job_ttl: Option<i64>,
    /// The job template's name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// How many violations to pass to the job. Absent means 1000, 0 means all.
    #[serde(
        rename = "policyViolationsLimit",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 0))]
    pub policy_violations_limit: Option<i64>,
    /// The secret with the credentials for the job platform.
    #[schemars(length(min = 1))]
    pub secret: String,
    /// Reserved.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
}

/// What has been run.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyAutomationStatus {
    /// The last event and run of each cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters_with_event: Option<BTreeMap<String, ClusterEvent>>,
}

/// The last event and run of one cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterEvent {
    /// When the job was started, RFC 3339.
    pub automation_start_time: String,
    /// When the cluster's compliance last changed, RFC 3339.
    pub event_time: String,
}
