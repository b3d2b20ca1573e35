//! Preparation of creates, updates and deletions of the built-in kinds.

use reeve_go_compat::runes::quote;
use serde_json::{Value, json};

use crate::identity::Identity;
use crate::kinds::Kind;
use crate::meta;

/// Holds a definition that is going until the objects of its kind are gone.
pub(crate) const CRD_CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Holds a claim as long as Pods use it: here none does.
pub(crate) const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";

/// Holds a volume as long as a claim has it: here none does.
pub(crate) const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";

fn add_finalizer(object: &mut Value, finalizer: &str) {
    let finalizers = meta::finalizers(object).into_iter().map(str::to_owned);
    let mut finalizers: Vec<String> = finalizers.collect();
    if !finalizers.iter().any(|one| one == finalizer) {
        finalizers.push(finalizer.to_owned());
        meta::set_finalizers(object, &finalizers);
    }
}

fn is_crd(kind: &Kind) -> bool {
    kind.is("apiextensions.k8s.io", "customresourcedefinitions")
}

fn is_request(kind: &Kind) -> bool {
    kind.is("certificates.k8s.io", "certificatesigningrequests")
}

/// Whether a write of the whole object leaves its status as it is.
pub(crate) fn drops_status(kind: &Kind) -> bool {
    !kind.is("apiregistration.k8s.io", "apiservices") || kind.custom.is_some()
}

/// Whether a create request may set the status: a kubelet sets that of its node.
pub(crate) fn begins_with_status(kind: &Kind) -> bool {
    !drops_status(kind) || kind.is("", "nodes")
}

/// Whether a write of the status leaves the labels as they are.
pub(crate) fn status_keeps_labels(kind: &Kind) -> bool {
    kind.is("apps", "deployments")
}

/// Prepares a new object of a kind.
pub(crate) fn prepare_create(kind: &Kind, object: &mut Value, user: &Identity) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    match (kind.group.as_str(), kind.resource.as_str()) {
        ("", "namespaces") => {
            fields.insert("status".to_owned(), json!({ "phase": "Active" }));
            let spec = fields.entry("spec").or_insert_with(|| json!({}));
            let finalizers = spec.get("finalizers").and_then(Value::as_array);
            let mut finalizers = finalizers.cloned().unwrap_or_default();
            if !finalizers.contains(&"kubernetes".into()) {
                finalizers.push("kubernetes".into());
            }
            spec["finalizers"] = finalizers.into();
        }
        ("", "persistentvolumeclaims") => {
            fields.insert("status".to_owned(), json!({ "phase": "Pending" }));
            add_finalizer(object, CLAIM_PROTECTION);
            super::defaults::sources(&mut object["spec"]);
        }
        ("batch", "cronjobs")
        | ("", "resourcequotas")
        | ("admissionregistration.k8s.io", "validatingadmissionpolicies") => {
            fields.insert("status".to_owned(), json!({}));
        }
        ("networking.k8s.io", "ingresses") => {
            fields.insert("status".to_owned(), json!({ "loadBalancer": {} }));
        }
        ("policy", "poddisruptionbudgets") => {
            fields.insert(
                "status".to_owned(),
                json!({ "currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0 }),
            );
        }
        ("autoscaling", "horizontalpodautoscalers") => {
            fields.insert(
                "status".to_owned(),
                json!({ "currentMetrics": null, "desiredReplicas": 0 }),
            );
        }
        ("", "services") => super::services::begin(&mut object["spec"]),
        ("coordination.k8s.io", "leases") => without_candidates(object),
        ("batch", "jobs") => {
            fields.insert("status".to_owned(), json!({}));
            super::jobs::begin(object);
        }
        ("", "persistentvolumes") => {
            fields.insert("status".to_owned(), json!({ "phase": "Pending" }));
            add_finalizer(object, VOLUME_PROTECTION);
        }
        ("", "pods") => super::pods::begin(object),
        ("apiregistration.k8s.io", "apiservices") => {
            object["status"] = super::apiservices::new_status(object);
        }
        ("certificates.k8s.io", "certificatesigningrequests") => {
            super::certificates::begin(fields, user);
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            fields.insert("status".to_owned(), json!({ "conditions": null, "acceptedNames": { "plural": "", "kind": "" }, "storedVersions": null }));
            let versions = fields
                .get("spec")
                .and_then(|spec| spec.get("versions"))
                .and_then(Value::as_array);
            let stored = versions
                .into_iter()
                .flatten()
                .find(|version| version.get("storage") == Some(&Value::Bool(true)))
                .and_then(|version| version.get("name"))
                .cloned();
            if let Some(stored) = stored {
                fields.insert(
                    "status".to_owned(),
                    json!({ "conditions": null, "acceptedNames": { "plural": "", "kind": "" }, "storedVersions": [stored] }),
                );
            }
        }
        ("apps", "deployments" | "replicasets" | "statefulsets" | "daemonsets") => {
            let status = match kind.resource.as_str() {
                "replicasets" => json!({ "replicas": 0 }),
                "statefulsets" => json!({ "replicas": 0, "availableReplicas": 0 }),
                "daemonsets" => json!({
                    "currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0,
                }),
                _ => json!({}),
            };
            fields.insert("status".to_owned(), status);
            if kind.resource == "daemonsets" {
                count_template(object, None);
            }
        }
        _ => {}
    }
}

/// Prepares an update: restores the fields that a change of the whole object must not change.
pub(crate) fn prepare_update(kind: &Kind, new: &mut Value, old: &Value) {
    match (kind.group.as_str(), kind.resource.as_str()) {
        ("", "namespaces") => {
            new["spec"]["finalizers"] =
                old.pointer("/spec/finalizers").cloned().unwrap_or_default();
        }
        ("", "services") => super::services::change(new, old),
        ("apiregistration.k8s.io", "apiservices") => {
            new["status"] = old.get("status").cloned().unwrap_or_default();
        }
        ("", "persistentvolumeclaims") => super::defaults::sources(&mut new["spec"]),
        ("rbac.authorization.k8s.io", "roles" | "clusterroles") => without_empty_rules(new),
        ("apps", "daemonsets") => count_template(new, Some(old)),
        ("coordination.k8s.io", "leases") => without_candidates(new),
        ("certificates.k8s.io", "certificatesigningrequests") => {
            new["spec"] = old.get("spec").cloned().unwrap_or_default();
        }
        _ => {}
    }
}

/// A write of a part that is not the status.
pub(crate) fn prepare_part(kind: &Kind, part: &str, new: &mut Value, old: &Value) {
    let wanted = new.clone();
    let mut kept = old.clone();
    if let Some(fields) = wanted.pointer("/metadata/managedFields") {
        kept["metadata"]["managedFields"] = fields.clone();
    }
    match part {
        "finalize" => {
            kept["spec"]["finalizers"] = wanted
                .pointer("/spec/finalizers")
                .cloned()
                .unwrap_or_default();
        }
        "approval" if is_request(kind) => {
            let conditions = wanted.pointer("/status/conditions").cloned();
            // None at all takes those away that there were.
            if !kept["status"].is_object() {
                kept["status"] = json!({});
            }
            if let Some(status) = kept.get_mut("status").and_then(Value::as_object_mut) {
                match conditions {
                    Some(conditions) => status.insert("conditions".to_owned(), conditions),
                    None => status.remove("conditions"),
                };
            }
            super::certificates::date(&mut kept);
        }
        "ephemeralcontainers" => {
            if let Some(containers) = wanted.pointer("/spec/ephemeralContainers") {
                kept["spec"]["ephemeralContainers"] = containers.clone();
            }
        }
        "resize" => {
            if let Some(containers) = wanted.pointer("/spec/containers") {
                kept["spec"]["containers"] = containers.clone();
            }
        }
        _ => {}
    }
    *new = kept;
}

/// Normalizes an object before it is stored.
pub(crate) fn settle(kind: &Kind, object: &mut Value) {
    if kind.is("rbac.authorization.k8s.io", "roles")
        || kind.is("rbac.authorization.k8s.io", "clusterroles")
    {
        without_empty_rules(object);
    }
}

/// No rules are `null`.
fn without_empty_rules(role: &mut Value) {
    if role
        .get("rules")
        .and_then(Value::as_array)
        .is_some_and(Vec::is_empty)
    {
        role["rules"] = Value::Null;
    }
}

/// The annotation that counts the changes of a `DaemonSet` template.
const COUNT: &str = "deprecated.daemonset.template.generation";

/// Checks values that a kind stores as text. The error is its message.
pub(crate) fn readable(kind: &Kind, object: &Value) -> Result<(), String> {
    let count = object
        .pointer(&format!("/metadata/annotations/{COUNT}"))
        .and_then(Value::as_str);
    match count {
        Some(count) if kind.is("apps", "daemonsets") && count.parse::<i64>().is_err() => Err(
            format!("strconv.ParseInt: parsing {}: invalid syntax", quote(count)),
        ),
        _ => Ok(()),
    }
}

/// A `DaemonSet` counts how often its template has changed, in an annotation.
fn count_template(new: &mut Value, old: Option<&Value>) {
    let path = format!("/metadata/annotations/{COUNT}");
    let count = old.map_or(1, |old| {
        let before = old.pointer(&path).and_then(Value::as_str);
        let before: i64 = before.and_then(|text| text.parse().ok()).unwrap_or(1);
        let same = new.pointer("/spec/template") == old.pointer("/spec/template");
        before.saturating_add(i64::from(!same))
    });
    let metadata = &mut new["metadata"];
    super::edit::set_default(metadata, "annotations", json!({}));
    metadata["annotations"][COUNT] = count.to_string().into();
}

/// The fields of coordinated leader election, which the server drops while the feature gate is off.
fn without_candidates(lease: &mut Value) {
    if let Some(spec) = lease.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("strategy");
        spec.remove("preferredHolder");
    }
}

/// The grace period of a deletion in seconds.
pub(crate) fn grace(kind: &Kind, object: &Value, asked: Option<i64>) -> i64 {
    if !kind.is("", "pods") {
        return 0;
    }
    let of = |path: &str| object.pointer(path);
    let unscheduled = of("/spec/nodeName")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .is_empty();
    let over = matches!(
        of("/status/phase").and_then(Value::as_str),
        Some("Succeeded" | "Failed")
    );
    if unscheduled || over {
        return 0;
    }
    let own = of("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64);
    asked.or(own).unwrap_or(30).max(0)
}

/// Whether an object without finalizers in its metadata is deleted at once.
pub(crate) fn may_go(kind: &Kind, object: &Value) -> bool {
    // What a definition defines has to go first.
    if is_crd(kind) {
        return meta::is_deleted(object);
    }
    if kind.is("", "pods") && meta::is_deleted(object) {
        // A Pod on a node is deleted by its kubelet.
        let grace = object
            .pointer("/metadata/deletionGracePeriodSeconds")
            .and_then(Value::as_i64);
        return grace.unwrap_or_default() == 0;
    }
    if !kind.is("", "namespaces") {
        return true;
    }
    let own = object.pointer("/spec/finalizers").and_then(Value::as_array);
    own.is_none_or(Vec::is_empty)
}

/// The status of a kind that is terminating.
pub(crate) fn mark_deleted(kind: &Kind, object: &mut Value) {
    if kind.is("", "namespaces") {
        object["status"]["phase"] = "Terminating".into();
        if let Some(metadata) = meta::metadata(object) {
            metadata.remove("deletionGracePeriodSeconds");
        }
    }
    if is_crd(kind) {
        let finalizers = meta::finalizers(object).into_iter().map(str::to_owned);
        let mut finalizers: Vec<String> = finalizers.collect();
        if !finalizers.iter().any(|one| one == CRD_CLEANUP) {
            finalizers.push(CRD_CLEANUP.to_owned());
            meta::set_finalizers(object, &finalizers);
        }
        let now = meta::now();
        let condition = json!({
            "type": "Terminating", "status": "True", "lastTransitionTime": now, "reason": "InstanceDeletionInProgress",
            "message": "CustomResource deletion is in progress",
        });
        if let Some(Value::Array(conditions)) = object.pointer_mut("/status/conditions") {
            conditions.push(condition);
        }
    }
}

/// Why an object must not be deleted.
pub(crate) fn protection(kind: &Kind, name: &str) -> Option<&'static str> {
    if kind.is("", "namespaces") && ["default", "kube-system", "kube-public"].contains(&name) {
        return Some("this namespace may not be deleted");
    }
    let system = ["system-cluster-critical", "system-node-critical"];
    if kind.is("scheduling.k8s.io", "priorityclasses") && system.contains(&name) {
        return Some("this is a system priority class and cannot be deleted");
    }
    None
}

/// Whether a deletion is answered by the object rather than by a word of success.
pub(crate) fn answers_deleted(kind: &Kind) -> bool {
    kind.group.is_empty()
        && matches!(
            kind.resource.as_str(),
            "pods"
                | "services"
                | "serviceaccounts"
                | "persistentvolumeclaims"
                | "persistentvolumes"
                | "podtemplates"
                | "resourcequotas"
        )
}

/// Whether replacing what is not there makes it.
pub(crate) fn creates_on_update(kind: &Kind) -> bool {
    matches!(
        (kind.group.as_str(), kind.resource.as_str()),
        ("", "events" | "limitranges" | "endpoints" | "services")
            | ("events.k8s.io", "events")
            | ("coordination.k8s.io", "leases")
            | ("rbac.authorization.k8s.io", _)
            | ("node.k8s.io", "runtimeclasses")
    )
}
