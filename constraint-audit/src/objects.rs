//! The stream of an audited kind: each object is reviewed when it is listed and when it changes.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::core::ApiResource;
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
use tokio_util::task::AbortOnDropHandle;

use crate::audit::{Audit, Work};
use crate::messages;

/// How many objects of a list are in memory at once.
const PAGE: u32 = 500;
/// Changes within this time are one status.
const STATUS_WINDOW: Duration = Duration::from_millis(100);
/// How long a list may take before others go on without it.
const LIST_TIMEOUT: Duration = Duration::from_mins(5);

/// The stream of a kind; it ends when this is dropped.
pub(crate) struct KindWatch {
    _task: AbortOnDropHandle<()>,
    listed: watch::Receiver<bool>,
    /// What was reviewed is of constraints or Namespaces that have changed: the kind is to be listed again.
    pub(crate) is_outdated: bool,
}

impl KindWatch {
    /// Whether all objects were reviewed by the constraints of now, or cannot be listed.
    pub(crate) fn is_complete(&self) -> bool {
        !self.is_outdated && *self.listed.borrow()
    }
}

impl Audit {
    /// Starts the stream of a kind, in place of the one before, and waits until all objects are reviewed.
    pub(crate) async fn list(self: &Arc<Self>, kind: &ResourceKind) -> Action {
        let served = self.served.lock().clone();
        let served = served.iter().flat_map(|served| served.iter());
        let mut served = served.filter(|one| one.kind == *kind);
        let Some(resource) = served.next().map(|one| one.resource.clone()) else {
            return Action::AwaitChange;
        };
        let (done, mut listed) = watch::channel(false);
        let work = review_all(Arc::clone(self), kind.clone(), resource, done);
        let started = KindWatch {
            _task: AbortOnDropHandle::new(tokio::spawn(work)),
            listed: listed.clone(),
            is_outdated: false,
        };
        self.kind_watches.lock().insert(kind.clone(), started);
        let wait = listed.wait_for(|listed| *listed);
        // If the stream ends, it was replaced.
        let _ = tokio::time::timeout(LIST_TIMEOUT, wait).await;
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
        let violations = {
            let engine = self.engine.read();
            let namespace = engine.namespace(&resource.namespace).cloned();
            Review::of_object(object).map(|review| {
                let review = review
                    .with_source(Source::Original)
                    .with_namespace(namespace);
                engine.review(&review, EnforcementPoint::Audit)
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
    kind: ResourceKind,
    resource: ApiResource,
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
            Ok(ObjectEvent::Listing) => pass = audit.results.lock().begin_pass(),
            Ok(ObjectEvent::Listed(object) | ObjectEvent::Applied(object)) => {
                audit.feed_inventory(&kind, &object);
                audit.review(object);
                // A list is much work: others go on meanwhile.
                tokio::task::yield_now().await;
            }
            Ok(ObjectEvent::Synced) => {
                audit.results.lock().end_pass(&kind, pass);
                done.send_replace(true);
                audit.enqueue_matching(&kind);
            }
            Ok(ObjectEvent::Deleted(key)) => {
                audit.delete_from_inventory(&kind, &key);
                let changed = audit.results.lock().set(&identity(key), Vec::new());
                audit.enqueue_changed(changed);
            }
            Ok(ObjectEvent::Undecodable(key)) => {
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
