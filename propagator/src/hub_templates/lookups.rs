//! The reads of hub templates: each read starts a watch on the hub.

use std::cell::Cell;
use std::sync::Arc;

use kube::core::GroupVersionKind;
use reeve_runtime::dependencies::{Batch, ReadError};
use reeve_runtime::discovery::{DiscoveryError, ServedKind};
use reeve_runtime::kinds::Kinds;
use reeve_runtime::object::{ObjectKey, StatusReason, status_message};
use reeve_template_reads::Lookups;
use serde_json::Value;

use super::accounts::Account;
use crate::messages::{self, RefusedQuery};

/// The kind of a failure that a retry can fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadFailure {
    /// The API server denied the read. No watch event follows when the permission is granted.
    Denied,
    /// The time of the render was over before all reads had an answer: the hub, or this process, is busy.
    TimedOut,
    /// The API server could not answer; a later attempt may succeed.
    Transient,
}

/// Reads of the hub on behalf of the templates of one replica.
pub struct HubLookups {
    batch: Arc<Batch<ObjectKey>>,
    kinds: Kinds<ObjectKey>,
    replica: ObjectKey,
    account: Option<Arc<Account>>,
    worst_failure: Cell<Option<ReadFailure>>,
}

impl HubLookups {
    /// Reads through `batch`. The replica is enqueued when a kind that was missing is served.
    pub fn new(batch: Arc<Batch<ObjectKey>>, kinds: Kinds<ObjectKey>, replica: ObjectKey) -> Self {
        Self {
            batch,
            kinds,
            replica,
            account: None,
            worst_failure: Cell::new(None),
        }
    }

    /// Sets the service account that the batch reads with, if it does not read with the propagator's own client.
    #[must_use]
    pub fn read_as(self, account: Option<Arc<Account>>) -> Self {
        Self { account, ..self }
    }

    /// The worst failure of all reads so far.
    pub fn worst_failure(&self) -> Option<ReadFailure> {
        self.worst_failure.get()
    }

    /// Records a failure, of a read or of the render.
    pub fn record_failure(&self, failure: ReadFailure) {
        self.worst_failure
            .set(self.worst_failure.get().max(Some(failure)));
    }

    /// The error message for the policy's author. Records the kind of failure.
    fn describe_error(&self, error: &ReadError, query: &RefusedQuery<'_>) -> String {
        match error {
            ReadError::Refused(refused) => {
                let StatusReason::Forbidden = StatusReason::of(refused) else {
                    if is_transient(refused) {
                        self.record_failure(ReadFailure::Transient);
                    }
                    return status_message(refused);
                };
                self.record_failure(ReadFailure::Denied);
                if let (kube::Error::Api(status), Some(account)) = (&**refused, &self.account)
                    && status.code == 401
                {
                    account.refused();
                }
                messages::missing_permission(&status_message(refused), query)
            }
            ReadError::Ended => {
                self.record_failure(ReadFailure::Transient);
                error.to_string()
            }
            ReadError::Unwatchable(_) | ReadError::Undecodable { .. } => error.to_string(),
        }
    }
}

/// Whether the same request may succeed a moment later.
fn is_transient(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => matches!(status.code, 429 | 500 | 502..=504),
        // A request that cannot be built fails every time.
        kube::Error::BuildRequest(_) | kube::Error::HttpError(_) => false,
        _ => true,
    }
}

impl Lookups for HubLookups {
    async fn kind(&self, kind: &GroupVersionKind) -> Result<ServedKind, DiscoveryError> {
        let found = self.kinds.find(kind, &self.replica).await;
        if found.as_ref().is_err_and(|error| !error.is_absent()) {
            self.record_failure(ReadFailure::Transient);
        }
        found
    }

    async fn get(
        &self,
        kind: &ServedKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Value>>, String> {
        let found = if kind.namespaced && namespace.is_empty() {
            self.batch.find(kind, name).await
        } else {
            self.batch.get(kind, namespace, name).await
        };
        let query = RefusedQuery {
            kind,
            namespace,
            name,
            selector: "",
        };
        found.map_err(|error| self.describe_error(&error, &query))
    }

    async fn list(
        &self,
        kind: &ServedKind,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Arc<Value>>, String> {
        let listed = self.batch.list(kind, namespace, selector).await;
        let query = RefusedQuery {
            kind,
            namespace,
            name: "",
            selector,
        };
        listed.map_err(|error| self.describe_error(&error, &query))
    }

    fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        tokio::runtime::Handle::current().block_on(answer)
    }
}
