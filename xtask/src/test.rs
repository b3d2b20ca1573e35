//! The whole test, and at its end what failed: a log is read from its end, and may have lost its beginning.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};

use crate::run;

/// How many lines are told of each test program in which something failed.
const MOST_LINES: usize = 120;

/// Runs all tests. What failed is told again at the end.
pub(crate) fn all() -> Result<()> {
    let mut command = run::cargo_command(&["test", "--workspace", "--no-fail-fast"])?;
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run cargo test")?;
    let output = child.stdout.take().context("cargo test has no output")?;
    let mut failures = Failures::default();
    let mut out = std::io::stdout().lock();
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("reading what cargo test prints")?;
        let line = String::from_utf8_lossy(&line).into_owned();
        // Whoever does not listen any more wants the exit code at least.
        let _ = writeln!(out, "{line}");
        failures.take(&line);
    }
    let status = child.wait().context("waiting for cargo test")?;
    for part in &failures.parts {
        let _ = writeln!(out, "\n==== failed ====\n{}", part.join("\n"));
    }
    ensure!(
        status.success(),
        "cargo test --workspace --no-fail-fast failed"
    );
    Ok(())
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
