//! Texts of the process as a whole; those about policies are in each controller's own `messages`.

/// Why the process is not ready.
pub const NOT_SYNCED: &str = "the watches have not seen their first lists yet";
/// A flag is an old name of another.
pub const DISABLE_SPEC_SYNC: &str = "--disable-spec-sync is deprecated: use --on-multicluster-hub";
/// Policies may not have templates of Gatekeeper's kinds.
pub const GATEKEEPER_DISABLED: &str = "the Gatekeeper integration is disabled";
/// There is no Deployment to watch.
pub const NO_DEPLOYMENT: &str = "not in a Pod: nothing tells when the add-on is being removed";
/// There is no lease to renew.
pub const NO_LEASE: &str = "not in a Pod: the add-on lease is not renewed";
/// The hub's kubeconfig is no longer what it was at start.
pub const HUB_KUBECONFIG_CHANGED: &str =
    "the hub's kubeconfig has changed: the process is to be started again";
/// The answer of the probe.
pub const WITHHELD: &str = "reason withheld";

/// The beginnings of reports that are outdated once the template object is applied: its controller is asked to report again.
pub const STALE: [&str; 2] = ["template-error;", "Pending;"];
