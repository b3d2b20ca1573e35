//! What `.` is.

use reeve_go_compat::value::{Element, Kind, Struct, Value};

use super::Mode;

const START: &str =
    "the input context must be a struct that recurses to kinds bool, int, float, or string";

/// The data that a template starts with.
#[derive(Clone, Debug, Default)]
pub enum Context {
    /// No context.
    #[default]
    None,
    /// A struct with exported fields.
    Struct(Value),
}

/// A context of a type that templates do not get.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{START}{0}")]
pub struct ContextError(String);

impl Context {
    /// A struct of this type name with these fields.
    pub fn new<N: Into<String>>(
        type_name: impl Into<String>,
        fields: impl IntoIterator<Item = (N, Value)>,
    ) -> Self {
        let fields = fields
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect();
        Self::Struct(Value::Struct(Struct::new(type_name, fields).into()))
    }

    pub(super) fn into_data(self, mode: Mode) -> Result<Value, ContextError> {
        match (self, mode) {
            (Self::Struct(value), _) => {
                check_parent(&value)?;
                Ok(value)
            }
            (Self::None, Mode::Watch) => Ok(Value::Missing),
            (Self::None, Mode::Plain) => {
                Ok(Value::Struct(Struct::new("struct {}", Vec::new()).into()))
            }
        }
    }
}

fn check_parent(value: &Value) -> Result<(), ContextError> {
    match value {
        Value::Struct(fields) => fields
            .fields()
            .iter()
            .try_for_each(|(_, field)| check(field)),
        other => Err(ContextError(format!(
            ", but found a parent of kind {}",
            other.kind()
        ))),
    }
}

fn check(value: &Value) -> Result<(), ContextError> {
    match value {
        Value::Struct(fields) => fields
            .fields()
            .iter()
            .try_for_each(|(_, field)| check(field)),
        Value::List(list) => {
            if let Element::Named(_) = list.element() {
                let kind = list.first().map_or(Kind::Struct, Value::kind);
                return Err(ContextError(format!(
                    ", found an array with values of kind {kind}"
                )));
            }
            list.iter().try_for_each(check)
        }
        Value::Map(map) => {
            if let Element::Named(_) | Element::List(_) | Element::Map(_) = map.key_element() {
                return Err(ContextError(format!(
                    ", found a map with keys of kind {}",
                    map.key_element().name()
                )));
            }
            if let Element::Named(_) = map.element() {
                let kind = map
                    .entries()
                    .first()
                    .map_or(Kind::Struct, |(_, value)| value.kind());
                return Err(ContextError(format!(
                    ", found a map with values of kind {kind}"
                )));
            }
            map.entries().iter().try_for_each(|(_, value)| check(value))
        }
        Value::Native(native) => Err(ContextError(format!(
            ", found value of kind {}",
            native.kind()
        ))),
        _ => Ok(()),
    }
}
