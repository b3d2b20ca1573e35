//! Schema fragments that the derive cannot express.

use schemars::{Schema, SchemaGenerator, json_schema};

/// An object with any content: a Kubernetes manifest, free variables.
pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}
