//! Policies as YAML text.

/// Text whose least indented line is indented by `by` spaces.
pub fn indent(text: &str, by: usize) -> String {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let depth = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let least = lines().map(depth).min().unwrap_or(0);
    let moved = text
        .lines()
        .map(|line| format!("{:by$}{}\n", "", line.get(least..).unwrap_or("")));
    moved.collect()
}

/// The spec of a policy with these object templates: compliance type and object.
pub fn spec(remediation: &str, templates: &[(&str, &str)]) -> String {
    let templates = templates.iter().map(|(compliance_type, object)| {
        let object = indent(object, 4);
        format!("- complianceType: {compliance_type}\n  objectDefinition:\n{object}")
    });
    let templates: String = templates.collect();
    format!("remediationAction: {remediation}\nobject-templates:\n{templates}")
}
