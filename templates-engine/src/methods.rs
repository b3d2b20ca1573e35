//! The methods of Go types that templates may call: those of times, durations and versions.

#![allow(clippy::unnecessary_wraps)] // all methods are of one type, those too that cannot fail

mod time;
mod version;

use reeve_go_compat::semver::VersionValue;
use reeve_go_compat::time::{Duration, Location, Named, Time};
use reeve_go_compat::value::{Native, Value};

use crate::function::{Arguments, Failure, Parameter, Signature};

type Answer = Result<Value, Failure>;
type Call = fn(&dyn Native, &Arguments<'_>) -> Answer;

const NOTHING: Signature = takes(&[]);
const TEXT: Signature = takes(&[Parameter::Str]);

const fn takes(fixed: &'static [Parameter]) -> Signature {
    Signature {
        fixed,
        variadic: None,
        returns_any: false,
    }
}

/// The method of this name that a value of this type has.
pub(crate) fn method(native: &dyn Native, name: &str) -> Option<Method> {
    let receiver = native.as_any();
    if receiver.is::<Time>() {
        time::of_time(name)
    } else if receiver.is::<Duration>() {
        time::of_duration(name)
    } else if let Some(version) = receiver.downcast_ref::<VersionValue>() {
        version::of_version(version, name)
    } else if receiver.is::<Named>() || receiver.is::<Location>() {
        (name == "String").then(|| Method::with_one_result((NOTHING, to_text)))
    } else {
        None
    }
}

fn to_text(value: &dyn Native, _: &Arguments<'_>) -> Answer {
    Ok(Value::from(value.text().unwrap_or_default()))
}

fn receiver<T: Native + 'static>(native: &dyn Native) -> Result<&T, Failure> {
    native
        .as_any()
        .downcast_ref()
        .ok_or_else(|| Failure::text("the receiver is of another type"))
}

/// A method: its parameters and what it does with its receiver.
#[derive(Clone, Copy)]
pub(crate) struct Method {
    /// What it takes.
    pub(crate) signature: Signature,
    /// What it returns.
    pub(crate) results: Results,
    /// Called with the receiver and checked arguments.
    pub(crate) call: Call,
}

impl Method {
    fn with_one_result((signature, call): (Signature, Call)) -> Self {
        Self {
            signature,
            call,
            results: Results::One,
        }
    }
}

/// What a Go method returns. A template can only call those that return one value, perhaps with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Results {
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
