//! What commands found out about policies and suites ([`Report`]), and every form in which they print it ([`Output`]).
//! All commands that judge share this model, so that a form looks the same whichever command made it.

mod checks;
mod count;
mod github;
mod junit;
mod messages;
mod model;
mod openreports;
mod output;
pub mod sarif;
mod style;
mod suites;
pub mod table;

#[cfg(test)]
mod tests;

pub use count::Counts;
pub use messages::{bound, made_namespaces, plural};
pub use model::{Entry, Reason, Report, Rule, Skip, Source, State, Subject};
pub use output::{FailOn, Output, print};
pub use style::{Color, Style};
