//! Test suites of policies: YAML that says which clusters there are, which policies they are held to, what happens
//! step by step, and what is expected. A suite runs on a fleet of its own in this process, without a port and without
//! a file; suites run at the same time.

mod duration;
mod evaluate;
mod expect;
mod generate;
mod inputs;
mod known;
mod messages;
mod read;
mod run;
mod spec;
mod step;
mod subset;
mod world;

#[cfg(test)]
mod tests;

pub use evaluate::{Evaluation, Question, evaluate, explain};
pub use inputs::{for_hub, policies_of_stdin, read_policies};
pub use known::definitions as known_definitions;
pub use messages::assumed_kinds as assumed_kinds_note;
pub use read::{
    Loaded, ReadError, Suites, clusters, find, fleet_file, fleet_of_text, suites_of_text,
};
pub use run::{Outcome, RunOptions, run_all};
pub use spec::{ClusterSpec, Clusters, FleetFile, Suite, schema};
