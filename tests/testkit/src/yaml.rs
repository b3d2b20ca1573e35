//! YAML in and out of dynamic objects.

use anyhow::{Context, Result};
use kube::api::DynamicObject;
use serde_json::Value;

/// Every object of a text of one or more YAML documents; empty documents are skipped.
pub fn parse(text: &str) -> Result<Vec<DynamicObject>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).context("reading YAML")?;
    let objects = documents
        .into_iter()
        .filter(|document| !document.is_null())
        .map(|document| {
            let object: DynamicObject = serde_json::from_value(document)
                .context("reading a Kubernetes object from YAML")?;
            object
                .types
                .as_ref()
                .context("an object needs apiVersion and kind")?;
            object
                .metadata
                .name
                .as_ref()
                .context("an object needs metadata.name")?;
            Ok(object)
        });
    objects.collect()
}

/// An object as YAML, without `managedFields`.
pub fn render(object: &DynamicObject) -> Result<String> {
    let mut object = object.clone();
    object.metadata.managed_fields = None;
    let value = serde_json::to_value(&object).context("rendering an object")?;
    serde_saphyr::to_string(&value).context("rendering an object as YAML")
}
