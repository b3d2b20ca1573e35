//! Defaults of the built-in kinds.

use serde_json::{Map, Value, json};

use super::edit::{items_mut, set_default};
use crate::kinds::Kind;
use crate::meta;

/// Fills in what is not given.
pub(crate) fn default(kind: &Kind, object: &mut Value) {
    match (kind.group.as_str(), kind.resource.as_str()) {
        ("", "namespaces") => label_with_name(object),
        ("", "pods") => pod(&mut object["spec"], true),
        ("", "secrets") => {
            secret(object);
            set_default(object, "type", "Opaque");
        }
        ("", "services") => super::services::default(object),
        ("", "endpoints") => endpoints(object),
        ("discovery.k8s.io", "endpointslices") => slice(object),
        ("apiregistration.k8s.io", "apiservices") => {
            if let Some(service @ Value::Object(_)) = object.pointer_mut("/spec/service") {
                set_default(service, "port", 443);
            }
        }
        ("networking.k8s.io", "ingressclasses") => {
            if let Some(parameters) = object.pointer_mut("/spec/parameters") {
                set_default(parameters, "scope", "Cluster");
            }
        }
        ("storage.k8s.io", "csidrivers") => driver(&mut object["spec"]),
        ("", "persistentvolumeclaims") => {
            set_default(&mut object["spec"], "volumeMode", "Filesystem");
        }
        ("", "persistentvolumes") => {
            set_default(&mut object["spec"], "volumeMode", "Filesystem");
            set_default(
                &mut object["spec"],
                "persistentVolumeReclaimPolicy",
                "Retain",
            );
        }
        ("", "replicationcontrollers") => {
            set_default(&mut object["spec"], "replicas", 1);
            pod(&mut object["spec"]["template"]["spec"], false);
        }
        ("apps", resource) => workload(resource, object),
        ("batch", "jobs") => job(&mut object["spec"], true),
        ("batch", "cronjobs") => {
            let spec = &mut object["spec"];
            set_default(spec, "concurrencyPolicy", "Allow");
            set_default(spec, "suspend", false);
            set_default(spec, "successfulJobsHistoryLimit", 3);
            set_default(spec, "failedJobsHistoryLimit", 1);
            job(&mut spec["jobTemplate"]["spec"], false);
        }
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => binding(object),
        ("networking.k8s.io", "networkpolicies") => policy(&mut object["spec"]),
        ("" | "events.k8s.io", "events") => event(object),
        ("", "limitranges") => limits(&mut object["spec"]),
        ("autoscaling", _) => {
            set_default(&mut object["spec"], "minReplicas", 1);
            let metric = json!([{ "type": "Resource", "resource": { "name": "cpu", "target": {
                "type": "Utilization", "averageUtilization": 80 } } }]);
            set_default(&mut object["spec"], "metrics", metric);
            behaviour(&mut object["spec"]);
        }
        ("storage.k8s.io", "storageclasses") => {
            set_default(object, "reclaimPolicy", "Delete");
            set_default(object, "volumeBindingMode", "Immediate");
        }
        ("scheduling.k8s.io", "priorityclasses") => {
            set_default(object, "preemptionPolicy", "PreemptLowerPriority");
        }
        (
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations" | "mutatingwebhookconfigurations",
        ) => {
            webhooks(&kind.resource, object);
        }
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => {
            set_default(&mut object["spec"], "failurePolicy", "Fail");
            resources(&mut object["spec"]["matchConstraints"]);
        }
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings") => {
            resources(&mut object["spec"]["matchResources"]);
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => definition(object),
        _ => {}
    }
}

/// The match constraints of an admission policy or its binding.
fn resources(matched: &mut Value) {
    if !matched.is_object() {
        return;
    }
    set_default(matched, "matchPolicy", "Equivalent");
    set_default(matched, "namespaceSelector", json!({}));
    set_default(matched, "objectSelector", json!({}));
    for rules in ["resourceRules", "excludeResourceRules"] {
        for rule in items_mut(matched, rules) {
            set_default(rule, "scope", "*");
        }
    }
}

/// Namespaces can be selected by their name as a label.
fn label_with_name(namespace: &mut Value) {
    let name = meta::text(namespace, "name").to_owned();
    if let Some(metadata) = meta::metadata(namespace) {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        if !name.is_empty() {
            labels["kubernetes.io/metadata.name"] = name.into();
        }
    }
}

/// A pod's spec. `alone`: of a Pod rather than of a template.
fn pod(spec: &mut Value, alone: bool) {
    set_default(spec, "restartPolicy", "Always");
    set_default(spec, "terminationGracePeriodSeconds", 30);
    set_default(spec, "dnsPolicy", "ClusterFirst");
    set_default(spec, "securityContext", json!({}));
    set_default(spec, "schedulerName", "default-scheduler");
    if let Some(Value::String(name)) = spec.get("serviceAccountName").cloned() {
        // The older field is another name for the newer one.
        spec["serviceAccount"] = name.into();
    } else if let Some(Value::String(name)) = spec.get("serviceAccount").cloned() {
        set_default(spec, "serviceAccountName", name);
    }
    if alone {
        set_default(spec, "enableServiceLinks", true);
    }
    if spec.get("hostNetwork") == Some(&Value::Bool(true)) {
        host_ports(spec);
    }
    let grace_period = spec["terminationGracePeriodSeconds"].as_i64();
    if grace_period.is_some_and(|seconds| seconds < 0) {
        spec["terminationGracePeriodSeconds"] = 1.into();
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for one in items_mut(spec, list) {
            container(one);
        }
    }
    for one in items_mut(spec, "volumes") {
        volume(one);
    }
}

/// On the network of its node a container's ports are those of the node.
fn host_ports(spec: &mut Value) {
    for list in ["initContainers", "containers"] {
        for one in items_mut(spec, list) {
            for port in items_mut(one, "ports") {
                let number = port.get("containerPort").cloned().unwrap_or_default();
                set_default(port, "hostPort", number);
            }
        }
    }
}

/// What is asked for over HTTP.
fn http(handler: &mut Value) {
    if let Some(get) = handler.get_mut("httpGet") {
        set_default(get, "path", "/");
        set_default(get, "scheme", "HTTP");
    }
}

fn field(holder: &mut Value) {
    if let Some(reference) = holder.get_mut("fieldRef") {
        set_default(reference, "apiVersion", "v1");
    }
}

fn container(container: &mut Value) {
    set_default(container, "resources", json!({}));
    set_default(container, "terminationMessagePath", "/dev/termination-log");
    set_default(container, "terminationMessagePolicy", "File");
    let image = container
        .get("image")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let last = image.rsplit('/').next().unwrap_or_default();
    let tag = last
        .split('@')
        .next()
        .unwrap_or_default()
        .split_once(':')
        .map(|(_, tag)| tag);
    let pull = match tag {
        None if !image.contains('@') => "Always",
        Some("latest") => "Always",
        _ => "IfNotPresent",
    };
    set_default(container, "imagePullPolicy", pull);
    for port in items_mut(container, "ports") {
        set_default(port, "protocol", "TCP");
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe) {
            for (field, value) in [
                ("timeoutSeconds", 1),
                ("periodSeconds", 10),
                ("successThreshold", 1),
                ("failureThreshold", 3),
            ] {
                set_default(probe, field, value);
            }
            http(probe);
            if let Some(grpc) = probe.get_mut("grpc")
                && grpc.get("service").is_none_or(Value::is_null)
            {
                grpc["service"] = "".into();
            }
        }
    }
    for hook in ["postStart", "preStop"] {
        if let Some(hook) = container.pointer_mut(&format!("/lifecycle/{hook}")) {
            http(hook);
        }
    }
    for variable in items_mut(container, "env") {
        if let Some(source) = variable.get_mut("valueFrom") {
            field(source);
        }
    }
}

fn volume(volume: &mut Value) {
    for (source, field) in [
        ("secret", "defaultMode"),
        ("configMap", "defaultMode"),
        ("projected", "defaultMode"),
        ("downwardAPI", "defaultMode"),
    ] {
        if let Some(source) = volume.get_mut(source) {
            set_default(source, field, 0o644);
        }
    }
    if let Some(source) = volume.get_mut("hostPath") {
        set_default(source, "type", "");
    }
    if let Some(projected) = volume.get_mut("projected") {
        for source in items_mut(projected, "sources") {
            if let Some(token) = source.get_mut("serviceAccountToken") {
                set_default(token, "expirationSeconds", 3600);
            }
            if let Some(downward) = source.get_mut("downwardAPI") {
                items_mut(downward, "items").for_each(field);
            }
        }
    }
    if let Some(downward) = volume.get_mut("downwardAPI") {
        items_mut(downward, "items").for_each(field);
    }
    if let Some(spec) = volume.pointer_mut("/ephemeral/volumeClaimTemplate/spec") {
        set_default(spec, "volumeMode", "Filesystem");
    }
    if let Some(disk) = volume.get_mut("iscsi") {
        set_default(disk, "iscsiInterface", "default");
    }
    if let Some(disk) = volume.get_mut("rbd") {
        for (field, value) in [
            ("pool", "rbd"),
            ("user", "admin"),
            ("keyring", "/etc/ceph/keyring"),
        ] {
            set_default(disk, field, value);
        }
    }
    if let Some(disk) = volume.get_mut("azureDisk") {
        for (field, value) in [
            ("cachingMode", "ReadWrite"),
            ("fsType", "ext4"),
            ("kind", "Shared"),
        ] {
            set_default(disk, field, value);
        }
        set_default(disk, "readOnly", false);
    }
    let sources = volume.as_object().map_or(0, Map::len);
    if sources == 1 {
        set_default(volume, "emptyDir", json!({}));
    }
}

fn workload(resource: &str, object: &mut Value) {
    let spec = &mut object["spec"];
    match resource {
        "deployments" => {
            set_default(spec, "replicas", 1);
            set_default(spec, "revisionHistoryLimit", 10);
            set_default(spec, "progressDeadlineSeconds", 600);
            set_default(spec, "strategy", json!({}));
            set_default(&mut spec["strategy"], "type", "RollingUpdate");
            if spec["strategy"]["type"] == "RollingUpdate" {
                set_default(&mut spec["strategy"], "rollingUpdate", json!({}));
                set_default(
                    &mut spec["strategy"]["rollingUpdate"],
                    "maxUnavailable",
                    "25%",
                );
                set_default(&mut spec["strategy"]["rollingUpdate"], "maxSurge", "25%");
            }
        }
        "statefulsets" => {
            set_default(spec, "replicas", 1);
            set_default(spec, "revisionHistoryLimit", 10);
            set_default(spec, "podManagementPolicy", "OrderedReady");
            set_default(spec, "updateStrategy", json!({}));
            set_default(&mut spec["updateStrategy"], "type", "RollingUpdate");
            if spec["updateStrategy"]["type"] == "RollingUpdate" {
                set_default(&mut spec["updateStrategy"], "rollingUpdate", json!({}));
                set_default(&mut spec["updateStrategy"]["rollingUpdate"], "partition", 0);
            }
            set_default(
                spec,
                "persistentVolumeClaimRetentionPolicy",
                json!({ "whenDeleted": "Retain", "whenScaled": "Retain" }),
            );
            for claim in items_mut(spec, "volumeClaimTemplates") {
                set_default(claim, "apiVersion", "v1");
                set_default(claim, "kind", "PersistentVolumeClaim");
                set_default(&mut claim["spec"], "volumeMode", "Filesystem");
                set_default(&mut claim["status"], "phase", "Pending");
            }
        }
        "daemonsets" => {
            set_default(spec, "revisionHistoryLimit", 10);
            set_default(spec, "updateStrategy", json!({}));
            set_default(&mut spec["updateStrategy"], "type", "RollingUpdate");
            if spec["updateStrategy"]["type"] == "RollingUpdate" {
                set_default(&mut spec["updateStrategy"], "rollingUpdate", json!({}));
                set_default(
                    &mut spec["updateStrategy"]["rollingUpdate"],
                    "maxUnavailable",
                    1,
                );
                set_default(&mut spec["updateStrategy"]["rollingUpdate"], "maxSurge", 0);
            } else if let Some(rolling) = spec.pointer_mut("/updateStrategy/rollingUpdate") {
                set_default(rolling, "maxUnavailable", 0);
            }
        }
        "replicasets" => set_default(spec, "replicas", 1),
        _ => return,
    }
    template(spec);
}

/// The template of a workload.
fn template(spec: &mut Value) {
    set_default(spec, "template", json!({}));
    let template = &mut spec["template"];
    set_default(template, "metadata", json!({}));
    set_default(template, "spec", json!({}));
    pod(&mut template["spec"], false);
}

fn job(spec: &mut Value, alone: bool) {
    if alone {
        if spec.get("completions").is_none() && spec.get("parallelism").is_none() {
            set_default(spec, "completions", 1);
        }
        set_default(spec, "parallelism", 1);
        let per_index = spec.get("backoffLimitPerIndex").is_some();
        let limit = if per_index { i32::MAX } else { 6 };
        set_default(spec, "backoffLimit", limit);
        set_default(spec, "completionMode", "NonIndexed");
        set_default(spec, "suspend", false);
        set_default(spec, "manualSelector", false);
        let replaced = if spec.get("podFailurePolicy").is_some() {
            "Failed"
        } else {
            "TerminatingOrFailed"
        };
        set_default(spec, "podReplacementPolicy", replaced);
    }
    template(spec);
}

/// Times that are not known are written all the same.
fn event(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        for field in ["eventTime", "firstTimestamp", "lastTimestamp"] {
            fields.entry(field).or_insert(Value::Null);
        }
        for field in ["reportingComponent", "reportingInstance"] {
            fields.entry(field).or_insert_with(|| "".into());
        }
        fields.entry("source").or_insert_with(|| json!({}));
    }
}

/// What a container gets if it names no limits is also what it asks for.
fn limits(spec: &mut Value) {
    for one in items_mut(spec, "limits") {
        if one.get("type").and_then(Value::as_str) != Some("Container") {
            continue;
        }
        for (from, to) in [
            ("max", "default"),
            ("default", "defaultRequest"),
            ("min", "defaultRequest"),
        ] {
            let given = one.get(from).and_then(Value::as_object).cloned();
            for (resource, quantity) in given.into_iter().flatten() {
                set_default(one, to, json!({}));
                set_default(&mut one[to], &resource, quantity);
            }
        }
    }
}

fn binding(object: &mut Value) {
    set_default(
        &mut object["roleRef"],
        "apiGroup",
        "rbac.authorization.k8s.io",
    );
    for subject in items_mut(object, "subjects") {
        if let Some("User" | "Group") = subject.get("kind").and_then(Value::as_str) {
            set_default(subject, "apiGroup", "rbac.authorization.k8s.io");
        }
    }
}

fn policy(spec: &mut Value) {
    for (list, _) in [("ingress", "from"), ("egress", "to")] {
        for rule in items_mut(spec, list) {
            for port in items_mut(rule, "ports") {
                set_default(port, "protocol", "TCP");
            }
        }
    }
    if spec.get("policyTypes").is_none() {
        let egress = spec.get("egress").is_some();
        let types = if egress {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        };
        set_default(spec, "policyTypes", types);
    }
    set_default(spec, "podSelector", json!({}));
}

fn webhooks(resource: &str, object: &mut Value) {
    for webhook in items_mut(object, "webhooks") {
        set_default(webhook, "failurePolicy", "Fail");
        set_default(webhook, "matchPolicy", "Equivalent");
        set_default(webhook, "namespaceSelector", json!({}));
        set_default(webhook, "objectSelector", json!({}));
        set_default(webhook, "timeoutSeconds", 10);
        if resource.starts_with("mutating") {
            set_default(webhook, "reinvocationPolicy", "Never");
        }
        if let Some(service) = webhook.pointer_mut("/clientConfig/service") {
            set_default(service, "port", 443);
        }
        for rule in items_mut(webhook, "rules") {
            set_default(rule, "scope", "*");
        }
    }
}

fn definition(object: &mut Value) {
    let spec = &mut object["spec"];
    set_default(spec, "conversion", json!({ "strategy": "None" }));
    set_default(&mut spec["conversion"], "strategy", "None");
    let kind = spec
        .pointer("/names/kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if !kind.is_empty() {
        set_default(&mut spec["names"], "singular", kind.to_lowercase());
        set_default(&mut spec["names"], "listKind", format!("{kind}List"));
    }
}

/// `stringData` goes into `data`.
fn secret(object: &mut Value) {
    use base64::Engine as _;
    let Some(Value::Object(plain)) = object
        .as_object_mut()
        .and_then(|fields| fields.remove("stringData"))
    else {
        return;
    };
    if plain.is_empty() {
        return;
    }
    set_default(object, "data", json!({}));
    for (key, value) in plain {
        let text = value.as_str().unwrap_or_default();
        let encoded = base64::engine::general_purpose::STANDARD.encode(text);
        object["data"][key] = encoded.into();
    }
}

fn endpoints(object: &mut Value) {
    for subset in items_mut(object, "subsets") {
        for port in items_mut(subset, "ports") {
            set_default(port, "protocol", "TCP");
        }
    }
}

fn slice(object: &mut Value) {
    for port in items_mut(object, "ports") {
        set_default(port, "protocol", "TCP");
        if port.get("name").is_none_or(Value::is_null) {
            port["name"] = "".into();
        }
    }
}

/// What is not a claim or a snapshot is no source, and what is, is one of both kinds.
pub(super) fn sources(spec: &mut Value) {
    let Some(source) = spec.get("dataSource").cloned() else {
        return;
    };
    let of = |field: &str| {
        source
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let known = [
        ("", "PersistentVolumeClaim"),
        ("snapshot.storage.k8s.io", "VolumeSnapshot"),
    ];
    if known.contains(&(of("apiGroup"), of("kind"))) {
        set_default(spec, "dataSourceRef", source);
    } else if let Some(fields) = spec.as_object_mut() {
        fields.remove("dataSource");
    }
}

fn driver(spec: &mut Value) {
    set_default(spec, "attachRequired", true);
    set_default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    set_default(spec, "volumeLifecycleModes", json!(["Persistent"]));
    for field in [
        "podInfoOnMount",
        "requiresRepublish",
        "seLinuxMount",
        "storageCapacity",
    ] {
        set_default(spec, field, false);
    }
}

/// The scaling behaviour of an autoscaler.
fn behaviour(spec: &mut Value) {
    let Some(behaviour) = spec.get_mut("behavior").filter(|one| one.is_object()) else {
        return;
    };
    let doubled = json!({ "type": "Percent", "value": 100, "periodSeconds": 15 });
    let by_four = json!({ "type": "Pods", "value": 4, "periodSeconds": 15 });
    for (field, policies) in [
        ("scaleUp", json!([by_four, doubled])),
        ("scaleDown", json!([doubled])),
    ] {
        set_default(behaviour, field, json!({}));
        let rules = &mut behaviour[field];
        set_default(rules, "selectPolicy", "Max");
        set_default(rules, "policies", policies);
        if field == "scaleUp" {
            set_default(rules, "stabilizationWindowSeconds", 0);
        }
    }
}
