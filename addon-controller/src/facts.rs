//! The inputs of decisions: facts of clusters, of an add-on on one of them, of its configuration, and of this
//! process.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt;
use reeve_api::addon::{
    ADDON_GROUP, ConfigReference, DEPLOYMENT_CONFIGS, DeploymentSettings, ManagedClusterAddOn,
};
use reeve_api::ocm::ManagedCluster;
use serde::Serialize;

use crate::addon::{Addon, DEFAULT_NAMESPACE, Installation};

/// Annotation of a `ManagedClusterAddOn`: the cluster to run its agent on.
pub const HOSTING_ANNOTATION: &str = "addon.open-cluster-management.io/hosting-cluster-name";
/// Annotation of a `ManagedClusterAddOn`: values in JSON.
pub const VALUES_ANNOTATION: &str = "addon.open-cluster-management.io/values";
/// Annotation of a `ManagedClusterAddOn`: `true` pauses the reconciler.
pub const PAUSE_ANNOTATION: &str = "policy-addon-pause";
/// Annotation of a terminating `ManagedClusterAddOn`: `true` does not wait for the agent's cleanup.
pub const FORCE_ANNOTATION: &str = "policy.open-cluster-management.io/force-uninstall";
/// Annotation of clusters and `ManagedClusterAddOn`s: the agent's cluster is the hub.
pub const ON_HUB_ANNOTATION: &str = "addon.open-cluster-management.io/on-multicluster-hub";
/// Annotation of clusters and `ManagedClusterAddOn`s: the hub is governed by another hub.
pub const SYNC_ANNOTATION: &str =
    "policy.open-cluster-management.io/sync-policies-on-multicluster-hub";
/// Annotation of clusters: the mirrors of their images.
pub const REGISTRIES_ANNOTATION: &str = "open-cluster-management.io/image-registries";
/// The claim with a cluster's identity.
pub const ID_CLAIM: &str = "id.k8s.io";

const PRODUCT_CLAIM: &str = "product.open-cluster-management.io";
const CLUSTER_ANNOTATIONS: [&str; 3] = [ON_HUB_ANNOTATION, SYNC_ANNOTATION, REGISTRIES_ANNOTATION];
const CLUSTER_LABELS: [&str; 3] = ["vendor", "local-cluster", "openshiftVersion-major"];

/// The fields of a managed cluster that decisions read. Changes of other fields have no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClusterFacts {
    labels: BTreeMap<&'static str, String>,
    annotations: BTreeMap<&'static str, String>,
    product: Option<String>,
    /// Its identity, if it has claimed one.
    pub id: Option<String>,
    /// The version of Kubernetes as claimed; empty if it is not.
    pub version: String,
    /// Whether it is terminating.
    pub is_deleting: bool,
    /// Whether it is available. `None` without a condition.
    pub is_available: Option<bool>,
}

impl ClusterFacts {
    /// The facts of a cluster.
    pub fn of(cluster: &ManagedCluster) -> Self {
        let pick = |keys: [&'static str; 3], from: &BTreeMap<String, String>| {
            let found = keys
                .iter()
                .filter_map(|key| from.get(*key).map(|value| (*key, value.clone())));
            found.collect()
        };
        let status = cluster.status.clone().unwrap_or_default();
        let claim = |name: &str| {
            let found = status
                .cluster_claims
                .iter()
                .find(|claim| claim.name == name);
            found.map(|claim| claim.value.clone())
        };
        let available = status.condition("ManagedClusterConditionAvailable");
        Self {
            labels: pick(CLUSTER_LABELS, cluster.labels()),
            annotations: pick(CLUSTER_ANNOTATIONS, cluster.annotations()),
            product: claim(PRODUCT_CLAIM),
            id: claim(ID_CLAIM).filter(|id| !id.is_empty()),
            is_available: available.map(|status| status == "True"),
            version: status.kubernetes_version().to_owned(),
            is_deleting: cluster.metadata.deletion_timestamp.is_some(),
        }
    }

    /// One of the labels that decisions read.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }

    /// One of the annotations that decisions read.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }

    /// Its Kubernetes distribution: `OpenShift`, the vendor that it claims, or empty.
    pub fn vendor(&self) -> &str {
        let label = self.label("vendor").filter(|vendor| *vendor == OPENSHIFT);
        self.product.as_deref().or(label).unwrap_or_default()
    }
}

/// The vendor whose clusters bring a monitoring stack and serving certificates.
pub const OPENSHIFT: &str = "OpenShift";

/// The fields of a `ManagedClusterAddOn` that decisions read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AddOnFacts {
    /// All annotations: one of them may hold values.
    pub annotations: BTreeMap<String, String>,
    /// The namespace in its spec.
    pub install_namespace: String,
    /// The namespace in its status.
    pub status_namespace: Option<String>,
    /// Whether it is terminating.
    pub is_deleting: bool,
}

impl AddOnFacts {
    /// The facts of an add-on.
    pub fn of(addon: &ManagedClusterAddOn) -> Self {
        let status_namespace = addon.status.as_ref().and_then(|s| s.namespace.clone());
        Self {
            annotations: addon.annotations().clone(),
            install_namespace: addon.spec.install_namespace.clone(),
            status_namespace,
            is_deleting: addon.metadata.deletion_timestamp.is_some(),
        }
    }

    /// An annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }

    /// The cluster that the agent for `cluster` runs on, if it is another one. An empty annotation names none.
    pub fn hosting(&self, cluster: &str) -> Option<&str> {
        self.annotation(HOSTING_ANNOTATION)
            .filter(|name| !name.is_empty() && *name != cluster)
    }

    /// Whether a user has paused the reconciler.
    pub fn is_paused(&self) -> bool {
        self.annotation(PAUSE_ANNOTATION) == Some("true")
    }

    /// Whether the deletion does not wait for the agent's cleanup.
    pub fn is_forced(&self) -> bool {
        self.annotation(FORCE_ANNOTATION) == Some("true")
    }
}

/// The first reference to an `AddOnDeploymentConfig`.
pub fn deployment_config(references: &[ConfigReference]) -> Option<&ConfigReference> {
    references.iter().find(|reference| {
        reference.resource.group == ADDON_GROUP && reference.resource.resource == DEPLOYMENT_CONFIGS
    })
}

/// The configuration of an add-on on a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub enum Config {
    /// The add-on has no configuration.
    #[default]
    None,
    /// The spec names a configuration, and the status has no hash of it.
    Unhashed,
    /// The named configuration does not exist.
    Missing {
        /// Its name, as `namespace/name`.
        name: String,
    },
    /// The configuration.
    Some(Arc<DeploymentSettings>),
}

impl Config {
    /// The settings, if the configuration exists.
    pub fn spec(&self) -> Option<&DeploymentSettings> {
        match self {
            Self::Some(spec) => Some(spec),
            _ => None,
        }
    }
}

/// The settings of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Environment {
    /// The image of the framework's agent; empty: each cluster's own.
    pub framework_image: String,
    /// The image of the configuration policy controller; empty: each cluster's own.
    pub config_policy_image: String,
    /// Whether agents get a `NetworkPolicy`.
    pub network_policies: bool,
}

impl Environment {
    /// The image override for an add-on's agent.
    pub fn image(&self, addon: Addon) -> &str {
        match addon {
            Addon::Framework => &self.framework_image,
            Addon::ConfigPolicy => &self.config_policy_image,
            Addon::Standalone => "",
        }
    }
}

/// The other add-ons on the same cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Siblings {
    /// The namespace of the standalone hub templating; `None` if it is not installed or terminating.
    pub standalone: Option<String>,
    /// The namespace of the configuration policy controller, likewise.
    pub config_policy: Option<String>,
}

/// The cluster that an agent runs on, where that is not the managed one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hosting {
    /// Its name.
    pub name: String,
    /// Its facts; `None` if the hub does not know the cluster.
    pub facts: Option<Arc<ClusterFacts>>,
}

/// All inputs of an installation.
#[derive(Clone, Debug, Serialize)]
pub struct Inputs {
    /// The installation.
    #[serde(serialize_with = "as_text")]
    pub installation: Installation,
    /// The facts of the add-on.
    pub addon: AddOnFacts,
    /// The facts of the managed cluster.
    pub cluster: Arc<ClusterFacts>,
    /// The cluster of the agent, in hosted mode.
    pub hosting: Option<Hosting>,
    /// The configuration.
    pub config: Config,
    /// The other add-ons on the cluster.
    pub siblings: Siblings,
    /// The hub's own identity, if it is known.
    pub hub_id: Option<String>,
    /// The settings of this process.
    pub environment: Arc<Environment>,
}

fn as_text<S: serde::Serializer>(name: &Installation, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(name)
}

impl Inputs {
    /// The namespace that the agent is installed into.
    pub fn namespace(&self) -> String {
        install_namespace(&self.installation.cluster, &self.addon, &self.config)
    }

    /// The facts of the cluster on which the agent runs; `None` if the hub does not know it.
    pub fn agent_cluster(&self) -> Option<&ClusterFacts> {
        match &self.hosting {
            None => Some(&self.cluster),
            Some(hosting) => hosting.facts.as_deref(),
        }
    }

    /// Whether the agent runs on the hub itself, as far as both have claimed their identity.
    pub fn runs_on_hub(&self) -> bool {
        let agent_cluster = self
            .agent_cluster()
            .and_then(|agent_cluster| agent_cluster.id.as_ref());
        agent_cluster.is_some() && agent_cluster == self.hub_id.as_ref()
    }
}

/// The namespace of an agent.
pub fn install_namespace(cluster: &str, addon: &AddOnFacts, config: &Config) -> String {
    if addon.hosting(cluster).is_some() {
        return format!("klusterlet-{cluster}");
    }
    let configured = match config {
        Config::Some(spec) => spec.agent_install_namespace.clone(),
        // The agent must be removed from the namespace that it was installed into.
        Config::Unhashed | Config::Missing { .. } if addon.is_deleting => {
            addon.status_namespace.clone()
        }
        _ => None,
    };
    let from_spec = || Some(addon.install_namespace.clone());
    configured
        .filter(|name| !name.is_empty())
        .or_else(from_spec)
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned())
}
