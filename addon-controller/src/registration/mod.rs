//! An agent's registration on the hub: its identity, and its access.

pub mod decide;
mod grant;
mod rights;

pub use grant::{GrantError, Grants};
