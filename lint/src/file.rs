//! Files and their documents, with the place of each value.

use std::collections::HashMap;
use std::ops::Range;

use reeve_go_compat::yaml::{self, PathSegment};
use reeve_manifests::documents;
use serde_json::Value;

use crate::finding::{Edit, Finding, rule};
use crate::messages;

/// A file.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) documents: Vec<Document>,
    /// The lines' first bytes.
    lines: Vec<usize>,
}

/// A document of a file.
pub(crate) struct Document {
    /// Its first line in the file, from 1.
    pub(crate) line: usize,
    /// Its bytes in the file.
    pub(crate) range: Range<usize>,
    /// Its value, or why it cannot be read.
    pub(crate) value: Result<Value, String>,
    /// The bytes of scalars in the file, by JSON pointer.
    pub(crate) values: HashMap<String, Range<usize>>,
    /// The same of keys.
    pub(crate) keys: HashMap<String, Range<usize>>,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) end_column: usize,
}

impl File {
    pub(crate) fn new(path: String, text: String) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        let parts = documents(&text);
        let filled = parts.iter().filter(|one| !one.is_empty());
        let documents = filled.map(|one| {
            // The text of a document is a part of the text of its file.
            let offset = (one.text.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
            Document::new(one.text, offset, one.line)
        });
        let documents = documents.collect();
        Self {
            path,
            text,
            documents,
            lines,
        }
    }

    /// The place of some bytes.
    pub(crate) fn position(&self, range: &Range<usize>) -> Position {
        let line = self.lines.partition_point(|start| *start <= range.start);
        let start = self
            .lines
            .get(line.saturating_sub(1))
            .copied()
            .unwrap_or_default();
        let characters = |to: usize| {
            let before = self.text.get(start..to).unwrap_or_default();
            before.chars().count() + 1
        };
        let shown = self.text.get(range.clone()).unwrap_or_default();
        let end = range.start + shown.find('\n').unwrap_or(shown.len());
        Position {
            line,
            column: characters(range.start),
            end_column: characters(end),
        }
    }

    /// The bytes of a line, without its end.
    pub(crate) fn line(&self, line: usize) -> Range<usize> {
        let start = self
            .lines
            .get(line.saturating_sub(1))
            .copied()
            .unwrap_or(self.text.len());
        let rest = self.text.get(start..).unwrap_or_default();
        start..start + rest.find('\n').unwrap_or(rest.len())
    }

    /// A finding at a value of a document; at the nearest value above it that has a place.
    pub(crate) fn finding(
        &self,
        document: &Document,
        pointer: &str,
        id: &str,
        message: String,
    ) -> Finding {
        let position = match document.place(pointer) {
            Some(range) => self.position(range),
            None => Position {
                line: document.line,
                column: 1,
                end_column: 0,
            },
        };
        self.at(position, id, message)
    }

    pub(crate) fn at(&self, position: Position, id: &str, message: String) -> Finding {
        Finding {
            rule: rule(id),
            path: self.path.clone(),
            line: position.line,
            column: position.column,
            end_column: position.end_column,
            message,
            edit: None,
        }
    }
}

impl Finding {
    pub(crate) fn mended_by(self, edit: Option<Edit>) -> Self {
        Self { edit, ..self }
    }
}

impl Document {
    fn new(text: &str, offset: usize, line: usize) -> Self {
        let (mut values, mut keys) = (HashMap::new(), HashMap::new());
        let decoded = yaml::decode_with_places(text.as_bytes(), &mut |place| {
            let range = place.range.start + offset..place.range.end + offset;
            let all = if place.is_key { &mut keys } else { &mut values };
            all.entry(pointer(place.path)).or_insert(range);
        });
        let value = match decoded {
            Ok(_) => read(text),
            Err(error) => Err(messages::not_yaml(&error.to_string())),
        };
        Self {
            line: line + leading(text),
            range: offset..offset + text.len(),
            value,
            values,
            keys,
        }
    }

    /// The bytes of a value or its key, or of the nearest one above it.
    fn place(&self, pointer: &str) -> Option<&Range<usize>> {
        let mut pointer = pointer;
        loop {
            if let Some(range) = self.values.get(pointer).or_else(|| self.keys.get(pointer)) {
                return Some(range);
            }
            let (above, _) = pointer.rsplit_once('/')?;
            pointer = above;
        }
    }

    /// The bytes of a scalar.
    pub(crate) fn scalar(&self, pointer: &str) -> Option<&Range<usize>> {
        self.values.get(pointer)
    }
}

/// The document as Kubernetes reads it.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    let value = yaml::decode_sigs_json(text.as_bytes());
    value.map_err(|error| messages::not_yaml(&error.to_string()))
}

/// The number of lines before the content of a document.
fn leading(text: &str) -> usize {
    let is_content = |line: &str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    };
    text.lines().position(is_content).unwrap_or_default()
}

fn pointer(path: &[PathSegment]) -> String {
    let mut pointer = String::new();
    for segment in path {
        pointer = match segment {
            PathSegment::Key(key) => join(&pointer, key),
            PathSegment::Index(index) => format!("{pointer}/{index}"),
        };
    }
    pointer
}

/// A pointer with one more key.
pub(crate) fn join(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}
