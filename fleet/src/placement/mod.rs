//! The placement controller: from `Placement`s, sets and clusters to `PlacementDecision`s.

pub mod crds;
pub mod types;
