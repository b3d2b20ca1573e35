//! The two components of the hub: whether they run, and from which images.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::Resource as _;
use reeve_report::{Entry, Rule, State};

use crate::observe::{Deployments, Hub, Read};
use crate::{bad, good, messages, rule};

/// The components of the hub, which are the names of their Deployments.
pub(crate) const PROPAGATOR: &str = "governance-policy-propagator";
pub(crate) const ADDON_CONTROLLER: &str = "governance-policy-addon-controller";
/// The variables that say which images the agents of clusters have.
const IMAGES: [&str; 2] = [
    "CONFIG_POLICY_CONTROLLER_IMAGE",
    "GOVERNANCE_POLICY_FRAMEWORK_ADDON_IMAGE",
];

pub(crate) async fn checks(hub: &Hub, deployments: &Read<Deployments>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for name in [PROPAGATOR, ADDON_CONTROLLER] {
        let found = match deployments {
            Ok(all) => all.get(name).map(Vec::as_slice).unwrap_or_default(),
            Err(why) => {
                let why = rule("", State::Error, messages::unread("Deployments", why));
                entries.push(Entry::of_rules(name, "deployment", vec![why]));
                continue;
            }
        };
        match found {
            [] => entries.push(Entry::of_rules(
                name,
                "deployment",
                vec![bad("", messages::no_deployment(name))],
            )),
            [one] => entries.extend(component(hub, name, one).await),
            several => {
                let namespaces = several.iter().map(|one| namespace(one).to_owned());
                let why = messages::several(name, &namespaces.collect::<Vec<_>>());
                entries.push(Entry::of_rules(name, "deployment", vec![bad("", why)]));
            }
        }
    }
    entries
}

/// The namespace of a Deployment.
pub(crate) fn namespace(deployment: &Deployment) -> &str {
    let namespace = deployment.metadata.namespace.as_deref();
    namespace.unwrap_or_default()
}

fn containers(deployment: &Deployment) -> &[Container] {
    let pod = deployment.spec.template.spec.as_ref();
    pod.map(|pod| pod.containers.as_slice()).unwrap_or_default()
}

async fn component(hub: &Hub, name: &str, deployment: &Deployment) -> Vec<Entry> {
    let mut entries = vec![Entry::of_rules(
        name,
        "deployment",
        vec![availability(deployment)],
    )];
    let mut images: Vec<Rule> = containers(deployment)
        .iter()
        .map(|container| good("", container.image.clone().unwrap_or_default()))
        .collect();
    match waiting(hub, deployment).await {
        Ok(waiting) => images.extend(waiting),
        Err(why) => images.push(rule("", State::Error, messages::unread("Pods", &why))),
    }
    entries.push(Entry::of_rules(name, "image", images));
    if name == ADDON_CONTROLLER {
        entries.push(Entry::of_rules(
            name,
            "images of agents",
            agents(deployment),
        ));
    }
    entries
}

fn availability(deployment: &Deployment) -> Rule {
    let wanted = deployment.spec.replicas.unwrap_or(1);
    let status = deployment.status.as_ref();
    let available = status.and_then(|status| status.available_replicas);
    let available = available.unwrap_or_default();
    let namespace = namespace(deployment);
    if wanted == 0 {
        bad("", messages::scaled_down(namespace))
    } else if available < wanted {
        let name = deployment.metadata.name.as_deref().unwrap_or_default();
        bad(
            "",
            messages::not_running(namespace, name, available, wanted),
        )
    } else {
        good("", messages::running(namespace, available))
    }
}

/// Why containers of the component's Pods do not run.
async fn waiting(hub: &Hub, deployment: &Deployment) -> Read<Vec<Rule>> {
    let labels = deployment.spec.selector.match_labels.as_ref();
    let labels: Vec<String> = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let path = Pod::url_path(&(), Some(namespace(deployment)));
    let path = format!("{path}?labelSelector={}", encoded(&labels.join(",")));
    let pods: Vec<Pod> = hub.list(&path).await?;
    let mut rules = Vec::new();
    for pod in pods {
        let name = pod.metadata.name.unwrap_or_default();
        let statuses = pod.status.and_then(|status| status.container_statuses);
        for status in statuses.into_iter().flatten() {
            let waiting = status.state.and_then(|state| state.waiting);
            let Some(waiting) = waiting else { continue };
            let reason = waiting.reason.unwrap_or_default();
            if reason != "ContainerCreating" && !reason.is_empty() {
                let why = waiting.message.unwrap_or_default();
                rules.push(bad(&name, messages::pod_waits(&reason, &why)));
            }
        }
    }
    Ok(rules)
}

/// A label selector as part of a query.
fn encoded(selector: &str) -> String {
    selector
        .replace('%', "%25")
        .replace('=', "%3D")
        .replace(',', "%2C")
        .replace('/', "%2F")
}

/// The images that the add-on controller gives to the agents.
fn agents(deployment: &Deployment) -> Vec<Rule> {
    let variables = containers(deployment).iter();
    let variables: Vec<_> = variables
        .flat_map(|container| container.env.iter().flatten())
        .collect();
    let image = |name: &str| {
        let found = variables.iter().find(|variable| variable.name == name);
        found.and_then(|variable| variable.value.clone())
    };
    IMAGES
        .iter()
        .map(|name| match image(name).filter(|image| !image.is_empty()) {
            Some(image) => good(name, image),
            None => rule(name, State::Skipped, messages::NO_IMAGE),
        })
        .collect()
}
