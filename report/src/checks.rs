//! The text of checks and explanations: a heading for each subject, then its steps with what was found.

use std::fmt::Write as _;

use crate::count::Counts;
use crate::messages;
use crate::model::{Entry, Report, Rule, State};
use crate::style::Style;
use crate::table::{colored, preamble};

/// So many names with the same finding are listed without `wide`; more are counted.
const NAMED: usize = 3;
/// So many reasons of a rule are printed without `wide`.
const REASONS: usize = 3;

pub(crate) fn print(report: &Report, wide: bool, style: Style) -> String {
    let mut text = preamble(report, Style::default());
    let places = report
        .entries
        .iter()
        .map(|entry| entry.place.chars().count());
    let width = places.max().unwrap_or_default();
    let mut subject = None;
    for entry in &report.entries {
        if subject != Some(&entry.subject) {
            let _ = writeln!(text, "{}", entry.subject);
            subject = Some(&entry.subject);
        }
        step(&mut text, entry, width, wide, style);
    }
    let counts = Counts::of(report).words(report.subject);
    let _ = writeln!(text, "{counts}   {:.1} s", report.seconds);
    text
}

/// The word for the state of a step: all have the width of the longest.
fn word(state: State) -> String {
    let word = match state {
        State::Compliant => "ok",
        other => other.word(),
    };
    format!("{word:9}")
}

fn step(text: &mut String, entry: &Entry, width: usize, wide: bool, style: Style) {
    let word = colored(&word(entry.state), entry.state, style.color);
    let place = &entry.place;
    let pad = width.saturating_sub(place.chars().count());
    let mut lines = lines(entry, wide).into_iter();
    let first = lines.next().unwrap_or_default();
    let line = format!("  {word}  {place}{:pad$}  {first}", "");
    let _ = writeln!(text, "{}", line.trim_end());
    let indent = 2 + 9 + 2 + width + 2;
    for line in lines {
        let _ = writeln!(text, "{:indent$}{line}", "");
    }
}

fn lines(entry: &Entry, wide: bool) -> Vec<String> {
    let mut lines: Vec<String> = entry.reasons.iter().map(ToString::to_string).collect();
    // Rules with the same finding share a line.
    let mut groups: Vec<(Vec<String>, Vec<&str>)> = Vec::new();
    for rule in &entry.rules {
        let found = findings(rule, wide);
        match groups.iter_mut().find(|(known, _)| *known == found) {
            Some((_, names)) => names.push(&rule.name),
            None => groups.push((found, vec![&rule.name])),
        }
    }
    for (found, names) in groups {
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let names = listed(&names, if wide { usize::MAX } else { NAMED });
        match (names.as_str(), found.as_slice()) {
            ("", found) => lines.extend(found.iter().cloned()),
            (names, []) => lines.push(names.to_owned()),
            (names, found) => {
                lines.extend(found.iter().map(|one| format!("{names}: {one}")));
            }
        }
    }
    lines
}

/// What was found about a rule: its reasons in short, or its message.
fn findings(rule: &Rule, wide: bool) -> Vec<String> {
    let mut found: Vec<String> = rule.reasons.iter().map(ToString::to_string).collect();
    if !wide && found.len() > REASONS {
        let more = found.len() - REASONS;
        found.truncate(REASONS);
        found.push(messages::more_reasons(more));
    }
    if found.is_empty() && !rule.message.is_empty() {
        let words: Vec<&str> = rule.message.split_whitespace().collect();
        found.push(words.join(" "));
    }
    found
}

fn listed(names: &[&str], most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let some: Vec<&str> = names.iter().take(most).copied().collect();
    match more {
        0 => some.join(", "),
        more => messages::and_more(&some.join(", "), more),
    }
}
