//! Every text a user can see. Scripts and tests of policies read them letter by letter.

mod objects;
pub mod operator;
mod process;
mod reasons;
mod templates;

#[cfg(test)]
mod tests;

pub use objects::*;
pub use process::*;
pub use reasons::*;
pub use templates::*;
