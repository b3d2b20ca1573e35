//! Certificates: the authority of a server, client certificates, and certificate signing requests.

mod authority;
mod client;
pub(crate) mod csr;

pub use authority::{Authority, AuthorityError, Certificate};
pub(crate) use client::identity;
