use super::{Level, Rule, Violation, shortened, violation};

static TRAILING: Rule = Rule {
    id: "GTUL001",
    name: "trailingWhitespace",
    description: "Lines should not have trailing whitespace.",
    full_description: "",
    level: Level::Warning,
};

/// GTUL001: spaces at the end of a line.
pub(super) fn trailing(lines: &[&str]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let content = line.trim_start_matches([' ', '\t']);
        if !content.starts_with('#') && content.ends_with([' ', '\t']) {
            let message = "Trailing whitespace detected.";
            violations.push(Violation {
                shown: format!("{}<<<", shortened(content)),
                ..violation(&TRAILING, index + 1, "", message)
            });
        }
    }
    violations
}
