//! Texts about `OperatorPolicy` objects: conditions, related objects, and why a spec is invalid.

mod conditions;
mod errors;
mod related;
mod spec;

pub use conditions::*;
pub use errors::*;
pub use related::*;
pub use spec::*;
