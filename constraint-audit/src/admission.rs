//! Admission by the constraints of a cluster: what a validating webhook answers, by the templates, constraints and inventory that the
//! audit of the same cluster holds.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::available_parallelism;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use parking_lot::RwLock;
use reeve_gatekeeper::admission::{Answer, Refusal, answer, check_own_kinds};
use reeve_gatekeeper::client::{Cause, Client as Engine, Violation};
use reeve_gatekeeper::enforcement::EnforcementPoint;
use reeve_gatekeeper::matching::Source;
use reeve_gatekeeper::review::Review;
use reeve_gatekeeper::{CONSTRAINT_GROUP, TEMPLATE_GROUP};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::state::Audit;
use crate::{messages, redaction, webhook};

/// The service account of the audit, in [`webhook::NAMESPACE`]. Its own writes are admitted.
pub const ACCOUNT: &str = "reeve-constraint-audit";

/// Answers the admission requests of a cluster. Clones are the same. Before its audit runs, and after, it admits everything.
#[derive(Clone, Debug, Default)]
pub struct Admission(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    audit: RwLock<Weak<Audit>>,
    /// How many constraints are evaluated: without any, nothing is done for a request.
    constraints: AtomicUsize,
    reviews: AtomicU64,
    slots: OnceLock<Arc<Semaphore>>,
}

/// Ends the evaluation of a request that nobody waits for any more.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Admission {
    /// Answers with what an audit holds, from now on.
    pub(crate) fn attach(&self, audit: &Arc<Audit>) {
        *self.0.audit.write() = Arc::downgrade(audit);
    }

    /// Admits everything from now on.
    pub(crate) fn detach(&self) {
        *self.0.audit.write() = Weak::new();
        self.0.constraints.store(0, Ordering::Relaxed);
    }

    /// Counts the constraints of the engine: they have changed.
    pub(crate) fn count(&self, engine: &Engine) {
        let count = engine.constraints().count();
        self.0.constraints.store(count, Ordering::Relaxed);
    }

    /// Whether requests for objects of a kind need an answer.
    pub fn handles(&self, group: &str, kind: &str) -> bool {
        self.0.constraints.load(Ordering::Relaxed) > 0
            || matches!(group, TEMPLATE_GROUP | CONSTRAINT_GROUP)
            || (group.is_empty() && kind == "Namespace")
    }

    /// How many requests were evaluated.
    pub fn reviews(&self) -> u64 {
        self.0.reviews.load(Ordering::Relaxed)
    }

    /// Answers the `AdmissionReview` of a request to a path of the [`webhook`]. The error is why it cannot be answered. The caller has a
    /// stack for the review, however deep it is; what leaves this thread is not.
    pub async fn answer(&self, path: &str, review: Value) -> Result<Answer, String> {
        let audit = self.0.audit.read().upgrade();
        match audit {
            None => Ok(Answer::default()),
            Some(_) if path == webhook::LABEL_PATH => Ok(answer_label(&review["request"])),
            Some(_) if is_own(&review["request"]) => Ok(Answer::default()),
            Some(audit) => self.evaluated(audit, review).await,
        }
    }

    async fn evaluated(&self, audit: Arc<Audit>, mut review: Value) -> Result<Answer, String> {
        let kind = &review["request"]["kind"];
        if kind["group"] == ""
            && kind["kind"] == "Namespace"
            && let Some(request) = review["request"].as_object_mut()
        {
            // The API server sends a Namespace as an object of itself; constraints do not see it so.
            request.remove("namespace");
        }
        let namespace = namespace_of(&audit, &review["request"]).await?;
        let review = Review::of_admission(&review).map_err(|error| error.to_string())?;
        let review = review
            .with_namespace(namespace)
            .with_source(Source::Original);
        // No more evaluations at once than there are processors for: the others wait, and not on a thread.
        let slots = self.0.slots.get_or_init(|| {
            let slots = available_parallelism().map_or(1, usize::from);
            Arc::new(Semaphore::new(slots))
        });
        let slot = Arc::clone(slots).acquire_owned().await;
        let slot = slot.map_err(|error| error.to_string())?;
        self.0.reviews.fetch_add(1, Ordering::Relaxed);
        let cancelled = CancelOnDrop(Arc::default());
        let is_cancelled = Arc::clone(&cancelled.0);
        let evaluation = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            evaluate(&audit, &review, &is_cancelled)
        });
        evaluation.await.map_err(|error| error.to_string())?
    }
}

/// Whether the writer is the audit itself: it could not correct what a constraint refuses it.
fn is_own(request: &Value) -> bool {
    let user = request["userInfo"]["username"].as_str();
    let account = user.and_then(|user| user.strip_prefix("system:serviceaccount:"));
    account.and_then(|account| account.split_once(':')) == Some((webhook::NAMESPACE, ACCOUNT))
}

/// The answer about a Namespace: only Gatekeeper's own may have the label that keeps constraints away.
fn answer_label(request: &Value) -> Answer {
    let is_labelled = request["object"]["metadata"]["labels"]
        .get(webhook::IGNORE_LABEL)
        .is_some();
    let is_exempt = request["name"] == webhook::NAMESPACE;
    Answer {
        denied: (is_labelled && !is_exempt)
            .then(|| Refusal::forbidden(messages::ignore_label(webhook::IGNORE_LABEL))),
        ..Answer::default()
    }
}

/// The Namespace of a request's object. One that was created a moment ago may not have reached the engine yet.
async fn namespace_of(audit: &Audit, request: &Value) -> Result<Option<Value>, String> {
    let name = request["namespace"].as_str().unwrap_or_default();
    if name.is_empty() {
        return Ok(None);
    }
    // While the engine is changed, the API server is asked: no thread of it waits.
    let engine = audit.engine.try_read();
    if let Some(known) = engine.and_then(|engine| engine.namespace(name).cloned()) {
        return Ok(Some(known));
    }
    let api: Api<Namespace> = Api::all(audit.client.clone());
    let found = api.get(name).await.map_err(|error| error.to_string())?;
    let mut found = serde_json::to_value(found).map_err(|error| error.to_string())?;
    for (field, value) in [("apiVersion", "v1"), ("kind", "Namespace")] {
        found[field] = json!(value);
    }
    Ok(Some(found))
}

fn evaluate(audit: &Audit, review: &Review, is_cancelled: &AtomicBool) -> Result<Answer, String> {
    let matching = {
        let engine = audit.engine.read();
        if let Err(refusal) = check_own_kinds(&engine, review) {
            return Ok(Answer {
                denied: Some(refusal),
                ..Answer::default()
            });
        }
        engine.matching(review, EnforcementPoint::Webhook, |_| true)
    };
    let mut violations = matching.evaluate(review, || is_cancelled.load(Ordering::Relaxed));
    // Who changes a Secret may have no right to read it.
    let reviewed = [review.new_object(), review.old_object()];
    let secrets = audit.secrets.lock().values();
    redaction::redact(&secrets, reviewed.into_iter().flatten(), &mut violations);
    audit.report_quarantines(&violations);
    decide(violations)
}

/// The answer by violations. A constraint whose evaluation took too long, or whose template is quarantined, decides nothing: without
/// another that refuses, the request could not be answered, as when Gatekeeper takes too long. Then the `failurePolicy` of the webhook
/// decides.
fn decide(violations: Vec<Violation>) -> Result<Answer, String> {
    let is_late = |one: &Violation| {
        matches!(
            one.cause,
            Cause::TimeLimit | Cause::Quarantine | Cause::Overload
        )
    };
    let (late, violations): (Vec<_>, Vec<_>) = violations.into_iter().partition(is_late);
    let answer = answer(&violations);
    match late.first() {
        Some(one) if answer.denied.is_none() => {
            let constraint = &one.constraint;
            Err(messages::late(
                &constraint.kind,
                &constraint.name,
                &one.message,
            ))
        }
        _ => Ok(answer),
    }
}
