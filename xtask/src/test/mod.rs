//! The whole test, and at its end what failed: a log is read from its end, and may have lost its beginning.

mod scenarios;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::run;
use scenarios::Choice;

/// How many lines are repeated of each test program in which something failed.
const MOST_LINES: usize = 120;
/// All tests but the scenarios. Where they need an API server, it is a real one.
const UNITS: [&str; 5] = [
    "test",
    "--workspace",
    "--exclude",
    "reeve-scenarios",
    "--no-fail-fast",
];

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
    let mut failures = Failures::default();
    let (units, choice) = match which {
        Which::All => (true, Choice::Own),
        Which::Both => (true, Choice::Both),
        Which::Embedded => (false, Choice::Embedded),
    };
    let passed = !units || tested(run::cargo_command(&UNITS)?, &mut failures)?;
    let scenarios = scenarios::run(choice, &mut failures)?;
    let mut out = std::io::stdout().lock();
    for part in &failures.parts {
        // A reader that has closed the pipe wants the exit code at least.
        let _ = writeln!(out, "\n==== failed ====\n{}", part.join("\n"));
    }
    ensure!(passed, "cargo {} failed", UNITS.join(" "));
    ensure!(scenarios, "scenarios failed");
    Ok(())
}

/// Runs tests, and keeps what failed of them.
fn tested(mut command: Command, failures: &mut Failures) -> Result<bool> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run cargo test")?;
    let output = child.stdout.take().context("cargo test has no output")?;
    let mut out = std::io::stdout().lock();
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("reading what cargo test prints")?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let _ = writeln!(out, "{line}");
        failures.take(&line);
    }
    let status = child.wait().context("waiting for cargo test")?;
    Ok(status.success())
}

/// What test programs print between `failures:` and their result.
#[derive(Default)]
struct Failures {
    parts: Vec<Vec<String>>,
    inside: bool,
}

impl Failures {
    fn take(&mut self, line: &str) {
        if line == "failures:" && !self.inside {
            self.inside = true;
            self.parts.push(Vec::new());
        }
        if !self.inside {
            return;
        }
        if let Some(part) = self.parts.last_mut() {
            if part.len() < MOST_LINES {
                part.push(line.to_owned());
            }
            if line.starts_with("test result:") {
                part.push(line.to_owned());
                self.inside = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
