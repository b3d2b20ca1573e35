//! The kinds and names that the stand-ins share.

/// A kind, as requests name it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
}

const fn kind(api_version: &'static str, kind: &'static str) -> Kind {
    Kind { api_version, kind }
}

pub(super) const ADDON_GROUP: &str = "addon.open-cluster-management.io";
pub(super) const ADDON_API: &str = "addon.open-cluster-management.io/v1alpha1";

pub(super) const CLUSTER: Kind = kind("cluster.open-cluster-management.io/v1", "ManagedCluster");
pub(super) const CLAIM: Kind = kind(
    "cluster.open-cluster-management.io/v1alpha1",
    "ClusterClaim",
);
pub(super) const ADDON_DEFINITION: Kind = kind(ADDON_API, "ClusterManagementAddOn");
pub(super) const ADDON: Kind = kind(ADDON_API, "ManagedClusterAddOn");
pub(super) const CONFIG: Kind = kind(ADDON_API, "AddOnDeploymentConfig");
pub(super) const CONFIG_RESOURCE: &str = "addondeploymentconfigs";
pub(super) const WORK: Kind = kind("work.open-cluster-management.io/v1", "ManifestWork");
pub(super) const APPLIED_WORK: Kind =
    kind("work.open-cluster-management.io/v1", "AppliedManifestWork");
pub(super) const LEASE: Kind = kind("coordination.k8s.io/v1", "Lease");
pub(super) const SECRET: Kind = kind("v1", "Secret");
pub(super) const REQUEST: Kind = kind("certificates.k8s.io/v1", "CertificateSigningRequest");

pub(super) const ADDON_LABEL: &str = "open-cluster-management.io/addon-name";
pub(super) const ADDON_NAMESPACE_LABEL: &str = "open-cluster-management.io/addon-namespace";
pub(super) const CLUSTER_LABEL: &str = "open-cluster-management.io/cluster-name";
pub(super) const CONFIG_HASHES: &str = "open-cluster-management.io/config-spec-hash";
pub(super) const HOSTING: &str = "addon.open-cluster-management.io/hosting-cluster-name";
pub(super) const LIFECYCLE: &str = "addon.open-cluster-management.io/lifecycle";
pub(super) const DEFAULT_NAMESPACE: &str = "open-cluster-management-agent-addon";

/// The lease that a cluster renews on the hub.
pub(super) const CLUSTER_LEASE: &str = "managed-cluster-lease";
