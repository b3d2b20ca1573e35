//! The work queue of the controllers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::stored::{Key, TableName};

/// A reconciliation that a controller may have to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WorkItem {
    /// The server has started, with an empty store or with the objects of its folder.
    Started,
    /// A namespace exists: it needs its default objects.
    Namespace(Arc<str>),
    /// A namespace is terminating, or an object in it was deleted.
    NamespaceTermination(Arc<str>),
    /// The object with this uid was deleted.
    OwnerDeleted(String),
    /// An object may have lost its last owner, or waits for its dependents.
    Dependent(TableName, Key),
    /// A CRD is terminating, or one of its custom resources was deleted.
    CrdTermination(String),
    /// A certificate signing request may have to be signed.
    CertificateSigningRequest(String),
    /// A Secret may need a token of its service account, or its account was deleted.
    TokenSecret(Key),
    /// The availability of an `APIService` may have changed, with it or with a service or its endpoints.
    Availability,
}

/// Enqueues work for the controllers.
pub(crate) struct WorkQueue(mpsc::UnboundedSender<WorkItem>);

impl WorkQueue {
    /// A queue and its receiver.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<WorkItem>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    pub(crate) fn add(&self, item: WorkItem) {
        // The controllers end only when the server is dropped.
        let _ = self.0.send(item);
    }

    /// Enqueues an item at a moment, if the server still exists then: the timer does not keep it alive.
    pub(crate) fn add_at(&self, moment: Instant, item: WorkItem) {
        let sender = self.0.downgrade();
        tokio::spawn(async move {
            tokio::time::sleep_until(moment).await;
            if let Some(sender) = sender.upgrade() {
                let _ = sender.send(item);
            }
        });
    }
}

/// How long a deleted namespace keeps its content. The namespace controller of Kubernetes waits for 5 s; a client that
/// deletes a namespace and then the objects of the same file needs a fraction of this.
const GRACE_PERIOD: Duration = Duration::from_secs(1);

/// The deleted namespaces whose content is not deleted yet, and until when.
#[derive(Default)]
pub(crate) struct GracePeriods(Mutex<HashMap<Arc<str>, Instant>>);

impl GracePeriods {
    /// Starts the grace period of a namespace and returns its end.
    pub(crate) fn start(&self, namespace: Arc<str>) -> Instant {
        let end = Instant::now() + GRACE_PERIOD;
        self.0.lock().insert(namespace, end);
        end
    }

    /// Whether the grace period of a namespace lasts. One that has ended is removed.
    pub(crate) fn is_active(&self, namespace: &str) -> bool {
        let mut all = self.0.lock();
        let is_active = all.get(namespace).is_some_and(|end| Instant::now() < *end);
        if !is_active {
            all.remove(namespace);
        }
        is_active
    }
}
