//! The stream of an audited kind: each object is reviewed when it is listed and when it changes.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::runtime::watcher;
use reeve_gatekeeper::audit::{Resource, ResourceKind};
use reeve_gatekeeper::client::ConstraintKey;
use reeve_gatekeeper::enforcement::EnforcementPoint;
use reeve_gatekeeper::matching::Source;
use reeve_gatekeeper::review::Review;
use reeve_runtime::object::{ObjectKey, status_message};
use reeve_runtime::object_stream::{self, ObjectEvent};
use reeve_runtime::queue::Action;
use serde_json::Value;
use tokio::sync::watch;

use crate::messages;
use crate::resources::PAGE;
use crate::state::{Audit, KindWatch, Served, Work};

/// Changes within this time are one status.
const STATUS_WINDOW: Duration = Duration::from_millis(100);
/// How long a list may take before others go on without it.
const LIST_TIMEOUT: Duration = Duration::from_mins(5);

impl Audit {
    /// Starts the stream of a kind, in place of one that is outdated or does not do what is asked for.
    pub(crate) fn start_unless_current(self: &Arc<Self>, served: &Served, feeds_inventory: bool) {
        let kind = &served.kind;
        let mut watches = self.kind_watches.lock();
        let is_current =
            |watch: &KindWatch| !watch.is_outdated && watch.feeds_inventory == feeds_inventory;
        if watches.get(kind).is_some_and(is_current) {
            return;
        }
        let (done, listed) = watch::channel(false);
        let work = review_all(Arc::clone(self), served.clone(), feeds_inventory, done);
        let started = KindWatch::new(tokio::spawn(work), listed, feeds_inventory);
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

    /// Enqueues the statuses of all constraints that match a kind.
    fn enqueue_matching(&self, kind: &ResourceKind) {
        let engine = self.engine.read();
        for constraint in engine.constraints() {
            if constraint.matches.matches_kind(&kind.group, &kind.kind) {
                self.queue.add(Work::Status(constraint.key()));
            }
        }
    }

    fn enqueue_changed(&self, changed: impl IntoIterator<Item = ConstraintKey>) {
        for key in changed {
            self.queue.add_after(Work::Status(key), STATUS_WINDOW);
        }
    }

    fn review(&self, object: Value) {
        let resource = Resource::of(&object);
        let too_slow = self.results.lock().too_slow();
        let violations = {
            let engine = self.engine.read();
            Review::of_object(object).map(|review| {
                let review = review.with_source(Source::Original);
                engine.review_by(&review, EnforcementPoint::Audit, |one| {
                    too_slow.is_empty() || !too_slow.contains(&one.key())
                })
            })
        };
        match violations {
            Ok(violations) => {
                let changed = self.results.lock().set(&resource, violations);
                self.enqueue_changed(changed);
            }
            Err(error) => {
                let (kind, name) = (&resource.kind, &resource.name);
                tracing::warn!(kind, name, %error, "cannot review object");
                self.results.lock().fail(resource);
            }
        }
    }
}

/// Reviews the objects of a kind until aborted. `done` is set once all were, or cannot be listed.
async fn review_all(
    audit: Arc<Audit>,
    Served { kind, resource }: Served,
    feeds_inventory: bool,
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
                if feeds_inventory {
                    audit.feed_inventory(&kind, &object);
                }
                audit.review(object);
                // A list is much work: others go on meanwhile.
                tokio::task::yield_now().await;
            }
            Ok(ObjectEvent::Synced) => {
                audit.results.lock().end_pass(&kind, pass);
                audit.drop_unlisted(&kind);
                done.send_replace(true);
                audit.enqueue_matching(&kind);
            }
            Ok(ObjectEvent::Deleted(key)) => {
                audit.delete_from_inventory(&kind, &key);
                let changed = audit.results.lock().set(&identity(key), Vec::new());
                audit.enqueue_changed(changed);
            }
            Ok(ObjectEvent::Undecodable(key)) => {
                audit.keep_in_inventory(&kind, &key);
                audit.results.lock().fail(identity(key));
                audit.enqueue_matching(&kind);
            }
            Err(watcher::Error::InitialListFailed(error)) => {
                let reason = messages::refused(&kind.kind, &status_message(&error));
                tracing::warn!(kind = kind.kind, reason, "cannot list");
                audit.results.lock().refuse(&kind, reason);
                done.send_replace(true);
                audit.enqueue_matching(&kind);
            }
            Err(error) => tracing::debug!(kind = kind.kind, %error, "watch interrupted"),
        }
    }
}
