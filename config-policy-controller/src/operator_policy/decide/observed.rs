//! What a reconcile read on the target cluster.

use serde_json::Value;

use super::approvals::Approver;
use super::object::{Object, Read};

/// How the object on the cluster relates to the desired one.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Update {
    /// It has everything that the policy asks for, or there is nothing to compare.
    #[default]
    None,
    /// It differs; this is what an update writes.
    Needed(Box<Value>),
    /// It differs, and the API server forbids the update.
    Forbidden,
    /// Whether it differs could not be determined.
    Failed(String),
}

/// A copy of a `ClusterServiceVersion` by which an operator of another namespace serves all namespaces.
#[derive(Clone, Debug, PartialEq)]
pub struct CopiedCsv {
    pub csv: Object,
    /// The namespace where the operator is installed.
    pub namespace: String,
}

/// What was read. Parts that were not needed are empty.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The copy that makes an installation unnecessary, if there is one.
    pub copied: Read<Option<CopiedCsv>>,
    /// The groups in the operator's namespace.
    pub operator_groups: Read<Vec<Object>>,
    pub group_update: Update,
    /// The Subscription of the policy's name.
    pub subscription: Read<Option<Object>>,
    pub subscription_update: Update,
    /// All Subscriptions in the operator's namespace.
    pub subscriptions: Read<Vec<Object>>,
    /// The install plans in the operator's namespace.
    pub install_plans: Read<Vec<Object>>,
    /// The other policies with Subscriptions in the operator's namespace.
    pub approvers: Read<Vec<Approver>>,
    /// The versions with OLM's label of the operator.
    pub csvs: Read<Vec<Object>>,
    /// The definitions with that label.
    pub crds: Read<Vec<Object>>,
    /// The Deployments that the installed version names.
    pub deployments: Vec<(String, Read<Option<Object>>)>,
    pub catalog_source: Read<Option<Object>>,
    pub package: Read<Option<Object>>,
    /// The version that OLM reports to exist without a Subscription.
    pub unreferenced_csv: Read<Option<Object>>,
}

impl Default for Observed {
    /// Nothing is on the cluster.
    fn default() -> Self {
        Self {
            copied: Ok(None),
            operator_groups: Ok(Vec::new()),
            group_update: Update::None,
            subscription: Ok(None),
            subscription_update: Update::None,
            subscriptions: Ok(Vec::new()),
            install_plans: Ok(Vec::new()),
            approvers: Ok(Vec::new()),
            csvs: Ok(Vec::new()),
            crds: Ok(Vec::new()),
            deployments: Vec::new(),
            catalog_source: Ok(None),
            package: Ok(None),
            unreferenced_csv: Ok(None),
        }
    }
}
