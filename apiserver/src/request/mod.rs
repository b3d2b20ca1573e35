//! What a request asks for: its path, its query, and the form of answer that it accepts.

pub mod accept;
pub mod path;
pub mod query;
pub mod selectors;
