//! A hub and managed clusters in one process.

pub mod placement;
pub mod registration;
