//! What a hub does about clusters and sets besides placing: it counts the members of sets, says which bindings bind,
//! keeps the sets `default` and `global`, taints clusters that do not answer, and admits what is written.
//!
//! Admission is functions only: whoever stores the objects calls them. On a real API server the hub's own webhooks do.

pub mod admission;
pub mod bindings;
pub mod clusters;
pub mod controller;
pub mod messages;
pub mod sets;

#[cfg(test)]
mod tests;
