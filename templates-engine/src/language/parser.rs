//! From tokens to a tree. Ported from Go's `text/template/parse/parse.go`.

use std::fmt::Write;

use super::lexer::{Delimiters, Keywords, Kind, Lexer, Token};
use super::table::FunctionTable;
use super::tree::{Control, Node, NodeId, Template, index};
use reeve_go_compat::runes::{quote, unquote};
use reeve_go_compat::value::Str;

/// Why a text is no template: Go's text, such as `template: tmpl:1: unexpected EOF`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("template: {name}:{line}: {message}")]
pub struct ParseError {
    /// The template's name.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

pub(super) type Parsed<T> = Result<T, ParseError>;

/// Control structures may nest so deep; Go has no limit.
const MAX_CONTROLS: u32 = 10_000;

/// Parses a template and the templates that it defines.
pub fn parse(
    name: &str,
    text: impl Into<String>,
    delimiters: Delimiters<'_>,
    functions: &FunctionTable,
) -> Result<Template, ParseError> {
    let text = text.into();
    if u32::try_from(text.len()).is_err() {
        return Err(ParseError {
            name: name.to_owned(),
            line: 1,
            message: "the template is longer than 4 GiB".to_owned(),
        });
    }
    let keywords = Keywords {
        r#break: functions.find("break").is_none(),
        r#continue: functions.find("continue").is_none(),
    };
    let mut template = Template::new(name, delimiters.left, delimiters.right);
    Parser {
        text: &text,
        lexer: Lexer::new(&text, delimiters, keywords),
        tokens: [Token {
            kind: Kind::Eof,
            start: 0,
            end: 0,
        }; 3],
        peeked: 0,
        functions,
        template: &mut template,
        scope: Scope::new(),
        parens: 0,
        controls: 0,
    }
    .run(name)?;
    template.text = text;
    Ok(template)
}

/// What `define` and `block` start afresh.
pub(super) struct Scope {
    pub(super) variables: Vec<String>,
    action_start: Option<usize>,
    ranges: u32,
}

impl Scope {
    fn new() -> Self {
        Self {
            variables: vec!["$".to_owned()],
            action_start: None,
            ranges: 0,
        }
    }
}

pub(super) struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    tokens: [Token; 3],
    peeked: usize,
    pub(super) functions: &'a FunctionTable,
    pub(super) template: &'a mut Template,
    pub(super) scope: Scope,
    pub(super) parens: u32,
    controls: u32,
}

impl<'a> Parser<'a> {
    pub(super) fn next(&mut self) -> Token {
        if self.peeked > 0 {
            self.peeked -= 1;
        } else {
            self.tokens[0] = self.lexer.next_token();
        }
        self.tokens
            .get(self.peeked)
            .copied()
            .unwrap_or(self.tokens[0])
    }

    pub(super) fn backup(&mut self) {
        self.peeked += 1;
    }

    pub(super) fn backup2(&mut self, first: Token) {
        self.tokens[1] = first;
        self.peeked = 2;
    }

    pub(super) fn backup3(&mut self, second: Token, first: Token) {
        self.tokens[1] = first;
        self.tokens[2] = second;
        self.peeked = 3;
    }

    pub(super) fn peek(&mut self) -> Token {
        if self.peeked > 0 {
            return self
                .tokens
                .get(self.peeked - 1)
                .copied()
                .unwrap_or(self.tokens[0]);
        }
        self.peeked = 1;
        self.tokens[0] = self.lexer.next_token();
        self.tokens[0]
    }

    pub(super) fn next_non_space(&mut self) -> Token {
        loop {
            let token = self.next();
            if token.kind != Kind::Space {
                return token;
            }
        }
    }

    pub(super) fn peek_non_space(&mut self) -> Token {
        let token = self.next_non_space();
        self.backup();
        token
    }

    pub(super) fn value(&self, token: Token) -> &'a str {
        self.text.get(token.start..token.end).unwrap_or_default()
    }

    fn line(&self, position: usize) -> usize {
        let before = self.text.as_bytes().get(..position).unwrap_or_default();
        1 + memchr::memchr_iter(b'\n', before).count()
    }

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(ParseError {
            name: self.template.name.clone(),
            line: self.line(self.tokens[0].start),
            message: message.into(),
        })
    }

    pub(super) fn unexpected<T>(&self, token: Token, context: &str) -> Parsed<T> {
        if token.kind == Kind::Error {
            let mut message = self.lexer.error().to_owned();
            if let Some(start) = self.scope.action_start {
                let line = self.line(start);
                if line != self.line(token.start) {
                    let name = &self.template.name;
                    let action = if message.ends_with(" action") {
                        ""
                    } else {
                        " in action"
                    };
                    let _ = write!(message, "{action} started at {name}:{line}");
                }
            }
            return self.fail(message);
        }
        let text = self.describe(token);
        self.fail(format!("unexpected {text} in {context}"))
    }

    /// A token as errors show it.
    fn describe(&self, token: Token) -> String {
        let value = self.value(token);
        match token.kind {
            Kind::Eof => "EOF".to_owned(),
            Kind::Error => self.lexer.error().to_owned(),
            kind if kind.is_keyword() => format!("<{value}>"),
            _ if value.len() > 10 => {
                let start: String = value.chars().take(10).collect();
                format!("{}...", quote(start))
            }
            _ => quote(value),
        }
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Parsed<Token> {
        let token = self.next_non_space();
        if token.kind == kind {
            Ok(token)
        } else {
            self.unexpected(token, context)
        }
    }

    fn run(mut self, name: &str) -> Parsed<()> {
        let start = self.peek().start;
        let mut nodes = Vec::new();
        loop {
            let token = self.peek();
            if token.kind == Kind::Eof {
                break;
            }
            if token.kind == Kind::LeftDelimiter {
                let delimiter = self.next();
                if self.next_non_space().kind == Kind::Define {
                    self.definition()?;
                    continue;
                }
                self.backup2(delimiter);
            }
            let node = self.text_or_action()?;
            if matches!(self.template.node(node), Node::End | Node::Else) {
                let text = self.template.render(node);
                return self.fail(format!("unexpected {text}"));
            }
            nodes.push(node);
        }
        let root = self.list(start, &nodes);
        self.define(name.to_owned(), root)
    }

    fn list(&mut self, position: usize, nodes: &[NodeId]) -> NodeId {
        let run = self.template.add_children(nodes);
        self.template.add(position, Node::List(run))
    }

    /// Adds a template; one that is more than white space may not be defined twice.
    fn define(&mut self, name: String, root: NodeId) -> Parsed<()> {
        match self.template.roots.get(&name) {
            Some(known) if !self.is_blank(*known) => {
                if self.is_blank(root) {
                    return Ok(());
                }
                let quoted = quote(name);
                self.fail(format!(
                    "template: multiple definition of template {quoted}"
                ))
            }
            _ => {
                self.template.roots.insert(name, root);
                Ok(())
            }
        }
    }

    fn is_blank(&self, id: NodeId) -> bool {
        match self.template.node(id) {
            Node::List(run) => {
                self.template
                    .children(run)
                    .iter()
                    .all(|child| match self.template.node(*child) {
                        Node::Text { start, end } => self
                            .text
                            .get(start as usize..end as usize)
                            .is_some_and(|text| text.trim().is_empty()),
                        _ => false,
                    })
            }
            _ => false,
        }
    }

    fn string(&mut self, token: Token) -> Parsed<Str> {
        match unquote(self.value(token)) {
            Some(bytes) => Ok(bytes.into()),
            None => self.fail("invalid syntax"),
        }
    }

    fn definition(&mut self) -> Parsed<()> {
        const CONTEXT: &str = "define clause";
        let outer = std::mem::replace(&mut self.scope, Scope::new());
        let token = self.next_non_space();
        if !matches!(token.kind, Kind::String | Kind::RawString) {
            return self.unexpected(token, CONTEXT);
        }
        let name = self.string(token)?;
        self.expect(Kind::RightDelimiter, CONTEXT)?;
        let (list, end) = self.item_list()?;
        if !matches!(self.template.node(end), Node::End) {
            let text = self.template.render(end);
            return self.fail(format!("unexpected {text} in {CONTEXT}"));
        }
        self.scope = outer;
        self.define(name.lossy().into_owned(), list)
    }

    /// Statements up to an `end` or `else`, which is returned beside them.
    fn item_list(&mut self) -> Parsed<(NodeId, NodeId)> {
        let start = self.peek_non_space().start;
        let mut nodes = Vec::new();
        while self.peek_non_space().kind != Kind::Eof {
            let node = self.text_or_action()?;
            if matches!(self.template.node(node), Node::End | Node::Else) {
                return Ok((self.list(start, &nodes), node));
            }
            nodes.push(node);
        }
        self.fail("unexpected EOF")
    }

    fn text_or_action(&mut self) -> Parsed<NodeId> {
        let token = self.next_non_space();
        match token.kind {
            Kind::Text => Ok(self.template.add(
                token.start,
                Node::Text {
                    start: index(token.start),
                    end: index(token.end),
                },
            )),
            Kind::LeftDelimiter => {
                self.scope.action_start = Some(token.start);
                let node = self.action();
                if node.is_ok() {
                    self.scope.action_start = None;
                }
                node
            }
            _ => self.unexpected(token, "input"),
        }
    }

    fn action(&mut self) -> Parsed<NodeId> {
        let token = self.next_non_space();
        match token.kind {
            Kind::Block => self.block(),
            Kind::Break => self.loop_control(token, Node::Break, "{{break}}"),
            Kind::Continue => self.loop_control(token, Node::Continue, "{{continue}}"),
            Kind::Else => self.else_control(),
            Kind::End => {
                let end = self.expect(Kind::RightDelimiter, "end")?;
                Ok(self.template.add(end.start, Node::End))
            }
            Kind::If => self.control(Control::If),
            Kind::Range => self.control(Control::Range),
            Kind::With => self.control(Control::With),
            Kind::Template => self.template_call(),
            _ => {
                self.backup();
                let start = self.peek().start;
                let pipe = self.pipeline("command", Kind::RightDelimiter)?;
                Ok(self.template.add(start, Node::Action(pipe)))
            }
        }
    }

    fn loop_control(&mut self, keyword: Token, node: Node, text: &str) -> Parsed<NodeId> {
        let token = self.next_non_space();
        if token.kind != Kind::RightDelimiter {
            return self.unexpected(token, text);
        }
        if self.scope.ranges == 0 {
            return self.fail(format!("{text} outside {{{{range}}}}"));
        }
        Ok(self.template.add(keyword.start, node))
    }

    fn else_control(&mut self) -> Parsed<NodeId> {
        let next = self.peek_non_space();
        if matches!(next.kind, Kind::If | Kind::With) {
            return Ok(self.template.add(next.start, Node::Else));
        }
        let token = self.expect(Kind::RightDelimiter, "else")?;
        Ok(self.template.add(token.start, Node::Else))
    }

    fn control(&mut self, control: Control) -> Parsed<NodeId> {
        if self.controls >= MAX_CONTROLS {
            return self.fail("max nesting depth exceeded");
        }
        self.controls += 1;
        let node = stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.control_inside(control));
        self.controls -= 1;
        node
    }

    fn control_inside(&mut self, control: Control) -> Parsed<NodeId> {
        let context = match control {
            Control::If => "if",
            Control::With => "with",
            Control::Range => "range",
        };
        let known = self.scope.variables.len();
        let pipe = self.pipeline(context, Kind::RightDelimiter)?;
        if control == Control::Range {
            self.scope.ranges += 1;
        }
        let (list, next) = self.item_list()?;
        if control == Control::Range {
            self.scope.ranges -= 1;
        }
        let otherwise = match self.template.node(next) {
            Node::Else => Some(self.otherwise(control, next)?),
            _ => None,
        };
        self.scope.variables.truncate(known);
        let position = self.template.position(pipe);
        Ok(self.template.add(
            position,
            Node::Branch {
                control,
                pipe,
                list,
                otherwise,
            },
        ))
    }

    /// What follows an `else`; `else if` and `else with` are a control of their own, which ends
    /// with the outer one.
    fn otherwise(&mut self, control: Control, keyword: NodeId) -> Parsed<NodeId> {
        let chained = match (control, self.peek().kind) {
            (Control::If, Kind::If) => Some(Control::If),
            (Control::With, Kind::With) => Some(Control::With),
            _ => None,
        };
        if let Some(chained) = chained {
            self.next();
            let position = self.template.position(keyword);
            let node = self.control(chained)?;
            return Ok(self.list(position, &[node]));
        }
        let (list, end) = self.item_list()?;
        if !matches!(self.template.node(end), Node::End) {
            let text = self.template.render(end);
            return self.fail(format!("expected end; found {text}"));
        }
        Ok(list)
    }

    fn template_name(&mut self, token: Token, context: &str) -> Parsed<Str> {
        match token.kind {
            Kind::String | Kind::RawString => self.string(token),
            _ => self.unexpected(token, context),
        }
    }

    fn block(&mut self) -> Parsed<NodeId> {
        const CONTEXT: &str = "block clause";
        let token = self.next_non_space();
        let name = self.template_name(token, CONTEXT)?;
        let pipe = self.pipeline(CONTEXT, Kind::RightDelimiter)?;
        let outer = std::mem::replace(&mut self.scope, Scope::new());
        let (list, end) = self.item_list()?;
        if !matches!(self.template.node(end), Node::End) {
            let text = self.template.render(end);
            return self.fail(format!("unexpected {text} in {CONTEXT}"));
        }
        self.scope = outer;
        self.define(name.lossy().into_owned(), list)?;
        Ok(self.template_node(token, name, Some(pipe)))
    }

    fn template_call(&mut self) -> Parsed<NodeId> {
        const CONTEXT: &str = "template clause";
        let token = self.next_non_space();
        let name = self.template_name(token, CONTEXT)?;
        let pipe = if self.next_non_space().kind == Kind::RightDelimiter {
            None
        } else {
            self.backup();
            Some(self.pipeline(CONTEXT, Kind::RightDelimiter)?)
        };
        Ok(self.template_node(token, name, pipe))
    }

    fn template_node(&mut self, token: Token, name: Str, pipe: Option<NodeId>) -> NodeId {
        let name = self.template.add_string(name);
        self.template
            .add(token.start, Node::Template { name, pipe })
    }
}
