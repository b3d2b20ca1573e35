//! Policies over objects in memory, through the library call: what the dry run shows, without a cluster.

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
