//! The name of this host: the Pod's name in a cluster.

use std::sync::OnceLock;

/// The host name, read once.
pub(crate) fn hostname() -> &'static str {
    static HOSTNAME: OnceLock<String> = OnceLock::new();
    HOSTNAME.get_or_init(|| gethostname::gethostname().to_string_lossy().into_owned())
}
