//! Every text of secret sync.

/// One of the two Secrets cannot be decoded.
pub const UNDECODABLE: &str = "the Secret cannot be decoded on one side: the copy is left as it is";
/// There was no copy.
pub const CREATED: &str = "created, as the hub has it";
/// The copy differed.
pub const UPDATED: &str = "updated, as the hub has other values";
/// The hub has none.
pub const DELETED: &str = "deleted, as the hub does not have it";
