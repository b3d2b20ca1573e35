//! The rules.

use reeve_templates_engine::lint;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It does not work.
    Error,
    /// It may not do what its author meant.
    Warning,
}

impl Level {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl From<lint::Level> for Level {
    fn from(level: lint::Level) -> Self {
        match level {
            lint::Level::Error => Self::Error,
            lint::Level::Warning => Self::Warning,
        }
    }
}

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its identifier.
    pub id: &'static str,
    /// A name in camel case.
    pub name: &'static str,
    /// How bad its findings are.
    pub level: Level,
    /// One sentence.
    pub summary: &'static str,
    /// Whether `--fix` mends some of its findings.
    pub is_fixable: bool,
}

const fn rule(id: &'static str, name: &'static str, level: Level, summary: &'static str) -> Rule {
    Rule {
        id,
        name,
        level,
        summary,
        is_fixable: false,
    }
}

const fn fixable(rule: Rule) -> Rule {
    Rule {
        is_fixable: true,
        ..rule
    }
}

use Level::{Error, Warning};

/// All rules.
pub const RULES: &[Rule] = &[
    fixable(rule(
        "GTUL001",
        "trailingWhitespace",
        Warning,
        "Lines should not have trailing whitespace.",
    )),
    rule(
        "GTUL002",
        "mismatchedDelimiters",
        Error,
        "Template delimiters must be properly paired.",
    ),
    fixable(rule(
        "GTUL003",
        "unquotedTemplateValues",
        Warning,
        "Template expressions should be single-quoted.",
    )),
    rule(
        "GTUL004",
        "unusedVariables",
        Warning,
        "Unused variables should be removed or used in the template.",
    ),
    rule(
        "GTUL005",
        "invalidVariableSyntax",
        Error,
        "Invalid variable syntax.",
    ),
    rule(
        "GTUL006",
        "mismatchedQuotes",
        Warning,
        "Mismatched quotes should be removed or paired with a closing quote.",
    ),
    rule(
        "GTUL100",
        "ineffectiveConversion",
        Warning,
        "A conversion has no effect in this place.",
    ),
    rule(
        "GTUL102",
        "lookupInAnyNamespace",
        Warning,
        "A lookup by name should name the namespace.",
    ),
    rule(
        "RVL001",
        "unreadable",
        Error,
        "A document must be YAML, and a Kubernetes object.",
    ),
    rule(
        "RVL002",
        "invalidObject",
        Error,
        "An object must be valid by the schema of its kind.",
    ),
    rule(
        "RVL003",
        "unknownField",
        Error,
        "An object must have only fields that its kind has.",
    ),
    rule(
        "RVL004",
        "invalidName",
        Error,
        "A name must be one that Kubernetes and the propagator take.",
    ),
    rule(
        "RVL005",
        "duplicateName",
        Error,
        "Two objects of one kind must not have the same name.",
    ),
    rule(
        "RVL006",
        "templateError",
        Error,
        "A template must be one that can be parsed.",
    ),
    fixable(rule(
        "RVL101",
        "unquotedBoolean",
        Warning,
        "A word such as yes is a boolean unless it is quoted.",
    )),
    fixable(rule(
        "RVL102",
        "notText",
        Error,
        "A value that must be text must not be a number or a boolean.",
    )),
    rule(
        "RVL103",
        "unexpectedNumber",
        Warning,
        "A number should be one that all readers read alike.",
    ),
    fixable(rule(
        "RVL104",
        "unquotedDate",
        Warning,
        "A date is a time in templates unless it is quoted.",
    )),
    rule(
        "RVL201",
        "selectorWithoutMatch",
        Warning,
        "A selector should match something among the inputs.",
    ),
    rule(
        "RVL202",
        "unboundPolicy",
        Warning,
        "A policy should be bound to a placement.",
    ),
    rule(
        "RVL203",
        "unusedPlacement",
        Warning,
        "A placement should be bound to something.",
    ),
    rule(
        "RVL204",
        "danglingReference",
        Warning,
        "An object that is named should be among the inputs.",
    ),
    rule(
        "RVL205",
        "deprecatedKind",
        Warning,
        "A kind or version that is deprecated should be replaced.",
    ),
    rule(
        "RVL206",
        "evaluationInterval",
        Warning,
        "An evaluation interval should be one duration, never or watch.",
    ),
    rule(
        "RVL207",
        "ignoredFields",
        Warning,
        "Fields of a named object that must not exist are ignored.",
    ),
    rule(
        "RVL208",
        "selectsNothing",
        Warning,
        "A namespaceSelector needs include or labels to select anything.",
    ),
    rule(
        "RVL209",
        "missingNamespace",
        Warning,
        "A namespaced object needs a namespace or a namespaceSelector.",
    ),
    rule(
        "RVL210",
        "dependencyLoop",
        Error,
        "Policies and templates must not wait for each other.",
    ),
    rule(
        "RVL211",
        "ignoredSchema",
        Warning,
        "A schema of a ConstraintTemplate should have only what Gatekeeper reads.",
    ),
];

/// The rule with an identifier.
pub(crate) fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id.eq_ignore_ascii_case(id))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::{RULES, find};

    /// The identifiers that the checks name.
    fn named() -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/checks");
        let mut named = BTreeSet::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let ids = text.split("\"RVL").skip(1);
            named.extend(ids.map(|rest| format!("RVL{}", rest.split('"').next().unwrap())));
        }
        named
    }

    #[test]
    fn every_rule_is_checked_and_every_checked_rule_is_listed() {
        let own = RULES.iter().filter(|rule| rule.id.starts_with("RVL"));
        let own: BTreeSet<String> = own.map(|rule| rule.id.to_owned()).collect();
        assert_eq!(named(), own);
    }

    #[test]
    fn rules_are_found_in_any_case() {
        assert_eq!(find("rvl001").unwrap().name, "unreadable");
        assert_eq!(find("RVL999"), None);
    }
}
