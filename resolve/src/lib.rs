//! `resolve`: resolves the templates of a policy, those of the hub and those of a cluster in one step, and prints the result.
//!
//! The templates are those of the engine; here is what is around them: [`args`], the input and the output (`run`), the order in
//! which parts of a policy are resolved (`document`, `operator`, `managed`, `fields`), what is read for them (`source`, `kinds`), and what was read
//! (`saved`). `lint` is upstream's linter of templates under upstream's name. `messages` has every text.
//!
//! [`run`] neither prints nor ends the process: it returns an [`Outcome`].

mod args;
mod document;
mod error;
mod fields;
mod hub;
mod kinds;
mod lint;
mod managed;
mod messages;
mod operator;
mod outcome;
mod run;
mod saved;
mod source;
mod yaml;

pub use args::Args;
pub use outcome::{Caller, Outcome};
pub use run::run;

/// The name of upstream's program.
pub const PROGRAM: &str = "template-resolver";
