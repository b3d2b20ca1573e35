//! The errors of the propagator, by operation and object.

use reeve_api::names::RootPolicyName;
use reeve_runtime::manager::ManagerError;
use reeve_runtime::object::ObjectKey;
use reeve_templates_engine::resolver::IncompleteDelimiters;

/// Why the process ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A flag's value is out of range.
    #[error("{0}")]
    Flag(&'static str),
    /// The variable `WATCH_NAMESPACE` is not set.
    #[error("WATCH_NAMESPACE must be set")]
    WatchNamespace,
    /// The process could not start, or ended.
    #[error(transparent)]
    Manager(#[from] ManagerError),
    /// The CRD of `PlacementRule` could not be read.
    #[error("cannot look for the CRD placementrules.apps.open-cluster-management.io: {0}")]
    PlacementRules(Box<kube::Error>),
    /// The template engine rejected its settings.
    #[error(transparent)]
    Templates(#[from] IncompleteDelimiters),
}

/// Why one replica could not be reconciled. All of these are retried.
#[derive(Debug, thiserror::Error)]
pub enum ReplicaError {
    /// Its hub templates could not be resolved, and no watch event may follow when they can be.
    #[error("cannot resolve the hub templates of the replicated policy {replica}: {reason}")]
    Templates {
        /// The replica.
        replica: ObjectKey,
        /// The reason, as the event shows it.
        reason: String,
    },
    /// It could not be created.
    #[error("cannot create the replicated policy {replica}: {source}")]
    Create {
        /// The replica.
        replica: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// It could not be updated.
    #[error("cannot update the replicated policy {replica}: {source}")]
    Update {
        /// The replica.
        replica: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The API server could not be asked whether it may be deleted.
    #[error("cannot confirm that the replicated policy {replica} is to be deleted: {source}")]
    Confirm {
        /// The replica.
        replica: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// It could not be deleted.
    #[error("cannot delete the replicated policy {replica}: {source}")]
    Delete {
        /// The replica.
        replica: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
}

/// Why the encryption keys of a cluster could not be reconciled. All of these are retried.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The Secret could not be read.
    #[error("cannot read the Secret {cluster}/{}: {source}", crate::keys::SECRET)]
    Read {
        /// The cluster, and so the namespace.
        cluster: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The Secret could not be updated.
    #[error("cannot update the Secret {cluster}/{}: {source}", crate::keys::SECRET)]
    Update {
        /// The cluster, and so the namespace.
        cluster: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The operating system returned no random bytes.
    #[error("cannot make a key for the cluster {cluster}: {source}")]
    Random {
        /// The cluster.
        cluster: String,
        /// The error of the random number generator.
        source: getrandom::Error,
    },
}

/// Why a root policy could not be reconciled. All of these are retried.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// Its status could not be written.
    #[error("cannot write the status of the policy {root}: {source}")]
    Status {
        /// The policy.
        root: RootPolicyName,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// It is in a cluster namespace, where only replicas belong, and could not be deleted.
    #[error("cannot delete the policy {root}, which does not belong to any root policy: {source}")]
    DeleteMisplaced {
        /// The policy.
        root: RootPolicyName,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
}

/// Why the status of a policy set could not be written. It is retried.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the status of the policy set {set}: {source}")]
pub struct SetError {
    /// The set.
    pub set: ObjectKey,
    /// The error of the client: the API server's answer, or that there was none.
    pub source: kube::Error,
}

/// Why an automation could not be reconciled. It is retried.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} the PolicyAutomation {automation}: {source}")]
pub struct AutomationError {
    /// The automation.
    pub automation: ObjectKey,
    /// The operation that failed.
    pub operation: &'static str,
    /// The error of the client: the API server's answer, or that there was none.
    pub source: Box<kube::Error>,
}
