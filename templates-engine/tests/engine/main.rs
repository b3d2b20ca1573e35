//! The engine as its callers use it: documents, limits, rounds of reads, secrets, the linter.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a helper that fails is a test that fails
#![allow(clippy::too_many_lines)] // tables of cases

mod budgets;
mod differences;
mod documents;
mod limits;
mod lint;
mod rounds;
mod sensitive;
mod world;
