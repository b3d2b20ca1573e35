//! Reads of hub templates, as watches of the hub.

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

/// What a failed read says about trying again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// We may not read it. Nothing tells when we may.
    Denied,
    /// The API server could not answer just now.
    Passing,
}

/// The hub, on behalf of the templates of one replica.
pub struct HubLookups {
    batch: Arc<Batch<ObjectKey>>,
    kinds: Kinds<ObjectKey>,
    replica: ObjectKey,
    account: Option<Arc<Account>>,
    trouble: Cell<Option<Trouble>>,
}

impl HubLookups {
    /// Reads through `batch`. The replica is woken when a kind that was missing comes.
    pub fn new(batch: Arc<Batch<ObjectKey>>, kinds: Kinds<ObjectKey>, replica: ObjectKey) -> Self {
        Self {
            batch,
            kinds,
            replica,
            account: None,
            trouble: Cell::new(None),
        }
    }

    /// The service account in whose name the batch reads, if it does.
    #[must_use]
    pub fn read_as(self, account: Option<Arc<Account>>) -> Self {
        Self { account, ..self }
    }

    /// The worst trouble that there was.
    pub fn trouble(&self) -> Option<Trouble> {
        self.trouble.get()
    }

    fn note(&self, trouble: Trouble) {
        self.trouble.set(self.trouble.get().max(Some(trouble)));
    }

    /// The text for the author; what trouble it was is remembered.
    fn failed(&self, error: &ReadError, query: &RefusedQuery<'_>) -> String {
        match error {
            ReadError::Refused(refused) => {
                let StatusReason::Forbidden = StatusReason::of(refused) else {
                    if is_passing(refused) {
                        self.note(Trouble::Passing);
                    }
                    return status_message(refused);
                };
                self.note(Trouble::Denied);
                if let (kube::Error::Api(status), Some(account)) = (&**refused, &self.account)
                    && status.code == 401
                {
                    account.refused();
                }
                messages::missing_permission(&status_message(refused), query)
            }
            ReadError::Ended => {
                self.note(Trouble::Passing);
                error.to_string()
            }
            ReadError::Unwatchable(_) | ReadError::Undecodable { .. } => error.to_string(),
        }
    }
}

/// Whether an API server that refused this may do it a moment later.
fn is_passing(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => matches!(status.code, 429 | 500 | 502..=504),
        // What cannot even be asked is not asked better another time.
        kube::Error::BuildRequest(_) | kube::Error::HttpError(_) => false,
        _ => true,
    }
}

impl Lookups for HubLookups {
    async fn kind(&self, kind: &GroupVersionKind) -> Result<ServedKind, DiscoveryError> {
        let found = self.kinds.find(kind, &self.replica).await;
        if found.as_ref().is_err_and(|error| !error.is_absent()) {
            self.note(Trouble::Passing);
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
        found.map_err(|error| self.failed(&error, &query))
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
        listed.map_err(|error| self.failed(&error, &query))
    }

    fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        tokio::runtime::Handle::current().block_on(answer)
    }
}
