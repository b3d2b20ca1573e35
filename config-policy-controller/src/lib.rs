//! Evaluates `ConfigurationPolicy` objects on the managed cluster.

pub mod compare;
pub mod decide;
pub mod diff;
pub mod messages;
pub mod report;
pub mod schedule;
pub mod spec;
pub mod status;
pub mod status_text;
