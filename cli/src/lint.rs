//! `reeve lint`.

use std::io::Write as _;
use std::process::ExitCode;

use reeve_lint::Args;

use crate::output;

/// Lints, prints, and returns the exit code.
pub(crate) fn run(args: &Args) -> ExitCode {
    let outcome = reeve_lint::run(args);
    output::block(format_args!("{}", outcome.stdout));
    // The reader of errors may be gone.
    let _ = std::io::stderr().write_all(outcome.stderr.as_bytes());
    ExitCode::from(outcome.code)
}
