//! `reeve resolve`, and the program `template-resolver`.

use std::ffi::OsString;
use std::process::ExitCode;

use reeve_resolve::{Args, Caller, Outcome};
use reeve_runtime::CancellationToken;

use crate::output;
use crate::usage::EXIT_FAILURE;

/// The arguments of the program `template-resolver`, or the exit code of wrong ones.
pub(crate) fn of_program(args: Vec<OsString>) -> Result<Args, ExitCode> {
    Args::of_program(args).map_err(|outcome| print(&outcome))
}

/// Resolves, prints, and returns the exit code.
pub(crate) async fn run(args: Args, caller: Caller, stop: CancellationToken) -> ExitCode {
    tokio::select! {
        () = stop.cancelled() => ExitCode::from(EXIT_FAILURE),
        outcome = reeve_resolve::run(args, caller) => print(&outcome),
    }
}

fn print(outcome: &Outcome) -> ExitCode {
    output::finish(&outcome.stdout, &outcome.stderr, outcome.code)
}
