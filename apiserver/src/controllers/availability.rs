//! Whether `APIServices` are available: those of this server always are, those of other servers are asked no further than
//! to their services and endpoints.

use reeve_go_compat::runes::quote;
use serde_json::Value;

use crate::aggregation::TABLE;
use crate::builtin::apiservices::{Availability, group_version, is_remote, set_condition};
use crate::queue::WorkItem;
use crate::state::State;
use crate::store::{Key, Write, WriteError};

/// Sets the conditions of all `APIServices`: each may depend on any service.
pub(super) fn update_availability(state: &State) {
    for (key, stored) in state.store.all(TABLE) {
        let old = stored.value();
        let mut new = old.clone();
        set_condition(&mut new["status"], &availability(state, &old));
        if new == old {
            continue;
        }
        match state
            .store
            .write(TABLE, &key, Write::Replace(stored.revision, new))
        {
            // Who is refused by the disk is refused again.
            Ok(_) | Err(WriteError::NotPersisted | WriteError::NotFound) => {}
            Err(WriteError::Conflict) => state.enqueue(WorkItem::Availability),
        }
    }
}

fn availability(state: &State, apiservice: &Value) -> Availability {
    if !is_remote(apiservice) {
        return Availability::local();
    }
    let text = |path: &str| apiservice.pointer(path).and_then(Value::as_str);
    let namespace = text("/spec/service/namespace").unwrap_or_default();
    let name = text("/spec/service/name").unwrap_or_default();
    let port = apiservice
        .pointer("/spec/service/port")
        .and_then(Value::as_i64)
        .unwrap_or(443);
    let described = format!("service/{name} in {}", quote(namespace));
    let Some(service) = state.store.get("/services", &Key::new(namespace, name)) else {
        let message = format!("{described} is not present");
        return Availability::unavailable("ServiceNotFound", message);
    };
    let service = service.value();
    let text = |path: &str| service.pointer(path).and_then(Value::as_str);
    if text("/spec/type") == Some("ClusterIP") {
        let ports = service.pointer("/spec/ports").and_then(Value::as_array);
        let mut ports = ports.into_iter().flatten();
        let Some(found) = ports.find(|one| one.get("port").and_then(Value::as_i64) == Some(port))
        else {
            let message = format!("{described} is not listening on port {port}");
            return Availability::unavailable("ServicePortError", message);
        };
        let port = found.get("name").and_then(Value::as_str);
        if let Some(without) = endpoints_failure(state, namespace, name, port.unwrap_or_default()) {
            return without;
        }
    }
    let host = text("/spec/externalName").or_else(|| text("/spec/clusterIP"));
    let host = host.unwrap_or_default();
    let (group, version) = group_version(apiservice);
    let url = format!("https://{host}:{port}/apis/{group}/{version}");
    let message = format!(
        "failing or missing response from {url}: this API server forwards no requests to others"
    );
    Availability::unavailable("FailedDiscoveryCheck", message)
}

/// Why a port of a service has no endpoint.
fn endpoints_failure(
    state: &State,
    namespace: &str,
    name: &str,
    port: &str,
) -> Option<Availability> {
    let all = state.store.all("discovery.k8s.io/endpointslices");
    let mut slices = all
        .into_iter()
        .filter(|(key, stored)| {
            let of = stored.labels.get("kubernetes.io/service-name");
            *key.namespace == *namespace && of.is_some_and(|of| of == name)
        })
        .map(|(_, stored)| stored.value())
        .peekable();
    let described = format!("service/{name} in {}", quote(namespace));
    if slices.peek().is_none() {
        let message = format!("cannot find endpointslices for {described}");
        return Some(Availability::unavailable("EndpointsNotFound", message));
    }
    if slices.any(|slice| serves(&slice, port)) {
        return None;
    }
    let message = format!(
        "endpointslices for {described} have no addresses with port name {}",
        quote(port)
    );
    Some(Availability::unavailable("MissingEndpoints", message))
}

/// Whether a slice has a ready endpoint, and the port.
fn serves(slice: &Value, port: &str) -> bool {
    let list = |field: &str| slice.get(field).and_then(Value::as_array);
    let is_ready = list("endpoints")
        .into_iter()
        .flatten()
        .any(|endpoint| endpoint.pointer("/conditions/ready") != Some(&Value::Bool(false)));
    let has_port = list("ports").into_iter().flatten().any(|one| {
        let name = one.get("name").and_then(Value::as_str);
        name == Some(port) && one.get("port").is_some_and(Value::is_number)
    });
    is_ready && has_port
}
