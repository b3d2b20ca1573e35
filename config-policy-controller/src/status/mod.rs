//! From findings to what users see: the status of a policy, its compliance message and events.

pub mod custom_message;
pub mod finding;
pub mod interval;
pub mod publish;
pub mod publisher;
pub mod reports;
pub mod summary;
pub mod update;
pub mod write;
pub mod written;
