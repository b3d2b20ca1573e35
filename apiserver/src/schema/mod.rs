//! Schemas of objects: one model for the built-in kinds, read from the published schemas of
//! a kube-apiserver, and for custom resources, read from their definitions.

mod decode;
mod defaults;
mod definition;
mod go;
mod model;
mod program;
mod prune;
mod read;
mod resources;
mod rules;
mod scalars;
pub(crate) mod scope;
mod structural;
mod validate;

pub use decode::decode;
pub use defaults::default;
pub use definition::check_crd;
pub use model::{
    Additional, Checks, Edge, ListType, Node, Rule, Special, TypeId, Types, ValueType,
};
pub use prune::prune;
pub use read::{SchemaError, root_metadata};
pub use validate::{validate, validate_after};

pub(crate) use reeve_go_compat::json::kind as json_kind;

/// The maximum depth of objects. Decoding refuses deeper ones; other functions leave deeper values as they are.
pub(crate) const MAX_DEPTH: usize = crate::json::MOST_DEPTH;

#[cfg(test)]
mod tests;
