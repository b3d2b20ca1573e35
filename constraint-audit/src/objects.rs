//! The stream of an audited kind: each object is reviewed when it is listed and when it changes.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::runtime::watcher;
use reeve_gatekeeper::audit::{Resource, ResourceKind};
use reeve_gatekeeper::client::{Cause, ConstraintKey, Violation};
use reeve_gatekeeper::configuration::Process;
use reeve_gatekeeper::constraint::Constraint;
use reeve_gatekeeper::enforcement::EnforcementPoint;
use reeve_runtime::object::{ObjectKey, status_message};
use reeve_runtime::object_stream::{self, ObjectEvent};
use reeve_runtime::queue::Action;
use serde_json::Value;
use tokio::sync::watch;

use crate::configuration::Effect;
use crate::messages;
use crate::resources::PAGE;
use crate::results::kind_of;
use crate::state::{Audit, Duties, KindWatch, Served, Work};

/// Changes within this time are one status.
const STATUS_WINDOW: Duration = Duration::from_millis(100);
/// After this a kind is listed again of which an object could not be evaluated for want of a process.
const RETRY: Duration = Duration::from_secs(10);
/// How long a list may take before others go on without it.
const LIST_TIMEOUT: Duration = Duration::from_mins(5);

impl Audit {
    /// Starts the stream of a kind, in place of one that is outdated or does not do what is asked for.
    pub(crate) fn start_unless_current(self: &Arc<Self>, served: &Served, duties: Duties) {
        let kind = &served.kind;
        let mut watches = self.kind_watches.lock();
        let is_current = |watch: &KindWatch| !watch.is_outdated && watch.duties == duties;
        if watches.get(kind).is_some_and(is_current) {
            return;
        }
        let (done, listed) = watch::channel(false);
        let work = review_all(Arc::clone(self), served.clone(), duties, done);
        let started = KindWatch::new(tokio::spawn(work), listed, duties);
        watches.insert(kind.clone(), started);
        self.queue.add(Work::Kind(kind.clone()));
    }

    /// Waits until all objects of a kind are reviewed: until then the audit has work.
    pub(crate) async fn list(&self, kind: &ResourceKind) -> Action {
        let listed = self.kind_watches.lock().get(kind).map(KindWatch::listed);
        if let Some(mut listed) = listed {
            let wait = listed.wait_for(|listed| *listed);
            // If the stream ends, it was replaced.
            let _ = tokio::time::timeout(LIST_TIMEOUT, wait).await;
        }
        Action::AwaitChange
    }

    /// Enqueues the statuses of all constraints that match a kind, or that wait for it as one of the inventory.
    fn enqueue_matching(&self, kind: &ResourceKind, duties: Duties) {
        let (engine, effect) = (self.engine.read(), self.effect());
        for constraint in engine.constraints() {
            let waits = duties.feeds_inventory && engine.is_referential(&constraint.kind);
            if waits || effect.concerns(constraint, kind) {
                self.queue.add(Work::Status(constraint.key()));
            }
        }
    }

    fn enqueue_changed(&self, changed: impl IntoIterator<Item = ConstraintKey>) {
        for key in changed {
            self.queue.add_after(Work::Status(key), STATUS_WINDOW);
        }
    }

    /// Reviews an object, and what is made of it, unless the configuration leaves it out. Constraints may take seconds, so they are
    /// evaluated where nobody else waits for the thread.
    async fn review(self: &Arc<Self>, object: Value) {
        let effect = self.effect();
        if effect.excludes(Process::Audit, &object) {
            return;
        }
        let resource = Resource::of(&object);
        let audit = Arc::clone(self);
        let evaluation = tokio::task::spawn_blocking(move || audit.violations(object, &effect));
        let evaluated = evaluation.await;
        let evaluated = evaluated.map_err(|error| ReviewFailure::Object(error.to_string()));
        match evaluated.flatten() {
            Ok(violations) => {
                let changed = self.results.lock().set(&resource, violations);
                self.enqueue_changed(changed);
            }
            Err(error) => {
                let (kind, name) = (&resource.kind, &resource.name);
                tracing::warn!(kind, name, %error, "cannot review object");
                if matches!(error, ReviewFailure::Unavailable(_)) {
                    self.relist(&kind_of(&resource));
                }
                self.results.lock().fail(resource);
            }
        }
    }

    fn violations(&self, object: Value, effect: &Effect) -> Result<Vec<Violation>, ReviewFailure> {
        let too_slow = self.results.lock().too_slow();
        let is_wanted = |one: &Constraint| !too_slow.contains(&one.key());
        // An evaluation takes as long as the limits allow: it must not hold the lock of the engine.
        let secrets = self.secrets.lock().values();
        let violations = effect.review(object, &secrets, |review| {
            let engine = self.engine.read();
            engine.matching(review, EnforcementPoint::Audit, is_wanted)
        });
        let violations = violations.map_err(ReviewFailure::Object)?;
        self.report_quarantines(&violations);
        match violations.iter().find(|one| one.cause == Cause::Overload) {
            Some(one) => Err(ReviewFailure::Unavailable(one.message.clone())),
            None => Ok(violations),
        }
    }

    /// Lists a kind again after a while.
    fn relist(&self, kind: &ResourceKind) {
        if let Some(watch) = self.kind_watches.lock().get_mut(kind) {
            watch.is_outdated = true;
        }
        self.queue.add_after(Work::Kinds, RETRY);
    }
}

/// Why an object was not reviewed.
#[derive(Debug, thiserror::Error)]
enum ReviewFailure {
    /// The object cannot be reviewed.
    #[error("{0}")]
    Object(String),
    /// Nothing could evaluate it now.
    #[error("{0}")]
    Unavailable(String),
}

/// Reviews the objects of a kind until aborted. `done` is set once all were, or cannot be listed.
async fn review_all(
    audit: Arc<Audit>,
    Served { kind, resource }: Served,
    duties: Duties,
    done: watch::Sender<bool>,
) {
    let events = object_stream::stream(audit.client.clone(), resource, PAGE);
    let mut events = std::pin::pin!(events);
    let identity = |key: ObjectKey| Resource {
        group: kind.group.clone(),
        version: kind.version.clone(),
        kind: kind.kind.clone(),
        namespace: key.namespace,
        name: key.name,
    };
    let mut pass = 0;
    while let Some(event) = events.next().await {
        match event {
            Ok(ObjectEvent::Listing) => {
                pass = audit.results.lock().begin_pass();
                audit.begin_listing(&kind);
            }
            Ok(ObjectEvent::Listed(object) | ObjectEvent::Applied(object)) => {
                if duties.feeds_inventory {
                    audit.feed_inventory(&kind, &object);
                }
                if duties.is_audited {
                    audit.review(object).await;
                }
                // A list is much work: others go on meanwhile.
                tokio::task::yield_now().await;
            }
            Ok(ObjectEvent::Synced) => {
                if duties.is_audited {
                    audit.results.lock().end_pass(&kind, pass);
                } else {
                    // Another version of the kind may be audited.
                    audit.results.lock().listed(&kind);
                }
                audit.drop_unlisted(&kind);
                done.send_replace(true);
                audit.enqueue_matching(&kind, duties);
            }
            Ok(ObjectEvent::Deleted(key)) => {
                audit.delete_from_inventory(&kind, &key);
                let changed = audit.results.lock().set(&identity(key), Vec::new());
                audit.enqueue_changed(changed);
            }
            Ok(ObjectEvent::Undecodable(key)) => {
                audit.keep_in_inventory(&kind, &key);
                audit.results.lock().fail(identity(key));
                audit.enqueue_matching(&kind, duties);
            }
            Err(watcher::Error::InitialListFailed(error)) => {
                let reason = messages::refused(&kind.kind, &status_message(&error));
                tracing::warn!(kind = kind.kind, reason, "cannot list");
                audit.results.lock().refuse(&kind, reason);
                done.send_replace(true);
                audit.enqueue_matching(&kind, duties);
            }
            Err(error) => tracing::debug!(kind = kind.kind, %error, "watch interrupted"),
        }
    }
}
