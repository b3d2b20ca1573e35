//! The selectors of policies: which namespaces and which objects they choose. Pure.

pub mod labels;
pub mod namespaces;
