//! The engine against recorded results of Go and its libraries, case by case. The fixtures and the
//! programs that recorded them are in `tests/oracle`; `cargo xtask record` writes them anew.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a helper that fails is a test that fails
#![allow(clippy::too_many_lines)] // tables of cases

mod cases;
mod contexts;
mod documents;
mod json;
mod json_functions;
mod language;
mod selector;
mod sprig;
mod tagged;
mod tally;
#[path = "../engine/world.rs"]
#[allow(dead_code)] // the objects are what these tests need
mod world;
mod yaml;
