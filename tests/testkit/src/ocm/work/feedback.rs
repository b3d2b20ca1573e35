//! The values that a work wants to know of its objects.

use kube::api::DynamicObject;
use serde_json::{Value, json};

/// The values of these rules, as far as the object has them.
pub(super) fn values(live: &DynamicObject, rules: &[Value]) -> Vec<Value> {
    rules
        .iter()
        .flat_map(|rule| match rule["type"].as_str() {
            Some("WellKnownStatus") => well_known(live),
            Some("JSONPaths") => by_path(live, rule),
            _ => Vec::new(),
        })
        .collect()
}

fn well_known(live: &DynamicObject) -> Vec<Value> {
    let status = &live.data["status"];
    let kind = live.types.as_ref().map_or("", |types| types.kind.as_str());
    let values: Vec<(&str, Value)> = match kind {
        "Pod" => vec![
            ("PodReady", condition(status, "Ready")),
            ("PodPhase", status["phase"].clone()),
        ],
        "Job" => vec![
            ("JobComplete", condition(status, "Complete")),
            ("JobSucceeded", status["succeeded"].clone()),
        ],
        "Deployment" => vec![
            ("ReadyReplicas", status["readyReplicas"].clone()),
            ("Replicas", status["replicas"].clone()),
            ("AvailableReplicas", status["availableReplicas"].clone()),
        ],
        "DaemonSet" => vec![
            ("NumberReady", status["numberReady"].clone()),
            (
                "DesiredNumberScheduled",
                status["desiredNumberScheduled"].clone(),
            ),
            ("NumberAvailable", status["numberAvailable"].clone()),
        ],
        _ => Vec::new(),
    };
    values
        .into_iter()
        .filter_map(|(name, value)| entry(name, &value))
        .collect()
}

fn condition(status: &Value, kind: &str) -> Value {
    super::super::condition::find(&status["conditions"], kind)
        .map(|condition| condition["status"].clone())
        .unwrap_or_default()
}

/// Paths of plain field names, such as `.status.phase`.
fn by_path(live: &DynamicObject, rule: &Value) -> Vec<Value> {
    let paths = rule["jsonPaths"].as_array().into_iter().flatten();
    let values = paths.filter_map(|path| {
        let fields = path["path"]
            .as_str()?
            .split('.')
            .filter(|it| !it.is_empty());
        let value = fields.fold(&live.data, |value, field| &value[field]);
        entry(path["name"].as_str()?, value)
    });
    values.collect()
}

fn entry(name: &str, value: &Value) -> Option<Value> {
    let value = match value {
        Value::String(text) => json!({ "type": "String", "string": text }),
        Value::Number(number) => json!({ "type": "Integer", "integer": number }),
        Value::Bool(truth) => json!({ "type": "Boolean", "boolean": truth }),
        _ => return None,
    };
    Some(json!({ "name": name, "fieldValue": value }))
}
