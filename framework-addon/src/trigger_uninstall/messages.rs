//! The texts of the command `trigger-uninstall`.

/// A flag of the command is missing.
pub const FLAGS: &str =
    "--deployment-name, --deployment-namespace, --policy-namespace must all have values";
/// The timeout is too short.
pub const TIMEOUT: &str = "--timeout-seconds must be set to at least 30 seconds";
/// The timeout is over, or the command was stopped.
pub const INCOMPLETE: &str = "context canceled before the uninstallation preparation was complete";
/// Policies are still there.
pub const WAITING: &str = "waiting for the policies to be gone";
/// No policy is left.
pub const DONE: &str = "no policy is left: the removal may go on";
