//! The configuration of the webhook of this process: Gatekeeper's, with our label, and the name of a service that the API server of this
//! process takes for the [`Admission`](crate::Admission) of the cluster.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Client;
use kube::api::{Api, PostParams};
use reeve_api::names::{
    GATEKEEPER_NAMESPACE, GATEKEEPER_WEBHOOK_CONFIGURATION as CONFIGURATION, MANAGED_BY_LABEL,
    MANAGED_BY_REEVE,
};
use reeve_gatekeeper::admission::WEBHOOK;
use reeve_runtime::object::StatusReason;
use serde_json::{Value, json};

use crate::error::AuditError;

/// Where Gatekeeper runs; the namespace of the service, which does not exist.
pub const NAMESPACE: &str = GATEKEEPER_NAMESPACE;
/// The name of the service in the configuration.
pub const SERVICE: &str = "reeve-constraint-admission";
/// The path of requests that constraints decide.
pub const PATH: &str = "/v1/admit";
/// The path of Namespaces, for their label.
pub const LABEL_PATH: &str = "/v1/admitlabel";

/// The label of Namespaces whose objects no constraint refuses.
pub(crate) const IGNORE_LABEL: &str = "admission.gatekeeper.sh/ignore";
/// The webhook that keeps this label off Namespaces.
const LABEL_WEBHOOK: &str = "check-ignore-label.gatekeeper.sh";
const RETRY: Duration = Duration::from_secs(5);

/// Creates the configuration, unless it is there. Tries until it is.
pub(crate) async fn install(client: &Client) {
    let api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    loop {
        match create(&api).await {
            Ok(()) => return,
            Err(error) => {
                tracing::warn!(%error, "constraints refuse nothing yet");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

async fn create(api: &Api<ValidatingWebhookConfiguration>) -> Result<(), AuditError> {
    // A test holds it to be one.
    let configuration = serde_json::from_value(configuration()).unwrap_or_default();
    let created = api.create(&PostParams::default(), &configuration).await;
    match created {
        Err(error) if StatusReason::of(&error) != StatusReason::AlreadyExists => {
            let what = format!("create ValidatingWebhookConfiguration {CONFIGURATION}");
            Err(AuditError::new(what)(error))
        }
        _ => Ok(()),
    }
}

/// What a release of Gatekeeper installs: no constraint decides about deletions, subresources, and Namespaces with the label.
fn configuration() -> Value {
    let hook = |name: &str, path: &str, failure_policy: &str| {
        json!({
            "name": name,
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"namespace": NAMESPACE, "name": SERVICE, "path": path}},
            "failurePolicy": failure_policy,
            "matchPolicy": "Exact",
            "sideEffects": "None",
            "timeoutSeconds": 3,
        })
    };
    let rule = |groups: &str, resources: &str| {
        json!([{
            "apiGroups": [groups], "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"], "resources": [resources],
        }])
    };
    let mut constraints = hook(WEBHOOK, PATH, "Ignore");
    constraints["namespaceSelector"] = json!({"matchExpressions": [
        {"key": IGNORE_LABEL, "operator": "DoesNotExist"},
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [NAMESPACE]},
    ]});
    constraints["rules"] = rule("*", "*");
    let mut label = hook(LABEL_WEBHOOK, LABEL_PATH, "Fail");
    label["rules"] = rule("", "namespaces");
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {
            "name": CONFIGURATION,
            "labels": {"gatekeeper.sh/system": "yes", MANAGED_BY_LABEL: MANAGED_BY_REEVE},
        },
        "webhooks": [constraints, label],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_is_one_with_both_webhooks() {
        let read: ValidatingWebhookConfiguration = serde_json::from_value(configuration()).unwrap();
        assert_eq!(read.metadata.name.as_deref(), Some(CONFIGURATION));
        let names: Vec<String> = read
            .webhooks
            .unwrap()
            .into_iter()
            .map(|one| one.name)
            .collect();
        assert_eq!(names, [WEBHOOK, LABEL_WEBHOOK]);
    }
}
