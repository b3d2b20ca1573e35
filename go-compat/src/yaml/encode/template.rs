//! Template actions within scalars that YAML quotes.
//!
//! The template language reads the YAML text, so it reads `''` for each `'` in an action of a
//! single-quoted scalar, and `\"` for each `"` in one of a double-quoted scalar. The record of
//! such actions lets the reader of the template put the author's own text back.

use std::ops::Range;

use super::{Emitter, YamlError};

/// What an action looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateStyle {
    /// Where an action starts, `{{` for instance.
    pub start_delimiter: String,
    /// Where it stops.
    pub stop_delimiter: String,
}

/// How the scalar around an action is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// `'…'`, where `'` is doubled.
    Single,
    /// `"…"`, with escapes.
    Double,
}

/// An action that does not read in the YAML text as its author wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotedAction {
    /// Its bytes in the YAML text, both delimiters included.
    pub range: Range<usize>,
    /// How the scalar around it is quoted.
    pub quoting: Quoting,
    /// What the author wrote.
    pub source: String,
}

impl QuotedAction {
    /// Whether what the action works on goes to other actions: it declares or assigns a variable,
    /// or it starts a block with another dot.
    pub fn passes_value_on(&self, style: &TemplateStyle) -> bool {
        let body = self.source.strip_prefix(&style.start_delimiter);
        let body = body.unwrap_or(&self.source).trim_start_matches('-');
        let body = body.trim_start().trim_start_matches("else").trim_start();
        let word = body.split(|c: char| c.is_whitespace() || c == '(').next();
        matches!(word, Some("range" | "with" | "template" | "block")) || assigns(body)
    }
}

/// Whether an action's body begins with variables and `:=` or `=`.
fn assigns(body: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | ',' | ' ' | '\t');
    let rest = body.trim_start_matches(is_name);
    body.starts_with('$') && (rest.starts_with(":=") || rest.starts_with('='))
}

/// YAML text that holds templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateYaml {
    /// The text, as go-yaml writes it.
    pub text: Vec<u8>,
    /// The actions that quoting changed, in the order of the text.
    ///
    /// Those in single quotes mean something else than their author wrote, unless what they print
    /// is the doubled text itself, which YAML halves again. Those in
    /// double quotes may rely on the escapes when they hold no `"` (a raw string with a backslash,
    /// whose output YAML unescapes again); they should be put back only where the text as it is
    /// does not parse.
    pub actions: Vec<QuotedAction>,
}

/// Collects quoted actions while a document is written.
pub(super) struct Recorder<'a> {
    style: &'a TemplateStyle,
    actions: Vec<QuotedAction>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(style: &'a TemplateStyle) -> Self {
        Self {
            style,
            actions: Vec::new(),
        }
    }

    pub(super) fn into_actions(self) -> Vec<QuotedAction> {
        self.actions
    }
}

/// The actions of one scalar, and where they came to stand.
#[derive(Default)]
pub(super) struct Recording {
    sources: Vec<Range<usize>>,
    written: Vec<Range<usize>>,
    start: Option<usize>,
}

impl<E: From<YamlError>> Emitter<'_, E> {
    pub(super) fn begin_actions(&self, text: &str) -> Recording {
        let sources = self
            .template
            .as_ref()
            .map(|recorder| find_actions(text, recorder.style))
            .unwrap_or_default();
        Recording {
            sources,
            ..Recording::default()
        }
    }

    /// Notes that what is written next is the character at this offset.
    pub(super) fn note_actions(&self, recording: &mut Recording, offset: usize) {
        while let Some(source) = recording.sources.get(recording.written.len()) {
            if offset < source.start {
                return;
            }
            let start = *recording.start.get_or_insert(self.out.len());
            if offset < source.end {
                return;
            }
            recording.written.push(start..self.out.len());
            recording.start = None;
        }
    }

    pub(super) fn end_actions(&mut self, recording: Recording, text: &str, quoting: Quoting) {
        let Some(recorder) = &mut self.template else {
            return;
        };
        for (source, range) in recording.sources.into_iter().zip(recording.written) {
            let source = text.get(source).unwrap_or_default();
            if self.out.get(range.clone()) != Some(source.as_bytes()) {
                recorder.actions.push(QuotedAction {
                    range,
                    quoting,
                    source: source.to_owned(),
                });
            }
        }
    }
}

/// Where the complete actions of a text are.
pub fn find_actions(text: &str, style: &TemplateStyle) -> Vec<Range<usize>> {
    let mut actions = Vec::new();
    let mut from = 0;
    if style.start_delimiter.is_empty() || style.stop_delimiter.is_empty() {
        return actions;
    }
    while let Some(start) = find(text, &style.start_delimiter, from) {
        let body = start + style.start_delimiter.len();
        let Some(end) = action_end(text, body, &style.stop_delimiter) else {
            break;
        };
        actions.push(start..end);
        from = end;
    }
    actions
}

fn find(text: &str, what: &str, from: usize) -> Option<usize> {
    Some(from + text.get(from..)?.find(what)?)
}

/// Behind the delimiter that ends the action whose body begins here. Delimiters in comments and in
/// strings do not count.
fn action_end(text: &str, body: usize, stop: &str) -> Option<usize> {
    let mut at = body;
    if is_comment(text.get(body..)?) {
        let comment_end = find(text, "*/", body)? + 2;
        return Some(find(text, stop, comment_end)? + stop.len());
    }
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with(stop) {
            return Some(at + stop.len());
        }
        let character = rest.chars().next()?;
        at += match character {
            '"' | '\'' => literal_length(rest, character)?,
            '`' => 2 + rest.get(1..)?.find('`')?,
            other => other.len_utf8(),
        };
    }
}

fn is_comment(body: &str) -> bool {
    let trimmed = body.strip_prefix('-').unwrap_or(body).trim_start();
    body.starts_with("/*") || (body.starts_with('-') && trimmed.starts_with("/*"))
}

/// How long a quoted literal is, its quotes included.
fn literal_length(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (offset, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return Some(offset + 1),
            _ => {}
        }
    }
    None
}
