use super::{Level, Rule, Violation, column, content, trim_end, trim_start, violation};

static UNQUOTED: Rule = Rule {
    id: "GTUL003",
    name: "unquotedTemplateValues",
    description: "Template expressions should be single-quoted.",
    full_description: "Single-quote wrapping around template expressions in YAML will ensure that \
        the templates are properly interpreted and not interfere with the rest of the structure.",
    level: Level::Warning,
};

/// GTUL003: values that are not quoted.
pub(super) fn values(lines: &[&str]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut in_raw = false;
    for (number, line) in content(lines) {
        let trimmed = line.trim_start();
        if trimmed.starts_with("object-templates-raw: ") {
            in_raw = true;
        } else if trimmed.starts_with("object-templates:") {
            in_raw = false;
        }
        if in_raw {
            continue;
        }
        let Some((message, delimiter)) = finding(line) else {
            continue;
        };
        violations.push(Violation {
            column: column(line, line.find(delimiter).unwrap_or(0)),
            ..violation(&UNQUOTED, number, line, message)
        });
    }
    violations
}

/// What is wrong with a line, and the delimiter to point at.
fn finding(line: &str) -> Option<(&'static str, &'static str)> {
    let item = trim_start(line).strip_prefix('-').map(trim_start);
    if item.is_some_and(is_bare) {
        let message = "Templates for array items should be single-quoted.";
        return Some((message, "{{"));
    }
    let value = line.split_once(':').filter(|(key, _)| !key.is_empty());
    if value.is_some_and(|(_, value)| is_bare(trim_start(value))) {
        return Some(("Templates should be single-quoted.", "{{"));
    }
    let end = trim_end(line);
    (end.ends_with("}}'\"") || end.ends_with("}}''"))
        .then_some(("Extra quote after closing template delimiter.", "}}"))
}

/// Whether a value begins with an action and no quote.
fn is_bare(value: &str) -> bool {
    value
        .strip_prefix("{{")
        .is_some_and(|rest| rest.contains("}}"))
}
