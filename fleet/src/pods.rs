//! Reports Pods as running and ready on clusters without nodes, for users who ask for it.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use reeve_runtime::CancellationToken;
use reeve_runtime::metrics::ControllerMetrics;
use reeve_runtime::object::{ObjectKey, StatusReason, status_message};
use reeve_runtime::queue::{Action, Queue};
use reeve_runtime::supervisor::{Supervisor, TaskError};
use reeve_runtime::watch::{Store, Watch};
use serde_json::{Value, json};

/// The number of workers.
const WORKERS: usize = 4;

/// Sets the Pods of a cluster to running and ready, until `stop`.
pub(crate) async fn settle(
    client: Client,
    metrics: ControllerMetrics,
    stop: CancellationToken,
) -> Result<(), TaskError> {
    let mut tasks = Supervisor::new(stop.child_token());
    let pods = Watch::new(Api::all(client.clone())).fields("status.phase=Pending");
    let pending = pods.store();
    let queue = Queue::new("pod", &metrics);
    let seen = {
        let queue = queue.clone();
        pods.run(tasks.stop(), move |change| {
            if change.new.is_some() {
                queue.add(change.key);
            }
        })
    };
    tasks.spawn_infallible("watch of pods", seen);
    let stop = tasks.stop();
    tasks.spawn_infallible("pods", async move {
        let work = queue.run(WORKERS, stop, move |key| {
            one(client.clone(), pending.clone(), key)
        });
        work.await;
    });
    tasks.run().await
}

/// Why the status of a Pod was not written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the status of Pod {pod}: {}", status_message(.source))]
struct Error {
    pod: String,
    source: kube::Error,
}

async fn one(client: Client, pending: Store<Pod>, key: ObjectKey) -> Result<Action, Error> {
    let Some(pod) = pending.get_valid(&key) else {
        return Ok(Action::AwaitChange);
    };
    let Some(status) = settled(&pod, Timestamp::now()) else {
        return Ok(Action::AwaitChange);
    };
    let metadata = &pod.metadata;
    // The write fails if another client has changed the Pod in the meantime.
    let identity = json!({ "uid": metadata.uid, "resourceVersion": metadata.resource_version });
    let patch = Patch::Merge(json!({ "metadata": identity, "status": status }));
    let api: Api<Pod> = Api::namespaced(client, &key.namespace);
    let params = PatchParams::default();
    match api.patch_status(&key.name, &params, &patch).await {
        Ok(_) => Ok(Action::AwaitChange),
        Err(source) => match StatusReason::of(&source) {
            StatusReason::Conflict | StatusReason::NotFound => Ok(Action::AwaitChange),
            _ => Err(Error {
                pod: key.to_string(),
                source,
            }),
        },
    }
}

/// The status of a running Pod; `None` if the Pod must stay as it is.
fn settled(pod: &Pod, now: Timestamp) -> Option<Value> {
    let spec = pod.spec.as_ref()?;
    let gated = spec.scheduling_gates.as_ref();
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    if pod.metadata.deletion_timestamp.is_some()
        || gated.is_some_and(|gates| !gates.is_empty())
        || phase != Some("Pending")
    {
        return None;
    }
    let now = json!(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now));
    let condition = |of: &str| json!({ "type": of, "status": "True", "lastTransitionTime": now });
    let running = || json!({ "running": { "startedAt": now } });
    let ended = || {
        json!({ "terminated": {
            "exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now,
        } })
    };
    let first = spec.init_containers.iter().flatten();
    let first = first.map(|container| {
        // An init container with the policy `Always` runs beside the others.
        match container.restart_policy.as_deref() {
            Some("Always") => container_status(container, &running(), true),
            _ => container_status(container, &ended(), false),
        }
    });
    let then = spec.containers.iter();
    let then = then.map(|container| container_status(container, &running(), true));
    let mut status = json!({
        "phase": "Running",
        "startTime": now,
        "conditions": [
            condition("PodScheduled"), condition("Initialized"),
            condition("ContainersReady"), condition("Ready"),
        ],
        "containerStatuses": then.collect::<Vec<_>>(),
    });
    let first: Vec<Value> = first.collect();
    if !first.is_empty() {
        status["initContainerStatuses"] = first.into();
    }
    Some(status)
}

fn container_status(container: &Container, state: &Value, started: bool) -> Value {
    json!({
        "name": container.name,
        "image": container.image.as_deref().unwrap_or_default(),
        // No image was pulled, and so there is no digest.
        "imageID": "",
        "ready": true,
        "restartCount": 0,
        "started": started,
        "state": state,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(change: impl FnOnce(&mut Value)) -> Pod {
        let mut pod = json!({
            "metadata": { "name": "web", "namespace": "tea" },
            "spec": {
                "initContainers": [
                    { "name": "first", "image": "one" },
                    { "name": "beside", "image": "two", "restartPolicy": "Always" },
                ],
                "containers": [{ "name": "main", "image": "three" }],
            },
            "status": { "phase": "Pending" },
        });
        change(&mut pod);
        serde_json::from_value(pod).unwrap()
    }

    fn at_noon(pod: &Pod) -> Option<Value> {
        settled(pod, "2026-02-03T12:00:00Z".parse().unwrap())
    }

    #[test]
    fn pod_becomes_running_and_ready() {
        let status = at_noon(&pod(|_| {})).unwrap();
        assert_eq!(status["phase"], "Running");
        assert_eq!(status["startTime"], "2026-02-03T12:00:00Z");
        let main = &status["containerStatuses"][0];
        assert_eq!(main["name"], "main");
        assert_eq!(main["state"]["running"]["startedAt"], status["startTime"]);
        let first = &status["initContainerStatuses"];
        assert_eq!(first[0]["state"]["terminated"]["reason"], "Completed");
        assert!(first[1]["state"]["running"].is_object());
        let read: k8s_openapi::api::core::v1::PodStatus = serde_json::from_value(status).unwrap();
        let ready = read.conditions.unwrap();
        assert!(ready.iter().all(|condition| condition.status == "True"));
    }

    #[test]
    fn terminating_gated_or_reported_pod_stays_as_it_is() {
        let wait = json!([{ "name": "example.com/wait" }]);
        let gated = pod(|pod| pod["spec"]["schedulingGates"] = wait);
        let goes = json!("2026-02-03T11:00:00Z");
        let going = pod(|pod| pod["metadata"]["deletionTimestamp"] = goes);
        let failed = pod(|pod| pod["status"]["phase"] = json!("Failed"));
        for held in [gated, going, failed] {
            assert_eq!(at_noon(&held), None);
        }
    }
}
