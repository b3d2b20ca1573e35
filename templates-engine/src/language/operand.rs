//! The operands of a command: literals, fields, variables, parenthesised pipelines.

use super::lexer::{Kind, Token};
use super::number::Number;
use super::parser::{Parsed, Parser};
use super::tree::{Node, NodeId, index};
use reeve_go_compat::runes::{quote, unquote, unquote_unit};
use reeve_go_compat::value::Key;

impl Parser<'_> {
    /// A term with the fields behind it; `None` where there is no operand.
    pub(super) fn operand(&mut self) -> Parsed<Option<NodeId>> {
        let Some(term) = self.term()? else {
            return Ok(None);
        };
        let first = self.peek();
        if first.kind != Kind::Field {
            return Ok(Some(term));
        }
        let mut fields = Vec::new();
        while self.peek().kind == Kind::Field {
            let token = self.next_non_space();
            fields.push(self.field_key(token));
        }
        let node = match self.template.node(term) {
            Node::Field(own) => {
                let mut all = self.template.fields(own).to_vec();
                all.extend(fields);
                Node::Field(self.template.add_fields(all))
            }
            Node::Variable { name, fields: own } => {
                let mut all = self.template.fields(own).to_vec();
                all.extend(fields);
                let fields = self.template.add_fields(all);
                Node::Variable { name, fields }
            }
            Node::Bool(_) | Node::String { .. } | Node::Number { .. } | Node::Nil | Node::Dot => {
                let text = self.term_text(term);
                let quoted = quote(text);
                return self.fail(format!("unexpected . after term {quoted}"));
            }
            _ => Node::Chain {
                of: term,
                fields: self.template.add_fields(fields),
            },
        };
        Ok(Some(self.template.add(first.start, node)))
    }

    /// A literal's source. The tree does not own its text yet.
    fn term_text(&self, term: NodeId) -> String {
        match self.template.node(term) {
            Node::Number { start, end, .. } | Node::String { start, end, .. } => self
                .value(Token {
                    kind: Kind::Text,
                    start: start as usize,
                    end: end as usize,
                })
                .to_owned(),
            _ => self.template.render(term),
        }
    }

    fn field_key(&self, token: Token) -> Key {
        Key::from(self.value(token).strip_prefix('.').unwrap_or_default())
    }

    fn term(&mut self) -> Parsed<Option<NodeId>> {
        let token = self.next_non_space();
        let node = match token.kind {
            Kind::Identifier => self.identifier(token)?,
            Kind::Dot => Node::Dot,
            Kind::Nil => Node::Nil,
            Kind::Variable => self.variable(token)?,
            Kind::Field => {
                let key = self.field_key(token);
                Node::Field(self.template.add_fields([key]))
            }
            Kind::Bool => Node::Bool(self.value(token) == "true"),
            Kind::CharConstant | Kind::Complex | Kind::Number => self.number(token)?,
            Kind::LeftParen => return self.parenthesized().map(Some),
            Kind::String | Kind::RawString => self.string_constant(token)?,
            _ => {
                self.backup();
                return Ok(None);
            }
        };
        Ok(Some(self.template.add(token.start, node)))
    }

    fn identifier(&mut self, token: Token) -> Parsed<Node> {
        let name = self.value(token);
        let Some(callee) = self.functions.find(name) else {
            let quoted = quote(name);
            return self.fail(format!("function {quoted} not defined"));
        };
        Ok(Node::Identifier(self.template.add_callee(name, callee)))
    }

    fn variable(&mut self, token: Token) -> Parsed<Node> {
        let text = self.value(token);
        if !self.knows_variable(text) {
            let quoted = quote(text);
            return self.fail(format!("undefined variable {quoted}"));
        }
        Ok(Node::Variable {
            name: self.template.variable_name(text),
            fields: self.template.add_fields([]),
        })
    }

    fn number(&mut self, token: Token) -> Parsed<Node> {
        let text = self.value(token);
        let number = match token.kind {
            Kind::CharConstant => self.character_constant(text)?,
            Kind::Complex => Number::complex(),
            _ => match Number::parse(text) {
                Ok(number) => number,
                Err(message) => return self.fail(message),
            },
        };
        Ok(Node::Number {
            number: self.template.add_number(number),
            start: index(token.start),
            end: index(token.end),
        })
    }

    fn character_constant(&self, text: &str) -> Parsed<Number> {
        let inside = text.get(1..).unwrap_or_default();
        match unquote_unit(inside, '\'') {
            None => self.fail("invalid syntax"),
            Some((unit, "'")) => Ok(Number::from_rune(unit.number())),
            Some(_) => self.fail(format!("malformed character constant: {text}")),
        }
    }

    fn string_constant(&mut self, token: Token) -> Parsed<Node> {
        let Some(bytes) = unquote(self.value(token)) else {
            return self.fail("invalid syntax");
        };
        Ok(Node::String {
            value: self.template.add_string(bytes.into()),
            start: index(token.start),
            end: index(token.end),
        })
    }
}
