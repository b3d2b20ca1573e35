//! The whole test, and at its end what failed: a log is read from its end, and may have lost its beginning.

mod jobs;
mod programs;
mod scenarios;

use std::io::Write as _;

use anyhow::{Result, ensure};

use crate::run;
use jobs::{Job, Jobs};
use programs::{Built, Program};
use scenarios::Choice;

/// How many lines are repeated of each failed test: its panic is among the first, a controller's log may follow.
const MOST_LINES: usize = 40;
/// How many characters are repeated of a line.
const MOST_CHARACTERS: usize = 600;

/// Which tests are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// All, each suite of scenarios on its kind of API server.
    All,
    /// All, each suite of scenarios on both kinds of API server.
    Both,
    /// The scenarios on the embedded server.
    Embedded,
}

/// Runs tests. What failed is printed again at the end.
pub(crate) fn run(which: Which) -> Result<()> {
    let (units, choice) = match which {
        Which::All => (true, Choice::Own),
        Which::Both => (true, Choice::Both),
        Which::Embedded => (false, Choice::Embedded),
    };
    let built = Built::new()?;
    let mut jobs = Jobs::default();
    if units {
        add_tests_of_crates(&built, &mut jobs)?;
    }
    scenarios::add(choice, &built, &mut jobs)?;
    let mut failures = Failures::default();
    let passed = jobs::run(jobs, &mut failures)?;
    let mut out = std::io::stdout().lock();
    for part in &failures.parts {
        // A reader that has closed the pipe wants the exit code at least.
        let _ = writeln!(out, "\n==== failed ====\n{}", part.join("\n"));
    }
    ensure!(passed, "tests failed");
    Ok(())
}

/// Adds all tests but the scenarios: those of the modules, of the docs, and of each package. Where they need an API
/// server, it is a real one.
fn add_tests_of_crates(built: &Built, jobs: &mut Jobs) -> Result<()> {
    let job = |program: &Program| Job {
        title: program.title(),
        command: built.command(program),
    };
    let others = || {
        built
            .programs
            .iter()
            .filter(|program| !scenarios::is_suite(program))
    };
    jobs.parallel
        .extend(others().filter(|program| !program.is_integration).map(job));
    jobs.parallel.push_back(Job {
        title: "examples in the docs".to_owned(),
        command: run::cargo_command(&["test", "--workspace", "--doc", "--no-fail-fast"])?,
    });
    jobs.parallel
        .extend(others().filter(|program| program.is_integration).map(job));
    Ok(())
}

/// What test programs print between `failures:` and their result.
#[derive(Default)]
struct Failures {
    parts: Vec<Vec<String>>,
    inside: bool,
    /// How many lines of the failed test have come.
    lines: usize,
}

impl Failures {
    fn add(&mut self, line: String) {
        self.parts.push(vec![line]);
    }

    fn take(&mut self, line: &str) {
        if line == "failures:" && !self.inside {
            self.inside = true;
            self.parts.push(Vec::new());
        }
        if !self.inside {
            return;
        }
        if let Some(part) = self.parts.last_mut() {
            let ended = line.starts_with("test result:");
            if line.starts_with("---- ") || line == "failures:" {
                self.lines = 0;
            }
            if self.lines < MOST_LINES || ended {
                part.push(line.chars().take(MOST_CHARACTERS).collect());
            }
            self.lines += 1;
            self.inside = !ended;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failed_test_is_printed_to_its_measure() {
        let mut failures = Failures::default();
        let long = "log\n".repeat(500);
        let printed = format!(
            "failures:\n\n---- a ----\n{}\n{long}\n---- b ----\npanicked at b\n{long}\nfailures:\n    a\n    b\n\n\
             test result: FAILED.",
            "x".repeat(5_000)
        );
        printed.lines().for_each(|line| failures.take(line));
        let part = &failures.parts[0];
        assert!(part.len() < 3 * MOST_LINES, "{}", part.len());
        assert!(part.iter().all(|line| line.len() <= MOST_CHARACTERS));
        for line in ["panicked at b", "    a", "    b", "test result: FAILED."] {
            assert!(part.contains(&line.to_owned()), "{line}");
        }
    }

    #[test]
    fn failures_are_printed_again() {
        let mut failures = Failures::default();
        let printed = "test a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b ----\nbroken\n\nfailures:\n    b\n\n\
                       test result: FAILED. 1 passed\ntest c ... ok\ntest result: ok.";
        printed.lines().for_each(|line| failures.take(line));
        assert_eq!(failures.parts.len(), 1);
        assert!(failures.parts[0].contains(&"broken".to_owned()));
        assert_eq!(
            failures.parts[0].last().unwrap(),
            "test result: FAILED. 1 passed"
        );
    }
}
