//! YAML from values: what go-yaml writes in its two dialects, by the algorithm of libyaml's
//! `emitter.c`, of which only block style is needed.
//!
//! v2 folds long lines, does not indent a list below its key, and sorts digits within keys otherwise.
//!
//! Works with a stack of its own, so that nesting costs no native stack.

mod analysis;
mod keys;
mod scalar;
mod template;

use super::compose::MAX_DEPTH;
use super::error::{Dialect, YamlError};
use super::resolve::{BINARY, STR, resolve_untagged};
use crate::printing::shortest_float;
use crate::time::Time;
use crate::value::{Key, List, Native, Str, Value};

use analysis::Analysis;
pub use template::find_actions;
pub use template::{QuotedAction, Quoting, TemplateStyle, TemplateYaml};

/// A key that is longer than this gets a `?`.
const MAX_SIMPLE_KEY: usize = 128;
/// v2 folds text at the first space beyond this column.
const FOLD_COLUMN: usize = 80;
/// More than any document that Kubernetes would take.
const MAX_LENGTH: usize = 256 * 1024 * 1024;

/// Receives how many bytes were written since the last call; an error ends the encoding.
pub type Charge<'a, E> = &'a mut dyn FnMut(u64) -> Result<(), E>;

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// A scalar as text, before a style is chosen.
struct Scalar {
    text: String,
    wanted: Style,
    binary: bool,
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Item,
    /// A key on one line with its value.
    SimpleKey,
    Key,
    Value,
}

enum Stage {
    Key,
    SimpleValue(Value),
    Value(Value),
}

enum Frame {
    Sequence {
        list: List,
        next: usize,
        outer_indent: usize,
    },
    Mapping {
        rest: std::vec::IntoIter<(Key, Value)>,
        stage: Stage,
        outer_indent: usize,
    },
}

/// Which texts are written as literal blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blocks {
    /// Those that go-yaml writes so, also where the block does not read back.
    AsGoYaml,
    /// Of those the ones that read back; the others are quoted.
    Readable,
}

/// Writes a document.
pub(super) struct Emitter<'a, E> {
    out: Vec<u8>,
    column: usize,
    /// Whether the last character was a separator.
    whitespace: bool,
    /// Whether only indentation and indicators precede on this line.
    indention: bool,
    indent: usize,
    /// The indentation of the document is that of its root: none yet.
    is_root: bool,
    step: usize,
    dialect: Dialect,
    blocks: Blocks,
    stack: Vec<Frame>,
    charged: usize,
    charge: Charge<'a, E>,
    template: Option<template::Recorder<'a>>,
}

/// Encodes a value with so many spaces a level.
pub(super) fn encode<E: From<YamlError>>(
    value: &Value,
    step: usize,
    charge: Charge<'_, E>,
) -> Result<Vec<u8>, E> {
    let mut emitter = Emitter::new(step, charge, None);
    emitter.document(value)?;
    Ok(emitter.out)
}

/// Encodes a value so that it reads back: where go-yaml's own form does not, texts are quoted.
pub(super) fn encode_readable(value: &Value, step: usize) -> Result<Vec<u8>, YamlError> {
    let mut charge = |_| Ok::<_, YamlError>(());
    let mut emitter = Emitter::new(step, &mut charge, None);
    emitter.blocks = Blocks::Readable;
    emitter.document(value)?;
    Ok(emitter.out)
}

/// Encodes a JSON value as go-yaml v2 does.
pub(super) fn encode_sigs(value: &Value) -> Result<Vec<u8>, YamlError> {
    let mut charge = |_| Ok::<_, YamlError>(());
    let mut emitter = Emitter::new(2, &mut charge, None);
    emitter.dialect = Dialect::V2;
    emitter.document(value)?;
    Ok(emitter.out)
}

/// Encodes a value that holds templates.
pub(super) fn encode_template(
    value: &Value,
    step: usize,
    style: &TemplateStyle,
) -> Result<TemplateYaml, YamlError> {
    let mut charge = |_| Ok::<_, YamlError>(());
    let recorder = template::Recorder::new(style);
    let mut emitter = Emitter::new(step, &mut charge, Some(recorder));
    emitter.document(value)?;
    Ok(TemplateYaml {
        text: emitter.out,
        actions: emitter
            .template
            .map(template::Recorder::into_actions)
            .unwrap_or_default(),
    })
}

impl<'a, E: From<YamlError>> Emitter<'a, E> {
    fn new(step: usize, charge: Charge<'a, E>, template: Option<template::Recorder<'a>>) -> Self {
        Self {
            out: Vec::new(),
            column: 0,
            whitespace: true,
            indention: true,
            indent: 0,
            is_root: true,
            step: if (2..=9).contains(&step) { step } else { 2 },
            dialect: Dialect::V3,
            blocks: Blocks::AsGoYaml,
            stack: Vec::new(),
            charged: 0,
            charge,
            template,
        }
    }

    fn document(&mut self, value: &Value) -> Result<(), E> {
        self.node(value, Place::Root)?;
        loop {
            self.settle()?;
            if self.out.len() > MAX_LENGTH {
                return Err(YamlError::text("the document is too long").into());
            }
            let Some(frame) = self.stack.pop() else {
                break;
            };
            match frame {
                Frame::Sequence {
                    list,
                    next,
                    outer_indent,
                } => self.item(list, next, outer_indent)?,
                Frame::Mapping {
                    rest,
                    stage,
                    outer_indent,
                } => self.entry(rest, stage, outer_indent)?,
            }
        }
        self.indent = 0;
        self.write_indent();
        self.settle()
    }

    fn settle(&mut self) -> Result<(), E> {
        let written = self.out.len() - self.charged;
        self.charged = self.out.len();
        (self.charge)(u64::try_from(written).unwrap_or(u64::MAX))
    }

    fn item(&mut self, list: List, next: usize, outer_indent: usize) -> Result<(), YamlError> {
        let Some(value) = list.get(next).cloned() else {
            self.indent = outer_indent;
            return Ok(());
        };
        self.write_indent();
        self.write_indicator("-", true, false, true);
        self.stack.push(Frame::Sequence {
            list,
            next: next + 1,
            outer_indent,
        });
        self.node(&value, Place::Item)
    }

    fn entry(
        &mut self,
        mut rest: std::vec::IntoIter<(Key, Value)>,
        stage: Stage,
        outer_indent: usize,
    ) -> Result<(), YamlError> {
        let (stage, node, place) = match stage {
            Stage::Key => {
                let Some((key, value)) = rest.next() else {
                    self.indent = outer_indent;
                    return Ok(());
                };
                let key = key.to_value();
                self.write_indent();
                if is_simple_key(&key, self.dialect)? {
                    (Stage::SimpleValue(value), key, Place::SimpleKey)
                } else {
                    self.write_indicator("?", true, false, true);
                    (Stage::Value(value), key, Place::Key)
                }
            }
            Stage::SimpleValue(value) => {
                self.write_indicator(":", false, false, false);
                (Stage::Key, value, Place::Value)
            }
            Stage::Value(value) => {
                self.write_indent();
                self.write_indicator(":", true, false, true);
                (Stage::Key, value, Place::Value)
            }
        };
        self.stack.push(Frame::Mapping {
            rest,
            stage,
            outer_indent,
        });
        self.node(&node, place)
    }

    /// Writes a scalar or an empty container, or begins another.
    fn node(&mut self, value: &Value, place: Place) -> Result<(), YamlError> {
        match value {
            Value::List(list) if list.is_empty() => {
                self.write_indicator("[", true, true, false);
                self.write_indicator("]", false, false, false);
            }
            Value::Map(map) if map.is_empty() => self.empty_mapping(),
            Value::Struct(value) if value.fields().is_empty() => self.empty_mapping(),
            Value::List(list) => {
                let is_below_key = place == Place::Value && !self.indention;
                let outer_indent = if self.dialect == Dialect::V2 && is_below_key {
                    self.indent
                } else {
                    self.indent_container(place)?
                };
                self.stack.push(Frame::Sequence {
                    list: list.clone(),
                    next: 0,
                    outer_indent,
                });
            }
            Value::Map(map) => {
                self.begin_mapping(keys::sorted(map.entries(), self.dialect), place)?;
            }
            Value::Struct(value) => {
                let fields = value.fields().iter();
                let entries = fields
                    .map(|(name, value)| (Key::Str(field_key(name).into()), value.clone()))
                    .collect();
                self.begin_mapping(entries, place)?;
            }
            scalar => self.scalar(&to_scalar(scalar, self.dialect)?, place),
        }
        Ok(())
    }

    fn empty_mapping(&mut self) {
        self.write_indicator("{", true, true, false);
        self.write_indicator("}", false, false, false);
    }

    fn begin_mapping(&mut self, entries: Vec<(Key, Value)>, place: Place) -> Result<(), YamlError> {
        let outer_indent = self.indent_container(place)?;
        self.stack.push(Frame::Mapping {
            rest: entries.into_iter(),
            stage: Stage::Key,
            outer_indent,
        });
        Ok(())
    }

    /// Sets the indentation of a container's entries; answers the one before.
    fn indent_container(&mut self, place: Place) -> Result<usize, YamlError> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(YamlError::too_deep());
        }
        let outer = self.indent;
        if !self.is_root {
            self.indent = self.deeper(place);
        }
        self.is_root = false;
        Ok(outer)
    }

    fn deeper(&self, place: Place) -> usize {
        if place == Place::Item {
            // Only as far as `- ` reaches.
            self.indent + 2
        } else {
            self.step * ((self.indent + self.step) / self.step)
        }
    }
}

fn is_simple_key(key: &Value, dialect: Dialect) -> Result<bool, YamlError> {
    let scalar = to_scalar(key, dialect)?;
    let tag_length = if scalar.binary { BINARY.len() } else { 0 };
    let is_short = scalar.text.len() + tag_length <= MAX_SIMPLE_KEY;
    Ok(is_short && !Analysis::of(&scalar.text, dialect).multiline)
}

fn plain(text: impl Into<String>) -> Scalar {
    Scalar {
        text: text.into(),
        wanted: Style::Plain,
        binary: false,
    }
}

fn to_scalar(value: &Value, dialect: Dialect) -> Result<Scalar, YamlError> {
    Ok(match value {
        Value::Missing | Value::Nil => plain("null"),
        Value::Bool(value) => plain(value.to_string()),
        Value::Int(value) | Value::Int64(value) => plain(value.to_string()),
        Value::Uint8(value) => plain(value.to_string()),
        Value::Uint64(value) => plain(value.to_string()),
        Value::Float(value) if dialect == Dialect::V2 && is_json_integer(*value) => {
            plain(format!("{:.0}", value + 0.0))
        }
        Value::Float(value) => plain(match shortest_float(*value).as_str() {
            "+Inf" => ".inf",
            "-Inf" => "-.inf",
            "NaN" => ".nan",
            text => text,
        }),
        Value::Str(text) => string(text, dialect),
        Value::Native(native) => match native.as_any().downcast_ref::<Time>() {
            Some(time) => plain(time.rfc3339_nano()),
            None => match Native::text(native.as_ref()) {
                Some(text) => string(&text.into(), dialect),
                None => return Err(YamlError::Unsupported(value.type_name().into_owned())),
            },
        },
        Value::List(_) | Value::Map(_) | Value::Struct(_) => {
            return Err(YamlError::Unsupported(value.type_name().into_owned()));
        }
    })
}

/// Go writes a whole number as JSON without a fraction, and reads it back as an integer if it fits 64 bits.
#[allow(clippy::cast_precision_loss)] // the limits are powers of two
fn is_json_integer(number: f64) -> bool {
    number.fract() == 0.0 && (i64::MIN as f64..u64::MAX as f64).contains(&number)
}

fn string(bytes: &Str, dialect: Dialect) -> Scalar {
    let (text, binary) = match bytes.as_utf8() {
        Some(text) => (text.to_owned(), false),
        None => (scalar::base64_lines(bytes), true),
    };
    let may_be_plain =
        binary || (resolve_untagged(&text, dialect) == STR && !scalar::was_special(&text));
    let wanted = if text.contains('\n') {
        Style::Literal
    } else if may_be_plain {
        Style::Plain
    } else {
        Style::Double
    };
    Scalar {
        text,
        wanted,
        binary,
    }
}

/// The key of a struct's field. One without a tag has its name in small letters; an exported name begins with a capital, so one that does
/// not is a tag.
fn field_key(name: &str) -> String {
    if name.starts_with(char::is_uppercase) {
        name.to_lowercase()
    } else {
        name.to_owned()
    }
}
