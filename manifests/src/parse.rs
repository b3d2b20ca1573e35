//! Splits a text into documents and reads each as YAML or JSON.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::messages;

/// A document of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    /// Its first line, from 1.
    pub line: usize,
    /// Its number, from 1. Empty documents count.
    pub number: usize,
    /// Its text, without the marker.
    pub text: &'a str,
}

impl Document<'_> {
    /// Whether it has comments and white space only.
    pub fn is_empty(&self) -> bool {
        self.text.lines().all(|line| {
            let line = line.trim();
            line.is_empty() || line.starts_with('#') || line == "..." || line.starts_with('%')
        })
    }
}

/// A text is not YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct YamlError {
    /// The line in the file, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

/// The documents of a text. A marker is a line that begins with `---`, as kubectl has it.
pub fn documents(text: &str) -> Vec<Document<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut all = Vec::new();
    let (mut start, mut line, mut first) = (0, 1, 1);
    let mut offset = 0;
    let mut push = |text, line| {
        let number = all.len() + 1;
        all.push(Document { line, number, text });
    };
    for whole in text.split_inclusive('\n') {
        let bare = whole.trim_end();
        let is_marker = bare
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
        if is_marker {
            let before = text.get(start..offset).unwrap_or_default();
            if offset > 0 && !only_comments(before) || start > 0 {
                push(before, first);
            }
            // What stands behind a marker, such as a tag or a value, belongs to the document.
            let rest = bare.get(3..).unwrap_or_default().trim_start();
            let is_comment = rest.is_empty() || rest.starts_with('#');
            start = if is_comment {
                offset + whole.len()
            } else {
                offset + 3
            };
            first = if is_comment { line + 1 } else { line };
        }
        offset += whole.len();
        line += 1;
    }
    push(text.get(start..).unwrap_or_default(), first);
    all
}

/// Whether a text before the first marker holds nothing.
fn only_comments(text: &str) -> bool {
    Document {
        line: 1,
        number: 1,
        text,
    }
    .is_empty()
}

/// Reads a document. Positions in errors count from the start of its file.
pub fn from_yaml<T: DeserializeOwned>(document: &Document<'_>) -> Result<T, YamlError> {
    let options = serde_saphyr::options! {
        legacy_octal_numbers: true,
        budget: serde_saphyr::budget! {
            // A document is at most what its file is: the limits are against aliases that multiply.
            max_depth: 200,
            max_nodes: 5_000_000,
            max_events: 10_000_000,
            max_total_scalar_bytes: 512 * 1024 * 1024,
        },
    };
    serde_saphyr::from_str_with_options(document.text, options)
        .map_err(|error| yaml_error(&error, document))
}

/// Reads a document as JSON if it looks so, because JSON is read much faster, and as YAML otherwise.
pub(crate) fn value(document: &Document<'_>) -> Result<Value, YamlError> {
    if document.text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(document.text)
    {
        return Ok(value);
    }
    let mut value = from_yaml(document)?;
    whole_numbers(&mut value);
    Ok(value)
}

/// Numbers such as `1e3` are whole: Go's reader makes integers of them.
fn whole_numbers(value: &mut Value) {
    /// Up to here a float holds every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Number(number) if number.is_f64() => {
            if let Some(float) = number.as_f64()
                && float.fract() == 0.0
                && float.abs() <= EXACT
            {
                // The bounds above make the conversion exact.
                #[allow(clippy::cast_possible_truncation)]
                let whole = float as i64;
                *number = whole.into();
            }
        }
        _ => {}
    }
}

fn yaml_error(error: &serde_saphyr::Error, document: &Document<'_>) -> YamlError {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let (line, column) = error.location().map_or((1, 1), |location| {
        (number(location.line()), number(location.column()))
    });
    let text = error.without_snippet().to_string();
    let message = text.lines().next().unwrap_or_default();
    let message = if message.contains("budget breached") {
        messages::TOO_MUCH
    } else {
        message
    };
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let message = message
        .rfind(" at line ")
        .and_then(|end| message.get(..end))
        .unwrap_or(message);
    YamlError {
        line: document.line.saturating_add(line).saturating_sub(1),
        column,
        message: with_nearest_field(message.trim_end_matches([',', ':'])),
    }
}

/// The message about an unknown field, with the field that may be meant in place of the list of all.
fn with_nearest_field(message: &str) -> String {
    let named = message.strip_prefix("unknown field `");
    let Some((unknown, known)) = named.and_then(|named| named.split_once("`, expected ")) else {
        return message.to_owned();
    };
    let known = known
        .strip_prefix("one of ")
        .unwrap_or(known)
        .split([',', ' ']);
    let known = known.map(|one| one.trim_matches('`'));
    match nearest(unknown, known) {
        Some(nearest) => messages::unknown_field(unknown, nearest),
        None => message.to_owned(),
    }
}

/// The word that is most like another one; nothing if none is much like it.
pub fn nearest<'w>(word: &str, known: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    /// Jaro-Winkler similarity from which on a word is taken for a slip of another.
    const ALIKE: f64 = 0.8;
    let lower = word.to_lowercase();
    let alike = known.map(|one| (strsim::jaro_winkler(&lower, &one.to_lowercase()), one));
    let alike = alike.filter(|(likeness, _)| *likeness >= ALIKE);
    let (_, nearest) = alike.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    Some(nearest)
}
