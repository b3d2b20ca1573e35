use std::cell::RefCell;
use std::rc::Rc;

use super::{Decoder, Frame, Merged, Outcome, PathSegment, Step, Target};
use crate::time::Time;
use crate::value::{Element, Key, Map, Value};
use crate::yaml::compose::{Node, NodeId, Shape};
use crate::yaml::error::{Dialect, YamlError};
use crate::yaml::go_syntax::go_syntax;
use crate::yaml::resolve::{MERGE, STR};

/// What a mapping waits for.
enum Awaited {
    Nothing,
    Key,
    Value(Key),
    /// A key of this mapping, once more: merges must not set it.
    OwnKey,
    Source,
}

enum Stage {
    /// The entry at this position of the children is next.
    Entries(usize),
    /// Own keys are collected, the one at this position next.
    OwnKeys(usize),
    /// Mappings are merged in; afterwards the entries go on at a position, if at any.
    Sources {
        sources: Vec<NodeId>,
        next: usize,
        then: Option<usize>,
    },
}

/// A mapping that is being decoded.
pub(super) struct MapFrame {
    node: NodeId,
    map: Map,
    stage: Stage,
    awaited: Awaited,
    /// The keys that are set already when this mapping is merged into another.
    merged: Option<Merged>,
    /// The value of `<<`, for which v3 waits until all entries are decoded.
    merge: Option<NodeId>,
}

impl MapFrame {
    pub(super) fn awaits_value(&self) -> bool {
        matches!(self.awaited, Awaited::Value(_))
    }
}

pub(super) fn no_map() -> YamlError {
    YamlError::text("map merge requires map or sequence of maps as the value")
}

impl Decoder<'_, '_> {
    pub(super) fn begin_mapping(
        &mut self,
        id: NodeId,
        children: &[NodeId],
        target: Target,
    ) -> Result<Step, YamlError> {
        let v3 = self.document.dialect == Dialect::V3;
        if v3 && self.note_duplicates(children)? {
            return Ok(Step::Done(None));
        }
        let map = match target {
            Target::Into(map) => map,
            Target::Any if v3 && self.has_text_keys(children)? => Map::dict(),
            Target::Any => Map::typed(Element::Any, Element::Any),
            Target::Text => {
                let node = self.node(id)?;
                self.type_error(node, "!!map", &target);
                return Ok(Step::Done(None));
            }
        };
        self.enter()?;
        let merged = self.merged.take();
        self.stack.push(Frame::Mapping(Box::new(MapFrame {
            node: id,
            map,
            stage: Stage::Entries(0),
            awaited: Awaited::Nothing,
            merged,
            merge: None,
        })));
        Ok(Step::Next)
    }

    fn has_text_keys(&self, children: &[NodeId]) -> Result<bool, YamlError> {
        for key in children.iter().step_by(2) {
            let node = self.node(*key)?;
            let node = match node.shape {
                Shape::Alias(_, to) => self.node(to)?,
                _ => node,
            };
            if node.tag != STR && node.tag != MERGE {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_merge(&self, node: &Node) -> bool {
        let Shape::Scalar(value, style) = &node.shape else {
            return false;
        };
        value == "<<"
            && match self.document.dialect {
                Dialect::V3 => node.tag == MERGE,
                Dialect::V2 if node.tag.is_empty() => *style == crate::yaml::scanner::Style::Plain,
                Dialect::V2 => node.tag == "!" || node.tag == "tag:yaml.org,2002:merge",
            }
    }

    pub(super) fn advance_mapping(
        &mut self,
        mut frame: Box<MapFrame>,
        outcome: Option<Outcome>,
    ) -> Result<Step, YamlError> {
        let children = match &self.node(frame.node)?.shape {
            Shape::Mapping(children) => children.as_slice(),
            _ => &[],
        };
        let step = match outcome {
            Some(outcome) => self.receive(&mut frame, children, outcome)?,
            None => None,
        };
        let step = match step {
            Some(step) => Some(step),
            None => self.next_of_mapping(&mut frame, children)?,
        };
        if let Some(step) = step {
            self.stack.push(Frame::Mapping(frame));
            return Ok(step);
        }
        self.depth -= 1;
        self.merged = frame.merged.take();
        Ok(Step::Done(Some(Value::Map(frame.map))))
    }

    /// Takes in what became of the node that the mapping waited for.
    fn receive(
        &mut self,
        frame: &mut MapFrame,
        children: &[NodeId],
        outcome: Outcome,
    ) -> Result<Option<Step>, YamlError> {
        match std::mem::replace(&mut frame.awaited, Awaited::Nothing) {
            Awaited::Key => self.receive_key(frame, children, outcome),
            Awaited::Value(key) => {
                self.path.pop();
                if let Some(value) = outcome {
                    frame.map.insert(key, value);
                }
                Ok(None)
            }
            Awaited::OwnKey => {
                if let (Some(value), Some(merged)) = (outcome, &self.merged) {
                    merged.borrow_mut().extend(to_key(&value));
                }
                Ok(None)
            }
            Awaited::Nothing | Awaited::Source => Ok(None),
        }
    }

    fn receive_key(
        &mut self,
        frame: &mut MapFrame,
        children: &[NodeId],
        outcome: Outcome,
    ) -> Result<Option<Step>, YamlError> {
        let Stage::Entries(next) = frame.stage else {
            return Ok(None);
        };
        let Some(value) = outcome else {
            return Ok(None);
        };
        let Some(key) = to_key(&value) else {
            let text = format!("invalid map key: {}", go_syntax(&value));
            return Err(YamlError::Text(text));
        };
        if let Some(merged) = &frame.merged
            && !merged.borrow_mut().insert(key.clone())
        {
            return Ok(None);
        }
        // The position is that of the next entry already.
        let (Some(key_node), Some(value_node)) = (
            children.get(next.wrapping_sub(2)),
            children.get(next.wrapping_sub(1)),
        ) else {
            return Ok(None);
        };
        self.path.push(PathSegment::Key(key_text(&key)));
        let node = self.node(*key_node)?;
        self.report(node, true);
        frame.awaited = Awaited::Value(key);
        Ok(Some(Step::Begin(*value_node, Target::Any)))
    }

    /// What the mapping does next; `None` when it is complete.
    fn next_of_mapping(
        &mut self,
        frame: &mut MapFrame,
        children: &[NodeId],
    ) -> Result<Option<Step>, YamlError> {
        loop {
            match &mut frame.stage {
                Stage::Entries(next) => {
                    let Some(key) = children.get(*next).copied() else {
                        let Some(merge) = frame.merge.take() else {
                            return Ok(None);
                        };
                        self.begin_merge(frame, merge)?;
                        continue;
                    };
                    *next += 2;
                    let position = *next;
                    if self.is_merge(self.node(key)?) {
                        let value = children.get(position - 1).copied();
                        self.note_merge(frame, value, position)?;
                        continue;
                    }
                    frame.awaited = Awaited::Key;
                    let target = if frame.map.is_dict() {
                        Target::Text
                    } else {
                        Target::Any
                    };
                    return Ok(Some(Step::Begin(key, target)));
                }
                Stage::OwnKeys(next) => {
                    if let Some(key) = children.get(*next).copied() {
                        *next += 2;
                        frame.awaited = Awaited::OwnKey;
                        return Ok(Some(Step::Begin(key, Target::Any)));
                    }
                    let sources = self.sources(frame.merge.take())?;
                    frame.stage = Stage::Sources {
                        sources,
                        next: 0,
                        then: None,
                    };
                }
                Stage::Sources {
                    sources,
                    next,
                    then,
                } => {
                    if let Some(source) = sources.get(*next).copied() {
                        *next += 1;
                        self.expect_mapping(source)?;
                        frame.awaited = Awaited::Source;
                        let target = Target::Into(frame.map.clone());
                        return Ok(Some(Step::Begin(source, target)));
                    }
                    let Some(position) = *then else {
                        return Ok(None);
                    };
                    frame.stage = Stage::Entries(position);
                }
            }
        }
    }

    /// Remembers a merge (v3), or starts it at once (v2, where later entries win).
    fn note_merge(
        &mut self,
        frame: &mut MapFrame,
        value: Option<NodeId>,
        position: usize,
    ) -> Result<(), YamlError> {
        match self.document.dialect {
            Dialect::V3 => frame.merge = value,
            Dialect::V2 => {
                let mut sources = self.sources(value)?;
                sources.reverse();
                frame.stage = Stage::Sources {
                    sources,
                    next: 0,
                    then: Some(position),
                };
            }
        }
        Ok(())
    }

    fn begin_merge(&mut self, frame: &mut MapFrame, merge: NodeId) -> Result<(), YamlError> {
        if let Some(merged) = &frame.merged {
            self.merged = Some(merged.clone());
            frame.stage = Stage::Sources {
                sources: self.sources(Some(merge))?,
                next: 0,
                then: None,
            };
        } else {
            self.merged = Some(Rc::new(RefCell::default()));
            frame.merge = Some(merge);
            frame.stage = Stage::OwnKeys(0);
        }
        Ok(())
    }

    fn sources(&self, merge: Option<NodeId>) -> Result<Vec<NodeId>, YamlError> {
        let id = merge.ok_or_else(no_map)?;
        Ok(match &self.node(id)?.shape {
            Shape::Sequence(sources) => sources.clone(),
            Shape::Mapping(_) | Shape::Alias(..) => vec![id],
            Shape::Scalar(..) => return Err(no_map()),
        })
    }

    fn expect_mapping(&self, id: NodeId) -> Result<(), YamlError> {
        let node = self.node(id)?;
        let node = match node.shape {
            Shape::Alias(_, to) => self.node(to)?,
            _ => node,
        };
        match node.shape {
            Shape::Mapping(_) => Ok(()),
            _ => Err(no_map()),
        }
    }
}

/// A value as a key; a time by its text, since nothing but a text or a number can be a [`Key`].
fn to_key(value: &Value) -> Option<Key> {
    match value {
        Value::Native(native) => {
            let time = native.as_any().downcast_ref::<Time>()?;
            Some(Key::Str(time.rfc3339_nano().into()))
        }
        other => Key::from_value(other),
    }
}

fn key_text(key: &Key) -> String {
    match key {
        Key::Nil => "null".to_owned(),
        Key::Bool(value) => value.to_string(),
        Key::Int(value) => value.to_string(),
        Key::Uint(value) => value.to_string(),
        Key::Float(value) => value.to_string(),
        Key::Str(text) => text.lossy().into_owned(),
    }
}
