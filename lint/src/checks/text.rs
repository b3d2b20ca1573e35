//! GTUL001 to GTUL102: the lines of a file with templates.

use reeve_templates_engine::lint::{Violation, lint, lint_extended};

use crate::file::{File, Position};
use crate::finding::{Edit, EditKind, Finding};
use crate::rules::find;

/// The findings of the template linter.
pub(crate) fn check(file: &File) -> Vec<Finding> {
    let violations = lint(&file.text).into_iter();
    // Whether templates parse is checked value by value, which gives the place.
    let extended = lint_extended(&file.text, &|_| Ok(()));
    let findings = violations.chain(extended);
    findings
        .filter_map(|violation| finding(file, &violation))
        .collect()
}

fn finding(file: &File, violation: &Violation) -> Option<Finding> {
    find(violation.rule.id)?;
    let position = Position {
        line: violation.line,
        column: violation.column,
        end_column: 0,
    };
    let edit = match violation.rule.id {
        "GTUL001" => trimmed(file, violation.line),
        "GTUL003" => quoted(file, violation.line),
        _ => None,
    };
    let finding = file.at(position, violation.rule.id, violation.message.clone());
    Some(finding.mended_by(edit))
}

fn trimmed(file: &File, line: usize) -> Option<Edit> {
    let range = file.line(line);
    let text = file.text.get(range.clone())?;
    let kept = text.trim_end_matches([' ', '\t']).len();
    (kept < text.len()).then(|| Edit {
        range: range.start + kept..range.end,
        text: String::new(),
        kind: EditKind::Layout,
    })
}

/// `key: {{ action }}` in quotes, unless there are quotes already.
fn quoted(file: &File, line: usize) -> Option<Edit> {
    let range = file.line(line);
    let text = file.text.get(range.clone())?;
    let start = text.find("{{")?;
    let value = text.get(start..)?.trim_end();
    let is_plain = value.ends_with("}}") && !value.contains(['\'', '#']);
    is_plain.then(|| Edit {
        range: range.start + start..range.start + start + value.len(),
        text: format!("'{value}'"),
        kind: EditKind::Mend,
    })
}
