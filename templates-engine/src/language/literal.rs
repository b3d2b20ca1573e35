//! Arguments: evaluated, and made to fit the type of their parameter.

use super::exec::{Done, Exec};
use super::scope::{Held, Sensitivity};
use super::tree::{Index, Node, NodeId};
use crate::function::Parameter;
use reeve_go_compat::value::{Element, List, Map, Value};

impl Exec<'_, '_> {
    /// An argument for a parameter of this type; of any type where none is given.
    pub(super) fn argument(
        &mut self,
        dot: &Held,
        parameter: Option<Parameter>,
        id: NodeId,
    ) -> Done<Held> {
        self.at(id);
        let held = match self.template.node(id) {
            Node::Dot => dot.clone(),
            Node::Nil => return self.nil_for(parameter),
            Node::Field(fields) => self.field_node(dot, id, fields, &[id], None)?,
            Node::Variable { name, fields } => {
                self.variable_node(dot, id, name, fields, &[], None)?
            }
            Node::Pipe { .. } => {
                stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.pipeline(dot, id))?
            }
            Node::Identifier(callee) => self.function(dot, id, callee, id, &[], None)?,
            Node::Chain { of, fields } => self.chain_node(dot, id, of, fields, &[], None)?,
            _ => return self.literal(parameter, id),
        };
        self.validate(held, parameter)
    }

    fn nil_for(&self, parameter: Option<Parameter>) -> Done<Held> {
        match parameter {
            None => Ok(Held::missing()),
            Some(parameter) => match zero(parameter) {
                Some(value) => Ok(Held::plain(value)),
                None => self.fail(format!("cannot assign nil to {}", parameter.name())),
            },
        }
    }

    fn literal(&mut self, parameter: Option<Parameter>, id: NodeId) -> Done<Held> {
        self.at(id);
        let node = self.template.node(id);
        let number = match node {
            Node::Number { number, .. } => self.template.number(number).copied(),
            _ => None,
        };
        let plain = |value| Ok(Held::plain(value));
        let expected = match parameter {
            None | Some(Parameter::Any | Parameter::Reflect) => {
                return match node {
                    Node::Bool(value) => plain(Value::Bool(value)),
                    Node::String { value, .. } => Ok(self.string_constant(value)),
                    _ => self.ideal_constant(id, &number.unwrap_or_default()),
                };
            }
            Some(Parameter::Bool) => {
                if let Node::Bool(value) = node {
                    return plain(Value::Bool(value));
                }
                "bool"
            }
            Some(Parameter::Str) => {
                if let Node::String { value, .. } = node {
                    return Ok(self.string_constant(value));
                }
                "string"
            }
            Some(Parameter::Int) => match number.and_then(|number| number.int) {
                Some(int) => return plain(Value::Int(int)),
                None => "integer",
            },
            Some(Parameter::Int64 | Parameter::Named("time.Duration" | "time.Month")) => {
                match number.and_then(|number| number.int) {
                    Some(int) => return plain(Value::Int64(int)),
                    None => "integer",
                }
            }
            Some(Parameter::Uint32) => match number.and_then(|number| number.uint) {
                Some(uint) => return plain(Value::Uint64(uint & u64::from(u32::MAX))),
                None => "unsigned integer",
            },
            Some(Parameter::Float) => match number.and_then(|number| number.float) {
                Some(float) => return plain(Value::Float(float)),
                None => "float",
            },
            Some(other) => {
                let text = self.template.render(id);
                let of = other.name();
                return self.fail(format!("can't handle {text} for arg of type {of}"));
            }
        };
        let text = self.template.render(id);
        self.fail(format!("expected {expected}; found {text}"))
    }

    pub(super) fn string_constant(&self, index: Index) -> Held {
        let value = self.template.string(index).cloned().unwrap_or_default();
        match self.decrypted.constant(&value) {
            None => Held::plain(Value::Str(value)),
            Some(text) => Held {
                value: Value::Str(text.into()),
                boxed: false,
                sensitivity: Sensitivity::Derived,
            },
        }
    }

    /// Converts a value to the type of a parameter, or fails.
    pub(super) fn validate(&self, held: Held, parameter: Option<Parameter>) -> Done<Held> {
        let Some(parameter) = parameter else {
            return Ok(held);
        };
        if matches!(held.value, Value::Missing) {
            return match zero(parameter) {
                Some(value) => Ok(Held { value, ..held }),
                None => self.fail(format!("invalid value; expected {}", parameter.name())),
            };
        }
        if parameter == Parameter::Reflect || fits(&held.value, parameter) {
            return Ok(held);
        }
        let got = if matches!(held.value, Value::Nil) {
            held.type_name()
        } else {
            held.value.type_name()
        };
        self.fail(format!(
            "wrong type for value; expected {}; got {got}",
            parameter.name()
        ))
    }
}

/// The zero value of a type that can be nil.
fn zero(parameter: Parameter) -> Option<Value> {
    Some(match parameter {
        Parameter::Any => Value::Nil,
        Parameter::Reflect => Value::Missing,
        Parameter::Dict => Value::Map(Map::nil()),
        Parameter::List => Value::List(List::nil(Element::Any)),
        Parameter::Strings => Value::List(List::nil(Element::Str)),
        Parameter::Named(name) if name.starts_with('*') => Value::Nil,
        _ => return None,
    })
}

fn fits(value: &Value, parameter: Parameter) -> bool {
    match (parameter, value) {
        (Parameter::Any | Parameter::Reflect, _)
        | (Parameter::Str, Value::Str(_))
        | (Parameter::Bool, Value::Bool(_))
        | (Parameter::Int, Value::Int(_))
        | (Parameter::Int64, Value::Int64(_))
        | (Parameter::Float, Value::Float(_)) => true,
        (Parameter::Dict, Value::Map(map)) => map.is_dict(),
        (Parameter::List, Value::List(list)) => *list.element() == Element::Any,
        (Parameter::Strings, Value::List(list)) => *list.element() == Element::Str,
        (Parameter::Time, Value::Native(native)) => native.type_name() == "time.Time",
        (Parameter::Named(name), Value::Native(native)) => native.type_name() == name,
        (Parameter::Named(name), Value::Struct(value)) => value.type_name() == name,
        _ => false,
    }
}
