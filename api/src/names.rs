//! Well-known names of the policy framework, their limits, and functions that build and split them.

use std::fmt;

/// The API group of all policy kinds, also the prefix of the framework's labels and annotations.
pub const GROUP: &str = "policy.open-cluster-management.io";
/// `apiVersion` of `Policy`, `PlacementBinding` and `ConfigurationPolicy`.
pub const POLICY_API_VERSION: &str = "policy.open-cluster-management.io/v1";
/// The API group of `ManagedCluster`, `Placement` and `PlacementDecision`.
pub const CLUSTER_GROUP: &str = "cluster.open-cluster-management.io";
/// The API group of `PlacementRule`.
pub const APPS_GROUP: &str = "apps.open-cluster-management.io";

/// Label of a replicated policy: `<root namespace>.<root name>`. Its presence makes it a replica.
pub const ROOT_POLICY_LABEL: &str = "policy.open-cluster-management.io/root-policy";
/// Label of replicated policies and template objects: the managed cluster's name.
pub const CLUSTER_NAME_LABEL: &str = "policy.open-cluster-management.io/cluster-name";
/// Label of replicated policies and template objects: the namespace that holds them.
pub const CLUSTER_NAMESPACE_LABEL: &str = "policy.open-cluster-management.io/cluster-namespace";
/// The older twin of [`CLUSTER_NAME_LABEL`], still set on template objects.
pub const LEGACY_CLUSTER_NAME_LABEL: &str = "cluster-name";
/// The older twin of [`CLUSTER_NAMESPACE_LABEL`], still set on template objects.
pub const LEGACY_CLUSTER_NAMESPACE_LABEL: &str = "cluster-namespace";
/// Label of a template object: the name of the `Policy` it came from.
pub const PARENT_POLICY_LABEL: &str = "policy.open-cluster-management.io/policy";
/// Label of a CRD whose kind is a policy template, with the value [`POLICY_TYPE_TEMPLATE`].
pub const POLICY_TYPE_LABEL: &str = "policy.open-cluster-management.io/policy-type";
/// Value of [`POLICY_TYPE_LABEL`].
pub const POLICY_TYPE_TEMPLATE: &str = "template";
/// Label of a `PlacementDecision`: the `Placement` it belongs to.
pub const PLACEMENT_LABEL: &str = "cluster.open-cluster-management.io/placement";

/// Annotation of replicated policies, so that Argo CD does not compare them.
pub const ARGOCD_COMPARE_OPTIONS_ANNOTATION: &str = "argocd.argoproj.io/compare-options";
/// Value of [`ARGOCD_COMPARE_OPTIONS_ANNOTATION`].
pub const ARGOCD_IGNORE_EXTRANEOUS: &str = "IgnoreExtraneous";
/// Annotation on a root policy; a change of it re-renders templates. Never copied to replicas.
pub const TRIGGER_UPDATE_ANNOTATION: &str = "policy.open-cluster-management.io/trigger-update";
/// Annotation of a template's `objectDefinition`: why its hub templates could not be resolved.
pub const HUB_TEMPLATES_ERROR_ANNOTATION: &str =
    "policy.open-cluster-management.io/hub-templates-error";
/// Annotation: base64 of the initialization vector of the encrypted values beside it.
pub const ENCRYPTION_IV_ANNOTATION: &str = "policy.open-cluster-management.io/encryption-iv";
/// Annotation, a Go boolean: leave the policy's templates unresolved.
pub const DISABLE_TEMPLATES_ANNOTATION: &str =
    "policy.open-cluster-management.io/disable-templates";
/// Annotation of `kubectl apply`; large, and never replicated.
pub const LAST_APPLIED_ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Finalizer on a managed policy that has cluster-scoped template objects.
pub const CLUSTER_SCOPED_CLEANUP_FINALIZER: &str =
    "policy.open-cluster-management.io/cleanup-cluster-scoped-policies";
/// Annotation of an add-on's Deployment: the add-on is being removed.
pub const UNINSTALLING_ANNOTATION: &str = "policy.open-cluster-management.io/uninstalling";
/// Secret in a cluster's namespace, on the hub and on the cluster: the key of encrypted values.
pub const ENCRYPTION_SECRET: &str = "policy-encryption-key";

/// The most characters of a policy's namespace and name together: with the dot between them they are the value of the
/// label [`ROOT_POLICY_LABEL`], and label values end at 63.
pub const MAX_NAMESPACE_AND_NAME: usize = 62;

/// The key of one root policy on the hub, and by [`fmt::Display`] the name of its replicas: `<namespace>.<name>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RootPolicyName {
    /// The root policy's namespace.
    pub namespace: String,
    /// The root policy's name; may itself contain dots.
    pub name: String,
}

impl RootPolicyName {
    /// The key of the root policy `name` in `namespace`.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Splits a replica's name or root-policy label at the *first* dot, because namespaces cannot
    /// contain one and names can. `None` when there is no dot or nothing on one side of it.
    pub fn parse(full_name: &str) -> Option<Self> {
        let (namespace, name) = full_name.split_once('.')?;
        (!namespace.is_empty() && !name.is_empty()).then(|| Self::new(namespace, name))
    }

    /// Whether replicas of this policy can exist: `Err` holds the number of characters that
    /// namespace and name have together when that is over [`MAX_NAMESPACE_AND_NAME`].
    pub fn fits(&self) -> Result<(), usize> {
        let length = self.namespace.chars().count() + self.name.chars().count();
        if length > MAX_NAMESPACE_AND_NAME {
            Err(length)
        } else {
            Ok(())
        }
    }
}

impl fmt::Display for RootPolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.namespace, self.name)
    }
}

/// The label of kinds that a component of this project has installed, and not Gatekeeper.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY_LABEL`].
pub const MANAGED_BY_REEVE: &str = "reeve";
/// The CRD of constraint templates.
pub const CONSTRAINT_TEMPLATES_CRD: &str = "constrainttemplates.templates.gatekeeper.sh";
/// The configuration of Gatekeeper's validating webhook: where it is, constraints refuse requests.
pub const GATEKEEPER_WEBHOOK_CONFIGURATION: &str = "gatekeeper-validating-webhook-configuration";
/// The namespace of Gatekeeper.
pub const GATEKEEPER_NAMESPACE: &str = "gatekeeper-system";

/// Splits an `apiVersion` into group and version; the core group is the empty string.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}
