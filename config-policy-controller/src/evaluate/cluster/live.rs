//! The cluster behind an API server. Reads are watched for the policy.

use std::sync::Arc;

use kube::Client;
use kube::core::GroupVersionKind;
use reeve_runtime::dependencies::{Batch, ReadError as WatchError};
use reeve_runtime::discovery::{Discovery, DiscoveryError, ServedKind};
use reeve_runtime::kinds::Kinds;
use reeve_runtime::object::{ObjectKey, status_message};
use reeve_runtime::strict::Write;
use reeve_runtime::writes::Deletion;
use serde_json::Value;

use super::error::{ReadError, RecreateError, WriteError};
use super::objects::ObjectApi;
use super::{Cluster, ReadMode, gvk};
use crate::metrics::PolicyRef;
use crate::status::finding::Location;

/// A cluster on behalf of one evaluation of a policy.
#[derive(Clone)]
pub struct Live {
    batch: Arc<Batch<ObjectKey>>,
    client: Client,
    kinds: KindLookup,
    read_mode: ReadMode,
}

/// How the kinds of a cluster are looked up.
#[derive(Clone)]
pub enum KindLookup {
    /// By watches, which enqueue this policy when a missing kind may be served.
    Watched(Kinds<PolicyRef>, PolicyRef),
    /// By discovery with a cache: on a hub an agent has no right to watch CRDs.
    Discovery(Discovery),
    /// By discovery, and all kinds are read by GET and LIST: for a single evaluation, whose user may not be allowed to
    /// watch.
    WithoutWatches(Discovery),
}

impl KindLookup {
    async fn find(&self, kind: &GroupVersionKind) -> Result<ServedKind, DiscoveryError> {
        match self {
            Self::Watched(kinds, policy) => kinds.find(kind, policy).await,
            Self::Discovery(discovery) => discovery.find(kind).await,
            Self::WithoutWatches(discovery) => Ok(ServedKind {
                watchable: false,
                ..discovery.find(kind).await?
            }),
        }
    }

    fn invalidate(&self, kind: &GroupVersionKind) {
        match self {
            Self::Watched(kinds, _) => kinds.invalidate(kind),
            Self::Discovery(discovery) | Self::WithoutWatches(discovery) => {
                discovery.forget(kind);
            }
        }
    }
}

impl Live {
    /// Reads through the watches of `batch`; `client` sends writes and uncached reads.
    pub fn new(
        batch: Batch<ObjectKey>,
        client: Client,
        kinds: KindLookup,
        read_mode: ReadMode,
    ) -> Self {
        Self {
            batch: Arc::new(batch),
            client,
            kinds,
            read_mode,
        }
    }

    /// The evaluation is over: what it did not read is no longer watched for the policy.
    pub fn end(self) {
        // A batch with another owner ends when that owner drops it and keeps its watches: more than needed, never too few.
        if let Some(batch) = Arc::into_inner(self.batch) {
            batch.end();
        }
    }

    /// Replaces the status of an object. The object has the resource version that was read.
    pub async fn replace_status(
        &self,
        kind: &ServedKind,
        location: &Location,
        object: &Value,
    ) -> Result<Value, WriteError> {
        let objects = self.objects(kind, location);
        objects.replace_status(&location.name, object).await
    }

    fn objects<'a>(&'a self, kind: &'a ServedKind, location: &Location) -> ObjectApi<'a> {
        ObjectApi::at(&self.client, kind, location)
    }

    fn reads_directly(&self, kind: &ServedKind) -> bool {
        !kind.watchable && self.read_mode == ReadMode::Polled
    }

    fn failed(&self, kind: &ServedKind, error: &WatchError) -> ReadError {
        match error {
            WatchError::Unwatchable(_) => ReadError::Unwatchable(error.to_string()),
            WatchError::Refused(refused) => {
                // The kind may have been removed: the next evaluation looks it up again.
                self.kinds.invalidate(&gvk(kind));
                ReadError::Failed(status_message(refused))
            }
            WatchError::Undecodable { .. } | WatchError::Ended => {
                ReadError::Failed(error.to_string())
            }
        }
    }
}

impl Cluster for Live {
    fn read_mode(&self) -> ReadMode {
        self.read_mode
    }

    async fn kind(&self, kind: &GroupVersionKind) -> Result<ServedKind, DiscoveryError> {
        self.kinds.find(kind).await
    }

    async fn get(
        &self,
        kind: &ServedKind,
        location: &Location,
    ) -> Result<Option<Arc<Value>>, ReadError> {
        if self.reads_directly(kind) {
            let found = self.get_uncached(kind, location).await?;
            return Ok(found.map(Arc::new));
        }
        let found = self
            .batch
            .get(kind, &location.namespace, &location.name)
            .await;
        found.map_err(|error| self.failed(kind, &error))
    }

    async fn list(
        &self,
        kind: &ServedKind,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Arc<Value>>, ReadError> {
        if self.reads_directly(kind) {
            let location = Location::new(namespace, "");
            let listed = self.objects(kind, &location).list(selector).await;
            let listed = listed.map_err(|error| ReadError::Failed(status_message(&error)))?;
            return Ok(listed.into_iter().map(Arc::new).collect());
        }
        let listed = self.batch.list(kind, namespace, selector).await;
        listed.map_err(|error| self.failed(kind, &error))
    }

    async fn find(&self, kind: &ServedKind, name: &str) -> Result<Option<Arc<Value>>, ReadError> {
        if self.reads_directly(kind) {
            let location = Location::new("", "");
            let named = self.objects(kind, &location).named(name).await;
            let named = named.map_err(|error| ReadError::Failed(status_message(&error)))?;
            return Ok(named.map(Arc::new));
        }
        let found = self.batch.find(kind, name).await;
        found.map_err(|error| self.failed(kind, &error))
    }

    async fn get_uncached(
        &self,
        kind: &ServedKind,
        location: &Location,
    ) -> Result<Option<Value>, ReadError> {
        let found = self.objects(kind, location).get(&location.name).await;
        found.map_err(|error| ReadError::Failed(status_message(&error)))
    }

    async fn create(
        &self,
        kind: &ServedKind,
        location: &Location,
        object: &Value,
        field_manager: Option<&str>,
    ) -> Result<Value, WriteError> {
        self.objects(kind, location)
            .create(object, field_manager)
            .await
    }

    async fn replace(
        &self,
        kind: &ServedKind,
        location: &Location,
        object: &Value,
        write: Write,
    ) -> Result<Value, WriteError> {
        let objects = self.objects(kind, location);
        objects.replace(&location.name, object, write).await
    }

    async fn delete(
        &self,
        kind: &ServedKind,
        location: &Location,
        uid: &str,
    ) -> Result<Deletion, WriteError> {
        self.objects(kind, location)
            .delete(&location.name, uid)
            .await
    }

    async fn recreate(
        &self,
        kind: &ServedKind,
        (location, uid): (&Location, &str),
        object: &Value,
        field_manager: Option<&str>,
    ) -> Result<Value, RecreateError> {
        let objects = self.objects(kind, location);
        objects
            .recreate((&location.name, uid), object, field_manager)
            .await
    }

    async fn watch_namespace(&self, namespace: &str) {
        let kind = GroupVersionKind::gvk("", "v1", "Namespace");
        let watched = match self.kind(&kind).await {
            Ok(kind) => {
                let watched = self.batch.get(&kind, "", namespace).await;
                watched.map(|_| ()).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = watched {
            tracing::warn!(namespace, %error, "cannot watch the namespace that a policy waits for");
        }
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        reeve_template_reads::run_blocking(work).await
    }

    fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        tokio::runtime::Handle::current().block_on(answer)
    }
}
