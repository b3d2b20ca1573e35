//! CEL expressions with a cost budget, for CRD validation rules, admission policies and placements.

mod budget;
mod functions;
mod instrument;
mod optionals;
mod parse;

pub use budget::{Limits, evaluate, instrument, is_exceeded, register, reset_budget};
pub(crate) use budget::{compile, with_budget};
pub(crate) use functions::FUNCTIONS;
pub use parse::{on_large_stack, parse};
