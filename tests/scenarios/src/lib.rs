//! What scenarios are written with: a world of real control planes and processes, and policies under
//! test.

mod governed;
mod harness;

pub use governed::{Governed, history};
pub use harness::{Scenario, run_in_turns, run_on_plane, run_on_world, scenario};
