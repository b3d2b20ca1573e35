//! The whole test, and at its end what failed: a log is read from its end, and may have lost its beginning.

mod embedded;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::run;

/// How many lines are told of each test program in which something failed.
const MOST_LINES: usize = 120;
/// All tests, on real control planes.
const WHOLE: [&str; 3] = ["test", "--workspace", "--no-fail-fast"];

/// Which tests are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// All, and the scenarios on the embedded server after them.
    All,
    /// The scenarios on the embedded server.
    Embedded,
}

/// Runs tests. What failed is told again at the end.
pub(crate) fn run(which: Which) -> Result<()> {
    let mut failures = Failures::default();
    let on_real = match which {
        Which::All => tested(run::cargo_command(&WHOLE)?, &mut failures)?,
        Which::Embedded => true,
    };
    let on_embedded = embedded::play(&mut failures)?;
    let mut out = std::io::stdout().lock();
    for part in &failures.parts {
        // Whoever does not listen any more wants the exit code at least.
        let _ = writeln!(out, "\n==== failed ====\n{}", part.join("\n"));
    }
    ensure!(on_real, "cargo {} failed", WHOLE.join(" "));
    ensure!(on_embedded, "scenarios on the embedded server failed");
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
    fn failures_are_told_again() {
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
