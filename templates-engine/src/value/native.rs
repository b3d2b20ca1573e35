use std::any::Any;
use std::fmt;

use super::{Kind, Value};
use crate::function::{Arguments, Failure, Signature};

/// A Go type with methods that templates can call.
pub trait Native: fmt::Debug {
    /// The name as Go's `%T` prints it, `time.Time` for instance.
    fn type_name(&self) -> &'static str;
    /// The kind underneath.
    fn kind(&self) -> Kind;
    /// What Go's `String()` answers; `None` for a type that has no such method.
    fn text(&self) -> Option<String>;
    /// The number underneath, for named integers such as durations.
    fn integer(&self) -> Option<i64> {
        None
    }
    /// What `encoding/json` writes for it.
    fn json(&self) -> String;
    /// The method of this name.
    fn method(&self, name: &str) -> Option<Method>;
    /// Whether both are equal by Go's `reflect.DeepEqual`.
    fn equals(&self, other: &dyn Native) -> bool;
    /// For getting back to the type itself.
    fn as_any(&self) -> &dyn Any;
}

/// A method: its parameters and what it does with its receiver.
#[derive(Clone, Copy)]
pub struct Method {
    /// What it takes.
    pub signature: Signature,
    /// Called with the receiver and checked arguments.
    pub call: fn(&dyn Native, &Arguments<'_>) -> Result<Value, Failure>,
}
