//! The placement controller: from `Placement`s, sets and clusters to `PlacementDecision`s.
//!
//! Watches fill the [`index`], which says whom a change concerns; [`decide`] says, purely, what a placement's decisions
//! and status should be, by the [`schedule`] and the [`groups`], and which writes that takes, by the [`plan`].

pub mod controller;
pub mod crds;
pub mod debug;
pub mod decide;
pub mod events;
pub mod groups;
pub mod index;
pub mod membership;
pub mod messages;
pub mod metrics;
pub mod plan;
pub mod schedule;
pub mod status;
pub mod types;

#[cfg(test)]
mod tests;
