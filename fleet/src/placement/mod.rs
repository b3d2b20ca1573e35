//! The placement controller: reads `Placement`s, sets and clusters, and writes `PlacementDecision`s.
//!
//! Watches fill the [`index`], which maps changes to placements; [`decide`] purely computes a placement's decisions
//! and status with [`schedule`] and [`groups`], and [`plan`] computes the writes.

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
pub mod why;

#[cfg(test)]
mod tests;
