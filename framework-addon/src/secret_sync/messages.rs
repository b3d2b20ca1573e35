//! Every text of secret sync.

/// One of the two Secrets cannot be decoded.
pub const UNDECODABLE: &str = "the Secret cannot be decoded on one side: the copy is left as it is";
/// The managed cluster's Secret was created.
pub const CREATED: &str = "created, as the hub has it";
/// The managed cluster's Secret was updated.
pub const UPDATED: &str = "updated, as the hub has other values";
/// The managed cluster's Secret was deleted.
pub const DELETED: &str = "deleted, as the hub does not have it";
