//! Values from nodes: go-yaml's `decoder` for a target of type `interface{}`.
//!
//! Works with a stack of its own, so that nesting costs no native stack.

mod mapping;
mod sigs;
mod typed;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::compose::{Document, MAX_DEPTH, Node, NodeId, Shape};
use super::error::{Dialect, YamlError};
use super::resolve::{BINARY, Meaning, STR, resolve, short_tag};
use crate::runes::quote;
use crate::value::{Key, Map, Value};

use mapping::MapFrame;
pub(super) use sigs::{to_json_object, with_texts};
pub(super) use typed::decode_typed;
pub use typed::{Field, StructType, Type};

/// Above this many, further errors of one document are not kept.
const MAX_ERRORS: usize = 1000;

/// How many bytes of scalars aliases may bring in: each time they are copied.
const MAX_ALIASED: usize = 64 * 1024 * 1024;

/// Documents up to this many decoded nodes may consist of aliases almost entirely …
const ALIAS_RATIO_LOW: f64 = 400_000.0;
/// … and from this many on only a tenth of them.
const ALIAS_RATIO_HIGH: f64 = 4_000_000.0;

/// A step on the way from the root of a document to one of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathSegment {
    /// Into a mapping, by the text of the key.
    Key(String),
    /// Into a sequence.
    Index(usize),
}

/// Where a scalar of the result stands in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The way to it.
    pub path: &'a [PathSegment],
    /// Its bytes, quotes and block indicators included. Of a value that an alias brought in, those
    /// at the anchor.
    pub range: Range<usize>,
    /// Whether it is the key at the end of the path, rather than the value.
    pub is_key: bool,
}

/// Receives places.
pub type OnPlace<'a> = &'a mut dyn FnMut(Place<'_>);

/// Where a decoded node goes.
#[derive(Clone)]
enum Target {
    /// An `interface {}`.
    Any,
    /// A key of type `string`.
    Text,
    /// A mapping that it is merged into.
    Into(Map),
}

/// What became of a node; `None` when it did not fit, and was noted as an error.
type Outcome = Option<Value>;

enum Step {
    Begin(NodeId, Target),
    Done(Outcome),
    /// Go on with the topmost frame.
    Next,
}

enum Frame {
    Alias(NodeId),
    Sequence {
        node: NodeId,
        next: usize,
        items: Vec<Value>,
    },
    Mapping(Box<MapFrame>),
}

/// Keys that a merge must not set again.
type Merged = Rc<RefCell<BTreeSet<Key>>>;

struct Decoder<'d, 'p> {
    document: &'d Document,
    stack: Vec<Frame>,
    depth: usize,
    /// Aliases that are being followed.
    aliases: HashSet<NodeId>,
    alias_depth: usize,
    decoded: usize,
    decoded_by_alias: usize,
    /// Bytes of scalars that aliases brought in.
    aliased: usize,
    merged: Option<Merged>,
    errors: Vec<String>,
    on_place: Option<OnPlace<'p>>,
    path: Vec<PathSegment>,
}

/// Decodes a document from its root.
pub(super) fn decode(
    document: &Document,
    on_place: Option<OnPlace<'_>>,
) -> Result<Value, YamlError> {
    decode_root(document, 0, on_place)
}

/// Decodes the document of a stream that has this root.
pub(super) fn decode_root(
    document: &Document,
    root: NodeId,
    on_place: Option<OnPlace<'_>>,
) -> Result<Value, YamlError> {
    let mut decoder = Decoder::new(document, on_place);
    let value = decoder.run(root, Target::Any)?;
    decoder.end(value)
}

fn excessive() -> YamlError {
    YamlError::text("document contains excessive aliasing")
}

fn missing() -> YamlError {
    YamlError::text("unknown problem parsing YAML content")
}

impl<'d, 'p> Decoder<'d, 'p> {
    fn new(document: &'d Document, on_place: Option<OnPlace<'p>>) -> Self {
        Self {
            document,
            stack: Vec::new(),
            depth: 0,
            aliases: HashSet::new(),
            alias_depth: 0,
            decoded: 0,
            decoded_by_alias: 0,
            aliased: 0,
            merged: None,
            errors: Vec::new(),
            on_place,
            path: Vec::new(),
        }
    }

    /// The result, if nothing was noted as an error.
    fn end(self, outcome: Outcome) -> Result<Value, YamlError> {
        if self.errors.is_empty() {
            Ok(outcome.unwrap_or(Value::Nil))
        } else {
            Err(YamlError::Parts(self.errors))
        }
    }

    fn run(&mut self, root: NodeId, target: Target) -> Result<Outcome, YamlError> {
        let mut step = Step::Begin(root, target);
        loop {
            step = match step {
                Step::Begin(node, target) => self.begin(node, target)?,
                Step::Next => self.advance(None)?,
                Step::Done(outcome) if self.stack.is_empty() => return Ok(outcome),
                Step::Done(outcome) => self.advance(Some(outcome))?,
            };
        }
    }

    fn node(&self, id: NodeId) -> Result<&'d Node, YamlError> {
        self.document.node(id).ok_or_else(missing)
    }

    fn error(&mut self, text: impl FnOnce() -> String) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(text());
        }
    }

    /// Starts on a node: a scalar is done at once, anything else becomes a frame.
    fn begin(&mut self, id: NodeId, target: Target) -> Result<Step, YamlError> {
        self.count()?;
        let node = self.node(id)?;
        match &node.shape {
            Shape::Scalar(value, _) => {
                if self.alias_depth > 0 {
                    self.aliased += value.len();
                }
                if self.aliased > MAX_ALIASED {
                    return Err(excessive());
                }
                self.scalar(node, value, &target).map(Step::Done)
            }
            Shape::Alias(name, to) => {
                if !self.aliases.insert(id) {
                    let text = format!("anchor '{name}' value contains itself");
                    return Err(YamlError::Text(text));
                }
                self.alias_depth += 1;
                self.stack.push(Frame::Alias(id));
                Ok(Step::Begin(*to, target))
            }
            Shape::Sequence(items) => {
                if !matches!(target, Target::Any) {
                    self.type_error(node, "!!seq", &target);
                    return Ok(Step::Done(None));
                }
                self.enter()?;
                self.stack.push(Frame::Sequence {
                    node: id,
                    next: 0,
                    items: Vec::with_capacity(items.len()),
                });
                Ok(Step::Next)
            }
            Shape::Mapping(children) => self.begin_mapping(id, children, target),
        }
    }

    fn enter(&mut self) -> Result<(), YamlError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(YamlError::too_deep());
        }
        Ok(())
    }

    /// The guard against documents that grow beyond measure by aliases.
    #[allow(clippy::cast_precision_loss)] // counts are far below 2^53
    fn count(&mut self) -> Result<(), YamlError> {
        self.decoded += 1;
        if self.alias_depth > 0 {
            self.decoded_by_alias += 1;
        }
        if self.decoded_by_alias > 100 && self.decoded > 1000 {
            let decoded = self.decoded as f64;
            let beyond = (decoded - ALIAS_RATIO_LOW) / (ALIAS_RATIO_HIGH - ALIAS_RATIO_LOW);
            let allowed = 0.99 - 0.89 * beyond.clamp(0.0, 1.0);
            if self.decoded_by_alias as f64 / decoded > allowed {
                return Err(excessive());
            }
        }
        Ok(())
    }

    /// Continues the topmost frame with the decoded node that it waits for.
    fn advance(&mut self, outcome: Option<Outcome>) -> Result<Step, YamlError> {
        match self.stack.pop() {
            None => Ok(Step::Done(outcome.flatten())),
            Some(Frame::Alias(id)) => {
                self.alias_depth -= 1;
                self.aliases.remove(&id);
                Ok(Step::Done(outcome.flatten()))
            }
            Some(Frame::Sequence { node, next, items }) => {
                self.advance_sequence(node, next, items, outcome)
            }
            Some(Frame::Mapping(frame)) => self.advance_mapping(frame, outcome),
        }
    }

    fn advance_sequence(
        &mut self,
        node: NodeId,
        next: usize,
        mut items: Vec<Value>,
        outcome: Option<Outcome>,
    ) -> Result<Step, YamlError> {
        if let Some(outcome) = outcome {
            self.path.pop();
            items.extend(outcome);
        }
        let children = match &self.node(node)?.shape {
            Shape::Sequence(children) => children.as_slice(),
            _ => &[],
        };
        let Some(child) = children.get(next) else {
            self.depth -= 1;
            return Ok(Step::Done(Some(Value::list(items))));
        };
        self.path.push(PathSegment::Index(next));
        let next = next + 1;
        self.stack.push(Frame::Sequence { node, next, items });
        Ok(Step::Begin(*child, Target::Any))
    }

    fn scalar(&mut self, node: &Node, text: &str, target: &Target) -> Result<Outcome, YamlError> {
        let (tag, meaning) = self.meaning(node, text)?;
        let bytes =
            if tag == BINARY {
                let decoded = decode_base64(text);
                Some(decoded.ok_or_else(|| {
                    YamlError::text("!!binary value contains invalid base64 data")
                })?)
            } else {
                None
            };
        let as_text = || Value::str(bytes.clone().unwrap_or_else(|| text.into()));
        match target {
            Target::Any => {
                self.report(node, false);
                Ok(Some(match meaning {
                    Meaning::Text => as_text(),
                    // v2 keeps what looks like a time as text.
                    Meaning::Time(_) if self.document.dialect == Dialect::V2 => Value::str(text),
                    other => to_value(other),
                }))
            }
            Target::Text => Ok(match meaning {
                Meaning::Null => None,
                _ => Some(as_text()),
            }),
            // The decoder begins a scalar for a merge never.
            Target::Into(_) => Ok(None),
        }
    }

    fn meaning(
        &self,
        node: &Node,
        text: &str,
    ) -> Result<(std::borrow::Cow<'static, str>, Meaning), YamlError> {
        let plain = matches!(node.shape, Shape::Scalar(_, super::scanner::Style::Plain));
        if self.document.dialect == Dialect::V2 && node.tag.is_empty() && !plain {
            return Ok((STR.into(), Meaning::Text));
        }
        resolve(&node.tag, text, self.document.dialect)
    }

    fn report(&mut self, node: &Node, is_key: bool) {
        let is_in_place = is_key || self.is_value_next();
        if let Some(on_place) = &mut self.on_place
            && is_in_place
            && matches!(node.shape, Shape::Scalar(..))
        {
            on_place(Place {
                path: &self.path,
                range: node.range.clone(),
                is_key,
            });
        }
    }

    /// Whether the node that is being decoded becomes a value, rather than a key.
    fn is_value_next(&self) -> bool {
        let parent = self
            .stack
            .iter()
            .rev()
            .find(|frame| !matches!(frame, Frame::Alias(_)));
        match parent {
            Some(Frame::Mapping(frame)) => frame.awaits_value(),
            _ => true,
        }
    }

    /// Notes that a node is not of the type that its place has.
    fn type_error(&mut self, node: &Node, tag: &str, target: &Target) {
        let type_name = match target {
            Target::Into(map) => map.type_name(),
            Target::Any | Target::Text => "string".into(),
        };
        self.mismatch(node, tag, &type_name);
    }

    /// Notes that a node cannot become a value of a type.
    fn mismatch(&mut self, node: &Node, tag: &str, type_name: &str) {
        let tag = if node.tag.is_empty() { tag } else { &node.tag };
        let value = match (tag, node.value()) {
            ("!!seq" | "!!map", _) => String::new(),
            (_, value) if value.len() > 10 => {
                let head = value.as_bytes().get(..7).unwrap_or_default();
                format!(" `{}...`", String::from_utf8_lossy(head))
            }
            (_, value) => format!(" `{value}`"),
        };
        let line = node.line;
        let tag = short_tag(tag).into_owned();
        self.error(|| format!("line {line}: cannot unmarshal {tag}{value} into {type_name}"));
    }

    /// Notes every pair of equal keys. Answers whether there are any.
    fn note_duplicates(&mut self, children: &[NodeId]) -> Result<bool, YamlError> {
        let mut keys = Vec::with_capacity(children.len() / 2);
        for key in children.iter().step_by(2) {
            keys.push(self.node(*key)?);
        }
        let identity = |node: &'d Node| (std::mem::discriminant(&node.shape), node.value());
        let mut groups: HashMap<_, Vec<usize>> = HashMap::with_capacity(keys.len());
        for (position, key) in keys.iter().enumerate() {
            groups.entry(identity(key)).or_default().push(position);
        }
        if groups.len() == keys.len() {
            return Ok(false);
        }
        for (position, first) in keys.iter().enumerate() {
            let group = groups.get(&identity(first)).map_or(&[][..], Vec::as_slice);
            let behind = group.partition_point(|other| *other <= position);
            for again in group.iter().skip(behind) {
                // A document with so many is not read any further: aliases may bring them in time
                // and again.
                if self.errors.len() >= MAX_ERRORS {
                    return Err(YamlError::Parts(std::mem::take(&mut self.errors)));
                }
                if let Some(again) = keys.get(*again) {
                    let (key, line, earlier) = (quote(again.value()), again.line, first.line);
                    self.error(|| {
                        format!("line {line}: mapping key {key} already defined at line {earlier}")
                    });
                }
            }
        }
        Ok(true)
    }
}

fn to_value(meaning: Meaning) -> Value {
    match meaning {
        Meaning::Bool(value) => Value::Bool(value),
        Meaning::Int(value) => Value::Int(value),
        Meaning::Uint(value) => Value::Uint64(value),
        Meaning::Float(value) => Value::Float(value),
        Meaning::Time(time) => time.into_value(),
        Meaning::Null | Meaning::Text => Value::Nil,
    }
}

/// Go's `base64.StdEncoding`, which ignores line breaks.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let joined: Vec<u8> = text
        .bytes()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    STANDARD.decode(joined).ok()
}
