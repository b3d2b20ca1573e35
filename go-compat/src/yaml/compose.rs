//! The nodes of a document, as go-yaml's `parser` builds them before it decodes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::error::{Dialect, Problem, YamlError};
use super::parser::{Event, EventKind, Parser, Properties};
use super::resolve::{MERGE, STR, resolve_untagged, short_tag};
use super::scanner::Style;

/// How deep collections may be nested. go-yaml has the limit separately for flow collections and
/// for indentation, so that a document that mixes them could be up to four times as deep.
pub const MAX_DEPTH: usize = 10_000;

/// How many nodes a document may have. Each takes a hundred times the two bytes that it can be
/// written in, and no object that a cluster takes has as many.
const MAX_NODES: usize = 2_000_000;

/// A node's place in its [`Document`].
pub type NodeId = usize;

/// What a node is.
#[derive(Debug)]
pub enum Shape {
    /// A scalar: its text, and how it was written.
    Scalar(String, Style),
    /// A sequence's items.
    Sequence(Vec<NodeId>),
    /// A mapping's keys and values in turn.
    Mapping(Vec<NodeId>),
    /// The name of an anchor, and its node.
    Alias(String, NodeId),
}

/// A node.
#[derive(Debug)]
pub struct Node {
    /// What it is.
    pub shape: Shape,
    /// v3: the short form, found by looking at the text when none was written. v2: as written.
    pub tag: Cow<'static, str>,
    /// Its line, counted from one.
    pub line: usize,
    /// Its bytes in the text.
    pub range: Range<usize>,
}

impl Node {
    /// The text of a scalar, the name of an alias, and empty for collections.
    pub fn value(&self) -> &str {
        match &self.shape {
            Shape::Scalar(value, _) => value,
            Shape::Alias(name, _) => name,
            Shape::Sequence(_) | Shape::Mapping(_) => "",
        }
    }
}

/// The first document of a stream, or all of them.
#[derive(Debug)]
pub struct Document {
    nodes: Vec<Node>,
    /// Whose rules the nodes follow.
    pub dialect: Dialect,
}

impl Document {
    /// Reads the first document; the root is the first node. `None` when there is no document.
    pub fn read(text: &[u8], dialect: Dialect) -> Result<Option<Self>, YamlError> {
        let mut composer = Composer::new(text, dialect);
        composer.next()?; // the start of the stream
        if let EventKind::StreamEnd = composer.next()?.kind {
            return Ok(None);
        }
        composer.root()?;
        composer.next()?; // the end of the document, which may be missing
        Ok(Some(composer.document))
    }

    /// Reads all documents of a stream; returns the roots. Anchors hold for the documents behind them, too.
    pub fn read_all(text: &[u8], dialect: Dialect) -> Result<(Self, Vec<NodeId>), YamlError> {
        let mut composer = Composer::new(text, dialect);
        let mut roots = Vec::new();
        composer.next()?; // the start of the stream
        while !matches!(composer.next()?.kind, EventKind::StreamEnd) {
            roots.push(composer.document.nodes.len());
            composer.root()?;
            composer.next()?; // the end of the document
        }
        Ok((composer.document, roots))
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }
}

struct Composer<'a> {
    parser: Parser<'a>,
    document: Document,
    anchors: HashMap<String, NodeId>,
    /// The collections that are not complete.
    open: Vec<NodeId>,
}

impl<'a> Composer<'a> {
    fn new(text: &'a [u8], dialect: Dialect) -> Self {
        Self {
            parser: Parser::new(text, dialect),
            document: Document {
                nodes: Vec::new(),
                dialect,
            },
            anchors: HashMap::new(),
            open: Vec::new(),
        }
    }

    fn next(&mut self) -> Result<Event, YamlError> {
        let dialect = self.document.dialect;
        self.parser
            .next_event()
            .map_err(|problem: Problem| problem.to_error(dialect))
    }

    fn root(&mut self) -> Result<(), YamlError> {
        loop {
            let event = self.next()?;
            match event.kind {
                EventKind::SequenceEnd | EventKind::MappingEnd => {
                    if let Some(id) = self.open.pop()
                        && let Some(node) = self.document.nodes.get_mut(id)
                    {
                        node.range.end = event.end.byte;
                    }
                }
                _ => self.node(event)?,
            }
            if self.open.is_empty() {
                return Ok(());
            }
        }
    }

    fn node(&mut self, event: Event) -> Result<(), YamlError> {
        let id = self.document.nodes.len();
        if id >= MAX_NODES {
            return Err(YamlError::text("the document has too many values"));
        }
        let opens = matches!(
            event.kind,
            EventKind::SequenceStart(_) | EventKind::MappingStart(_)
        );
        let (shape, properties) = match event.kind {
            EventKind::Scalar {
                properties,
                value,
                style,
            } => (Shape::Scalar(value, style), properties),
            EventKind::SequenceStart(properties) => (Shape::Sequence(Vec::new()), properties),
            EventKind::MappingStart(properties) => (Shape::Mapping(Vec::new()), properties),
            EventKind::Alias(name) => {
                let Some(target) = self.anchors.get(&name).copied() else {
                    let text = format!("unknown anchor '{name}' referenced");
                    return Err(YamlError::Text(text));
                };
                (Shape::Alias(name, target), Properties::default())
            }
            _ => return Err(YamlError::text("unknown problem parsing YAML content")),
        };
        let tag = match self.document.dialect {
            Dialect::V3 => indicated_tag(&properties.tag, &shape),
            Dialect::V2 => Cow::Owned(properties.tag),
        };
        self.document.nodes.push(Node {
            shape,
            tag,
            line: event.start.line + 1,
            range: event.start.byte..event.end.byte,
        });
        if let Some(anchor) = properties.anchor {
            self.anchors.insert(anchor, id);
        }
        self.add_to_parent(id);
        if opens {
            self.open.push(id);
            if self.open.len() > MAX_DEPTH {
                return Err(YamlError::too_deep());
            }
        }
        Ok(())
    }

    fn add_to_parent(&mut self, id: NodeId) {
        if let Some(parent) = self.open.last()
            && let Some(node) = self.document.nodes.get_mut(*parent)
            && let Shape::Sequence(children) | Shape::Mapping(children) = &mut node.shape
        {
            children.push(id);
        }
    }
}

/// The tag that v3 gives to a node at once.
fn indicated_tag(written: &str, shape: &Shape) -> Cow<'static, str> {
    if !written.is_empty() && written != "!" {
        return Cow::Owned(short_tag(written).into_owned());
    }
    Cow::Borrowed(match shape {
        Shape::Scalar(value, Style::Plain) if value == "<<" => MERGE,
        Shape::Scalar(value, Style::Plain) => resolve_untagged(value, Dialect::V3),
        Shape::Scalar(..) => STR,
        Shape::Sequence(_) => "!!seq",
        Shape::Mapping(_) => "!!map",
        Shape::Alias(..) => "",
    })
}
