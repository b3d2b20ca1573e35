//! Templates for the engine `K8sNativeValidation`: validations in CEL.

use crate::Json;

/// Why the source of a template cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CompileError {
    /// The text for the status of the template.
    pub message: String,
}

/// What `failurePolicy` is where the source has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailurePolicy {
    /// An error of an expression is a violation.
    #[default]
    Fail,
    /// An error of an expression is nothing.
    Ignore,
}

/// The documents that expressions see.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The object; none on DELETE.
    pub object: Option<&'a Json>,
    /// The object before the request.
    pub old_object: Option<&'a Json>,
    /// The admission request, with all keys present.
    pub request: &'a Json,
    /// The Namespace of the object.
    pub namespace_object: Option<&'a Json>,
    /// `spec.parameters` of the constraint, with defaults; none when the constraint has none.
    pub parameters: Option<&'a Json>,
    /// The whole constraint.
    pub constraint: &'a Json,
}

/// The compiled source of a template.
#[derive(Debug)]
pub struct Program {}

impl Program {
    /// Compiles `spec.targets[0].code[].source` of the engine `K8sNativeValidation`.
    pub fn compile(_source: &Json) -> Result<Self, CompileError> {
        Ok(Self {})
    }

    /// The messages of the validations that fail, in their order.
    pub fn evaluate(&self, _input: &Input<'_>) -> Vec<String> {
        Vec::new()
    }
}
