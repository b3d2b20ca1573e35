//! The Lease on the API server.

use std::sync::Arc;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::{Api, PostParams};

use crate::object;

/// Why the Lease could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum LockError {
    /// It is not the one that was read: another candidate was faster, or a user deleted it.
    #[error("the Lease was changed by another client")]
    Conflict,
    /// The API server rejected the request or is unreachable.
    #[error("{0}")]
    Request(String),
    /// No response came in time.
    #[error("the API server did not answer within {0} ms")]
    NoAnswer(u128),
}

/// Stores a Lease. A write succeeds only if the Lease is still the one that was read.
pub(super) trait Lock: Send + Sync {
    /// The Lease; `None` if it does not exist.
    fn read(&self) -> impl Future<Output = Result<Option<Lease>, LockError>> + Send;

    /// Creates the Lease, or replaces the one of the same resource version.
    fn write(&self, lease: Lease) -> impl Future<Output = Result<Lease, LockError>> + Send;
}

/// A Lease behind a client.
#[derive(Clone)]
pub(super) struct ApiLock {
    api: Api<Lease>,
    namespace: String,
    name: Arc<str>,
}

impl ApiLock {
    pub(super) fn new(client: Client, namespace: &str, name: Arc<str>) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            name,
        }
    }
}

impl Lock for ApiLock {
    async fn read(&self) -> Result<Option<Lease>, LockError> {
        self.api.get_opt(&self.name).await.map_err(refused)
    }

    async fn write(&self, mut lease: Lease) -> Result<Lease, LockError> {
        let parameters = PostParams::default();
        if lease.metadata.resource_version.is_some() {
            return match self.api.replace(&self.name, &parameters, &lease).await {
                // It was deleted.
                Err(kube::Error::Api(status)) if status.code == 404 => Err(LockError::Conflict),
                written => written.map_err(refused),
            };
        }
        lease.metadata.name = Some(self.name.to_string());
        lease.metadata.namespace = Some(self.namespace.clone());
        self.api.create(&parameters, &lease).await.map_err(refused)
    }
}

fn refused(error: kube::Error) -> LockError {
    match error {
        kube::Error::Api(status) if status.code == 409 => LockError::Conflict,
        error => LockError::Request(object::error_chain(&error)),
    }
}
