//! The kinds by which OCM installs add-ons, `addon.open-cluster-management.io/v1alpha1`: what is stored, so that no
//! conversion is needed to read it. Their CRDs belong to OCM; here are only the fields that are read.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The API group of these kinds.
pub const ADDON_GROUP: &str = "addon.open-cluster-management.io";
/// The `resource` of [`ConfigResource`] for an [`AddOnDeploymentConfig`].
pub const DEPLOYMENT_CONFIGS: &str = "addondeploymentconfigs";

/// An add-on on one cluster; it is in the cluster's namespace on the hub.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1alpha1",
    kind = "ManagedClusterAddOn",
    plural = "managedclusteraddons",
    namespaced,
    status = "ManagedClusterAddOnStatus",
    schema = "disabled",
    doc = "An add-on on one cluster."
)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterAddOnSpec {
    /// The namespace of the agent, if nothing else says one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub install_namespace: String,
    /// What configures this add-on on this cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configs: Vec<AddOnConfig>,
}

/// What is known of an add-on.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterAddOnStatus {
    /// What several controllers say of it.
    pub conditions: Vec<Condition>,
    /// The configurations that apply, written by OCM's addon-manager.
    pub config_references: Vec<ConfigReference>,
    /// The kinds of configuration that the add-on understands.
    pub supported_configs: Vec<ConfigResource>,
    /// How the agent is to register with the hub.
    pub registrations: Vec<Registration>,
    /// How the agent has registered: `csr` or `token`.
    pub kube_client_driver: Option<String>,
    /// The namespace of the agent.
    pub namespace: Option<String>,
}

/// A kind of configuration.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigResource {
    /// The API group.
    pub group: String,
    /// The plural.
    pub resource: String,
}

/// One configuration of an add-on.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct AddOnConfig {
    /// Its kind.
    #[serde(flatten)]
    pub resource: ConfigResource,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A configuration that applies to an add-on. Fields that are not read here are kept, because the list is written back.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigReference {
    /// Its kind.
    #[serde(flatten)]
    pub resource: ConfigResource,
    /// Which one, in which version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_config: Option<ConfigSpecHash>,
    /// The generation that was seen last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_observed_generation: Option<i64>,
    /// Everything else.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// A configuration in one version.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigSpecHash {
    /// Its namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The hash of its content, 64 hex digits.
    pub spec_hash: String,
}

/// How an agent registers with the hub.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Registration {
    /// Who signs its certificates.
    pub signer_name: String,
    /// Who it is.
    pub subject: Subject,
}

/// An identity on the hub.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Subject {
    /// The user.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// The groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

/// An add-on that the hub knows.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1alpha1",
    kind = "ClusterManagementAddOn",
    plural = "clustermanagementaddons",
    status = "ClusterManagementAddOnStatus",
    schema = "disabled",
    doc = "An add-on that the hub knows."
)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterManagementAddOnSpec {
    /// The kinds of configuration that it understands, each perhaps with one that applies by default.
    pub supported_configs: Vec<SupportedConfig>,
}

/// A kind of configuration, and the one that applies by default.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct SupportedConfig {
    /// The kind.
    #[serde(flatten)]
    pub resource: ConfigResource,
    /// Which one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_config: Option<ConfigReferent>,
}

/// Names a configuration of a known kind.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct ConfigReferent {
    /// Its namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What is known of an add-on's configurations.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterManagementAddOnStatus {
    /// Those that apply where nothing else does. This version spells them so; v1beta1 does not.
    #[serde(rename = "defaultconfigReferences")]
    pub default_config_references: Vec<DefaultConfigReference>,
    /// Those that a placement brings.
    pub install_progressions: Vec<InstallProgression>,
}

/// A configuration that applies by default. Fields that are not read here are kept.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct DefaultConfigReference {
    /// Its kind.
    #[serde(flatten)]
    pub resource: ConfigResource,
    /// Which one, in which version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_config: Option<ConfigSpecHash>,
    /// Everything else.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// How far the add-on has got on the clusters of one placement.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct InstallProgression {
    /// The configurations that apply there.
    pub config_references: Vec<DefaultConfigReference>,
    /// Everything else.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// Where and how agents are to run.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1alpha1",
    kind = "AddOnDeploymentConfig",
    plural = "addondeploymentconfigs",
    namespaced,
    schema = "disabled",
    doc = "Where and how agents are to run."
)]
#[serde(transparent)]
pub struct AddOnDeploymentConfigSpec(
    /// As it is stored: its fingerprint is of that. [`DeploymentSettings`] are what it says.
    pub Map<String, Value>,
);

/// What an [`AddOnDeploymentConfig`] says.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentSettings {
    /// The agents' namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_install_namespace: Option<String>,
    /// Names and values that only the add-on understands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub customized_variables: Vec<CustomizedVariable>,
    /// On which nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_placement: Option<NodePlacement>,
    /// From where the images come instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub registries: Vec<ImageMirror>,
    /// The way to the hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_config: Option<ProxyConfig>,
    /// What containers ask for and may use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_requirements: Vec<ContainerResources>,
}

/// A name and a value.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct CustomizedVariable {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

/// The nodes of the agents, as in a Pod.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct NodePlacement {
    /// Labels that nodes must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<Value>,
    /// Taints that do not matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerations: Option<Value>,
}

/// Where images come from instead.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct ImageMirror {
    /// The beginning of an image's name; empty for all images.
    pub source: String,
    /// What comes in its place.
    pub mirror: String,
}

/// The way to the hub.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ProxyConfig {
    /// For HTTP.
    #[serde(rename = "httpProxy", skip_serializing_if = "String::is_empty")]
    pub http: String,
    /// For HTTPS.
    #[serde(rename = "httpsProxy", skip_serializing_if = "String::is_empty")]
    pub https: String,
    /// The proxy's certificate authority.
    #[serde(rename = "caBundle", skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    /// What is reached without it.
    #[serde(rename = "noProxy", skip_serializing_if = "String::is_empty")]
    pub none: String,
}

/// What some containers ask for and may use.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerResources {
    /// Which: `<plural>:<name>:<container>`, each of which may be `*`.
    #[serde(rename = "containerID")]
    pub container_id: String,
    /// As in a Pod.
    pub resources: Value,
}
