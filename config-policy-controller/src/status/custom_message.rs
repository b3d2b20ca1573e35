//! `spec.customMessage`: Go templates over the policy and its related objects.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use reeve_api::configuration_policy::{ConfigurationPolicy, ConfigurationPolicyStatus};
use reeve_go_compat::value;
use reeve_templates_engine::ambient::System;
use reeve_templates_engine::budget::{Budget, Meter};
use reeve_templates_engine::encryption::DecryptedTokens;
use reeve_templates_engine::function::Env;
use reeve_templates_engine::language::{Delimiters, FunctionTable, execute, parse};
use reeve_templates_engine::lookup::{Cluster, Snapshot};
use serde_json::{Value, json};

use crate::status::finding::Location;

/// Objects as an evaluation left them, by kind (`apiVersion kind`) and location.
pub type LiveObjects = HashMap<(String, Location), Arc<Value>>;

/// What a custom message may use up: it is computed between two writes.
const STEPS: u64 = 1_000_000;
const BYTES: u64 = 4 * 1024 * 1024;

/// A custom message, or why there is none.
pub fn render(text: &str, default_message: &str, policy: &Value) -> Result<String, String> {
    let functions = FunctionTable::sprig();
    let template = parse("custom-msg", text, Delimiters::default(), &functions)
        .map_err(|error| format!("failed to parse custom template: {error}"))?;
    let data = value::Value::dict([
        ("DefaultMessage", value::Value::str(default_message)),
        ("Policy", value::Value::from(policy)),
    ]);
    let budget = Budget {
        steps: STEPS,
        bytes: BYTES,
        ..Budget::default()
    };
    let mut meter = Meter::new(budget);
    // No function that reads a cluster is offered.
    let mut cluster = Cluster::new(Rc::new(Snapshot::new().complete()));
    let env = Env {
        meter: &mut meter,
        ambient: &mut System,
        cluster: &mut cluster,
    };
    let rendered = execute(
        &template,
        &functions,
        data,
        &DecryptedTokens::default(),
        env,
    )
    .map_err(|error| format!("failed to execute: {error}"))?;
    Ok(String::from_utf8_lossy(&rendered.bytes).into_owned())
}

/// The data of a custom message: the policy with its new status, and related objects in full where
/// they are known.
pub fn data(
    policy: &ConfigurationPolicy,
    status: &ConfigurationPolicyStatus,
    objects: &LiveObjects,
) -> Value {
    let mut data = json!(policy);
    let mut status = json!(status);
    let related = status
        .pointer_mut("/relatedObjects")
        .and_then(Value::as_array_mut);
    for entry in related.into_iter().flatten() {
        let text = |pointer: &str| {
            let found = entry.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        let kind = format!("{} {}", text("/object/apiVersion"), text("/object/kind"));
        let location = Location {
            namespace: text("/object/metadata/namespace"),
            name: text("/object/metadata/name"),
        };
        let object = objects.get(&(kind, location));
        if let (Some(object), Some(shown)) = (object, entry.get_mut("object")) {
            *shown = Value::clone(object);
        }
    }
    if let Some(fields) = data.as_object_mut() {
        fields.insert("status".to_owned(), status);
    }
    data
}
