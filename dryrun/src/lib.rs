//! `dryrun`: evaluates configuration policies and constraints once and changes nothing.
//!
//! The evaluation is that of the controller (`reeve_config_policy_controller::dryrun`), and that of the audit of constraints
//! (`reeve_constraint_audit`); here is what is around it: [`args`], reading policies (`policies`, `strict`), resources and the mappings
//! of their kinds (`resources`, `mappings`), the world that is evaluated (`world`, `evaluate`, `constraints`), and the output
//! (`results`, `compare`, `print`, `paint`). `messages` has every text.
//!
//! [`run`] neither prints nor ends the process: it returns an [`Outcome`].

mod args;
mod compare;
mod constraints;
mod error;
mod evaluate;
mod evaluation;
mod generate;
mod json;
mod logs;
mod mappings;
mod messages;
mod outcome;
mod paint;
mod policies;
mod print;
mod resources;
mod results;
mod run;
mod strict;
mod world;

pub use args::{Args, Caller};
pub use outcome::Outcome;
pub use run::{dry_run, run};

/// The name of upstream's program.
pub const PROGRAM: &str = "dryrun";
