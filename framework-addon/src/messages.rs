//! Texts of the process as a whole; those about policies are in each controller's own `messages`.

/// Why the process is not ready.
pub const NOT_SYNCED: &str = "the watches have not seen their first lists yet";
