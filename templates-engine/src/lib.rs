//! Go templates with Kubernetes lookups and encryption, for policies.
//!
//! Pure: nothing here reads a cluster, a clock or a file except through the traits that the caller
//! gives.

pub mod ambient;
mod base64;
pub mod budget;
pub mod dates;
pub mod detect;
pub mod encryption;
pub mod function;
pub mod functions;
pub mod json;
pub mod language;
pub mod lint;
pub mod lookup;
pub mod messages;
pub mod printing;
pub mod reference;
pub mod regexp;
pub mod resolver;
pub mod rewrite;
pub mod runes;
pub mod semver;
pub mod value;
pub mod yaml;
