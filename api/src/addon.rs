//! The kinds by which OCM installs add-ons, `addon.open-cluster-management.io/v1alpha1`: the stored version, which
//! needs no conversion. Their CRDs belong to OCM; the types have only the fields that Reeve reads.

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
    /// The default namespace of the agent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub install_namespace: String,
    /// The configurations of this add-on on this cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configs: Vec<AddOnConfig>,
}

/// The status of an add-on.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedClusterAddOnStatus {
    /// The conditions, which several controllers set.
    pub conditions: Vec<Condition>,
    /// The configurations that apply, written by OCM's addon-manager.
    pub config_references: Vec<ConfigReference>,
    /// The kinds of configuration that the add-on supports.
    pub supported_configs: Vec<ConfigResource>,
    /// The registration of the agent with the hub.
    pub registrations: Vec<Registration>,
    /// How the agent registered: `csr` or `token`.
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

/// A configuration that applies to an add-on. Unknown fields are kept, because the list is written back.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigReference {
    /// Its kind.
    #[serde(flatten)]
    pub resource: ConfigResource,
    /// The configuration, with its hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_config: Option<ConfigSpecHash>,
    /// The last observed generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_observed_generation: Option<i64>,
    /// All other fields.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// A configuration with a hash.
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

/// The registration of an agent with the hub.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Registration {
    /// The signer of its certificates.
    pub signer_name: String,
    /// The identity of the agent.
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

/// The definition of an add-on on the hub.
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
    /// The supported kinds of configuration, each with an optional default.
    pub supported_configs: Vec<SupportedConfig>,
}

/// A kind of configuration, with its default.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct SupportedConfig {
    /// The kind.
    #[serde(flatten)]
    pub resource: ConfigResource,
    /// The default configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_config: Option<ConfigReferent>,
}

/// The reference to a configuration of a known kind.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct ConfigReferent {
    /// Its namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The status of an add-on's configurations.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterManagementAddOnStatus {
    /// The default configurations. The name of the field differs in v1beta1.
    #[serde(rename = "defaultconfigReferences")]
    pub default_config_references: Vec<DefaultConfigReference>,
    /// The configurations of placements.
    pub install_progressions: Vec<InstallProgression>,
}

/// A default configuration. Unknown fields are kept.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct DefaultConfigReference {
    /// Its kind.
    #[serde(flatten)]
    pub resource: ConfigResource,
    /// The configuration, with its hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_config: Option<ConfigSpecHash>,
    /// All other fields.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// The rollout of the add-on on the clusters of one placement.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct InstallProgression {
    /// The configurations that apply to these clusters.
    pub config_references: Vec<DefaultConfigReference>,
    /// All other fields.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// The settings of agents.
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
    /// The spec as stored, for its hash. [`DeploymentSettings`] are the decoded fields.
    pub Map<String, Value>,
);

/// The settings in an [`AddOnDeploymentConfig`].
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentSettings {
    /// The agents' namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_install_namespace: Option<String>,
    /// Variables, whose meaning the add-on defines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub customized_variables: Vec<CustomizedVariable>,
    /// The nodes of the agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_placement: Option<NodePlacement>,
    /// The mirrors of images.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub registries: Vec<ImageMirror>,
    /// The proxy to the hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_config: Option<ProxyConfig>,
    /// The resources of containers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_requirements: Vec<ContainerResources>,
}

/// A variable.
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
    /// The tolerations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerations: Option<Value>,
}

/// A mirror of images.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct ImageMirror {
    /// The prefix of an image's name; empty for all images.
    pub source: String,
    /// The replacement of the prefix.
    pub mirror: String,
}

/// The proxy to the hub.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ProxyConfig {
    /// The proxy for HTTP.
    #[serde(rename = "httpProxy", skip_serializing_if = "String::is_empty")]
    pub http: String,
    /// The proxy for HTTPS.
    #[serde(rename = "httpsProxy", skip_serializing_if = "String::is_empty")]
    pub https: String,
    /// The proxy's certificate authority.
    #[serde(rename = "caBundle", skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    /// The hosts that are reached without the proxy.
    #[serde(rename = "noProxy", skip_serializing_if = "String::is_empty")]
    pub none: String,
}

/// The resources of some containers.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerResources {
    /// The containers: `<plural>:<name>:<container>`, each of which may be `*`.
    #[serde(rename = "containerID")]
    pub container_id: String,
    /// The requests and limits, as in a Pod.
    pub resources: Value,
}
