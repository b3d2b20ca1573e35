//! Finds what is likely wrong with a template, without running it.
//!
//! The rules GTUL001 to GTUL006 are those of the template linter of Open Cluster Management, with
//! its texts and positions. Those from GTUL100 on are additions and only run when asked for.

mod delimiters;
mod extended;
mod quotes;
mod sarif;
mod unquoted;
mod variables;
mod whitespace;

use std::fmt::Write;

pub use sarif::to_sarif;

/// How bad a violation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The template does not work.
    Error,
    /// The template may not do what its author meant.
    Warning,
}

impl Level {
    /// The name in SARIF.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// What a rule is about.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// `GTUL` and three digits.
    pub id: &'static str,
    /// A name in camel case.
    pub name: &'static str,
    /// One sentence.
    pub description: &'static str,
    /// More than one sentence, in Markdown; may be empty.
    pub full_description: &'static str,
    /// How bad its violations are.
    pub level: Level,
}

/// A place where a rule is violated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters; 0 when unknown. A tab reaches to the next multiple of 4.
    pub column: usize,
    /// The rule.
    pub rule: &'static Rule,
    /// A clause in lower case.
    pub short: String,
    /// A sentence.
    pub message: String,
    /// The line as it is shown.
    pub shown: String,
}

/// How many violations of one rule are reported at most.
const MOST_VIOLATIONS: usize = 1_000;

/// A longer line is not shown to its end, in bytes.
const LONGEST_SHOWN: usize = 4_096;

/// All violations of the rules GTUL001 to GTUL006, by line and message.
pub fn lint(text: &str) -> Vec<Violation> {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut violations = Vec::new();
    violations.extend(whitespace::trailing(&lines));
    violations.extend(delimiters::mismatched(&lines));
    violations.extend(unquoted::values(&lines));
    violations.extend(variables::unused(text, &lines));
    violations.extend(variables::invalid_syntax(&lines));
    violations.extend(quotes::mismatched(&lines));
    in_order(violations)
}

/// A parser of the template language: it returns the line (from 1) and the text of the error that
/// it finds.
pub type Parse<'a> = &'a dyn Fn(&str) -> Result<(), (usize, String)>;

/// All violations of the rules from GTUL100 on, by line and message.
pub fn lint_extended(text: &str, parse: Parse<'_>) -> Vec<Violation> {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut violations = extended::conversions(&lines);
    violations.extend(extended::parse_error(text, &lines, parse));
    violations.extend(extended::lookups_in_any_namespace(&lines));
    in_order(violations)
}

fn in_order(mut violations: Vec<Violation>) -> Vec<Violation> {
    violations.sort_by(|a, b| (a.line, &a.message).cmp(&(b.line, &b.message)));
    violations
}

/// Violations as text: two lines each.
pub fn to_text(violations: &[Violation]) -> String {
    let mut text = String::new();
    for violation in violations {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "line {}: {}: {}:\n\t{}\n",
            violation.line, violation.rule.name, violation.short, violation.shown
        );
    }
    text
}

/// The lines that rules check, with their numbers: without blank lines and comments.
fn content<'a>(lines: &'a [&'a str]) -> impl Iterator<Item = (usize, &'a str)> {
    lines.iter().enumerate().filter_map(|(index, line)| {
        let trimmed = line.trim();
        (!trimmed.is_empty() && !trimmed.starts_with('#')).then_some((index + 1, *line))
    })
}

/// A violation whose short text is the message in lower case without its period.
fn violation(rule: &'static Rule, line: usize, shown: &str, message: &str) -> Violation {
    let mut characters = message.strip_suffix('.').unwrap_or(message).chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    Violation {
        line,
        column: 0,
        rule,
        short: first.into_iter().chain(characters).collect(),
        message: message.to_owned(),
        shown: shortened(shown.trim()),
    }
}

fn shortened(line: &str) -> String {
    if line.len() <= LONGEST_SHOWN {
        return line.to_owned();
    }
    let end = line.floor_char_boundary(LONGEST_SHOWN);
    format!("{}…", line.get(..end).unwrap_or_default())
}

/// The column of a byte of a line; 0 when the line is not that long.
fn column(line: &str, byte: usize) -> usize {
    if byte > line.len() {
        return 0;
    }
    line.char_indices()
        .take_while(|(offset, _)| *offset < byte)
        .fold(1, |column, (_, character)| match character {
            '\t' => ((column - 1) / 4 + 1) * 4,
            _ => column + 1,
        })
}

/// Go's `\w`.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// How many bytes of Go's `\w` a text begins with.
fn word_length(text: &str) -> usize {
    text.bytes().take_while(|byte| is_word(*byte)).count()
}

/// A text without the spaces of Go's `\s` that it begins with.
fn trim_start(text: &str) -> &str {
    text.trim_start_matches(['\t', '\n', '\x0c', '\r', ' '])
}

/// A text without the spaces of Go's `\s` that it ends with.
fn trim_end(text: &str) -> &str {
    text.trim_end_matches(['\t', '\n', '\x0c', '\r', ' '])
}
