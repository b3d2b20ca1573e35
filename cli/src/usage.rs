//! Exit codes, and errors of users' arguments.

/// Something could not be run.
pub(crate) const EXIT_FAILURE: u8 = 1;
/// There are findings.
pub(crate) const EXIT_FINDINGS: u8 = 2;
/// The time is up.
pub(crate) const EXIT_TIME: u8 = 3;
/// The arguments make no sense.
pub(crate) const EXIT_USAGE: u8 = 64;

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
