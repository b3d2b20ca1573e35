//! Pods. They are stored, and never run.

use serde_json::{Value, json};

use super::edit::set_default;
use crate::meta;

/// Prepares a new Pod.
pub(super) fn begin(object: &mut Value) {
    for list in ["initContainers", "containers"] {
        let all = object
            .pointer_mut(&format!("/spec/{list}"))
            .and_then(Value::as_array_mut);
        all.into_iter().flatten().for_each(requests_from_limits);
    }
    object["status"] = json!({ "phase": "Pending", "qosClass": quality(object) });
    let gates = object
        .pointer("/spec/schedulingGates")
        .and_then(Value::as_array);
    if gates.is_some_and(|gates| !gates.is_empty()) {
        object["status"]["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null, "lastTransitionTime": meta::now(),
        }]);
    }
}

/// The `QoS` class of a Pod.
fn quality(pod: &Value) -> &'static str {
    let mut any = false;
    let mut guaranteed = true;
    let lists = ["/spec/containers", "/spec/initContainers"];
    for container in lists
        .iter()
        .filter_map(|list| pod.pointer(list)?.as_array())
        .flatten()
    {
        let of = |which: &str, what: &str| container.pointer(&format!("/resources/{which}/{what}"));
        for what in ["cpu", "memory"] {
            let (request, limit) = (of("requests", what), of("limits", what));
            any |= request.is_some() || limit.is_some();
            guaranteed &= limit.is_some() && request.is_none_or(|request| Some(request) == limit);
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// Sets missing resource requests to the limits.
fn requests_from_limits(container: &mut Value) {
    let limits = container
        .pointer("/resources/limits")
        .and_then(Value::as_object)
        .cloned();
    for (resource, limit) in limits.into_iter().flatten() {
        let resources = &mut container["resources"];
        set_default(resources, "requests", json!({}));
        set_default(&mut resources["requests"], &resource, limit);
    }
}
