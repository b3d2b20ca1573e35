//! The admission plugins for Pods: `ServiceAccount`, `Priority`, `DefaultTolerationSeconds` and `RuntimeClass`.

use serde_json::{Value, json};

use crate::builtin::{items_mut, set_default};
use crate::meta;
use crate::store::{Key, Store};

/// Classes that every server has.
const SYSTEM: [(&str, i64); 2] = [
    ("system-cluster-critical", 2_000_000_000),
    ("system-node-critical", 2_000_001_000),
];

/// Sets the service account of a Pod and its token, its priority, and its default tolerations.
/// `suffix` makes the name of the token's volume unique. The error is the reason of a refusal.
pub(crate) fn admit(
    object: &mut Value,
    namespace: &str,
    store: &Store,
    suffix: &str,
) -> Result<(), String> {
    let spec = &mut object["spec"];
    set_default(spec, "serviceAccountName", "default");
    let account = text(spec, "serviceAccountName");
    spec["serviceAccount"] = account.as_str().into();
    let Some(stored) = store.get("/serviceaccounts", &Key::new(namespace, &account)) else {
        return Err(format!(
            "error looking up service account {namespace}/{account}: serviceaccount {account:?} not found"
        ));
    };
    let account = stored.value();
    mount_token(spec, &account, suffix);
    if let Some(secrets) = account.get("imagePullSecrets") {
        set_default(spec, "imagePullSecrets", secrets.clone());
    }
    prioritize(spec, store)?;
    for taint in ["not-ready", "unreachable"] {
        bear(spec, &format!("node.kubernetes.io/{taint}"));
    }
    let runtime = text(spec, "runtimeClassName");
    let known = store.get("node.k8s.io/runtimeclasses", &Key::new("", &runtime));
    if !runtime.is_empty() && known.is_none() {
        return Err(format!("pod rejected: RuntimeClass {runtime:?} not found"));
    }
    Ok(())
}

fn text(spec: &Value, field: &str) -> String {
    spec[field].as_str().unwrap_or_default().to_owned()
}

/// Mounts the account's token into every container, unless the Pod or the account disables it.
fn mount_token(spec: &mut Value, account: &Value, suffix: &str) {
    const PLACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
    let wanted = [&*spec, account]
        .into_iter()
        .find_map(|from| from.get("automountServiceAccountToken")?.as_bool());
    if wanted == Some(false) {
        return;
    }
    let name = format!("kube-api-access-{suffix}");
    let mut mounted = false;
    for list in ["initContainers", "containers"] {
        for container in items_mut(spec, list) {
            let mounts = container.get("volumeMounts").and_then(Value::as_array);
            let has = |mount: &Value| mount.get("mountPath").is_some_and(|path| path == PLACE);
            if mounts.is_some_and(|mounts| mounts.iter().any(has)) {
                continue;
            }
            mounted = true;
            push(
                container,
                "volumeMounts",
                json!({ "name": name, "mountPath": PLACE, "readOnly": true }),
            );
        }
    }
    if mounted {
        push(spec, "volumes", token(&name));
    }
}

fn push(object: &mut Value, list: &str, item: Value) {
    set_default(object, list, json!([]));
    if let Some(items) = object[list].as_array_mut() {
        items.push(item);
    }
}

fn token(name: &str) -> Value {
    let namespace = json!({ "apiVersion": "v1", "fieldPath": "metadata.namespace" });
    json!({ "name": name, "projected": { "defaultMode": 0o644, "sources": [
        { "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } },
        { "configMap": {
            "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }],
        } },
        { "downwardAPI": { "items": [{ "path": "namespace", "fieldRef": namespace }] } },
    ] } })
}

/// Sets the priority of a Pod by its class or by the default class.
fn prioritize(spec: &mut Value, store: &Store) -> Result<(), String> {
    const CLASSES: &str = "scheduling.k8s.io/priorityclasses";
    let name = text(spec, "priorityClassName");
    let class = if name.is_empty() {
        let mut all = store
            .all(CLASSES)
            .into_iter()
            .map(|(_, class)| class.value());
        all.find(|class| class["globalDefault"] == true)
    } else {
        let found = store.get(CLASSES, &Key::new("", &name));
        let system = SYSTEM.iter().find(|(system, _)| *system == name);
        let Some(class) = found
            .map(|found| found.value())
            .or_else(|| system.map(|(_, value)| json!({ "value": value })))
        else {
            return Err(format!("no PriorityClass with name {name} was found"));
        };
        Some(class)
    };
    let of = |field: &str| class.as_ref().and_then(|class| class.get(field).cloned());
    let value = of("value").unwrap_or_else(|| 0.into());
    let preempts = of("preemptionPolicy").unwrap_or_else(|| "PreemptLowerPriority".into());
    if let (true, Some(class)) = (name.is_empty(), &class) {
        set_default(spec, "priorityClassName", meta::text(class, "name"));
    }
    for (field, computed, what) in [
        ("priority", value, "the integer value of priority"),
        (
            "preemptionPolicy",
            preempts,
            "the string value of PreemptionPolicy",
        ),
    ] {
        let given = spec.get(field).cloned().unwrap_or_default();
        if !given.is_null() && given != computed {
            let plain = |value: &Value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            };
            return Err(format!(
                "{what} ({}) must not be provided in pod spec; priority admission controller computed {} from the \
                 given PriorityClass name",
                plain(&given),
                plain(&computed)
            ));
        }
        spec[field] = computed;
    }
    Ok(())
}

/// A Pod tolerates a node that is not ready or unreachable for five minutes, unless it has a toleration of its own.
fn bear(spec: &mut Value, taint: &str) {
    let all = spec.get("tolerations").and_then(Value::as_array);
    let bears = all.into_iter().flatten().any(|one| {
        let of = |field: &str| one.get(field).and_then(Value::as_str).unwrap_or_default();
        (of("key") == taint || of("key").is_empty())
            && (of("effect") == "NoExecute" || of("effect").is_empty())
    });
    if !bears {
        push(
            spec,
            "tolerations",
            json!({ "key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 }),
        );
    }
}
