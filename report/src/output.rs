//! The forms of a report, and what a command's exit code is by.

use clap::ValueEnum;

use crate::model::{Report, State, Subject};
use crate::style::Style;
use crate::{checks, github, junit, openreports, sarif, suites, table};

/// The form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table with the most important reason of each row; of suites, the steps that failed.
    #[default]
    #[value(alias = "text")]
    Table,
    /// Every row with every reason, of suites every step.
    Wide,
    /// All that is known, as JSON.
    Json,
    /// `JUnit` XML: a test suite for each policy or suite, a test case for each cluster or step.
    Junit,
    /// SARIF 2.1.0: a result for each finding, with its file and line.
    Sarif,
    /// Commands of GitHub Actions, which annotate files.
    Github,
    /// `Report` objects of `openreports.io/v1alpha1`, as YAML.
    Openreports,
}

/// The worst state that is no failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Violations, and all that `error` names.
    #[default]
    Violation,
    /// Errors, unplaced policies, and what was not evaluated.
    Error,
    /// Everything that is not compliant: also what is skipped.
    Skipped,
    /// Nothing.
    None,
}

impl FailOn {
    /// Whether a report has what this names.
    pub fn is_failure(self, report: &Report) -> bool {
        let mut states = report.entries.iter().map(|entry| entry.state);
        match self {
            Self::None => false,
            Self::Error => states.any(State::is_open),
            Self::Violation => states.any(|state| state == State::Violation || state.is_open()),
            Self::Skipped => {
                states.any(|state| state != State::Compliant) || !report.skipped.is_empty()
            }
        }
    }
}

/// The text of a report in a form, with a line end.
pub fn print(report: &Report, output: Output, style: Style) -> String {
    let wide = output == Output::Wide;
    match (output, report.subject) {
        (Output::Table | Output::Wide, Subject::Policies) => table::print(report, wide, style),
        (Output::Table | Output::Wide, Subject::Suites) => suites::print(report, wide, style),
        (Output::Table | Output::Wide, Subject::Checks) => checks::print(report, wide, style),
        (Output::Json, _) => json(report),
        (Output::Junit, _) => junit::print(report),
        (Output::Sarif, _) => sarif::print(report),
        (Output::Github, _) => github::print(report),
        (Output::Openreports, _) => openreports::print(report),
    }
}

fn json(report: &Report) -> String {
    // The model has string keys and finite numbers only.
    let text = serde_json::to_string_pretty(report);
    text.unwrap_or_default() + "\n"
}
