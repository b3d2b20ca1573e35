//! The subresource `binding` of Pods, by which a scheduler assigns a node.

use serde_json::{Value, json};

use super::{ATTEMPTS, ObjectRequest, Reply};
use crate::meta;
use crate::request::query::WriteOptions;
use crate::status_error::{Cause, FieldError, GroupResource, StatusError};

impl ObjectRequest {
    pub(crate) async fn bind(mut self, body: &[u8]) -> Result<(Self, Reply), StatusError> {
        let options = WriteOptions::of(&self.query, "CreateOptions")?;
        let mut binding = crate::decode::parse(&self.content_type, body, "Binding")?;
        if !binding.is_object() {
            return Err(StatusError::bad_request(
                "Binding in version \"v1\" cannot be handled as a Binding: it is no object",
            ));
        }
        meta::put_type(&mut binding, "v1", "Binding");
        let name = self.name.clone().unwrap_or_default();
        let given = meta::text(&binding, "name");
        if !given.is_empty() && given != name {
            return Err(StatusError::bad_request(
                "name in URL does not match name in Binding object",
            ));
        }
        refuse_wrong(&binding)?;
        let binding = self.admit_review(binding).await?;
        let node = text(&binding, "/target/name").to_owned();
        for _ in 0..ATTEMPTS {
            let current = self.current()?;
            let old = current.value();
            let mut pod = old.clone();
            if let Some(why) = held_up(&pod, &name) {
                let about = GroupResource::new("", "pods/binding");
                return Err(StatusError::conflict(&about, &name, &why));
            }
            bound(&mut pod, &node, &binding);
            let kept = self.storage_kind();
            if self
                .put(&kept, pod, &old, &current, &options, false)?
                .is_some()
            {
                let success = json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
                });
                return Ok((self, Reply::Object(201, success)));
            }
        }
        let about = GroupResource::new("", "pods/binding");
        Err(StatusError::conflict(
            &about,
            &name,
            super::update::MODIFIED,
        ))
    }
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    let text = value.pointer(path).and_then(Value::as_str);
    text.unwrap_or_default()
}

/// A kube-apiserver answers 500, too.
fn refuse_wrong(binding: &Value) -> Result<(), StatusError> {
    let kind = text(binding, "/target/kind");
    let error = if !matches!(kind, "" | "Node") {
        let why = "supported values: \"Node\", \"<empty>\"";
        FieldError::of_value(Cause::NotSupported, "target.kind", &kind.into(), why)
    } else if text(binding, "/target/name").is_empty() {
        FieldError::new(Cause::Required, "target.name", "")
    } else {
        return Ok(());
    };
    Err(StatusError::internal_text(&format!(
        "{}: {}",
        error.field, error.message
    )))
}

/// Why a Pod cannot be bound.
fn held_up(pod: &Value, name: &str) -> Option<String> {
    if meta::is_deleted(pod) {
        return Some(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        ));
    }
    let node = text(pod, "/spec/nodeName");
    if !node.is_empty() {
        return Some(format!("pod {name} is already assigned to node \"{node}\""));
    }
    let gates = pod
        .pointer("/spec/schedulingGates")
        .and_then(Value::as_array);
    let waits = gates.is_some_and(|gates| !gates.is_empty());
    waits.then(|| format!("pod {name} has non-empty .spec.schedulingGates"))
}

/// Assigns the Pod to the node, in its spec and its conditions.
fn bound(pod: &mut Value, node: &str, binding: &Value) {
    pod["spec"]["nodeName"] = node.into();
    let notes = binding.pointer("/metadata/annotations");
    if let (Some(notes), Some(metadata)) = (notes.and_then(Value::as_object), meta::metadata(pod)) {
        let all = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(all) = all.as_object_mut() {
            all.extend(notes.clone());
        }
    }
    let scheduled = json!({
        "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": meta::now(),
    });
    let status = &mut pod["status"];
    match status.get_mut("conditions").and_then(Value::as_array_mut) {
        Some(conditions) => {
            conditions.retain(|one| one["type"] != "PodScheduled");
            conditions.push(scheduled);
        }
        None => status["conditions"] = json!([scheduled]),
    }
}
