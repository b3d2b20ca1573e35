//! Pipelines, the variables that they set, and their commands.

use super::lexer::{Kind, Token};
use super::parser::{Parsed, Parser};
use super::tree::{Node, NodeId, Run};

/// Parentheses may nest so deep, as in Go.
const MAX_PARENS: u32 = 10_000;

impl Parser<'_> {
    pub(super) fn parenthesized(&mut self) -> Parsed<NodeId> {
        if self.parens >= MAX_PARENS {
            return self.fail("max expression depth exceeded");
        }
        self.parens += 1;
        let pipe = stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
            self.pipeline("parenthesized pipeline", Kind::RightParen)
        });
        self.parens -= 1;
        pipe
    }

    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Parsed<NodeId> {
        let start = self.peek_non_space().start;
        let (assigns, declared) = self.declarations(context)?;
        let mut commands = Vec::new();
        loop {
            let token = self.next_non_space();
            match token.kind {
                kind if kind == end => break,
                Kind::Bool
                | Kind::CharConstant
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Nil
                | Kind::RawString
                | Kind::String
                | Kind::Variable
                | Kind::LeftParen => {
                    self.backup();
                    commands.push(self.command()?);
                }
                _ => return self.unexpected(token, context),
            }
        }
        self.check_pipeline(&commands, context)?;
        let declared = self.template.add_children(&declared);
        let commands = self.template.add_children(&commands);
        Ok(self.template.add(
            start,
            Node::Pipe {
                assigns,
                declared,
                commands,
            },
        ))
    }

    /// The variables that a pipeline declares or assigns.
    fn declarations(&mut self, context: &str) -> Parsed<(bool, Vec<NodeId>)> {
        let mut assigns = false;
        let mut declared = Vec::new();
        while self.peek_non_space().kind == Kind::Variable {
            let variable = self.next();
            // A space is a token: whether this variable is declared or is an argument may only
            // be found three tokens ahead.
            let after = self.peek();
            let next = self.peek_non_space();
            match next.kind {
                Kind::Assign | Kind::Declare => {
                    assigns = next.kind == Kind::Assign;
                    self.next_non_space();
                    declared.push(self.declare(variable));
                    break;
                }
                Kind::Char if self.value(next) == "," => {
                    self.next_non_space();
                    declared.push(self.declare(variable));
                    if context != "range" || declared.len() >= 2 {
                        return self.fail(format!("too many declarations in {context}"));
                    }
                    let kind = self.peek_non_space().kind;
                    if !matches!(
                        kind,
                        Kind::Variable | Kind::RightDelimiter | Kind::RightParen
                    ) {
                        return self.fail("range can only initialize variables");
                    }
                }
                _ => {
                    if after.kind == Kind::Space {
                        self.backup3(variable, after);
                    } else {
                        self.backup2(variable);
                    }
                    break;
                }
            }
        }
        Ok((assigns, declared))
    }

    fn declare(&mut self, token: Token) -> NodeId {
        let text = self.value(token);
        self.scope.variables.push(text.to_owned());
        let name = self.template.variable_name(text);
        self.template.add(
            token.start,
            Node::Variable {
                name,
                fields: Run::EMPTY,
            },
        )
    }

    pub(super) fn knows_variable(&self, name: &str) -> bool {
        self.scope.variables.iter().any(|known| known == name)
    }

    fn check_pipeline(&self, commands: &[NodeId], context: &str) -> Parsed<()> {
        if commands.is_empty() {
            return self.fail(format!("missing value for {context}"));
        }
        for (place, command) in commands.iter().enumerate().skip(1) {
            let Node::Command(operands) = self.template.node(*command) else {
                continue;
            };
            let first = self.template.children(operands).first();
            let executable = first.is_none_or(|first| {
                !matches!(
                    self.template.node(*first),
                    Node::Bool(_)
                        | Node::Dot
                        | Node::Nil
                        | Node::Number { .. }
                        | Node::String { .. }
                )
            });
            if !executable {
                let stage = place + 1;
                return self.fail(format!("non executable command in pipeline stage {stage}"));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Parsed<NodeId> {
        let start = self.peek_non_space().start;
        let mut operands = Vec::new();
        loop {
            self.peek_non_space(); // passes over leading spaces
            if let Some(operand) = self.operand()? {
                operands.push(operand);
            }
            let token = self.next();
            match token.kind {
                Kind::Space => continue,
                Kind::RightDelimiter | Kind::RightParen => self.backup(),
                Kind::Pipe => {}
                _ => return self.unexpected(token, "operand"),
            }
            break;
        }
        if operands.is_empty() {
            return self.fail("empty command");
        }
        let operands = self.template.add_children(&operands);
        Ok(self.template.add(start, Node::Command(operands)))
    }
}
