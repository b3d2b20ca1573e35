//! The text of suites: what failed, then the counts.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::count::Counts;
use crate::messages;
use crate::model::{Entry, Report, State};
use crate::style::Style;
use crate::table::{colored, preamble};

/// So many reasons of a failed step are printed without `wide`.
const REASONS: usize = 7;

pub(crate) fn print(report: &Report, wide: bool, style: Style) -> String {
    let mut text = preamble(report, Style::default());
    for entry in &report.entries {
        if entry.state != State::Compliant || wide {
            step(&mut text, entry, wide, style);
        }
    }
    let counts = Counts::of(report).words(report.subject);
    let suites: BTreeSet<_> = report
        .entries
        .iter()
        .map(|entry| report.suite(entry))
        .collect();
    let suites = messages::plural(suites.len(), "suite");
    let _ = writeln!(text, "{suites}: {counts}   {:.1} s", report.seconds);
    text
}

fn step(text: &mut String, entry: &Entry, wide: bool, style: Style) {
    let word = match entry.state {
        State::Compliant => "ok  ",
        State::Violation => "FAIL",
        State::Skipped => "skip",
        _ => "ERR ",
    };
    let word = colored(word, entry.state, style.color);
    let source = entry.source.as_ref();
    let source = source.map_or_else(String::new, |source| format!("  ({source})"));
    let _ = writeln!(text, "{word} {} › {}{source}", entry.subject, entry.place);
    let mut lines = Vec::new();
    for reason in &entry.reasons {
        lines.push(format!("     {reason}"));
    }
    for rule in &entry.rules {
        if rule.state == State::Compliant {
            if wide {
                lines.push(format!("     ok {}", rule.name));
            }
            continue;
        }
        lines.push(format!("     {}", rule.name));
        for reason in &rule.reasons {
            lines.push(format!("       {}", reason.expected()));
        }
    }
    let most = if wide { lines.len() } else { REASONS };
    for line in lines.iter().take(most) {
        let _ = writeln!(text, "{line}");
    }
    if lines.len() > most {
        let more = messages::plural(lines.len() - most, "line");
        let _ = writeln!(text, "     … {more} more (-o wide)");
    }
}
