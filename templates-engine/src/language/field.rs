//! Fields of maps and structs, and methods.

use super::call::Target;
use super::exec::{Done, Exec};
use super::scope::{Held, Sensitivity};
use super::tree::{NodeId, Run};
use crate::methods;
use reeve_go_compat::value::{Element, Key, Value};

impl Exec<'_, '_> {
    pub(super) fn field_node(
        &mut self,
        dot: &Held,
        node: NodeId,
        fields: Run,
        arguments: &[NodeId],
        last: Option<Held>,
    ) -> Done<Held> {
        self.at(node);
        self.field_chain(dot, dot.clone(), node, fields, arguments, last)
    }

    pub(super) fn chain_node(
        &mut self,
        dot: &Held,
        node: NodeId,
        of: NodeId,
        fields: Run,
        arguments: &[NodeId],
        last: Option<Held>,
    ) -> Done<Held> {
        self.at(node);
        let receiver = self.argument(dot, None, of)?;
        self.field_chain(dot, receiver, node, fields, arguments, last)
    }

    pub(super) fn field_chain(
        &mut self,
        dot: &Held,
        mut receiver: Held,
        node: NodeId,
        fields: Run,
        arguments: &[NodeId],
        last: Option<Held>,
    ) -> Done<Held> {
        let template = self.template;
        let Some((final_field, inner)) = template.fields(fields).split_last() else {
            return Ok(receiver);
        };
        for field in inner {
            receiver = self.field(dot, &receiver, node, field, &[], None)?;
        }
        self.field(dot, &receiver, node, final_field, arguments, last)
    }

    /// One field or method of a value. `arguments` starts with the node of the command's first
    /// word, like a function's.
    fn field(
        &mut self,
        dot: &Held,
        receiver: &Held,
        node: NodeId,
        field: &Key,
        arguments: &[NodeId],
        last: Option<Held>,
    ) -> Done<Held> {
        let name = match field {
            Key::Str(name) => name.lossy(),
            _ => "".into(),
        };
        self.worked_on = self.worked_on.max(receiver.sensitivity);
        if matches!(receiver.value, Value::Missing) {
            return Ok(Held {
                sensitivity: receiver.sensitivity,
                ..Held::missing()
            });
        }
        if matches!(receiver.value, Value::Nil) {
            let of = receiver.type_name();
            return self.fail(format!("nil pointer evaluating {of}.{name}"));
        }
        let has_arguments = arguments.len() > 1 || last.is_some();
        match &receiver.value {
            Value::Native(native) => {
                if let Some(method) = methods::method(native.as_ref(), &name) {
                    let target = Target::Method(native.clone(), method, receiver.sensitivity);
                    return self.call(dot, &target, node, &name, arguments, last);
                }
            }
            Value::Struct(value) => {
                if let Some(found) = value.field(&name) {
                    if has_arguments {
                        return self.fail(format!(
                            "{name} has arguments but cannot be invoked as function"
                        ));
                    }
                    return Ok(Held {
                        value: found.clone(),
                        // Only a field of an interface type holds nothing.
                        boxed: matches!(found, Value::Nil),
                        sensitivity: receiver.sensitivity,
                    });
                }
            }
            Value::Map(map) if matches!(map.key_element(), Element::Str | Element::Any) => {
                if has_arguments {
                    return self.fail(format!("{name} is not a method but has arguments"));
                }
                let of_map = Sensitivity::derived_if(map.is_sensitive());
                let sensitivity = receiver.sensitivity.max(of_map);
                return Ok(match map.get(field) {
                    Some(value) => Held {
                        value,
                        boxed: map.element() == Element::Any,
                        sensitivity,
                    },
                    None => Held {
                        sensitivity,
                        ..Held::missing()
                    },
                });
            }
            _ => {}
        }
        let of = receiver.type_name();
        self.fail(format!("can't evaluate field {name} in type {of}"))
    }
}
