//! Between the versions of built-in kinds. Custom resources differ in nothing but the version's name.

use serde_json::{Map, Value};

use crate::kinds::Kind;

/// The fields of an event in `events.k8s.io/v1` and in `v1`.
const EVENT: [(&str, &str); 8] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("", ""),
];

/// Whether objects of this version are kept in another form.
pub fn is_needed(kind: &Kind) -> bool {
    is_event(kind) || is_autoscaler(kind) || is_other_version(kind)
}

/// Whether this is a version of a custom resource in which its objects are not stored.
pub fn is_other_version(kind: &Kind) -> bool {
    kind.custom.is_some() && !kind.is_stored_version()
}

fn is_event(kind: &Kind) -> bool {
    kind.is("events.k8s.io", "events")
}

fn is_autoscaler(kind: &Kind) -> bool {
    kind.is("autoscaling", "horizontalpodautoscalers") && kind.version == "v1"
}

/// From the form that is kept to what a reader of this version gets: of a custom resource what its schema knows.
pub fn for_reader(kind: &Kind, object: &mut Value) {
    from_storage(kind, object);
    if is_other_version(kind) {
        kind.drop_unknown(object);
    }
}

/// From the form that is kept to this version's.
pub fn from_storage(kind: &Kind, object: &mut Value) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    if is_event(kind) {
        rename(object, |(new, old)| (old, new));
        for field in ["reportingController", "reportingInstance"] {
            if object.get(field).and_then(Value::as_str) == Some("") {
                object.remove(field);
            }
        }
    } else if is_autoscaler(kind) {
        autoscaler_from_v2(object);
    }
}

/// From this version's form to the one that is kept.
pub fn to_storage(kind: &Kind, object: &mut Value) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    if is_event(kind) {
        rename(object, |(new, old)| (new, old));
    } else if is_autoscaler(kind) {
        autoscaler_to_v2(object);
    }
}

fn rename(
    object: &mut Map<String, Value>,
    way: fn((&'static str, &'static str)) -> (&'static str, &'static str),
) {
    for pair in EVENT {
        let (from, to) = way(pair);
        if let Some(value) = object.remove(from) {
            object.insert(to.to_owned(), value);
        }
    }
}

fn autoscaler_from_v2(object: &mut Map<String, Value>) {
    let Some(Value::Object(spec)) = object.get_mut("spec") else {
        return;
    };
    spec.remove("behavior");
    let metrics = spec.remove("metrics");
    let utilization = metrics
        .as_ref()
        .and_then(Value::as_array)
        .and_then(|metrics| {
            metrics.iter().find_map(|metric| {
                let is_cpu =
                    metric.pointer("/resource/name").and_then(Value::as_str) == Some("cpu");
                is_cpu.then(|| metric.pointer("/resource/target/averageUtilization"))?
            })
        });
    if let Some(utilization) = utilization {
        spec.insert(
            "targetCPUUtilizationPercentage".to_owned(),
            utilization.clone(),
        );
    }
}

fn autoscaler_to_v2(object: &mut Map<String, Value>) {
    let Some(Value::Object(spec)) = object.get_mut("spec") else {
        return;
    };
    if let Some(utilization) = spec.remove("targetCPUUtilizationPercentage") {
        let metric = serde_json::json!([{ "type": "Resource", "resource": {
            "name": "cpu", "target": { "type": "Utilization", "averageUtilization": utilization } } }]);
        spec.insert("metrics".to_owned(), metric);
    }
}
