//! `JUnit` XML, as build servers read it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::model::{Entry, Report, State, Subject};

pub(crate) fn print(report: &Report) -> String {
    let mut suites: BTreeMap<_, Vec<&Entry>> = BTreeMap::new();
    for entry in &report.entries {
        let suite = match report.subject {
            Subject::Suites => report.suite(entry),
            _ => (entry.subject.as_str(), None),
        };
        suites.entry(suite).or_default().push(entry);
    }
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all: Vec<&Entry> = report.entries.iter().collect();
    let _ = writeln!(
        text,
        "<testsuites name=\"reeve\"{} time=\"{:.3}\">",
        counts(&all),
        report.seconds
    );
    for ((name, _), entries) in suites {
        // The sum of nothing would be a negative zero, which is no time.
        let seconds = entries.iter().filter_map(|entry| entry.seconds);
        let seconds = seconds.fold(0.0, |sum, one| sum + one);
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\"{} skipped=\"{}\" time=\"{seconds:.3}\">",
            escaped(name),
            counts(&entries),
            count(&entries, |state| state == State::Skipped)
        );
        for entry in entries {
            case(&mut text, entry);
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn count(entries: &[&Entry], counts: fn(State) -> bool) -> usize {
    let of = |entry: &&&Entry| counts(entry.state);
    entries.iter().filter(of).count()
}

fn counts(entries: &[&Entry]) -> String {
    format!(
        " tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        entries.len(),
        count(entries, |state| state == State::Violation),
        count(entries, State::is_open)
    )
}

fn case(text: &mut String, entry: &Entry) {
    let name = match entry.place.as_str() {
        "" => "-",
        place => place,
    };
    let _ = write!(
        text,
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
        escaped(&entry.subject),
        escaped(name),
        entry.seconds.unwrap_or_default()
    );
    let element = match entry.state {
        State::Compliant => {
            text.push_str("/>\n");
            return;
        }
        State::Violation => "failure",
        State::Skipped => "skipped",
        _ => "error",
    };
    let message = escaped(&entry.summary());
    if element == "skipped" {
        let _ = writeln!(
            text,
            ">\n      <skipped message=\"{message}\"/>\n    </testcase>"
        );
        return;
    }
    let _ = writeln!(
        text,
        ">\n      <{element} type=\"{}\" message=\"{message}\">{}</{element}>\n    </testcase>",
        entry.state.word(),
        escaped(&entry.all_reasons("\n"))
    );
}

/// A text for an attribute or an element. Characters that XML cannot hold are replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
