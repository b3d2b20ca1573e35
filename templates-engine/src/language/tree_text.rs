//! Nodes as text, the way errors quote them. Ported from Go's `text/template/parse/node.go`.

use super::tree::{Control, Node, NodeId, Run, Template};
use reeve_go_compat::runes::quote;
use reeve_go_compat::value::Key;

impl Template {
    /// The node's source, normalised: what an error shows in `at <…>`.
    pub(super) fn render(&self, id: NodeId) -> String {
        let mut out = String::new();
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.write(id, &mut out));
        out
    }

    fn write(&self, id: NodeId, out: &mut String) {
        match self.node(id) {
            Node::List(run) => {
                for child in self.children(run) {
                    self.write_deeper(*child, out);
                }
            }
            Node::Text { start, end } => out.push_str(self.source(start, end)),
            Node::Action(pipe) => self.delimited(out, |out| self.write_deeper(pipe, out)),
            Node::Branch {
                control,
                pipe,
                list,
                otherwise,
            } => self.write_branch(control, pipe, list, otherwise, out),
            Node::Template { name, pipe } => self.delimited(out, |out| {
                out.push_str("template ");
                let name = self.string(name).map(|name| &**name).unwrap_or_default();
                out.push_str(&quote(name));
                if let Some(pipe) = pipe {
                    out.push(' ');
                    self.write_deeper(pipe, out);
                }
            }),
            Node::Break => self.delimited(out, |out| out.push_str("break")),
            Node::Continue => self.delimited(out, |out| out.push_str("continue")),
            Node::End => self.delimited(out, |out| out.push_str("end")),
            Node::Else => self.delimited(out, |out| out.push_str("else")),
            Node::Pipe {
                assigns,
                declared,
                commands,
            } => self.write_pipe(assigns, declared, commands, out),
            Node::Command(run) => self.write_command(run, out),
            Node::Bool(value) => out.push_str(if value { "true" } else { "false" }),
            Node::Dot => out.push('.'),
            Node::Nil => out.push_str("nil"),
            Node::Number { start, end, .. } | Node::String { start, end, .. } => {
                out.push_str(self.source(start, end));
            }
            Node::Field(fields) => self.write_fields(fields, out),
            Node::Variable { name, fields } => {
                out.push_str(self.variable(name));
                self.write_fields(fields, out);
            }
            Node::Chain { of, fields } => {
                let piped = matches!(self.node(of), Node::Pipe { .. });
                if piped {
                    out.push('(');
                }
                self.write_deeper(of, out);
                if piped {
                    out.push(')');
                }
                self.write_fields(fields, out);
            }
            Node::Identifier(index) => {
                if let Some((name, _)) = self.callee(index) {
                    out.push_str(name);
                }
            }
        }
    }

    fn write_deeper(&self, id: NodeId, out: &mut String) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.write(id, out));
    }

    fn delimited(&self, out: &mut String, inside: impl FnOnce(&mut String)) {
        out.push_str(&self.left);
        inside(out);
        out.push_str(&self.right);
    }

    fn write_branch(
        &self,
        control: Control,
        pipe: NodeId,
        list: NodeId,
        otherwise: Option<NodeId>,
        out: &mut String,
    ) {
        self.delimited(out, |out| {
            out.push_str(match control {
                Control::If => "if ",
                Control::With => "with ",
                Control::Range => "range ",
            });
            self.write_deeper(pipe, out);
        });
        self.write_deeper(list, out);
        if let Some(otherwise) = otherwise {
            self.delimited(out, |out| out.push_str("else"));
            self.write_deeper(otherwise, out);
        }
        self.delimited(out, |out| out.push_str("end"));
    }

    fn write_pipe(&self, assigns: bool, declared: Run, commands: Run, out: &mut String) {
        for (place, variable) in self.children(declared).iter().enumerate() {
            if place > 0 {
                out.push_str(", ");
            }
            self.write_deeper(*variable, out);
        }
        if declared.len() > 0 {
            out.push_str(if assigns { " = " } else { " := " });
        }
        for (place, command) in self.children(commands).iter().enumerate() {
            if place > 0 {
                out.push_str(" | ");
            }
            self.write_deeper(*command, out);
        }
    }

    fn write_command(&self, operands: Run, out: &mut String) {
        for (place, operand) in self.children(operands).iter().enumerate() {
            if place > 0 {
                out.push(' ');
            }
            let piped = matches!(self.node(*operand), Node::Pipe { .. });
            if piped {
                out.push('(');
            }
            self.write_deeper(*operand, out);
            if piped {
                out.push(')');
            }
        }
    }

    fn write_fields(&self, fields: Run, out: &mut String) {
        for field in self.fields(fields) {
            out.push('.');
            if let Key::Str(name) = field {
                out.push_str(&name.lossy());
            }
        }
    }
}
