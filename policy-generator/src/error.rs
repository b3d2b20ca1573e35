//! Why nothing is generated.

/// Why nothing is generated, in upstream's words. All texts are in [`messages`](crate::messages).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The same behind a text that says where it happened.
    pub(crate) fn within(self, place: impl std::fmt::Display) -> Self {
        Self(format!("{place}{self}"))
    }
}
