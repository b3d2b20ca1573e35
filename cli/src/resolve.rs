//! `reeve resolve`, and the program `template-resolver`.

use std::ffi::OsString;
use std::io::Write as _;
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
    output::block(format_args!("{}", outcome.stdout));
    // The reader of errors may be gone.
    let _ = std::io::stderr().write_all(outcome.stderr.as_bytes());
    ExitCode::from(outcome.code)
}
