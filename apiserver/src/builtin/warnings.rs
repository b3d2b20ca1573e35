//! Warnings about valid objects that are probably a mistake.

use base64::Engine as _;
use reeve_go_compat::quantity::Quantity;
use reeve_go_compat::runes::quote;
use serde_json::Value;

use super::lifecycle::CRD_CLEANUP;
use crate::kinds::Kind;
use crate::meta;

/// The warnings for an object.
pub(crate) fn warnings(kind: &Kind, object: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    for finalizer in meta::finalizers(object) {
        if !finalizer.contains('/')
            && !meta::STANDARD_FINALIZERS.contains(&finalizer)
            && finalizer != CRD_CLEANUP
        {
            warnings.push(format!(
                "metadata.finalizers: {}: prefer a domain-qualified finalizer name including a path (/) to avoid \
                 accidental conflicts with other finalizer writers",
                quote(finalizer)
            ));
        }
    }
    if kind.custom.is_some() {
        return warnings;
    }
    match (kind.group.as_str(), kind.resource.as_str()) {
        ("", "pods") => pod(&object["spec"], "spec", &mut warnings),
        ("apps", _) | ("batch", "jobs") => {
            let spec = &object["spec"]["template"]["spec"];
            pod(spec, "spec.template.spec", &mut warnings);
        }
        ("batch", "cronjobs") => {
            let spec = &object["spec"]["jobTemplate"]["spec"]["template"]["spec"];
            let path = "spec.jobTemplate.spec.template.spec";
            pod(spec, path, &mut warnings);
        }
        ("", "secrets") if object["type"] == "kubernetes.io/tls" && !has_certificate(object) => {
            warnings.push("tls: failed to find any PEM data in certificate input".to_owned());
        }
        _ => {}
    }
    warnings
}

/// The warning for requests of a deprecated kind.
pub(crate) fn deprecation(kind: &Kind) -> Option<&'static str> {
    kind.is("", "endpoints")
        .then_some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
}

fn has_certificate(secret: &Value) -> bool {
    let text = secret["data"]["tls.crt"].as_str().unwrap_or_default();
    let bytes = base64::engine::general_purpose::STANDARD.decode(text);
    bytes.is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("-----BEGIN "))
}

fn items<'v>(object: &'v Value, list: &str) -> impl Iterator<Item = (usize, &'v Value)> {
    let items = object.get(list).and_then(Value::as_array);
    items.into_iter().flatten().enumerate()
}

/// Of the spec of a Pod at `path`.
fn pod(spec: &Value, path: &str, warnings: &mut Vec<String>) {
    for (place, secret) in items(spec, "imagePullSecrets") {
        if secret["name"].as_str().unwrap_or_default().is_empty() {
            warnings.push(format!(
                "{path}.imagePullSecrets[{place}].name: invalid empty name \"\""
            ));
        }
    }
    for (place, volume) in items(spec, "volumes") {
        if volume.get("rbd").is_some() {
            warnings.push(format!(
                "{path}.volumes[{place}].rbd: deprecated in v1.28, non-functional in v1.31+"
            ));
        }
    }
    for list in ["initContainers", "containers"] {
        for (place, one) in items(spec, list) {
            container(one, &format!("{path}.{list}[{place}]"), warnings);
        }
    }
}

fn container(container: &Value, path: &str, warnings: &mut Vec<String>) {
    for which in ["requests", "limits"] {
        let amounts = container["resources"].get(which).and_then(Value::as_object);
        for (name, amount) in amounts.into_iter().flatten() {
            let text = amount.as_str().unwrap_or_default();
            let fraction = Quantity::parse(text)
                .ok()
                .and_then(Quantity::nanos)
                .is_some_and(|amount| amount % 1_000_000_000 != 0);
            if ["memory", "ephemeral-storage"].contains(&name.as_str()) && fraction {
                warnings.push(format!(
                    "{path}.resources.{which}[{name}]: fractional byte value {} is invalid, must be an integer",
                    quote(text)
                ));
            }
        }
    }
    let mut known: Vec<&str> = Vec::new();
    for (place, variable) in items(container, "env") {
        let name = variable["name"].as_str().unwrap_or_default();
        if known.contains(&name) {
            warnings.push(format!(
                "{path}.env[{place}]: hides previous definition of {}, which may be dropped when using apply",
                quote(name)
            ));
        }
        known.push(name);
    }
}

/// Removes duplicate owner references. Returns the warning about them.
pub(crate) fn name_owners_once(object: &mut Value) -> Option<String> {
    let owners = object
        .pointer_mut("/metadata/ownerReferences")
        .and_then(Value::as_array_mut)?;
    let mut once: Vec<Value> = Vec::new();
    let mut twice: Vec<String> = Vec::new();
    for owner in std::mem::take(owners) {
        let uid = owner["uid"].as_str().unwrap_or_default().to_owned();
        if once.iter().any(|one| one["uid"] == owner["uid"]) && !twice.contains(&uid) {
            twice.push(uid);
        }
        if !once.contains(&owner) {
            once.push(owner);
        }
    }
    *owners = once;
    (!twice.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and \
             may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            twice.join(", ")
        )
    })
}
