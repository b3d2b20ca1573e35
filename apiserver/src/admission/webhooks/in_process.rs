//! Webhooks of this process: a configuration reaches them by the name of a service, as it reaches others, and they are called without
//! a connection. Rules, selectors, match conditions, failure policy and timeout are those of the configuration.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use super::config::Hook;
use super::response::{self, WebhookResponse};
use crate::kinds::Kind;
use crate::status_error::StatusError;

/// A webhook of this process.
#[derive(Clone)]
pub struct InProcessWebhook {
    /// The namespace of the service that `clientConfig` names. The service need not exist.
    pub namespace: &'static str,
    /// The name of that service.
    pub service: &'static str,
    /// What answers.
    pub handler: Arc<dyn WebhookHandler>,
}

/// Answers the admission requests of a webhook.
pub trait WebhookHandler: Send + Sync {
    /// Whether requests for objects of a kind are to be sent. Asked before anything is made for a request.
    fn handles(&self, group: &str, kind: &str) -> bool;

    /// Answers an `AdmissionReview` to the path of `clientConfig`. The error is the reason of a failed call: the failure policy
    /// decides then.
    fn review(
        self: Arc<Self>,
        path: &str,
        review: Value,
    ) -> BoxFuture<'static, Result<WebhookAnswer, String>>;
}

/// The answer of a webhook of this process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WebhookAnswer {
    /// The warnings for the client.
    pub warnings: Vec<String>,
    /// The status of the refusal; none when the request is allowed.
    pub refusal: Option<StatusError>,
}

impl InProcessWebhook {
    /// Whether a configured webhook is this one.
    fn is(&self, hook: &Hook) -> bool {
        let service = &hook.entry["clientConfig"]["service"];
        service["namespace"] == self.namespace && service["name"] == self.service
    }

    /// Calls it.
    pub(super) async fn call(&self, hook: &Hook, review: Value) -> Result<WebhookResponse, String> {
        let path = hook.entry["clientConfig"]["service"]["path"].as_str();
        let handler = Arc::clone(&self.handler);
        let answer = handler.review(path.unwrap_or("/"), review);
        let answer = tokio::time::timeout(hook.timeout(), answer).await;
        let answer = answer.unwrap_or_else(|_| Err("context deadline exceeded".to_owned()));
        let answer = answer.map_err(|why| format!("failed to call webhook: {why}"))?;
        let name = &hook.name;
        Ok(WebhookResponse {
            warnings: answer.warnings,
            refusal: answer.refusal.map(|status| StatusError {
                message: response::denied(name, &status.message, &status.reason),
                ..status
            }),
            ..WebhookResponse::default()
        })
    }
}

/// The webhook of this process that a configured one is.
pub(super) fn of<'a>(all: &'a [InProcessWebhook], hook: &Hook) -> Option<&'a InProcessWebhook> {
    all.iter().find(|one| one.is(hook))
}

/// Whether a configured webhook is to be sent requests for a kind: one elsewhere is, always.
pub(super) fn handles(all: &[InProcessWebhook], hook: &Hook, kind: &Kind) -> bool {
    of(all, hook).is_none_or(|one| one.handler.handles(&kind.group, &kind.kind))
}
