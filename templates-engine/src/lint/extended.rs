use std::sync::LazyLock;

use regex::Regex;

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

static ANY_NAMESPACE: Rule = Rule {
    id: "GTUL102",
    name: "lookupInAnyNamespace",
    description: "A lookup by name does not say in which namespace.",
    full_description: "With an empty namespace `lookup` finds the object of that name in the first \
        namespace in order that has one. Another object of that name in an earlier namespace takes \
        its place. Hub templates without a service account look in the policy's own namespace.",
    level: Level::Warning,
};

/// Kinds with namespaces that templates often look up, by group. Whether others have namespaces is not known.
const NAMESPACED: [(&str, &[&str]); 11] = [
    (
        "",
        &[
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    (
        "apps",
        &[
            "ControllerRevision",
            "DaemonSet",
            "Deployment",
            "ReplicaSet",
            "StatefulSet",
        ],
    ),
    ("autoscaling", &["HorizontalPodAutoscaler"]),
    ("batch", &["CronJob", "Job"]),
    ("coordination.k8s.io", &["Lease"]),
    ("discovery.k8s.io", &["EndpointSlice"]),
    ("networking.k8s.io", &["Ingress", "NetworkPolicy"]),
    (
        "operators.coreos.com",
        &[
            "CatalogSource",
            "ClusterServiceVersion",
            "InstallPlan",
            "OperatorGroup",
            "Subscription",
        ],
    ),
    ("policy", &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io", &["Role", "RoleBinding"]),
    ("route.openshift.io", &["Route"]),
];

const CONVERSIONS: [&str; 3] = ["toInt", "toBool", "toLiteral"];

/// No author writes longer lines, in bytes. To check an action means to read all that precedes
/// it on its line.
const LONGEST_LINE: usize = 64 * 1024;

/// GTUL101: templates that do not parse.
pub(super) fn parse_error(text: &str, lines: &[&str], parse: Parse<'_>) -> Option<Violation> {
    let (line, error) = parse(text).err()?;
    let shown = lines
        .get(line.saturating_sub(1))
        .copied()
        .unwrap_or_default();
    let message = format!("The template cannot be parsed: {error}.");
    Some(violation(&PARSE_ERROR, line, shown, &message))
}

/// A lookup of two constants, an empty namespace, and a name that is not empty.
static NAMED_LOOKUP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"\blookup\s+["`]([^"`]*)["`]\s+["`]([^"`]*)["`]\s+(?:""|``)\s+(?:["`][^"`]|[$.(\w])"#,
    )
    .ok()
});

/// GTUL102: lookups by name in any namespace.
pub(super) fn lookups_in_any_namespace(lines: &[&str]) -> Vec<Violation> {
    let Some(pattern) = NAMED_LOOKUP.as_ref() else {
        return Vec::new();
    };
    let mut violations = Vec::new();
    for (number, line) in content(lines) {
        if line.len() > LONGEST_LINE || violations.len() >= MOST_VIOLATIONS {
            continue;
        }
        for found in pattern.captures_iter(line) {
            let text = |group| found.get(group).map_or("", |found| found.as_str());
            let (api_version, kind) = (text(1), text(2));
            let start = found.get(0).map_or(0, |found| found.start());
            let before = line.get(..start).unwrap_or_default();
            // What hub templates may read is not known here.
            let is_hub = before
                .rfind("{{")
                .is_some_and(|at| before.get(at + 2..).unwrap_or_default().starts_with("hub"));
            if is_hub || !has_namespaces(api_version, kind) {
                continue;
            }
            let message =
                format!("The lookup of a {kind} by name finds it in any namespace: name one.");
            violations.push(Violation {
                column: column(line, start),
                ..violation(&ANY_NAMESPACE, number, line, &message)
            });
        }
    }
    violations
}

fn has_namespaces(api_version: &str, kind: &str) -> bool {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    if group == "policy.open-cluster-management.io" {
        return true;
    }
    let mut known = NAMESPACED.iter();
    known.any(|(known, kinds)| *known == group && kinds.contains(&kind))
}

/// GTUL100: conversions of the result that are missing or needless.
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

/// The conversion that an action ends with or begins with, its position, and whether it follows a `|`.
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
