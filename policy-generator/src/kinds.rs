//! Kinds that are read and written.

pub(crate) const POLICY_API_VERSION: &str = "policy.open-cluster-management.io/v1";
pub(crate) const POLICY_GROUP: &str = "policy.open-cluster-management.io";
pub(crate) const POLICY_KIND: &str = "Policy";
pub(crate) const POLICY_SET_API_VERSION: &str = "policy.open-cluster-management.io/v1beta1";
pub(crate) const POLICY_SET_KIND: &str = "PolicySet";
pub(crate) const CONFIGURATION_POLICY_KIND: &str = "ConfigurationPolicy";
pub(crate) const PLACEMENT_GROUP: &str = "cluster.open-cluster-management.io";
pub(crate) const PLACEMENT_API_VERSION: &str = "cluster.open-cluster-management.io/v1beta1";
pub(crate) const PLACEMENT_KIND: &str = "Placement";
pub(crate) const BINDING_KIND: &str = "PlacementBinding";
pub(crate) const CONSTRAINT_GROUP: &str = "constraints.gatekeeper.sh";
pub(crate) const CONSTRAINT_TEMPLATE_GROUP: &str = "templates.gatekeeper.sh";
