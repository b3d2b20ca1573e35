//! Errors of evaluation, with the texts of Gatekeeper.

use std::fmt;

use super::value::Value;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError(String);

pub type Evaluated<'a> = Result<Value<'a>, EvalError>;

impl fmt::Display for EvalError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl EvalError {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn no_such_key(key: impl fmt::Display) -> Self {
        Self(format!("no such key: {key}"))
    }

    pub fn no_overload() -> Self {
        Self("no such overload".to_owned())
    }

    /// No overload of an operator or a function of one argument.
    pub fn no_overload_of(name: &str) -> Self {
        Self(format!("no such overload: {name}"))
    }

    /// No overload of a function for arguments of these types.
    pub fn no_overload_for(name: &str, arguments: &[&Value<'_>]) -> Self {
        let types: Vec<&str> = arguments.iter().map(|one| one.type_name()).collect();
        Self(format!("no such overload: {name}({})", types.join(", ")))
    }

    pub fn conversion(from: &str, to: &str) -> Self {
        Self(format!("type conversion error from '{from}' to '{to}'"))
    }

    pub fn out_of_range(index: i64) -> Self {
        Self(format!("index out of range: {index}"))
    }

    pub fn cost_exceeded() -> Self {
        Self("operation cancelled: actual cost limit exceeded".to_owned())
    }

    pub fn in_variable(self, name: &str) -> Self {
        Self(format!(
            "composited variable \"{name}\" fails to evaluate: {self}"
        ))
    }
}
