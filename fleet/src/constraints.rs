//! Gatekeeper's constraints on a server of this process: the audit, and the webhook by which the server asks it about writes.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Client;
use reeve_apiserver::status_error::StatusError;
use reeve_apiserver::{Identity, InProcessWebhook, Server, WebhookAnswer, WebhookHandler};
use reeve_constraint_audit::{
    self as constraint_audit, ACCOUNT, Admission, Answer, ExternalData, Mode, webhook,
};
use reeve_runtime::CancellationToken;
use reeve_runtime::metrics::ControllerMetrics;
use reeve_runtime::supervisor::TaskError;
use serde_json::Value;

/// Whether the clusters of a fleet evaluate Gatekeeper's constraints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Constraints {
    /// They do not have the kinds of Gatekeeper, unless they are given, and nothing evaluates them.
    #[default]
    Ignored,
    /// Every cluster has the kind of constraint templates, and its constraints are audited.
    Audited,
    /// They refuse writes, too, as with Gatekeeper's webhook.
    Enforced,
}

impl Constraints {
    /// Whether some of these objects, in which a kind of Gatekeeper may be nested, need constraints to be audited. The
    /// audit takes each cluster some time and memory that others need not spend.
    pub fn needed_by<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        if objects.into_iter().any(names_gatekeeper) {
            Self::Audited
        } else {
            Self::Ignored
        }
    }
}

fn names_gatekeeper(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(field, value)| match value {
            Value::String(text) => field == "apiVersion" && text.contains(".gatekeeper.sh/"),
            _ => names_gatekeeper(value),
        }),
        Value::Array(items) => items.iter().any(names_gatekeeper),
        _ => false,
    }
}

/// What evaluates the constraints of one server.
#[derive(Clone, Default)]
pub struct ConstraintEvaluation {
    admission: Admission,
    external_data: ExternalData,
}

impl ConstraintEvaluation {
    /// Evaluates with these answers of providers of external data.
    pub fn new(external_data: ExternalData) -> Self {
        Self {
            external_data,
            ..Self::default()
        }
    }

    /// The webhook for the options of the server. It admits everything until [`Self::run`] with [`Constraints::Enforced`].
    pub fn webhook(&self) -> InProcessWebhook {
        InProcessWebhook {
            namespace: webhook::NAMESPACE,
            service: webhook::SERVICE,
            handler: Arc::new(Webhook(self.admission.clone())),
        }
    }

    /// How many requests constraints have decided about.
    pub fn reviews(&self) -> u64 {
        self.admission.reviews()
    }

    /// Evaluates the constraints of the server until `stop`.
    pub async fn run(
        &self,
        server: &Server,
        constraints: Constraints,
        metrics: ControllerMetrics,
        stop: CancellationToken,
    ) -> Result<(), TaskError> {
        let mode = match constraints {
            Constraints::Ignored => Mode::Off,
            Constraints::Audited | Constraints::Enforced => Mode::Materialised,
        };
        let is_enforced = constraints == Constraints::Enforced;
        let options = constraint_audit::Options {
            mode,
            external_data: self.external_data.clone(),
            admission: is_enforced.then(|| self.admission.clone()),
            ..constraint_audit::Options::default()
        };
        let client = Client::new(server.service(auditor()), "default");
        constraint_audit::run(client, options, metrics, stop).await
    }
}

/// A writer whom constraints do not keep from its own work.
fn auditor() -> Identity {
    let mut auditor = Identity::service_account(webhook::NAMESPACE, ACCOUNT, "");
    auditor.groups.push("system:masters".to_owned());
    auditor
}

struct Webhook(Admission);

impl WebhookHandler for Webhook {
    fn handles(&self, group: &str, kind: &str) -> bool {
        self.0.handles(group, kind)
    }

    fn review(
        self: Arc<Self>,
        path: &str,
        review: Value,
    ) -> BoxFuture<'static, Result<WebhookAnswer, String>> {
        let path = path.to_owned();
        async move { self.0.answer(&path, review).await.map(answer) }.boxed()
    }
}

fn answer(answer: Answer) -> WebhookAnswer {
    WebhookAnswer {
        warnings: answer.warnings,
        refusal: answer.denied.map(|denied| StatusError {
            code: denied.code,
            reason: denied.reason.into(),
            message: denied.message,
            details: None,
        }),
    }
}
