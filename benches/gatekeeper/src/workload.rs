//! Pods as clusters have them, and constraints of the corpus on them.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use reeve_testkit::workspace;
use serde_json::{Value, json};

/// Cases of the corpus, and how many of the constraints of each are taken.
const CASES: [(&str, usize); 17] = [
    ("policy-annotations", 1),
    ("policy-capabilities", 2),
    ("policy-host", 2),
    ("policy-privileged", 1),
    ("policy-probes", 1),
    ("policy-registries", 1),
    ("policy-required-labels", 1),
    ("policy-resources", 2),
    ("policy-tags", 1),
    ("policy-token", 1),
    ("policy-users", 1),
    ("policy-volumes", 1),
    ("cel-policy-labels", 1),
    ("cel-policy-ports", 1),
    ("cel-policy-privileged", 1),
    ("cel-policy-quantities", 1),
    ("cel-policy-registries", 1),
];

/// Writes templates and constraints into one file and the pods into another, each as lines of JSON. Returns how many constraints.
pub(crate) fn write(setup: &Path, pods: &Path, count: usize) -> Result<usize> {
    let mut file = BufWriter::new(File::create(setup)?);
    let mut constraints = 0;
    for (case, taken) in CASES {
        let path = workspace().join(format!("gatekeeper/tests/corpus/{case}.yaml"));
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let case: Value = serde_saphyr::from_str(&text)?;
        let of = |key: &str| case[key].as_array().cloned().unwrap_or_default();
        for template in of("templates") {
            writeln!(file, "{template}")?;
        }
        for constraint in of("constraints").into_iter().take(taken) {
            writeln!(file, "{constraint}")?;
            constraints += 1;
        }
    }
    file.flush()?;
    let mut file = BufWriter::new(File::create(pods)?);
    for number in 0..count {
        writeln!(file, "{}", pod(number))?;
    }
    file.flush()?;
    Ok(constraints)
}

/// The namespace of a pod.
pub(crate) fn namespace(number: usize) -> String {
    format!("team-{}", number % 20)
}

/// A pod that violates some constraints, depending on its number.
fn pod(number: usize) -> Value {
    let containers: Vec<Value> = (0..=number % 3)
        .map(|index| container(number, index))
        .collect();
    let mut labels = json!({"app": format!("web-{}", number % 50), "pod-template-hash": format!("{:x}", number * 7919)});
    if number.is_multiple_of(3) {
        labels["owner"] = json!(format!("team-{}", number % 20));
    }
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("web-{number}"), "namespace": namespace(number), "labels": labels,
            "annotations": {"owner": "x@corp.example", "prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
            "uid": format!("00000000-0000-4000-8000-{number:012}"),
        },
        "spec": {
            "serviceAccountName": "default", "restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
            "hostNetwork": number.is_multiple_of(17), "hostPID": false,
            "automountServiceAccountToken": !number.is_multiple_of(5),
            "securityContext": {"runAsNonRoot": number.is_multiple_of(2), "fsGroup": 1000},
            "containers": containers,
            "volumes": [
                {"name": "config", "configMap": {"name": "web"}}, {"name": "cache", "emptyDir": {}},
                {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}}]}},
            ],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
        },
        "status": {"phase": "Running", "podIP": format!("10.0.{}.{}", number / 250 % 250, number % 250), "qosClass": "Burstable"},
    })
}

fn container(number: usize, index: usize) -> Value {
    let registry = ["registry.example/shop", "docker.io/library", "quay.io/team"][number % 3];
    let tag = if number.is_multiple_of(4) {
        "latest"
    } else {
        "1.4.2"
    };
    let mut container = json!({
        "name": format!("c{index}"), "image": format!("{registry}/web-{index}:{tag}"), "imagePullPolicy": "IfNotPresent",
        "ports": [{"containerPort": 8080 + index, "protocol": "TCP"}],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "web", "key": "b"}}}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": format!("{}m", 200 * (index + 1)), "memory": "256Mi"}},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/web"}, {"name": "cache", "mountPath": "/cache"}],
        "securityContext": {
            "privileged": number.is_multiple_of(29), "allowPrivilegeEscalation": number.is_multiple_of(7) || number.is_multiple_of(29),
            "capabilities": {"drop": ["ALL"], "add": if number.is_multiple_of(11) { json!(["NET_ADMIN"]) } else { json!([]) }},
        },
    });
    if !number.is_multiple_of(6) {
        container["livenessProbe"] =
            json!({"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10});
        container["readinessProbe"] = container["livenessProbe"].clone();
    }
    if number.is_multiple_of(13) {
        container["ports"][0]["hostPort"] = json!(8080 + index);
    }
    container
}
