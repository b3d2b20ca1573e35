//! Why a policy could not be resolved, by what was being done.

use crate::messages;

/// The step that failed, with its reason.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The input is no YAML.
    #[error("failed to parse input to YAML: {0}")]
    Parse(String),
    /// There is no usable kubeconfig.
    #[error("failed to determine the kubeconfig to use: {0}")]
    Kubeconfig(String),
    /// The cluster is not on the hub.
    #[error("failed to get the ManagedCluster object for {cluster}: {why}")]
    ManagedCluster {
        /// Its name.
        cluster: String,
        /// Why.
        why: String,
    },
    /// The arguments and the input do not go together.
    #[error("{0}")]
    Input(&'static str),
    /// What hub templates made is no object.
    #[error("invalid object after resolving hub templates: {0}")]
    AfterHub(String),
    /// `policy-templates` is no list.
    #[error("invalid policy-templates array was provided: {0}")]
    PolicyTemplates(String),
    /// An entry of it is none.
    #[error("invalid policy-templates entry was provided at index {index}: {why}")]
    PolicyTemplate {
        /// Its index.
        index: usize,
        /// Why.
        why: String,
    },
    /// A field is of another type.
    #[error("{0}")]
    Field(String),
    /// A template failed.
    #[error("failed to process the templates: {0}")]
    Template(String),
    /// The same in an entry of a Policy.
    #[error("{}", messages::in_template(.error.as_str(), *.index))]
    InTemplate {
        /// The error.
        error: String,
        /// The index of the entry.
        index: usize,
    },
    /// A template failed for one of several clusters.
    #[error("{}", messages::for_cluster(.cluster, .error))]
    ForCluster {
        /// The error.
        error: String,
        /// The cluster.
        cluster: String,
    },
    /// One of several documents cannot be resolved.
    #[error("{}", messages::in_document(*.number, *.line, .error))]
    InDocument {
        /// The error.
        error: String,
        /// Its number.
        number: usize,
        /// Its first line.
        line: usize,
    },
    /// A file cannot be read or written.
    #[error("{0}")]
    File(String),
    /// The result cannot be written as YAML.
    #[error("failed to convert the result to YAML: {0}")]
    Output(String),
}

impl Error {
    pub(crate) fn in_template(self, index: usize) -> Self {
        Self::InTemplate {
            error: self.to_string(),
            index,
        }
    }
}
