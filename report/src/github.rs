//! Commands of GitHub Actions: each finding annotates its line.

use std::fmt::Write as _;

use crate::count::Counts;
use crate::model::{Level, Report};

pub(crate) fn print(report: &Report) -> String {
    let mut text = String::new();
    for entry in &report.entries {
        let command = match entry.state.level() {
            None => continue,
            Some(Level::Error) => "error",
            Some(Level::Warning) => "warning",
            Some(Level::Note) => "notice",
        };
        let mut properties = Vec::new();
        if let Some(source) = &entry.source {
            properties.push(format!("file={}", property(&source.path)));
            properties.push(format!("line={}", source.line.max(1)));
        }
        let title = match entry.place.as_str() {
            "" => entry.subject.clone(),
            place => format!("{} on {place}", entry.subject),
        };
        properties.push(format!("title={}", property(&title)));
        let why = match entry.all_reasons("\n") {
            why if why.is_empty() => entry.state.word().to_owned(),
            why => why,
        };
        let _ = writeln!(
            text,
            "::{command} {}::{}",
            properties.join(","),
            message(&why)
        );
    }
    let counts = Counts::of(report).words(report.subject);
    let _ = writeln!(text, "{counts}");
    text
}

fn message(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
