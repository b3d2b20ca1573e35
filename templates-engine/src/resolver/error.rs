use crate::encryption::EncryptionError;
use crate::language::{ExecCause, ExecError, ParseError};
use crate::lookup::{LookupError, Needed, Read};

use super::ContextError;

/// An input longer than this is shown by its start. Errors reach statuses and events.
const SHOWN: usize = 32 * 1024;

/// The input as errors show it.
pub(super) fn shown(input: &[u8]) -> String {
    let start = input.get(..SHOWN).unwrap_or(input);
    let text = String::from_utf8_lossy(start);
    if start.len() < input.len() {
        format!("{text}... ({} bytes in all)", input.len())
    } else {
        text.into_owned()
    }
}

/// Why a document could not be resolved.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// Keys or initialisation vector are not usable.
    #[error("error validating EncryptionConfig: {0}")]
    Encryption(EncryptionError),
    /// The context is of a type that templates do not get.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// The input is not JSON.
    #[error("failed to convert the policy template to YAML: {0}")]
    ToYaml(String),
    /// An encrypted value in the input could not be decrypted.
    #[error(transparent)]
    Decryption(EncryptionError),
    /// The text is no template.
    #[error("failed to parse the template JSON string {input}: {source}")]
    Parse {
        /// The document as it came.
        input: String,
        /// The error of the parser.
        source: ParseError,
    },
    /// The template failed.
    #[error("failed to resolve the template {input}: {source}")]
    Execute {
        /// The document as it came.
        input: String,
        /// The error of the execution.
        source: Box<ExecError>,
    },
    /// What the template wrote is not a document.
    #[error("failed to convert the resolved template to JSON: {0}")]
    ToJson(String),
}

impl ResolveError {
    /// The failed lookup behind this error, if there is one.
    pub fn lookup(&self) -> Option<&LookupError> {
        match self {
            Self::Execute { source, .. } => match &source.cause {
                Some(ExecCause::Lookup(error)) => Some(error.root()),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A failure, with the reads that were made before it.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Failed {
    /// The error of the resolver.
    #[source]
    pub error: ResolveError,
    /// Whether a secret was read or an encrypted value decrypted.
    pub has_sensitive_data: bool,
    /// Whether the error may quote what was computed from a secret.
    pub quotes_secrets: bool,
    /// The reads made: a change in one of them may mend the failure.
    pub reads: Vec<Read>,
}

impl Failed {
    pub(super) fn early(error: ResolveError) -> Self {
        Self {
            error,
            has_sensitive_data: false,
            quotes_secrets: false,
            reads: Vec::new(),
        }
    }

    /// The read that the caller has to make before the document can be resolved.
    pub fn needed(&self) -> Option<&Needed> {
        match self.error.lookup() {
            Some(LookupError::Unread(needed)) => Some(needed),
            _ => None,
        }
    }
}
