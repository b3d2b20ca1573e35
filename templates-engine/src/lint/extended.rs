use super::{Level, MOST_VIOLATIONS, Parse, Rule, Violation, column, content, is_word, violation};

static CONVERSION: Rule = Rule {
    id: "GTUL100",
    name: "ineffectiveConversion",
    description: "A conversion has no effect in this place.",
    full_description: "`toInt`, `toBool` and `toLiteral` only take the quotes off a value when the \
        value belongs to a key, is in single quotes that hold nothing before the action, and the \
        function stands behind a `|`. Elsewhere the value stays a string.",
    level: Level::Warning,
};

static PARSE_ERROR: Rule = Rule {
    id: "GTUL101",
    name: "parseError",
    description: "The template cannot be parsed.",
    full_description: "",
    level: Level::Error,
};

const CONVERSIONS: [&str; 3] = ["toInt", "toBool", "toLiteral"];

/// No author writes longer lines, in bytes. To judge an action means to look at all that precedes
/// it on its line.
const LONGEST_LINE: usize = 64 * 1024;

/// GTUL101
pub(super) fn parse_error(text: &str, lines: &[&str], parse: Parse<'_>) -> Option<Violation> {
    let (line, error) = parse(text).err()?;
    let shown = lines
        .get(line.saturating_sub(1))
        .copied()
        .unwrap_or_default();
    let message = format!("The template cannot be parsed: {error}.");
    Some(violation(&PARSE_ERROR, line, shown, &message))
}

/// GTUL100
pub(super) fn conversions(lines: &[&str]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, line) in content(lines) {
        if line.len() > LONGEST_LINE || violations.len() >= MOST_VIOLATIONS {
            continue;
        }
        let mut at = 0;
        while let Some(start) = line.get(at..).and_then(|rest| rest.find("{{")) {
            let start = at + start;
            let Some(length) = line.get(start..).and_then(|rest| rest.find("}}")) else {
                break;
            };
            at = start + length + 2;
            let action = line.get(start..at).unwrap_or_default();
            let before = line.get(..start).unwrap_or_default();
            let Some((function, byte, is_piped)) = conversion(action) else {
                continue;
            };
            if let Some(reason) = reason(before, is_piped) {
                let message = format!("`{function}` has no effect here: {reason}.");
                violations.push(Violation {
                    column: column(line, start + byte),
                    ..violation(&CONVERSION, number, line, &message)
                });
            }
        }
    }
    violations
}

/// The conversion that an action ends with or begins with, where it stands, and whether behind `|`.
fn conversion(action: &str) -> Option<(&'static str, usize, bool)> {
    let mut in_string = false;
    for (byte, character) in action.char_indices() {
        if character == '"' {
            in_string = !in_string;
        }
        let before = action.get(..byte).unwrap_or_default();
        let is_start = !before
            .bytes()
            .last()
            .is_some_and(|byte| is_word(byte) || byte == b'.');
        if in_string || !is_start {
            continue;
        }
        let rest = action.get(byte..).unwrap_or_default();
        let name = rest.get(..super::word_length(rest)).unwrap_or_default();
        if let Some(function) = CONVERSIONS.into_iter().find(|function| *function == name) {
            return Some((function, byte, before.trim_end().ends_with('|')));
        }
    }
    None
}

/// Why a conversion in an action behind this text leaves a string; `None` when it does not.
fn reason(before: &str, is_piped: bool) -> Option<&'static str> {
    // Without quotes the value is what the action writes, whatever the function.
    let quote = ['\'', '"']
        .into_iter()
        .find(|quote| before.matches(*quote).count() % 2 == 1)?;
    let (outside, inside) = before.rsplit_once(quote)?;
    if !inside.trim().is_empty() {
        return Some("text stands before the action");
    }
    let outside = outside.trim_end();
    // A value on a line of its own belongs to the key above.
    let is_alone = outside.is_empty();
    if quote == '"' {
        Some("the value is in double quotes")
    } else if !is_piped {
        Some("it does not stand behind a `|`")
    } else if !is_alone && !outside.ends_with(':') {
        Some("the value is an item of a list")
    } else {
        None
    }
}
