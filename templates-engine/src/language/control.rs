//! `if`, `with`, `range` and `template`.

use super::exec::{Done, Exec, Flow};
use super::scope::{Held, Sensitivity};
use super::tree::{Control, Index, Node, NodeId};
use reeve_go_compat::printing;
use reeve_go_compat::runes::quote;
use reeve_go_compat::value::{Element, Value};

/// The variables that a `range` sets on each turn.
#[derive(Clone, Copy)]
enum Loop {
    /// None are declared.
    Bare,
    Declares(usize),
    Assigns(NodeId, Option<NodeId>),
}

impl Exec<'_, '_> {
    pub(super) fn branch(
        &mut self,
        dot: &Held,
        control: Control,
        pipe: NodeId,
        list: NodeId,
        otherwise: Option<NodeId>,
    ) -> Done<Flow> {
        let mark = self.variables.mark();
        let outer = self.control;
        self.worked_on = Sensitivity::Open;
        let flow = match control {
            Control::Range => self.range(dot, pipe, list, otherwise),
            Control::If | Control::With => {
                self.if_or_with(dot, control == Control::With, pipe, list, otherwise)
            }
        };
        // Whether the loop goes on is what a condition on a secret has chosen, and so is all that it writes from here on.
        let leaves = flow.as_ref().is_ok_and(|flow| *flow != Flow::Next);
        self.control = outer || (leaves && self.control);
        self.variables.pop_to(mark);
        flow
    }

    fn if_or_with(
        &mut self,
        dot: &Held,
        rebinds: bool,
        pipe: NodeId,
        list: NodeId,
        otherwise: Option<NodeId>,
    ) -> Done<Flow> {
        let held = self.pipeline(dot, pipe)?;
        self.control |= self.sensitivity_of(&held) != Sensitivity::Open;
        if held.value.truth() {
            let dot = if rebinds { &held } else { dot };
            return self.walk(dot, list);
        }
        match otherwise {
            Some(otherwise) => self.walk(dot, otherwise),
            None => Ok(Flow::Next),
        }
    }

    fn range(
        &mut self,
        dot: &Held,
        pipe: NodeId,
        list: NodeId,
        otherwise: Option<NodeId>,
    ) -> Done<Flow> {
        let held = self.pipeline(dot, pipe)?;
        let variables = self.loop_variables(pipe);
        let sensitivity = self.sensitivity_of(&held);
        self.control |= sensitivity != Sensitivity::Open;
        let turned = match &held.value {
            Value::Int(count) => self.count(
                *count,
                Value::Int,
                &held.value,
                variables,
                list,
                sensitivity,
            )?,
            Value::Int64(count) => self.count(
                *count,
                Value::Int64,
                &held.value,
                variables,
                list,
                sensitivity,
            )?,
            Value::Uint8(count) => {
                let of = |place| Value::Uint8(u8::try_from(place).unwrap_or(u8::MAX));
                self.count(
                    (*count).into(),
                    of,
                    &held.value,
                    variables,
                    list,
                    sensitivity,
                )?
            }
            Value::Uint64(count) => {
                let of = |place: i64| Value::Uint64(place.unsigned_abs());
                let count = i64::try_from(*count).unwrap_or(i64::MAX);
                self.count(count, of, &held.value, variables, list, sensitivity)?
            }
            Value::List(items) => {
                let boxed = *items.element() == Element::Any;
                let items = items.clone();
                for (place, item) in items.iter().enumerate() {
                    let index = Value::Int(i64::try_from(place).unwrap_or(i64::MAX));
                    let index = held_as(index, false, sensitivity);
                    let item = held_as(item.clone(), boxed, sensitivity);
                    if self.turn(variables, index, &item, list)? == Flow::Break {
                        break;
                    }
                }
                !items.is_empty()
            }
            Value::Map(map) => {
                let boxed = map.element() == Element::Any;
                let boxed_key = map.key_element() == Element::Any;
                let entries = map.entries();
                let any = !entries.is_empty();
                for (key, value) in entries {
                    let key = held_as(key.to_value(), boxed_key, sensitivity);
                    let value = held_as(value, boxed, sensitivity);
                    if self.turn(variables, key, &value, list)? == Flow::Break {
                        break;
                    }
                }
                any
            }
            Value::Missing | Value::Nil => false,
            other => {
                let text = String::from_utf8_lossy(&printing::display(other)).into_owned();
                return self.fail(format!("range can't iterate over {text}"));
            }
        };
        if turned {
            return Ok(Flow::Next);
        }
        match otherwise {
            Some(otherwise) => self.walk(dot, otherwise),
            None => Ok(Flow::Next),
        }
    }

    fn loop_variables(&self, pipe: NodeId) -> Loop {
        let Node::Pipe {
            assigns, declared, ..
        } = self.template.node(pipe)
        else {
            return Loop::Bare;
        };
        match self.template.children(declared) {
            [] => Loop::Bare,
            [first, rest @ ..] if assigns => Loop::Assigns(*first, rest.first().copied()),
            all => Loop::Declares(all.len()),
        }
    }

    fn count(
        &mut self,
        count: i64,
        of: impl Fn(i64) -> Value,
        shown: &Value,
        variables: Loop,
        list: NodeId,
        sensitivity: Sensitivity,
    ) -> Done<bool> {
        if matches!(variables, Loop::Declares(2) | Loop::Assigns(_, Some(_))) {
            let text = String::from_utf8_lossy(&printing::display(shown)).into_owned();
            return self.fail(format!(
                "can't use {text} to iterate over more than one variable"
            ));
        }
        for place in 0..count {
            let item = held_as(of(place), false, sensitivity);
            if self.turn(variables, Held::missing(), &item, list)? == Flow::Break {
                break;
            }
        }
        Ok(count > 0)
    }

    fn turn(&mut self, variables: Loop, index: Held, item: &Held, list: NodeId) -> Done<Flow> {
        let mark = self.variables.mark();
        match variables {
            Loop::Bare => {}
            Loop::Declares(count) => {
                self.variables.set_from_top(1, item.clone());
                if count > 1 {
                    self.variables.set_from_top(2, index);
                }
            }
            Loop::Assigns(first, None) => self.assign(first, item.clone())?,
            Loop::Assigns(first, Some(second)) => {
                self.assign(first, index)?;
                self.assign(second, item.clone())?;
            }
        }
        let flow = self.walk(item, list)?;
        self.variables.pop_to(mark);
        Ok(match flow {
            Flow::Break => Flow::Break,
            Flow::Next | Flow::Continue => Flow::Next,
        })
    }

    /// Sets an existing variable, given the node that names it.
    pub(super) fn assign(&mut self, variable: NodeId, mut held: Held) -> Done<()> {
        let Node::Variable { name, .. } = self.template.node(variable) else {
            return Ok(());
        };
        held.sensitivity = held.sensitivity.max(self.chosen());
        if self.variables.set(name, held) {
            return Ok(());
        }
        let text = self.template.variable(name).to_owned();
        self.fail(format!("undefined variable: {text}"))
    }

    pub(super) fn template_call(
        &mut self,
        dot: &Held,
        id: NodeId,
        name: Index,
        pipe: Option<NodeId>,
    ) -> Done<()> {
        self.at(id);
        let template = self.template;
        let name = template.string(name).cloned().unwrap_or_default();
        let Some(root) = template.roots.get(&*name.lossy()).copied() else {
            let quoted = quote(&name);
            return self.fail(format!("template {quoted} not defined"));
        };
        if let Err(limit) = self.env.meter.depth(self.depth) {
            return self.exceeded(limit);
        }
        let dot = match pipe {
            Some(pipe) => self.pipeline(dot, pipe)?,
            None => Held::missing(),
        };
        let variables = self.fresh_variables(&dot);
        let outer_variables = std::mem::replace(&mut self.variables, variables);
        let outer_name = std::mem::replace(&mut self.name, name.lossy().into_owned());
        let outer_node = self.node;
        self.depth += 1;
        self.walk(&dot, root)?;
        self.depth -= 1;
        self.node = outer_node;
        self.name = outer_name;
        self.variables = outer_variables;
        Ok(())
    }
}

fn held_as(value: Value, boxed: bool, sensitivity: Sensitivity) -> Held {
    Held {
        value,
        boxed,
        sensitivity,
    }
}
