//! Why a cluster did not answer a read, or refused a write.

use reeve_runtime::secrets::Secrets;

/// Why something could not be read. Never the same as "it is absent".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// Its kind cannot be watched.
    Unwatchable(String),
    /// The API server refused or did not answer.
    Failed(String),
}

impl ReadError {
    /// The text of the error.
    pub fn text(&self) -> &str {
        match self {
            Self::Unwatchable(text) | Self::Failed(text) => text,
        }
    }
}

/// Why the API server refused a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteError {
    /// Another client wrote in between: the object has another version, or exists already.
    Conflict(String),
    /// The object is not valid: 422.
    Invalid(String),
    /// The object is gone.
    NotFound(String),
    /// The request cannot be understood, as with a misspelt field: 400.
    BadRequest(String),
    /// The object's namespace is missing or about to be.
    NoNamespace(String),
    /// The controller may not do this: 403.
    Forbidden(String),
    /// Anything else, a missing answer included.
    Other(String),
}

impl WriteError {
    /// The refusal without secret values in its text.
    pub fn redacted(self, secrets: &Secrets) -> Self {
        let clean = |text: String| secrets.redact(&text);
        match self {
            Self::Conflict(text) => Self::Conflict(clean(text)),
            Self::Invalid(text) => Self::Invalid(clean(text)),
            Self::NotFound(text) => Self::NotFound(clean(text)),
            Self::BadRequest(text) => Self::BadRequest(clean(text)),
            Self::NoNamespace(text) => Self::NoNamespace(clean(text)),
            Self::Forbidden(text) => Self::Forbidden(clean(text)),
            Self::Other(text) => Self::Other(clean(text)),
        }
    }

    /// The API server's message.
    pub fn text(&self) -> &str {
        match self {
            Self::Conflict(text)
            | Self::Invalid(text)
            | Self::NotFound(text)
            | Self::BadRequest(text)
            | Self::NoNamespace(text)
            | Self::Forbidden(text)
            | Self::Other(text) => text,
        }
    }
}

/// Why an object could not be recreated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecreateError {
    /// It could not be deleted.
    Delete(WriteError),
    /// It could not be created.
    Create(WriteError),
    /// It is still being deleted.
    StillThere,
}

impl RecreateError {
    /// The failure without secret values in its text.
    pub fn redacted(self, secrets: &Secrets) -> Self {
        match self {
            Self::Delete(refused) => Self::Delete(refused.redacted(secrets)),
            Self::Create(refused) => Self::Create(refused.redacted(secrets)),
            Self::StillThere => Self::StillThere,
        }
    }

    /// The error of the single request. Only that of the deletion can be a conflict with another object of the name.
    pub fn into_write_error(self) -> WriteError {
        match self {
            Self::Delete(refused) => refused,
            Self::Create(refused) => WriteError::Other(refused.text().to_owned()),
            Self::StillThere => WriteError::Other(String::new()),
        }
    }
}
