//! Tables: what `kubectl get` shows.

mod cells;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

pub use cells::selector_text;

use crate::kinds::Kind;
use crate::request::accept::RowObject;

/// The columns of the built-in kinds, as a kube-apiserver publishes them.
static COLUMNS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/columns.json")).unwrap_or_default()
});

/// A table of a kind without rows.
pub fn empty(kind: &Kind, with_columns: bool) -> Value {
    let columns = if with_columns {
        columns(kind)
    } else {
        Value::Null
    };
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "columnDefinitions": columns, "rows": [],
    })
}

fn columns(kind: &Kind) -> Value {
    let Some(custom) = &kind.custom else {
        let key = format!("{}/{}/{}", kind.group, kind.version, kind.resource);
        return COLUMNS.get(&key).cloned().unwrap_or_else(|| json!([]));
    };
    let mut columns = vec![name_column()];
    if custom.columns.is_empty() {
        columns.push(age_column());
    }
    for column in &custom.columns {
        let text = |key: &str| column.get(key).and_then(Value::as_str).unwrap_or_default();
        let description = match text("description") {
            "" => format!(
                "Custom resource definition column (in JSONPath format): {}",
                text("jsonPath")
            ),
            given => given.to_owned(),
        };
        columns.push(json!({
            "name": text("name"), "type": text("type"), "format": text("format"), "description": description,
            "priority": column.get("priority").cloned().unwrap_or_else(|| 0.into()),
        }));
    }
    columns.into()
}

fn name_column() -> Value {
    describe("Name", "string", "name", "name")
}

fn age_column() -> Value {
    describe("Age", "date", "", "creationTimestamp")
}

fn describe(name: &str, of_type: &str, format: &str, field: &str) -> Value {
    let metadata = crate::kinds::described_metadata(field);
    json!({ "name": name, "type": of_type, "format": format, "description": metadata, "priority": 0 })
}

/// The row of an object, which is given as it is kept.
pub fn row(kind: &Kind, object: &Value, row_object: RowObject) -> Value {
    let cells = match &kind.custom {
        Some(custom) => cells::of_custom(&custom.columns, object),
        None => cells::of_builtin(kind, object),
    };
    let shown = match row_object {
        RowObject::None => Value::Null,
        RowObject::Metadata => crate::meta::partial_object(object),
        RowObject::Whole => {
            let mut whole = object.clone();
            crate::conversion::for_reader(kind, &mut whole);
            crate::meta::put_type(&mut whole, &kind.api_version(), &kind.kind);
            whole
        }
    };
    json!({ "cells": cells, "object": shown })
}
