//! `reeve gator`, and the program `gator`.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Read};
use std::process::ExitCode;

use clap::error::ErrorKind;
use reeve_gator::Args;
use reeve_runtime::CancellationToken;

use crate::output;
use crate::usage::EXIT_FAILURE;

/// Reads the arguments of the program that is called `gator`.
pub(crate) fn of_program(args: Vec<OsString>) -> Result<Args, ExitCode> {
    Args::of_program(args).map_err(|error| {
        // The reader may be gone.
        let _ = error.print();
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
            _ => ExitCode::from(EXIT_FAILURE),
        }
    })
}

/// Runs, prints, and returns the exit code.
pub(crate) async fn run(args: Args, stop: CancellationToken) -> ExitCode {
    let work = tokio::task::spawn_blocking(move || {
        let mut input = std::io::stdin();
        let is_piped = !input.is_terminal();
        let input = is_piped.then_some(&mut input as &mut dyn Read);
        reeve_gator::run(&args, input)
    });
    tokio::select! {
        () = stop.cancelled() => ExitCode::from(EXIT_FAILURE),
        outcome = work => match outcome {
            Ok(outcome) => output::finish(&outcome.output, &outcome.error, outcome.code),
            Err(error) => output::finish("", &format!("error: {error}\n"), EXIT_FAILURE),
        },
    }
}
