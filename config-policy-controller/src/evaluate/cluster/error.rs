//! Why a cluster did not answer a read, or refused a write.

use reeve_template_reads::Secrets;

/// Why something could not be read. Never the same as "it is absent".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// Its kind cannot be watched.
    Unwatchable(String),
    /// The API server refused or did not answer.
    Failed(String),
}

impl Unreadable {
    /// What to tell.
    pub fn text(&self) -> &str {
        match self {
            Self::Unwatchable(text) | Self::Failed(text) => text,
        }
    }
}

/// Why the API server did not do as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Somebody else wrote in between: another version is there, or there is an object where there was none.
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

impl Refused {
    /// The refusal in words that quote no secret.
    pub fn without(self, secrets: &Secrets) -> Self {
        let clean = |text: String| secrets.taken_out_of(&text);
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

    /// What the API server said.
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

/// What deleting and creating an object came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecreateFailure {
    /// It could not be deleted.
    Delete(Refused),
    /// It could not be created.
    Create(Refused),
    /// It is still being deleted.
    StillThere,
}

impl RecreateFailure {
    /// The failure in words that quote no secret.
    pub fn without(self, secrets: &Secrets) -> Self {
        match self {
            Self::Delete(refused) => Self::Delete(refused.without(secrets)),
            Self::Create(refused) => Self::Create(refused.without(secrets)),
            Self::StillThere => Self::StillThere,
        }
    }

    /// The refusal as that of one step. Only that of the deletion says that the object is another by now.
    pub fn into_refused(self) -> Refused {
        match self {
            Self::Delete(refused) => refused,
            Self::Create(refused) => Refused::Other(refused.text().to_owned()),
            Self::StillThere => Refused::Other(String::new()),
        }
    }
}
