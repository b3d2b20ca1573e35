//! The model that all outputs are made of.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// The state of a policy on a cluster, of a rule of it, or of a step of a suite. The order is that of urgency: the
/// worst is first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It could not be evaluated.
    Error,
    /// The cluster does not comply; the expectation is not met.
    Violation,
    /// No cluster is chosen.
    Unplaced,
    /// A dependency is not fulfilled yet.
    Pending,
    /// Nothing is known yet.
    #[default]
    Unknown,
    /// It is disabled, or was not run.
    Skipped,
    /// The cluster complies; the expectation is met.
    Compliant,
}

impl State {
    /// All states, the worst first.
    pub const ALL: [Self; 7] = [
        Self::Error,
        Self::Violation,
        Self::Unplaced,
        Self::Pending,
        Self::Unknown,
        Self::Skipped,
        Self::Compliant,
    ];

    /// The word for a policy's state.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "Error",
            Self::Violation => "Violation",
            Self::Unplaced => "Unplaced",
            Self::Pending => "Pending",
            Self::Unknown => "Unknown",
            Self::Skipped => "Skipped",
            Self::Compliant => "Compliant",
        }
    }
}

/// How much a state matters to programs that show findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Somebody has to act.
    Error,
    /// There is no answer.
    Warning,
    /// Worth a line.
    Note,
}

impl State {
    /// How much the state matters; `None` for what complies.
    pub(crate) fn level(self) -> Option<Level> {
        match self {
            Self::Error | Self::Violation => Some(Level::Error),
            Self::Unplaced | Self::Pending | Self::Unknown => Some(Level::Warning),
            Self::Skipped => Some(Level::Note),
            Self::Compliant => None,
        }
    }

    /// Whether the question if the cluster complies is open, though it was asked.
    pub(crate) fn is_open(self) -> bool {
        self == Self::Error || self.level() == Some(Level::Warning)
    }
}

/// A place in a file of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Source {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.path, self.line)
    }
}

/// What is wrong with one object, or with one field of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Reason {
    /// The object as `ConfigMap default/made`; empty if the reason is about none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// The field, such as `spec.containers[name=web].image`; empty if the reason is about the whole object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// The wanted value as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
    /// The value that is there, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// What is wrong, without the object and the field.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
}

impl Reason {
    /// A reason that is about no object.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

impl Reason {
    /// The whole reason; `wanted` is the word for what is not there.
    fn words(&self, wanted_word: &str) -> String {
        let mut parts = Vec::new();
        if !self.field.is_empty() {
            parts.push(self.field.clone());
        }
        let nothing = || "nothing".to_owned();
        if self.wanted.is_some() || self.found.is_some() {
            let wanted = self.wanted.clone().unwrap_or_else(nothing);
            let found = self.found.clone().unwrap_or_else(nothing);
            parts.push(format!("{wanted_word} {wanted} found {found}"));
        }
        if !self.text.is_empty() {
            parts.push(self.text.clone());
        }
        match (self.object.is_empty(), parts.is_empty()) {
            (true, _) => parts.join(" "),
            (false, true) => self.object.clone(),
            (false, false) => format!("{}: {}", self.object, parts.join(" ")),
        }
    }

    /// The reason in the words of tests.
    pub(crate) fn expected(&self) -> String {
        self.words("expected")
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.words("wanted"))
    }
}

/// A template of a policy on a cluster, or an expectation of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rule {
    /// The name of the template, or the expectation.
    pub name: String,
    /// Its state.
    pub state: State,
    /// The whole message of the engine.
    pub message: String,
    /// What is wrong, in short. Empty for what complies.
    pub reasons: Vec<Reason>,
    /// The severity of the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// Where the rule is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// A policy on a cluster, or a step of a suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Entry {
    /// The policy as `namespace/name`, or the suite.
    pub subject: String,
    /// The cluster, or the step. Empty for a policy that is on no cluster.
    pub place: String,
    /// The worst state of its rules.
    pub state: State,
    /// Why, where it is not the matter of a rule.
    pub reasons: Vec<Reason>,
    /// Its rules.
    pub rules: Vec<Rule>,
    /// Where the policy or the step is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Standards, categories and controls of the policy.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl Entry {
    /// An entry in the worst state of its rules. What is skipped counts only if there is nothing else.
    pub fn of_rules(subject: &str, place: &str, rules: Vec<Rule>) -> Self {
        let states = rules.iter().map(|rule| rule.state);
        let worst = states
            .clone()
            .filter(|state| *state != State::Skipped)
            .min();
        Self {
            subject: subject.to_owned(),
            place: place.to_owned(),
            state: worst.or(states.min()).unwrap_or(State::Compliant),
            rules,
            ..Self::default()
        }
    }

    /// All reasons, those of the worst rules first.
    pub fn why(&self) -> Vec<&Reason> {
        let mut rules: Vec<&Rule> = self.rules.iter().collect();
        rules.sort_by_key(|rule| rule.state);
        let of_rules = rules.into_iter().flat_map(|rule| &rule.reasons);
        self.reasons.iter().chain(of_rules).collect()
    }

    /// All reasons, with this between them.
    pub fn all_reasons(&self, separator: &str) -> String {
        let all: Vec<String> = self.why().iter().map(ToString::to_string).collect();
        all.join(separator)
    }

    /// The first reason, and how many more there are.
    pub fn summary(&self) -> String {
        match self.why().as_slice() {
            [] => String::new(),
            [one] => one.to_string(),
            [first, more @ ..] => format!("{first} (+{} more)", more.len()),
        }
    }
}

/// A file or object that was not used.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Skip {
    /// What was skipped.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// What the entries are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// Policies on clusters.
    #[default]
    Policies,
    /// Steps of suites.
    Suites,
    /// Steps of an explanation, or checks of a hub.
    Checks,
}

/// What a command found out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// What the entries are about.
    pub subject: Subject,
    /// The results.
    pub entries: Vec<Entry>,
    /// What was not used.
    pub skipped: Vec<Skip>,
    /// What the command did on its own, such as binding policies.
    pub notes: Vec<String>,
    /// How long it took.
    pub seconds: f64,
}

impl Report {
    /// What tells the suite of an entry from others: two files may have suites of one name. An entry that does not say where it is written
    /// belongs to the first suite of the name.
    pub(crate) fn suite<'r>(&'r self, entry: &'r Entry) -> (&'r str, Option<&'r str>) {
        let path = |entry: &'r Entry| entry.source.as_ref().map(|source| source.path.as_str());
        let mut same = self.entries.iter();
        let of_others =
            || same.find_map(|other| path(other).filter(|_| other.subject == entry.subject));
        (&entry.subject, path(entry).or_else(of_others))
    }

    /// Sorts the entries: the worst first, then by subject and place; numbers in names count as numbers.
    pub fn sort(&mut self) {
        self.entries.sort_by(|a, b| {
            let key = |entry: &Entry| (entry.state, natural(&entry.subject), natural(&entry.place));
            key(a).cmp(&key(b))
        });
    }
}

/// A sort key by which `cluster10` follows `cluster9`: texts and numbers in turn.
pub(crate) fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (text, after) = rest.split_at(digits);
        let end = after
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(after.len());
        let (number, after) = after.split_at(end);
        parts.push((text.to_owned(), number.parse().unwrap_or_default()));
        rest = after;
    }
    parts
}
