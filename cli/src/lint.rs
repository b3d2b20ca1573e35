//! `reeve lint`.

use std::process::ExitCode;

use reeve_lint::Args;

use crate::output;

/// Lints, prints, and returns the exit code.
pub(crate) fn run(args: &Args) -> ExitCode {
    let outcome = reeve_lint::run(args);
    output::finish(&outcome.stdout, &outcome.stderr, outcome.code)
}
