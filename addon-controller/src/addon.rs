//! The three add-ons, and their names in OCM and in the agents.

use std::fmt;

/// One of the add-ons that this controller installs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Addon {
    /// Syncs policies between the hub and a cluster.
    Framework,
    /// Evaluates configuration policies on a cluster.
    ConfigPolicy,
    /// Resolves hub templates in the configuration policy controller.
    Standalone,
}

impl Addon {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Framework, Self::ConfigPolicy, Self::Standalone];

    /// The name of its `ClusterManagementAddOn` and of its `ManagedClusterAddOn`s.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Framework => "governance-policy-framework",
            Self::ConfigPolicy => "config-policy-controller",
            Self::Standalone => "governance-standalone-hub-templating",
        }
    }

    /// The add-on of this name, if this controller installs it.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|addon| addon.name() == name)
    }

    /// The program of its agent; empty where it has none.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Framework => "governance-policy-framework-addon",
            Self::ConfigPolicy => "config-policy-controller",
            Self::Standalone => "",
        }
    }

    /// The installed version, for the label `chart`.
    pub const fn version(self) -> &'static str {
        match self {
            Self::Framework | Self::ConfigPolicy => "2.2.0",
            Self::Standalone => "2.13.0",
        }
    }

    /// The key of the agent's image below `global.imageOverrides`.
    pub const fn image_key(self) -> &'static str {
        match self {
            Self::Framework => "governance_policy_framework_addon",
            Self::ConfigPolicy => "config_policy_controller",
            Self::Standalone => "",
        }
    }

    /// The groups of its agent on a cluster: that of the cluster's agents of the add-on, and that of all clusters'
    /// agents.
    pub fn groups(self, cluster: &str) -> [String; 2] {
        let name = self.name();
        [
            format!("system:open-cluster-management:cluster:{cluster}:addon:{name}"),
            format!("system:open-cluster-management:addon:{name}"),
        ]
    }

    /// The user of its agent on a cluster, on the hub.
    pub fn user(self, cluster: &str) -> String {
        let name = self.name();
        format!("system:open-cluster-management:cluster:{cluster}:addon:{name}:agent:{name}")
    }

    /// The label selector of this controller's works and certificate requests.
    pub fn selector() -> String {
        let names = Self::ALL.map(Self::name).join(",");
        format!("{ADDON_NAME_LABEL} in ({names})")
    }
}

impl fmt::Display for Addon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Label of works and certificate requests: the add-on's name.
pub const ADDON_NAME_LABEL: &str = "open-cluster-management.io/addon-name";
/// Label of works that are not in the add-on's namespace: that namespace.
pub const ADDON_NAMESPACE_LABEL: &str = "open-cluster-management.io/addon-namespace";
/// Label of certificate requests: the cluster's name.
pub const CLUSTER_NAME_LABEL: &str = "open-cluster-management.io/cluster-name";
/// The default namespace of agents.
pub const DEFAULT_NAMESPACE: &str = "open-cluster-management-agent-addon";

/// One add-on on one cluster: `<cluster>/<add-on>`, the name of a `ManagedClusterAddOn`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Installation {
    /// The cluster, whose namespace it is in.
    pub cluster: String,
    /// The add-on.
    pub addon: Addon,
}

impl Installation {
    /// An add-on on a cluster.
    pub fn new(cluster: impl Into<String>, addon: Addon) -> Self {
        Self {
            cluster: cluster.into(),
            addon,
        }
    }

    /// Another add-on on the same cluster.
    #[must_use]
    pub fn sibling(&self, addon: Addon) -> Self {
        Self::new(self.cluster.clone(), addon)
    }
}

impl fmt::Display for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.cluster, self.addon)
    }
}
