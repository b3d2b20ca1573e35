//! What the containers of manifests must have, so that none of them harms its node or its neighbours.

use serde_json::Value;

/// The pages of liveness and readiness that the programs have.
const PAGES: [&str; 2] = ["/healthz", "/readyz"];
/// The flag with the address of these pages, and its port where the flag is absent.
const FLAG: &str = "--health-probe-bind-address=";
const DEFAULT_PORT: u64 = 8080;

/// The result of [`check`].
#[derive(Debug, Default)]
pub struct HardeningReport {
    /// How many containers there are.
    pub containers: usize,
    /// The object, the container, the field, and what it must be; a line for each.
    pub faults: Vec<String>,
}

/// Checks every container of every Pod, or template of one, in objects. Manifests within other objects count as well.
pub fn check(objects: &[Value]) -> HardeningReport {
    let mut report = HardeningReport::default();
    for object in objects {
        let name = format!(
            "{} {}",
            text(&object["kind"]),
            text(&object["metadata"]["name"])
        );
        check_within(object, &name, &mut report);
    }
    report
}

/// A map with a list of containers is the spec of a Pod, whatever kind it is in.
fn check_within(value: &Value, name: &str, report: &mut HardeningReport) {
    if value["containers"].is_array() {
        PodSpec { name, spec: value }.check(report);
        return;
    }
    match value {
        Value::Array(items) => items
            .iter()
            .for_each(|item| check_within(item, name, report)),
        Value::Object(fields) => fields
            .values()
            .for_each(|field| check_within(field, name, report)),
        _ => {}
    }
}

struct PodSpec<'a> {
    name: &'a str,
    spec: &'a Value,
}

impl PodSpec<'_> {
    fn check(&self, report: &mut HardeningReport) {
        let spec = self.spec;
        let name = self.name;
        let faults = &mut report.faults;
        for field in ["hostNetwork", "hostPID", "hostIPC"] {
            if spec[field] == true {
                faults.push(format!("{name}: {field} must not be true"));
            }
        }
        for volume in items(&spec["volumes"]) {
            if volume.get("hostPath").is_some() {
                let volume = text(&volume["name"]);
                faults.push(format!(
                    "{name}: the volume {volume} must not be a hostPath"
                ));
            }
            let is_unlimited = |folder: &Value| folder["sizeLimit"].is_null();
            if volume.get("emptyDir").is_some_and(is_unlimited) {
                let volume = text(&volume["name"]);
                faults.push(format!(
                    "{name}: the volume {volume} must have emptyDir.sizeLimit"
                ));
            }
        }
        for list in ["initContainers", "containers"] {
            for container in items(&spec[list]) {
                report.containers += 1;
                let restarts = &spec["restartPolicy"];
                let is_service =
                    list == "containers" && (restarts.is_null() || restarts == "Always");
                let faults = self.container_faults(container, is_service);
                report.faults.extend(faults);
            }
        }
    }

    fn container_faults(&self, container: &Value, is_service: bool) -> Vec<String> {
        let own = &container["securityContext"];
        let pod = &self.spec["securityContext"];
        // What a container says comes before what its Pod says.
        let effective = |field: &str| own.get(field).or(pod.get(field)).unwrap_or(&Value::Null);
        let mut faults = Vec::new();
        let mut require = |is_met: bool, field: &str, wanted: &str| {
            if !is_met {
                let container = text(&container["name"]);
                faults.push(format!(
                    "{}, container {container}: {field} must be {wanted}",
                    self.name
                ));
            }
        };
        require(
            effective("runAsNonRoot") == true,
            "securityContext.runAsNonRoot",
            "true",
        );
        require(
            *effective("runAsUser") != 0,
            "securityContext.runAsUser",
            "another user than 0",
        );
        require(
            effective("seccompProfile")["type"] == "RuntimeDefault",
            "securityContext.seccompProfile.type",
            "RuntimeDefault",
        );
        require(
            own["allowPrivilegeEscalation"] == false,
            "securityContext.allowPrivilegeEscalation",
            "false",
        );
        require(
            own["privileged"] != true,
            "securityContext.privileged",
            "false",
        );
        require(
            own["readOnlyRootFilesystem"] == true,
            "securityContext.readOnlyRootFilesystem",
            "true",
        );
        let capabilities = &own["capabilities"];
        require(
            items(&capabilities["drop"]).any(|capability| capability == "ALL"),
            "securityContext.capabilities.drop",
            "ALL",
        );
        require(
            items(&capabilities["add"]).next().is_none(),
            "securityContext.capabilities.add",
            "empty",
        );
        // Without requests, the API server takes the limits for them.
        let memory = &container["resources"]["limits"]["memory"];
        require(
            memory
                .as_str()
                .is_some_and(|memory| !memory.starts_with('0')),
            "resources.limits.memory",
            "set",
        );
        let probes = ["livenessProbe", "readinessProbe"]
            .into_iter()
            .filter(|_| is_service);
        for (probe, page) in probes.zip(PAGES) {
            let get = &container[probe]["httpGet"];
            require(get["path"] == page, &format!("{probe}.httpGet.path"), page);
            require(
                get["port"].as_u64() == Some(served_port(container)),
                &format!("{probe}.httpGet.port"),
                "the one that the program serves",
            );
        }
        faults
    }
}

/// The port of the probes by the arguments of a container; 0 where there is none.
fn served_port(container: &Value) -> u64 {
    let mut addresses = items(&container["args"]).filter_map(|arg| text(arg).strip_prefix(FLAG));
    let port = addresses
        .next()
        .map(|address| address.rsplit(':').next()?.parse().ok());
    port.map_or(DEFAULT_PORT, Option::unwrap_or_default)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hardened() -> Value {
        json!({
            "kind": "Deployment", "metadata": { "name": "d" },
            "spec": { "template": { "spec": {
                "securityContext": { "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } },
                "containers": [{
                    "name": "c", "args": ["--health-probe-bind-address=:8081"],
                    "securityContext": {
                        "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] },
                        "readOnlyRootFilesystem": true,
                    },
                    "resources": { "limits": { "memory": "1Mi" } },
                    "livenessProbe": { "httpGet": { "path": "/healthz", "port": 8081 } },
                    "readinessProbe": { "httpGet": { "path": "/readyz", "port": 8081 } },
                }],
            } } },
        })
    }

    #[test]
    fn hardened_container_has_no_faults() {
        let report = check(&[json!({ "spec": { "workload": { "manifests": [hardened()] } } })]);
        assert_eq!((report.containers, report.faults), (1, Vec::new()));
    }

    #[test]
    fn every_missing_field_is_named() {
        let bare = json!({
            "kind": "Pod", "metadata": { "name": "p" },
            "spec": { "hostPID": true, "containers": [{ "name": "c" }], "volumes": [{ "name": "v", "emptyDir": {} }] },
        });
        let faults = check(&[bare]).faults;
        assert_eq!(faults.len(), 12, "{faults:#?}");
        assert_eq!(faults[0], "Pod p: hostPID must not be true");
        assert_eq!(
            faults[2],
            "Pod p, container c: securityContext.runAsNonRoot must be true"
        );
    }

    /// As they are in the repository: no renderer is needed.
    #[test]
    fn addon_27_deployments_of_the_hub_are_hardened() {
        for name in [
            "governance-policy-addon-controller",
            "governance-policy-propagator",
        ] {
            let file = crate::workspace().join(format!("deploy/hub/{name}.yaml"));
            let object = serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
            let report = check(&[object]);
            assert_eq!(report.containers, 1);
            assert!(report.faults.is_empty(), "{}", report.faults.join("\n"));
        }
    }

    #[test]
    fn each_weakened_field_is_a_fault() {
        let weaken = [
            (
                "/spec/template/spec/securityContext/runAsNonRoot",
                json!(false),
            ),
            (
                "/spec/template/spec/securityContext/seccompProfile/type",
                json!("Unconfined"),
            ),
            (
                "/spec/template/spec/containers/0/securityContext/allowPrivilegeEscalation",
                json!(true),
            ),
            (
                "/spec/template/spec/containers/0/securityContext/readOnlyRootFilesystem",
                json!(false),
            ),
            (
                "/spec/template/spec/containers/0/securityContext/capabilities/drop",
                json!(["KILL"]),
            ),
            (
                "/spec/template/spec/containers/0/resources/limits",
                json!({ "cpu": "1" }),
            ),
            (
                "/spec/template/spec/containers/0/resources/limits/memory",
                json!("0"),
            ),
            (
                "/spec/template/spec/containers/0/livenessProbe",
                json!({ "exec": {} }),
            ),
            (
                "/spec/template/spec/containers/0/readinessProbe/httpGet/path",
                json!("/healthz"),
            ),
            (
                "/spec/template/spec/containers/0/args/0",
                json!("--health-probe-bind-address=0"),
            ),
        ];
        for (pointer, value) in weaken {
            let mut object = hardened();
            *object.pointer_mut(pointer).unwrap() = value;
            assert!(!check(&[object]).faults.is_empty(), "{pointer}");
        }
    }
}
