use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::{
    Level, MOST_VIOLATIONS, Rule, Violation, column, content, trim_start, violation, word_length,
};

static UNUSED: Rule = Rule {
    id: "GTUL004",
    name: "unusedVariables",
    description: "Unused variables should be removed or used in the template.",
    full_description: "Unused variables should be removed or used in the template. The variable \
        definition may be unused within the variable's scope or overwritten before use.",
    level: Level::Warning,
};

static INVALID: Rule = Rule {
    id: "GTUL005",
    name: "invalidVariableSyntax",
    description: "Invalid variable syntax.",
    full_description: "A variable was defined or referenced with invalid syntax.",
    level: Level::Error,
};

/// What is blanked before variables are looked for.
static LITERAL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#""(?:[^"\\]|\\.)*""#).ok());
static COMMENT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\{\{-?[\t\n\f\r ]*/\*.*?\*/[\t\n\f\r ]*-?\}\}").ok());
static HUB: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\{\{hub[\t\n\f\r ]+.*?[\t\n\f\r ]+hub\}\}").ok());

/// An action and its line.
struct Action {
    text: String,
    line: usize,
}

struct Definition {
    line: usize,
    /// Where the variable's `$` is within its action.
    byte: usize,
    used: bool,
}

/// GTUL004: variables that are not used.
pub(super) fn unused(text: &str, lines: &[&str]) -> Vec<Violation> {
    let blanked = blank(&blank(text, LITERAL.as_ref()), COMMENT.as_ref());
    let blanked: Vec<&str> = blanked.split('\n').collect();
    let mut violations = Vec::new();
    let mut hub_actions = Vec::new();
    let starts = region_starts(lines);
    for (position, start) in starts.iter().enumerate() {
        let end = starts.get(position + 1).copied().unwrap_or(lines.len());
        let (hub, managed) = actions(blanked.get(*start..end).unwrap_or_default(), *start);
        hub_actions.extend(hub);
        check_scope(&managed, lines, &mut violations);
    }
    check_scope(&hub_actions, lines, &mut violations);
    violations
}

/// The text with a space for each character of what is found, line breaks excepted.
fn blank(text: &str, pattern: Option<&Regex>) -> String {
    let Some(pattern) = pattern else {
        return text.to_owned();
    };
    let spaces = |found: &regex::Captures<'_>| -> String {
        let found = found.get(0).map_or("", |found| found.as_str());
        let space = |character| if character == '\n' { '\n' } else { ' ' };
        found.chars().map(space).collect()
    };
    pattern.replace_all(text, spaces).into_owned()
}

/// Where each scope of variables begins, as an index of lines.
fn region_starts(lines: &[&str]) -> Vec<usize> {
    let is_raw = |line: &&str| {
        let rest = trim_start(line).strip_prefix("object-templates-raw");
        rest.is_some_and(|rest| trim_start(rest).starts_with(':'))
    };
    if lines.iter().any(is_raw) {
        return vec![0];
    }
    let is_start = |line: &str| {
        let content = trim_start(line);
        content.len() < line.len() && content.starts_with("objectDefinition:")
    };
    let lines = lines.iter().enumerate();
    lines
        .filter_map(|(index, line)| is_start(line).then_some(index))
        .collect()
}

/// The hub actions and the others, of one line each.
fn actions(lines: &[&str], offset: usize) -> (Vec<Action>, Vec<Action>) {
    let mut hub = Vec::new();
    let mut managed = Vec::new();
    for (number, line) in content(lines) {
        let mut rest = line.trim();
        while let Some(start) = rest.find("{{") {
            let body = rest.get(start..).unwrap_or_default();
            let Some(length) = body.get(2..).and_then(|inside| inside.find("}}")) else {
                break;
            };
            let (action, behind) = body.split_at(length + 4);
            let is_hub = HUB.as_ref().is_some_and(|hub| hub.is_match(action));
            let list = if is_hub { &mut hub } else { &mut managed };
            list.push(Action {
                text: action.to_owned(),
                line: offset + number,
            });
            rest = behind;
        }
    }
    (hub, managed)
}

/// The variables of an action: where their `$` is, and their names.
fn variables(action: &str) -> impl Iterator<Item = (usize, &str)> {
    action.match_indices('$').filter_map(|(byte, _)| {
        let behind = action.get(byte + 1..)?;
        let name = behind.get(..word_length(behind))?;
        (!name.is_empty()).then_some((byte, name))
    })
}

fn check_scope(actions: &[Action], lines: &[&str], violations: &mut Vec<Violation>) {
    let mut definitions: HashMap<&str, Vec<Definition>> = HashMap::new();
    for action in actions {
        for (byte, name) in variables(&action.text) {
            if name == "_" {
                continue;
            }
            let behind = action.text.get(byte + 1 + name.len()..).unwrap_or_default();
            let behind = trim_start(behind);
            let known = definitions.entry(name).or_default();
            if behind.starts_with(":=") || behind.starts_with(',') {
                known.push(Definition {
                    line: action.line,
                    byte,
                    used: false,
                });
            } else if let Some(latest) = known.last_mut() {
                latest.used = true;
            }
        }
    }
    // In the order of the text, so that the same ones are reported each time.
    let mut definitions: Vec<_> = definitions.into_iter().collect();
    definitions.sort_by_key(|(_, known)| known.first().map(|first| (first.line, first.byte)));
    for (name, known) in definitions {
        for definition in known.iter().filter(|definition| !definition.used) {
            if violations.len() >= MOST_VIOLATIONS {
                return;
            }
            let line = lines.get(definition.line - 1).copied().unwrap_or_default();
            let message = format!("Variable {name} is defined but not used within scope.");
            violations.push(Violation {
                column: column(line, definition.byte),
                ..violation(&UNUSED, definition.line, line, &message)
            });
        }
    }
}

/// GTUL005: variables that are written wrongly.
pub(super) fn invalid_syntax(lines: &[&str]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if line.starts_with('#') {
            continue;
        }
        let mut at = 0;
        while let Some(start) = line.get(at..).and_then(|rest| rest.find('$')) {
            let start = at + start;
            let rest = line.get(start..).unwrap_or_default();
            let Some(length) = invalid_reference(rest) else {
                at = start + 1;
                continue;
            };
            if violations.len() >= MOST_VIOLATIONS {
                return violations;
            }
            at = start + length;
            let message = "Invalid variable reference inside dot operator.";
            violations.push(Violation {
                column: column(line, at - 1),
                ..violation(&INVALID, index + 1, line, message)
            });
        }
    }
    violations
}

/// How long `$name.word.$.word` at the beginning of a text is.
fn invalid_reference(text: &str) -> Option<usize> {
    let name = text.get(1..)?;
    let mut length = 1 + word_length(name);
    if length == 1 {
        return None;
    }
    length += words_length(text.get(length..)?);
    if !text.get(length..)?.starts_with(".$") {
        return None;
    }
    length += 2;
    Some(length + words_length(text.get(length..)?))
}

/// How long the `.word`s are with which a text begins.
fn words_length(text: &str) -> usize {
    let mut length = 0;
    while let Some(rest) = text.get(length..).and_then(|rest| rest.strip_prefix('.')) {
        match word_length(rest) {
            0 => break,
            word => length += 1 + word,
        }
    }
    length
}
