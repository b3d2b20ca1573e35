//! The forms of findings.

use std::fmt::Write as _;

use reeve_report::{Entry, Output, Reason, Report, Source, State, Style, print as print_report};
use serde_json::{Value, json};

use crate::finding::{Finding, Findings};
use crate::rules::{Level, RULES};
use crate::{messages, sarif};

/// The findings in a form.
pub(crate) fn print(findings: &Findings, output: Output) -> String {
    match output {
        Output::Table | Output::Wide => text(findings),
        Output::Json => json_text(findings),
        Output::Sarif => sarif::print(findings),
        Output::Github => github(findings),
        Output::Junit | Output::Openreports => {
            print_report(&report(findings), output, Style::default())
        }
    }
}

fn count(findings: &Findings, level: Level) -> usize {
    findings
        .all
        .iter()
        .filter(|one| one.rule.level == level)
        .count()
}

fn summary(findings: &Findings) -> String {
    messages::summary(
        count(findings, Level::Error),
        count(findings, Level::Warning),
        findings.files.len(),
        findings.fixed,
    )
}

fn place(finding: &Finding) -> String {
    match finding.column {
        0 => format!("{}:{}", finding.path, finding.line),
        column => format!("{}:{}:{column}", finding.path, finding.line),
    }
}

fn text(findings: &Findings) -> String {
    let mut text = String::new();
    for one in &findings.all {
        let level = one.rule.level.word();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}: {level}: {} [{}]",
            place(one),
            one.message,
            one.rule.id
        );
    }
    text + &summary(findings) + "\n"
}

fn json_text(findings: &Findings) -> String {
    let all = findings.all.iter().map(|one| {
        json!({
            "rule": one.rule.id, "name": one.rule.name, "level": one.rule.level.word(), "message": one.message,
            "path": one.path, "line": one.line, "column": one.column, "endColumn": one.end_column, "fixable": one.edit.is_some(),
        })
    });
    let all: Vec<Value> = all.collect();
    let whole = json!({ "findings": all, "files": findings.files, "fixed": findings.fixed });
    format!("{whole:#}\n")
}

fn github(findings: &Findings) -> String {
    let escaped = |text: &str| {
        text.replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A")
    };
    let property = |text: &str| escaped(text).replace(':', "%3A").replace(',', "%2C");
    let mut text = String::new();
    for one in &findings.all {
        let mut properties = format!("file={},line={}", property(&one.path), one.line);
        if one.column > 0 {
            let _ = write!(properties, ",col={}", one.column);
        }
        if one.end_column > one.column {
            let _ = write!(properties, ",endColumn={}", one.end_column);
        }
        let title = property(&format!("{} {}", one.rule.id, one.rule.name));
        let (level, message) = (one.rule.level.word(), escaped(&one.message));
        let _ = writeln!(text, "::{level} {properties},title={title}::{message}");
    }
    text + &summary(findings) + "\n"
}

/// The findings as a report: a suite for each file, a case for each finding, or one for a file without any.
fn report(findings: &Findings) -> Report {
    let mut entries: Vec<Entry> = Vec::new();
    for one in &findings.all {
        entries.push(Entry {
            subject: one.path.clone(),
            place: format!("{} line {}", one.rule.id, one.line),
            state: State::Violation,
            reasons: vec![Reason::text(format!(
                "{}: {}",
                one.rule.level.word(),
                one.message
            ))],
            source: Some(Source {
                path: one.path.clone(),
                line: one.line,
            }),
            seconds: Some(0.0),
            ..Entry::default()
        });
    }
    for file in &findings.files {
        if !findings.all.iter().any(|one| one.path == *file) {
            entries.push(Entry {
                subject: file.clone(),
                place: "lint".to_owned(),
                state: State::Compliant,
                seconds: Some(0.0),
                ..Entry::default()
            });
        }
    }
    Report {
        entries,
        ..Report::default()
    }
}

/// All rules, a line each.
pub(crate) fn rules() -> String {
    let mut text = String::new();
    for rule in RULES {
        let fix = if rule.is_fixable { "fix" } else { "" };
        let line = format!(
            "{:<8} {:<24} {:<8} {fix:<4} {}",
            rule.id,
            rule.name,
            rule.level.word(),
            rule.summary
        );
        text.push_str(&line);
        text.push('\n');
    }
    text
}
