//! What an agent needs on the hub: an identity, and the rights of that.

pub mod decide;
mod grant;
mod rights;

pub use grant::{GrantError, Grants, Owners};
