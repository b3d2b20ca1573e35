//! Versions as values of templates.

use std::any::Any;
use std::rc::Rc;

use super::Version;
use crate::value::{Kind, Native, Value};

/// A Go `*semver.Version`, or the `semver.Version` that `IncMajor` and its like answer.
#[derive(Clone, Debug)]
pub struct VersionValue {
    version: Version,
    pointer: bool,
}

impl VersionValue {
    /// A `*semver.Version`.
    pub fn pointer(version: Version) -> Value {
        Value::Native(Rc::new(Self {
            version,
            pointer: true,
        }))
    }

    /// The version.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// Whether this is a `*semver.Version`.
    pub fn is_pointer(&self) -> bool {
        self.pointer
    }

    /// The zero value of the same type.
    pub fn blank(&self) -> Value {
        Value::Native(Rc::new(Self {
            version: Version {
                major: 0,
                minor: 0,
                patch: 0,
                prerelease: String::new(),
                metadata: String::new(),
                original: String::new(),
            },
            pointer: self.pointer,
        }))
    }

    /// A `semver.Version`.
    pub fn plain(version: Version) -> Value {
        Value::Native(Rc::new(Self {
            version,
            pointer: false,
        }))
    }
}

impl Native for VersionValue {
    fn type_name(&self) -> &'static str {
        if self.pointer {
            "*semver.Version"
        } else {
            "semver.Version"
        }
    }

    fn kind(&self) -> Kind {
        if self.pointer {
            Kind::Ptr
        } else {
            Kind::Struct
        }
    }

    fn is_compared_by_address(&self) -> bool {
        self.pointer
    }

    fn text(&self) -> Option<String> {
        Some(self.version.to_string())
    }

    fn json(&self) -> String {
        // Nothing in a version needs an escape.
        format!("\"{}\"", self.version)
    }

    fn equals(&self, other: &dyn Native) -> bool {
        other
            .as_any()
            .downcast_ref::<Self>()
            .is_some_and(|other| self.pointer == other.pointer && self.version == other.version)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
