//! A parsed template: nodes in one arena, so that neither walking nor dropping depends on how
//! deeply an author nested.

use std::collections::HashMap;
use std::ops::Range;

use super::number::Number;
use super::table::Callee;
use reeve_go_compat::value::{Key, Str};

/// A node, by its place in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeId(pub(super) u32);

/// A run of entries in one of the arena's side tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    start: u32,
    length: u32,
}

impl Run {
    pub(super) const EMPTY: Self = Self {
        start: 0,
        length: 0,
    };

    fn range(self) -> Range<usize> {
        self.start as usize..(self.start + self.length) as usize
    }

    pub(super) fn len(self) -> usize {
        self.length as usize
    }
}

/// A variable's name, by its place in the table of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(pub(super) u32);

/// An entry of a side table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Index(pub(super) u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    If,
    With,
    Range,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    /// Children are any of the statements below.
    List(Run),
    /// The bytes of the source, by their span.
    Text {
        start: u32,
        end: u32,
    },
    Action(NodeId),
    Branch {
        control: Control,
        pipe: NodeId,
        list: NodeId,
        otherwise: Option<NodeId>,
    },
    Template {
        name: Index,
        pipe: Option<NodeId>,
    },
    Break,
    Continue,
    /// Declared variables (nodes), then commands (nodes).
    Pipe {
        assigns: bool,
        declared: Run,
        commands: Run,
    },
    /// Its operands.
    Command(Run),
    Bool(bool),
    Dot,
    Nil,
    /// A number with its source's span.
    Number {
        number: Index,
        start: u32,
        end: u32,
    },
    /// A string constant with its source's span.
    String {
        value: Index,
        start: u32,
        end: u32,
    },
    Field(Run),
    Variable {
        name: Name,
        fields: Run,
    },
    Chain {
        of: NodeId,
        fields: Run,
    },
    Identifier(Index),
    /// Nodes that the parser returns and that are in no tree.
    End,
    Else,
}

/// A parsed template with the templates that it defines.
#[derive(Debug, Default)]
pub struct Template {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) left: String,
    pub(super) right: String,
    nodes: Vec<(u32, Node)>,
    runs: Vec<NodeId>,
    idents: Vec<Key>,
    pub(super) numbers: Vec<Number>,
    pub(super) strings: Vec<Str>,
    pub(super) callees: Vec<(String, Callee)>,
    pub(super) variables: Vec<String>,
    pub(super) roots: HashMap<String, NodeId>,
    /// The positions of actions whose output is in single quotes.
    quoted: Vec<Range<usize>>,
}

impl Template {
    /// From here on, each `'` that an action in these ranges of the text prints is doubled, as
    /// YAML has it within single quotes. The ranges are in order and apart.
    #[must_use]
    pub fn doubling_apostrophes_in(mut self, ranges: Vec<Range<usize>>) -> Self {
        self.quoted = ranges;
        self
    }

    /// Whether this action is in one of those ranges.
    pub(super) fn doubles_apostrophes(&self, action: NodeId) -> bool {
        let position = self.position(action);
        let place = self.quoted.partition_point(|range| range.end <= position);
        let range = self.quoted.get(place);
        range.is_some_and(|range| range.start <= position)
    }

    pub(super) fn new(name: &str, left: &str, right: &str) -> Self {
        Self {
            name: name.to_owned(),
            left: left.to_owned(),
            right: right.to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn node(&self, id: NodeId) -> Node {
        self.nodes
            .get(id.0 as usize)
            .map_or(Node::Nil, |(_, node)| *node)
    }

    pub(super) fn position(&self, id: NodeId) -> usize {
        self.nodes
            .get(id.0 as usize)
            .map_or(0, |(position, _)| *position as usize)
    }

    pub(super) fn children(&self, run: Run) -> &[NodeId] {
        self.runs.get(run.range()).unwrap_or_default()
    }

    pub(super) fn fields(&self, run: Run) -> &[Key] {
        self.idents.get(run.range()).unwrap_or_default()
    }

    pub(super) fn source(&self, start: u32, end: u32) -> &str {
        self.text
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }

    pub(super) fn string(&self, index: Index) -> Option<&Str> {
        self.strings.get(index.0 as usize)
    }

    pub(super) fn number(&self, index: Index) -> Option<&Number> {
        self.numbers.get(index.0 as usize)
    }

    pub(super) fn callee(&self, index: Index) -> Option<&(String, Callee)> {
        self.callees.get(index.0 as usize)
    }

    pub(super) fn variable(&self, name: Name) -> &str {
        self.variables
            .get(name.0 as usize)
            .map_or("", String::as_str)
    }

    pub(super) fn add(&mut self, position: usize, node: Node) -> NodeId {
        let id = NodeId(index(self.nodes.len()));
        self.nodes.push((index(position), node));
        id
    }

    pub(super) fn add_children(&mut self, children: &[NodeId]) -> Run {
        let start = index(self.runs.len());
        self.runs.extend_from_slice(children);
        Run {
            start,
            length: index(children.len()),
        }
    }

    pub(super) fn add_fields(&mut self, fields: impl IntoIterator<Item = Key>) -> Run {
        let start = self.idents.len();
        self.idents.extend(fields);
        Run {
            start: index(start),
            length: index(self.idents.len() - start),
        }
    }

    pub(super) fn add_string(&mut self, value: Str) -> Index {
        self.strings.push(value);
        Index(index(self.strings.len() - 1))
    }

    pub(super) fn add_number(&mut self, value: Number) -> Index {
        self.numbers.push(value);
        Index(index(self.numbers.len() - 1))
    }

    pub(super) fn add_callee(&mut self, name: &str, callee: Callee) -> Index {
        self.callees.push((name.to_owned(), callee));
        Index(index(self.callees.len() - 1))
    }

    pub(super) fn variable_name(&mut self, name: &str) -> Name {
        let place = self
            .variables
            .iter()
            .position(|known| known == name)
            .unwrap_or_else(|| {
                self.variables.push(name.to_owned());
                self.variables.len() - 1
            });
        Name(index(place))
    }

    pub(super) fn find_variable(&self, name: &str) -> Option<Name> {
        let place = self.variables.iter().position(|known| known == name)?;
        Some(Name(index(place)))
    }

    /// Every node with its position, for those who look for something in the whole template.
    pub(super) fn all(&self) -> impl Iterator<Item = (NodeId, Node)> + '_ {
        self.nodes
            .iter()
            .enumerate()
            .map(|(place, (_, node))| (NodeId(index(place)), *node))
    }

    /// The name that templates without `define` have in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The line (from 1) and the byte in it (from 0) of a place in the text.
    pub fn line_and_column(&self, position: usize) -> (usize, usize) {
        let before = self.text.as_bytes().get(..position).unwrap_or_default();
        let lines = memchr::memchr_iter(b'\n', before).count();
        let column = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(position, |newline| position - newline - 1);
        (lines + 1, column)
    }
}

/// Templates are far smaller than 4 GiB; the parser refuses others.
pub(super) fn index(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
