//! Exit codes, and errors of users' arguments.

use std::process::ExitCode;

use reeve_runtime::CancellationToken;

/// Something could not be run.
pub(crate) const EXIT_FAILURE: u8 = 1;
/// There are findings.
pub(crate) const EXIT_FINDINGS: u8 = 2;
/// The time is up.
pub(crate) const EXIT_TIME: u8 = 3;
/// The arguments make no sense.
pub(crate) const EXIT_USAGE: u8 = 64;

/// The exit code of some work, or that of a failure when the user ends the program before.
pub(crate) async fn until_stopped(
    stop: &CancellationToken,
    work: impl Future<Output = anyhow::Result<ExitCode>>,
) -> anyhow::Result<ExitCode> {
    tokio::select! {
        () = stop.cancelled() => Ok(ExitCode::from(EXIT_FAILURE)),
        code = work => code,
    }
}

/// Arguments that do not go together, or name what is not there.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Ends with the exit code of usage errors.
pub(crate) fn usage<T>(why: impl Into<String>) -> anyhow::Result<T> {
    Err(UsageError(why.into()).into())
}
