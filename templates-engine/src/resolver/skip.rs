//! `skipObject`, which leaves the object of a template out of its policy.

use std::cell::Cell;
use std::rc::Rc;

use crate::function::{Arguments, CustomFunction, Env, Failure, Parameter, Signature};
use reeve_go_compat::printing;
use reeve_go_compat::value::Value;

/// The mark that `skipObject` sets. It stays when the template fails afterwards, and counts
/// before the failure does.
#[derive(Clone, Debug, Default)]
pub struct SkipObject(Rc<Cell<bool>>);

impl SkipObject {
    /// Not marked.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the object is to be left out.
    pub fn is_marked(&self) -> bool {
        self.0.get()
    }

    /// The function that sets this mark.
    pub fn function(&self) -> CustomFunction {
        let mark = self.0.clone();
        CustomFunction {
            signature: Signature {
                fixed: &[],
                variadic: Some(Parameter::Any),
                returns_any: false,
            },
            body: Rc::new(move |env: &mut Env<'_>, arguments: &Arguments<'_>| {
                env.walk(arguments.all())?;
                call(&mark, arguments)
            }),
        }
    }
}

fn call(mark: &Cell<bool>, arguments: &Arguments<'_>) -> Result<Value, Failure> {
    match arguments.all() {
        [] => mark.set(true),
        [_] if mark.get() => {}
        [Value::Bool(skip)] => mark.set(*skip),
        [other] => {
            let text = String::from_utf8_lossy(&printing::display(other)).into_owned();
            return Err(Failure::text(format!(
                "expected boolean but received '{text}'"
            )));
        }
        several => {
            return Err(Failure::text(format!(
                "expected one optional boolean argument but received {} arguments",
                several.len()
            )));
        }
    }
    Ok(Value::from(""))
}
