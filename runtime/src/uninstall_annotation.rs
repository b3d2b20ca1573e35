//! Annotates the Deployment of a running add-on before its removal.

use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use reeve_api::names::UNINSTALLING_ANNOTATION;
use serde_json::{Value, json};

use crate::object::{ObjectKey, StatusReason};

/// The interval between two tries of a write.
const RETRY: Duration = Duration::from_secs(1);

/// The patch that sets the annotation to `value`.
#[must_use]
pub fn annotation(value: &str) -> Patch<Value> {
    Patch::Merge(json!({ "metadata": { "annotations": { UNINSTALLING_ANNOTATION: value } } }))
}

/// Annotates the Deployment `own`. Retries as long as a retry [may succeed](may_pass); the caller sets the timeout.
pub fn annotate_deployment<'a>(
    client: &'a Client,
    own: &'a ObjectKey,
    value: &'a str,
) -> BoxFuture<'a, Result<(), kube::Error>> {
    Box::pin(async move {
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), &own.namespace);
        let patch = annotation(value);
        loop {
            let patched = deployments
                .patch_metadata(&own.name, &PatchParams::default(), &patch)
                .await;
            match patched {
                Err(error) if may_pass(&error) => {
                    tracing::info!(deployment = %own, %error, "trying again");
                    tokio::time::sleep(RETRY).await;
                }
                other => return other.map(drop),
            }
        }
    })
}

/// Whether a retry may succeed: another client wrote in between, or the API server was busy.
#[must_use]
pub fn may_pass(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    StatusReason::of(error) == StatusReason::Conflict
        || matches!(status.reason.as_str(), "Timeout" | "ServerTimeout")
        || matches!(status.code, 429 | 504)
}
