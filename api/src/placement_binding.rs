//! `PlacementBinding` v1: which policies go to the clusters of which placement.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compliance::RemediationAction;

/// The fields of a binding, which has no `spec`: they sit beside `metadata`.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[kube(
    group = "policy.open-cluster-management.io",
    version = "v1",
    kind = "PlacementBinding",
    plural = "placementbindings",
    shortname = "pb",
    namespaced,
    no_spec,
    status = "PlacementBindingStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "PlacementBinding binds policies and policy sets to a placement in the same namespace."
)]
#[serde(rename_all = "camelCase")]
pub struct PlacementBindingFields {
    /// What the binding changes in the policies it places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding_overrides: Option<BindingOverrides>,
    /// The placement that chooses the clusters.
    pub placement_ref: PlacementRef,
    /// `restricted`: the binding only adds its overrides to clusters chosen by other bindings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["restricted"]))]
    pub sub_filter: Option<String>,
    /// The policies and policy sets to place.
    #[schemars(length(min = 1))]
    pub subjects: Vec<Subject>,
}

impl PlacementBindingFields {
    /// Whether this binding never places by itself.
    pub fn is_restricted(&self) -> bool {
        self.sub_filter.as_deref() == Some("restricted")
    }

    /// The override value verbatim, when it asks for enforcement.
    pub fn enforce_override(&self) -> Option<&str> {
        let action = self
            .binding_overrides
            .as_ref()?
            .remediation_action
            .as_deref()?;
        (RemediationAction::parse(action) == Some(RemediationAction::Enforce)).then_some(action)
    }
}

/// What a binding changes in the policies it places.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BindingOverrides {
    /// Enforce the policy on these clusters although it only informs elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Enforce", "enforce"]))]
    pub remediation_action: Option<String>,
}

/// Names a `Placement` or `PlacementRule` in the binding's namespace.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementRef {
    /// The API group that goes with the kind.
    #[schemars(length(min = 1), extend("enum" = ["apps.open-cluster-management.io", "cluster.open-cluster-management.io"]))]
    pub api_group: String,
    /// `Placement` or `PlacementRule`.
    #[schemars(length(min = 1), extend("enum" = ["PlacementRule", "Placement"]))]
    pub kind: String,
    /// The object's name.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// A policy or policy set in the binding's namespace.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// Always the policy group.
    #[schemars(length(min = 1), extend("enum" = ["policy.open-cluster-management.io"]))]
    pub api_group: String,
    /// `Policy` or `PolicySet`.
    #[schemars(length(min = 1), extend("enum" = ["Policy", "PolicySet"]))]
    pub kind: String,
    /// The object's name.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// Bindings have no status of their own.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
pub struct PlacementBindingStatus {}
