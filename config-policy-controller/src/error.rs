//! What can go wrong, by what was being done to which object.

use reeve_runtime::manager::ManagerError;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::serving::TlsError;
use reeve_templates_engine::resolver::IncompleteDelimiters;

use crate::messages;

/// Why the process ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No known subcommand was given.
    #[error("{}", messages::EXPECTED_SUBCOMMANDS)]
    Subcommand,
    /// The uninstallation could not be prepared.
    #[error(transparent)]
    Uninstall(#[from] UninstallError),
    /// The connection to a cluster is to be checked for changes, but its files cannot be read.
    #[error("cannot read the kubeconfig {path} or its certificates: {source}")]
    Files {
        /// The kubeconfig.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The TLS settings cannot be had.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A flag or a variable is wrong.
    #[error("{0}")]
    Settings(String),
    /// The process could not start, or ended.
    #[error(transparent)]
    Manager(#[from] ManagerError),
    /// The template engine refuses its settings.
    #[error(transparent)]
    Templates(#[from] IncompleteDelimiters),
}

/// Why an uninstallation could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum UninstallError {
    /// Policies still have their finalizers.
    #[error("{}", messages::UNINSTALL_INCOMPLETE)]
    Incomplete,
    /// The Deployment could not be annotated.
    #[error("cannot annotate the Deployment {deployment}: {source}")]
    Deployment {
        /// The Deployment.
        deployment: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The policies of a namespace could not be read.
    #[error("cannot list the policies in {namespace}: {source}")]
    List {
        /// The namespace.
        namespace: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// A policy could not be annotated.
    #[error("cannot annotate the policy {policy}: {source}")]
    Policy {
        /// The policy.
        policy: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
}

/// Why a policy has to be evaluated again. All of these are tried again.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// Objects could not be read or written; the status has the reasons too.
    #[error("cannot reconcile the objects of {policy}: {reasons}")]
    Objects {
        /// The policy.
        policy: ObjectKey,
        /// Why, one text per object.
        reasons: String,
    },
    /// The compliance event could not be created.
    #[error("cannot report the compliance of {policy}: {source}")]
    Event {
        /// The policy.
        policy: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The status could not be written.
    #[error("cannot write the status of {policy}: {source}")]
    Status {
        /// The policy.
        policy: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The finalizer could not be added or removed.
    #[error("cannot change the finalizers of {policy}: {source}")]
    Finalizer {
        /// The policy.
        policy: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// Objects could not be deleted with their policy.
    #[error("failed to delete objects {objects}")]
    Prune {
        /// The objects.
        objects: String,
    },
    /// Whether the CRD of the policy is being deleted is not known, so nothing is pruned.
    #[error("cannot read whether the CRD of {policy} is being deleted: {source}")]
    Definition {
        /// The policy.
        policy: ObjectKey,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// Hub templates could not be resolved.
    #[error("cannot resolve the hub templates of {policy}: {reason}")]
    Hub {
        /// The policy.
        policy: ObjectKey,
        /// The reason, as the message shows it.
        reason: String,
    },
    /// The status cannot be expressed in JSON.
    #[error("cannot encode the status of {policy}: {source}")]
    Encode {
        /// The policy.
        policy: ObjectKey,
        /// The error of the JSON encoder or decoder.
        source: serde_json::Error,
    },
}
