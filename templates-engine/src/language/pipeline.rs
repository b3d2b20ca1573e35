//! Pipelines and their commands.

use super::exec::{Done, Exec};
use super::number::Number;
use super::scope::Held;
use super::tree::{Node, NodeId, Run};
use reeve_go_compat::value::Value;

impl Exec<'_, '_> {
    /// The value of a pipeline, its variables set.
    pub(super) fn pipeline(&mut self, dot: &Held, pipe: NodeId) -> Done<Held> {
        self.at(pipe);
        let Node::Pipe {
            assigns,
            declared,
            commands,
        } = self.template.node(pipe)
        else {
            return Ok(Held::missing());
        };
        let template = self.template;
        let mut value = None;
        for command in template.children(commands) {
            value = Some(self.command(dot, *command, value)?.unboxed());
        }
        let value = value.unwrap_or_else(Held::missing);
        for variable in template.children(declared) {
            if assigns {
                self.assign(*variable, value.clone())?;
            } else if let Node::Variable { name, .. } = template.node(*variable) {
                let mut value = value.clone();
                value.sensitivity = value.sensitivity.max(self.chosen());
                self.variables.push(name, value);
            }
        }
        Ok(value)
    }

    /// A command's value; `last` is what the command before it in the pipeline gave.
    fn command(&mut self, dot: &Held, id: NodeId, last: Option<Held>) -> Done<Held> {
        let Node::Command(operands) = self.template.node(id) else {
            return Ok(Held::missing());
        };
        let template = self.template;
        let arguments = template.children(operands);
        let Some(first) = arguments.first().copied() else {
            return Ok(Held::missing());
        };
        match template.node(first) {
            Node::Field(fields) => return self.field_node(dot, first, fields, arguments, last),
            Node::Chain { of, fields } => {
                return self.chain_node(dot, first, of, fields, arguments, last);
            }
            Node::Identifier(callee) => {
                return self.function(dot, first, callee, id, arguments, last);
            }
            Node::Pipe { .. } => {
                self.not_a_function(arguments, last.as_ref())?;
                return stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.pipeline(dot, first));
            }
            Node::Variable { name, fields } => {
                return self.variable_node(dot, first, name, fields, arguments, last);
            }
            _ => {}
        }
        self.at(first);
        self.not_a_function(arguments, last.as_ref())?;
        match template.node(first) {
            Node::Bool(value) => Ok(Held::plain(Value::Bool(value))),
            Node::Dot => Ok(dot.clone()),
            Node::Nil => self.fail("nil is not a command"),
            Node::Number { number, .. } => {
                let number = template.number(number).copied().unwrap_or_default();
                self.ideal_constant(first, &number)
            }
            Node::String { value, .. } => Ok(self.string_constant(value)),
            _ => {
                let text = template.render(first);
                self.fail(format!("can't evaluate command {text:?}"))
            }
        }
    }

    fn not_a_function(&self, arguments: &[NodeId], last: Option<&Held>) -> Done<()> {
        match arguments.first() {
            Some(first) if arguments.len() > 1 || last.is_some() => {
                let text = self.template.render(*first);
                self.fail(format!("can't give argument to non-function {text}"))
            }
            _ => Ok(()),
        }
    }

    /// A number whose type no parameter determines.
    pub(super) fn ideal_constant(&mut self, node: NodeId, number: &Number) -> Done<Held> {
        self.at(node);
        if number.complex {
            let text = self.template.render(node);
            return self.fail(format!("complex number {text} is not supported"));
        }
        if number.reads_as_float
            && let Some(float) = number.float
        {
            return Ok(Held::plain(Value::Float(float)));
        }
        if let Some(int) = number.int {
            return Ok(Held::plain(Value::Int(int)));
        }
        let text = self.template.render(node);
        self.fail(format!("{text} overflows int"))
    }

    pub(super) fn variable_node(
        &mut self,
        dot: &Held,
        node: NodeId,
        name: super::tree::Name,
        fields: Run,
        arguments: &[NodeId],
        last: Option<Held>,
    ) -> Done<Held> {
        self.at(node);
        let Some(held) = self.variables.get(name).cloned() else {
            let text = self.template.variable(name).to_owned();
            return self.fail(format!("undefined variable: {text}"));
        };
        if fields.len() == 0 {
            self.not_a_function(arguments, last.as_ref())?;
            return Ok(held);
        }
        self.field_chain(dot, held, node, fields, arguments, last)
    }
}
