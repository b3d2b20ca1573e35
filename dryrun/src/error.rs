//! Why a policy could not be evaluated, by what was being done.

/// The step that failed, with its reason.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The logs cannot be written.
    #[error("unable to setup the logging configuration: {0}")]
    Logging(String),
    /// The policy file cannot be used.
    #[error("unable to read input policy: {0}")]
    Policy(String),
    /// The mappings or the connection cannot be used.
    #[error("unable to setup the dryrun reconciler: {0}")]
    Setup(String),
    /// The objects cannot be read.
    #[error("unable to read input resources: {0}")]
    Read(String),
    /// The objects cannot be part of the cluster.
    #[error("unable to apply input resources: {0}")]
    Apply(String),
    /// The policy cannot be evaluated.
    #[error("unable to complete the dryrun reconcile: {0}")]
    Evaluate(String),
    /// The expected status cannot be used.
    #[error("unable to compare desired status: {0}")]
    Compare(String),
    /// The status cannot be written.
    #[error("unable to save the resulting policy state: {0}")]
    SaveStatus(String),
    /// The messages cannot be written.
    #[error("unable to save or print the compliance messages: {0}")]
    SaveMessages(String),
    /// The kinds of the cluster cannot be listed.
    #[error("{0}")]
    Generate(String),
}
