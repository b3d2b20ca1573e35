//! Whether the cluster has a Gatekeeper that audits: then the audit of this process ends, and the constraints are handed over. Two
//! auditors of one cluster would overwrite each other's statuses.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use reeve_api::names::GATEKEEPER_WEBHOOK_CONFIGURATION as CONFIGURATION;
use reeve_runtime::CancellationToken;
use reeve_runtime::metrics::ControllerMetrics;
use reeve_runtime::object::StatusReason;
use reeve_runtime::supervisor::{Supervisor, TaskError};
use reeve_runtime::watch::{Store, Watch};
use serde_json::Value;
use tokio::sync::watch;

use crate::error::AuditError;
use crate::{Options, audit, definitions, resources};

const RETRY: Duration = Duration::from_secs(5);

/// Audits while there is no Gatekeeper, until `stop`.
pub(crate) async fn run(
    client: Client,
    options: Options,
    metrics: ControllerMetrics,
    stop: CancellationToken,
) -> Result<(), TaskError> {
    let mut tasks = Supervisor::new(stop);
    let api: Api<_> = Api::all(client.clone());
    let webhook = Watch::projected(api, |_: ValidatingWebhookConfiguration| ());
    let webhook = webhook.fields(&format!("metadata.name={CONFIGURATION}"));
    let (store, notify) = (webhook.store(), watch::Sender::new(()));
    let changed = notify.subscribe();
    let work = webhook.run(tasks.stop(), move |_| {
        notify.send_replace(());
    });
    tasks.spawn_infallible("watch of Gatekeeper's webhook", work);
    let stop = tasks.stop();
    tasks.spawn("audit of constraints without Gatekeeper", async move {
        let watched = Webhook { store, changed };
        alternate(client, options, metrics, (watched, stop)).await
    });
    tasks.run().await
}

/// The configuration by which a Gatekeeper is called.
struct Webhook {
    store: Store<()>,
    changed: watch::Receiver<()>,
}

impl Webhook {
    fn is_there(&self) -> bool {
        !self.store.keys().is_empty()
    }

    /// Waits until it is created or deleted.
    async fn changes_from(&mut self, was_there: bool) {
        while self.is_there() == was_there {
            if self.changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

async fn alternate(
    client: Client,
    options: Options,
    metrics: ControllerMetrics,
    (mut webhook, stop): (Webhook, CancellationToken),
) -> Result<(), TaskError> {
    tokio::select! {
        () = stop.cancelled() => return Ok(()),
        () = webhook.store.wait_for_cache_sync() => {}
    }
    while !stop.is_cancelled() {
        let was_there = webhook.is_there();
        if was_there || audits(&client, &options.id).await {
            tracing::info!("a Gatekeeper audits the constraints of this cluster");
            if let Err(error) = definitions::disown(&client).await {
                tracing::warn!(%error, "constraints are not handed over yet");
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = webhook.changes_from(was_there) => {}
            }
            continue;
        }
        tracing::info!("no Gatekeeper: this process audits the constraints of this cluster");
        let work = stop.child_token();
        let own = audit::run(client.clone(), options.clone(), &metrics, work.clone());
        tokio::pin!(own);
        tokio::select! {
            ended = &mut own => return ended,
            () = webhook.changes_from(was_there) => {
                work.cancel();
                own.await?;
            }
        }
    }
    Ok(())
}

/// Whether the Pod of another auditor that has written a status still exists. Definitions and statuses alone prove nothing: they
/// survive an uninstall.
async fn audits(client: &Client, own: &str) -> bool {
    loop {
        match other_auditor(client, own).await {
            Ok(answer) => return answer,
            Err(error) => {
                tracing::warn!(%error, "not known whether a Gatekeeper audits");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

async fn other_auditor(client: &Client, own: &str) -> Result<bool, AuditError> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resources::templates());
    let listed = match api.list(&ListParams::default()).await {
        Err(error) if StatusReason::of(&error) == StatusReason::NotFound => return Ok(false),
        listed => listed.map_err(AuditError::new("list constraint templates"))?,
    };
    for id in listed.iter().flat_map(|one| auditors(&one.data)) {
        if id == own {
            continue;
        }
        let pods: Api<Pod> = Api::all(client.clone());
        let named = ListParams::default().fields(&format!("metadata.name={id}"));
        let pods = pods.list_metadata(&named).await;
        let pods = pods.map_err(AuditError::new(format!("look for Pod {id}")))?;
        if !pods.items.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The Pods that audit by a template, from its status.
fn auditors(template: &Value) -> Vec<String> {
    let pods = template["status"]["byPod"].as_array();
    let audit = |pod: &&Value| {
        let operations = pod["operations"].as_array();
        operations.is_some_and(|all| all.iter().any(|one| one == "audit"))
    };
    let ids = pods.into_iter().flatten().filter(audit);
    ids.filter_map(|pod| Some(pod["id"].as_str()?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_pods_with_the_operation_audit_are_auditors() {
        let template = json!({"status": {"byPod": [
            {"id": "webhook", "operations": ["webhook"]},
            {"id": "audit", "operations": ["audit", "status"]},
            {"operations": ["audit"]},
        ]}});
        assert_eq!(auditors(&template), ["audit"]);
        assert!(auditors(&json!({})).is_empty());
    }
}
