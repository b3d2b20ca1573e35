//! The rules of the behaviour reference that need no API server.

// Values of `json!` are passed by value, and the state of an object is `Some` unless it is deleted.
#![allow(clippy::needless_pass_by_value, clippy::unnecessary_wraps)]

mod cel;
mod desired;
mod fixture;
mod scores;
mod statuses;
mod tolerations;
mod triggers;
mod whole;
