//! CEL expressions with a cost budget, for CRD validation rules and admission policies.

mod budget;
mod functions;
mod instrument;
mod optionals;
mod parse;

pub(crate) use budget::{compile, evaluate, is_exceeded, with_budget};
pub(crate) use functions::FUNCTIONS;
pub use instrument::{MAX_VALUE_SIZE, instrument, value_size};
pub(crate) use parse::parse;
