//! Policies over objects in memory, through the library call: what the dry run shows, without a cluster.

#![allow(clippy::unwrap_used)] // a helper that fails is a test that fails

mod basics;
mod contents;
mod diffs;
mod encryption;
mod names;
mod namespaces;
mod raw;
mod redaction;
mod variables;
mod world;
