//! Authentication and authorization.

mod authenticate;
mod escalation;
mod rbac;
mod signers;
mod tokens;

pub(crate) use authenticate::authenticate;
pub(crate) use rbac::{AccessRequest, Authorizer};
pub(crate) use tokens::{AUDIENCE, TOKEN_SECRET, Tokens, secret_account};
