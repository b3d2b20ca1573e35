//! Why a definition cannot be compared with an object.

use crate::messages;

/// Why a definition cannot be compared with an object at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// A list or map is wanted where the object holds something else.
    #[error("{}", messages::different_types(key))]
    DifferentTypes {
        /// The top-level key.
        key: String,
    },
    /// The annotations are not a map of strings.
    #[error("invalid annotation, error: {fault}")]
    InvalidAnnotation {
        /// What is wrong with them.
        fault: StringMapFault,
    },
    /// The labels are not a map of strings.
    #[error("invalid label, error: {fault}")]
    InvalidLabel {
        /// What is wrong with them.
        fault: StringMapFault,
    },
    /// The live Secret's `data` is not a map of strings.
    #[error("{}", messages::SECRET_DATA)]
    SecretData,
    /// A value of the live Secret's `data` is not base64.
    #[error("{}", messages::secret_decode(name))]
    SecretDecode {
        /// The Secret's name.
        name: String,
    },
}

/// A value that should have been a string, or a map of strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StringMapFault {
    /// The key under which it was found; `None` when the map itself is meant.
    pub key: Option<String>,
    /// The value as Go prints it.
    pub value: String,
    /// Its Go type.
    pub go_type: &'static str,
}

impl std::fmt::Display for StringMapFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&messages::not_a_string_map(
            self.key.as_deref(),
            &self.value,
            self.go_type,
        ))
    }
}
