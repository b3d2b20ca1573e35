//! Pods: they are kept, and never run.

use serde_json::{Value, json};

/// What a new Pod is.
pub(super) fn begin(object: &mut Value) {
    object["status"] = json!({ "phase": "Pending", "qosClass": quality(object) });
}

/// How a Pod's containers ask for resources.
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
