//! Tests of placement that need no API server.

// What `json!` makes is handed over, and what is known of an object is always `Some` where it is not gone.
#![allow(clippy::needless_pass_by_value, clippy::unnecessary_wraps)]

mod cel;
mod desired;
mod fixture;
mod scores;
mod statuses;
mod tolerations;
mod triggers;
mod whole;
