//! Waits until the components are available.

use std::time::Duration;

use kube::api::DynamicObject;
use kube::{Client, ResourceExt as _};
use serde_json::Value;
use tokio::time::Instant;

use crate::InstallError;
use crate::hub::{Hub, Id};
use crate::messages;

/// How often a Deployment is read.
const INTERVAL: Duration = Duration::from_secs(1);

/// Waits until all Deployments among the objects are available. `report` gets what is waited for, whenever that changes.
///
/// # Errors
/// [`InstallError::NotAvailable`] when `timeout` has passed. A request that fails is tried again until then.
pub async fn wait(
    client: &Client,
    objects: &[Value],
    timeout: Duration,
    mut report: impl FnMut(&str),
) -> Result<(), InstallError> {
    let hub = Hub::new(client);
    let end = Instant::now() + timeout;
    let deployments = objects
        .iter()
        .filter(|object| object["kind"] == "Deployment");
    let ids: Vec<Id> = deployments.map(Id::from_object).collect();
    let mut reported = Vec::new();
    loop {
        let mut waiting = Vec::new();
        for id in &ids {
            let why = match why_unavailable(&hub, id).await {
                Ok(why) => why,
                // The API server of a hub may itself be restarted meanwhile.
                Err(InstallError::Request { why, .. }) => Some(why),
                Err(error) => return Err(error),
            };
            if let Some(why) = why {
                waiting.push(messages::waiting_for(&id.described(), &why));
            }
        }
        if waiting.is_empty() {
            return Ok(());
        }
        if Instant::now() >= end {
            let seconds = timeout.as_secs();
            return Err(InstallError::NotAvailable { seconds, waiting });
        }
        for line in &waiting {
            if !reported.contains(line) {
                report(line);
            }
        }
        reported = waiting;
        tokio::time::sleep(INTERVAL.min(end - Instant::now())).await;
    }
}

/// Why a Deployment is not available; nothing when it is.
async fn why_unavailable(hub: &Hub, id: &Id) -> Result<Option<String>, InstallError> {
    let Some(deployment) = hub.get(id).await? else {
        return Ok(Some(messages::ABSENT.to_owned()));
    };
    let number = |pointer: &str| {
        let number = deployment.data.pointer(pointer);
        number.and_then(Value::as_i64).unwrap_or_default()
    };
    let wanted = deployment.data.pointer("/spec/replicas");
    let wanted = wanted.and_then(Value::as_i64).unwrap_or(1);
    let is_observed =
        number("/status/observedGeneration") >= deployment.metadata.generation.unwrap_or_default();
    let available = number("/status/availableReplicas");
    let updated = number("/status/updatedReplicas");
    let is_available = is_observed
        && updated >= wanted
        && available >= wanted
        && number("/status/replicas") <= updated;
    if is_available {
        return Ok(None);
    }
    let mut why = messages::available(available.min(updated), wanted);
    if let Some(reason) = reason_of_pods(hub, id, &deployment).await? {
        why.push_str(": ");
        why.push_str(&reason);
    }
    Ok(Some(why))
}

/// What keeps a container of the Deployment from running, such as an image that cannot be pulled.
async fn reason_of_pods(
    hub: &Hub,
    id: &Id,
    deployment: &DynamicObject,
) -> Result<Option<String>, InstallError> {
    let labels = deployment.data.pointer("/spec/selector/matchLabels");
    let labels = labels.and_then(Value::as_object).into_iter().flatten();
    let labels: Vec<String> = labels
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    let pods = Id {
        gvk: kube::core::GroupVersionKind::gvk("", "v1", "Pod"),
        namespace: id.namespace.clone(),
        name: String::new(),
    };
    let pods = hub.list(&pods, &labels.join(",")).await?;
    let statuses = pods.iter().filter_map(|pod| {
        let statuses = pod.data.pointer("/status/containerStatuses")?;
        statuses.as_array()
    });
    let mut states = statuses.flatten().filter_map(|status| {
        let state = &status["state"];
        let state = state.get("waiting").or_else(|| state.get("terminated"))?;
        let reason = state["reason"].as_str()?;
        let message = state["message"].as_str().unwrap_or_default();
        let is_ordinary = matches!(reason, "ContainerCreating" | "PodInitializing");
        (!is_ordinary).then(|| messages::state(reason, message))
    });
    let state = states.next();
    let is_running = |pod: &&DynamicObject| pod.data["status"]["phase"] == "Running";
    let running = pods.iter().find(is_running);
    Ok(state.or_else(|| running.map(|pod| messages::not_ready(&pod.name_any()))))
}
