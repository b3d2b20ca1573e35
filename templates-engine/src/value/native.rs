use std::any::Any;
use std::fmt;

use super::{Kind, Value};
use crate::function::{Arguments, Failure, Signature};

/// A Go type with methods that templates can call.
pub trait Native: fmt::Debug {
    /// The name as Go's `%T` prints it, `time.Time` for instance.
    fn type_name(&self) -> &'static str;
    /// The name of what a pointer points to; of any other type its own.
    fn pointed_to(&self) -> &'static str {
        let name = self.type_name();
        name.strip_prefix('*').unwrap_or(name)
    }
    /// The kind underneath.
    fn kind(&self) -> Kind;
    /// What Go's `String()` answers; `None` for a type that has no such method.
    fn text(&self) -> Option<String>;
    /// What Go's `GoString()` answers, which `%#v` prints; `None` for a type that has no such method.
    fn go_string(&self) -> Option<String> {
        None
    }
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
    /// Whether Go's `==` is true only of the very same value, as of two pointers.
    fn is_compared_by_address(&self) -> bool {
        false
    }
    /// For getting back to the type itself.
    fn as_any(&self) -> &dyn Any;
}

/// A method: its parameters and what it does with its receiver.
#[derive(Clone, Copy)]
pub struct Method {
    /// What it takes.
    pub signature: Signature,
    /// What it returns.
    pub results: Results,
    /// Called with the receiver and checked arguments.
    pub call: fn(&dyn Native, &Arguments<'_>) -> Result<Value, Failure>,
}

/// What a Go method returns. A template can only call those that return one value, perhaps with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// One value, perhaps with an error.
    One,
    /// Two values, the second of this type.
    WithSecond(&'static str),
    /// So many values.
    Many(u8),
}

impl Results {
    /// Why a template cannot call a method of this name; `None` if it can.
    pub(crate) fn refusal(self, name: &str) -> Option<String> {
        Some(match self {
            Self::One => return None,
            Self::WithSecond(second) => format!(
                "invalid function signature for {name}: second return value should be error; is {second}"
            ),
            Self::Many(count) => {
                format!("function {name} has {count} return values; should be 1 or 2")
            }
        })
    }
}
