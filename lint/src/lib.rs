//! `lint`: finds mistakes in policies, and in what belongs to them, before anything evaluates them.
//!
//! [`args`] are the flags. `file` reads files into documents that know the place of each of their values, `items` finds the
//! objects in them, also those inside of policies. Each module of `checks` finds what violates some of the `rules`; `fix` mends
//! what can be mended safely; `output` prints. `messages` has every text.
//!
//! [`run`] neither prints nor ends the process: it returns an [`Outcome`].

mod args;
mod checks;
mod file;
mod finding;
mod fix;
mod items;
mod kinds;
mod messages;
mod output;
mod rules;
mod run;
mod sarif;

pub use args::{Args, FailOn};
pub use rules::{Level, RULES, Rule};
pub use run::{Outcome, lint_named, lint_text, run};
