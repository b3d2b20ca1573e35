//! The objects of an installation: the manifests of `deploy/` in this program, changed as asked.

use reeve_go_compat::labels::is_dns_label;
use serde_json::{Value, json};

use crate::InstallError;

/// Where the components run if no other namespace is named.
pub const NAMESPACE: &str = "open-cluster-management";
/// The label of everything that was applied.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Its value, which is the field manager, too.
pub const MANAGER: &str = "reeve-install";

const PLACEMENT_RULES: &str =
    include_str!("../../deploy/hub/crds/apps.open-cluster-management.io_placementrules.yaml");
/// In the order in which they are applied: a Deployment whose account has no rights would only fail.
const HUB: [&str; 4] = [
    include_str!("../../deploy/hub/rbac.yaml"),
    include_str!("../../deploy/hub/addons.yaml"),
    include_str!("../../deploy/hub/governance-policy-addon-controller.yaml"),
    include_str!("../../deploy/hub/governance-policy-propagator.yaml"),
];
const WEBHOOK: &str = include_str!("../../deploy/webhook/governance-policy-propagator.yaml");
const METRICS: &str = include_str!("../../deploy/components/metrics/metrics.yaml");

/// What is installed.
#[derive(Clone, Debug)]
pub struct InstallOptions {
    /// The namespace of the components.
    pub namespace: String,
    /// The image of all components and agents.
    pub image: String,
    /// The admission webhooks of the propagator, with certificates of cert-manager.
    pub webhooks: bool,
    /// A Service and a `ServiceMonitor` for metrics.
    pub monitoring: bool,
}

/// The objects of an installation, in the order in which they are applied, from the namespace on.
///
/// # Errors
/// [`InstallError::Image`], [`InstallError::Namespace`], and [`InstallError::Manifest`] if this program was built with a broken manifest.
pub fn objects(options: &InstallOptions) -> Result<Vec<Value>, InstallError> {
    check_image(&options.image)?;
    check_namespace(&options.namespace)?;
    let mut objects = vec![json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": options.namespace},
    })];
    let mut later = definitions()?;
    if options.webhooks {
        later.extend(documents(WEBHOOK)?);
    }
    if options.monitoring {
        later.extend(documents(METRICS)?);
    }
    for text in HUB {
        later.extend(documents(text)?);
    }
    for object in &mut later {
        if options.webhooks && is_propagator(object) {
            serve_webhooks(object);
        }
        set_image(object, &options.image);
        set_namespace(object, &options.namespace);
        object["metadata"]["labels"][MANAGED_BY] = json!(MANAGER);
    }
    // The namespace may be somebody's, and is never deleted: it has no label.
    objects.append(&mut later);
    Ok(objects)
}

fn definitions() -> Result<Vec<Value>, InstallError> {
    let on_hub = reeve_api::crds::on_hub();
    let on_hub = on_hub.map_err(|error| InstallError::Manifest(error.to_string()))?;
    let mut definitions: Vec<Value> = on_hub.into_iter().map(|(_, crd)| crd).collect();
    definitions.extend(documents(PLACEMENT_RULES)?);
    Ok(definitions)
}

fn documents(text: &str) -> Result<Vec<Value>, InstallError> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)
        .map_err(|error| InstallError::Manifest(error.to_string()))?;
    Ok(documents.into_iter().filter(Value::is_object).collect())
}

fn check_image(image: &str) -> Result<(), InstallError> {
    let is_reference = !image.is_empty()
        && !image.contains("://")
        && !image.contains(|character: char| character.is_whitespace() || character.is_control());
    if is_reference {
        Ok(())
    } else {
        Err(InstallError::Image(image.to_owned()))
    }
}

fn check_namespace(name: &str) -> Result<(), InstallError> {
    let is_label = name.len() <= 63 && is_dns_label(name);
    if is_label {
        Ok(())
    } else {
        Err(InstallError::Namespace(name.to_owned()))
    }
}

fn is_propagator(object: &Value) -> bool {
    object["kind"] == "Deployment" && object["metadata"]["name"] == "governance-policy-propagator"
}

/// What the chart does with `webhooks.enabled`.
fn serve_webhooks(deployment: &mut Value) {
    let template = &mut deployment["spec"]["template"];
    template["metadata"]["labels"]["webhook-origin"] = json!("governance-policy-propagator");
    template["spec"]["volumes"] = json!([
        {"name": "cert", "secret": {"secretName": "propagator-webhook-server-cert"}},
    ]);
    let container = &mut template["spec"]["containers"][0];
    container["volumeMounts"] = json!([
        {"mountPath": "/tmp/k8s-webhook-server/serving-certs", "name": "cert", "readOnly": true},
    ]);
    if let Some(ports) = container["ports"].as_array_mut() {
        ports.push(json!({"containerPort": 9443, "name": "webhook-http", "protocol": "TCP"}));
    }
    for argument in container["args"].as_array_mut().into_iter().flatten() {
        if argument == "--enable-webhooks=false" {
            *argument = json!("--enable-webhooks=true");
        }
    }
}

/// The images of the containers, and those of the agents, which are in variables of the add-on controller.
fn set_image(object: &mut Value, image: &str) {
    if object["kind"] != "Deployment" {
        return;
    }
    let containers = object.pointer_mut("/spec/template/spec/containers");
    for container in containers
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        container["image"] = json!(image);
        for variable in container["env"].as_array_mut().into_iter().flatten() {
            let name = variable["name"].as_str().unwrap_or_default();
            if name.ends_with("_IMAGE") {
                variable["value"] = json!(image);
            }
        }
    }
}

/// The namespace of an object, of the accounts in bindings, of the services of webhooks, and in the names of certificates.
fn set_namespace(value: &mut Value, namespace: &str) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if name == "namespace" && member == NAMESPACE {
                    *member = json!(namespace);
                } else {
                    set_namespace(member, namespace);
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|one| set_namespace(one, namespace)),
        Value::String(text) => {
            for (before, after) in [
                ("", "/propagator-"),
                ("propagator-webhook-service.", ".svc"),
            ] {
                let name = format!("{before}{NAMESPACE}{after}");
                if text.starts_with(&name) {
                    *text = text.replacen(&name, &format!("{before}{namespace}{after}"), 1);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> InstallOptions {
        InstallOptions {
            namespace: NAMESPACE.to_owned(),
            image: "registry.example.com/reeve:1".to_owned(),
            webhooks: false,
            monitoring: false,
        }
    }

    fn text(options: &InstallOptions) -> String {
        let objects = objects(options).unwrap();
        let objects: Vec<String> = objects.iter().map(ToString::to_string).collect();
        objects.concat()
    }

    #[test]
    fn inst_1_has_the_objects_of_clusteradm_and_a_namespace() {
        let objects = objects(&options()).unwrap();
        assert_eq!(objects.len(), 1 + 5 + 12 + 2);
        assert_eq!(objects[0]["kind"], "Namespace");
        assert!(objects[0]["metadata"].get("labels").is_none());
        let labelled = |one: &&Value| one["metadata"]["labels"][MANAGED_BY] == MANAGER;
        assert_eq!(objects.iter().filter(labelled).count(), 19);
    }

    #[test]
    fn inst_1_one_image_is_that_of_components_and_agents() {
        let text = text(&options());
        assert!(!text.contains("quay.io"), "{text}");
        assert_eq!(text.matches("registry.example.com/reeve:1").count(), 4);
    }

    #[test]
    fn inst_1_another_namespace_is_everywhere() {
        let options = InstallOptions {
            namespace: "elsewhere".to_owned(),
            webhooks: true,
            monitoring: true,
            ..options()
        };
        let text = text(&options);
        // Groups and the names of labels begin with it.
        for place in [
            "\"open-cluster-management\"",
            "open-cluster-management/propagator",
            ".open-cluster-management.svc",
        ] {
            assert!(!text.contains(place), "{place}");
        }
        assert!(text.contains("propagator-webhook-service.elsewhere.svc.cluster.local"));
        assert!(text.contains("elsewhere/propagator-webhook-serving-cert"));
        assert!(text.contains("--enable-webhooks=true"));
    }

    #[test]
    fn inst_1_namespace_must_be_a_label() {
        for namespace in ["", "A", "a.b", "-a", "a-", &"a".repeat(64)] {
            let options = InstallOptions {
                namespace: namespace.to_owned(),
                ..options()
            };
            let error = objects(&options);
            assert!(
                matches!(error, Err(InstallError::Namespace(_))),
                "{namespace:?}"
            );
        }
    }

    #[test]
    fn inst_1_image_must_be_a_reference() {
        for image in ["", "https://registry.example.com/reeve", "a b", "a\n"] {
            let options = InstallOptions {
                image: image.to_owned(),
                ..options()
            };
            assert!(
                matches!(objects(&options), Err(InstallError::Image(_))),
                "{image:?}"
            );
        }
    }
}
