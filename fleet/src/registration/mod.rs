//! Registration on the hub: counts the members of sets, sets the condition of bindings, creates the sets `default`
//! and `global`, taints clusters that are not available, and admits clusters and bindings.
//!
//! Admission is functions only: an in-memory API server calls them. On a real one the hub's own webhooks run.

pub mod admission;
pub mod bindings;
pub mod clusters;
pub mod controller;
pub mod messages;
pub mod sets;

#[cfg(test)]
mod tests;
