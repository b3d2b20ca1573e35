//! The cluster behind an API server. What is read is watched.

use std::sync::Arc;

use kube::Client;
use kube::core::GroupVersionKind;
use reeve_runtime::dependencies::{Batch, ReadError};
use reeve_runtime::discovery::{Discovery, DiscoveryError, ServedKind};
use reeve_runtime::kinds::Kinds;
use reeve_runtime::object::{ObjectKey, status_message};
use reeve_runtime::strict::Write;
use serde_json::Value;

use super::{Cluster, Freshness, Unreadable, gvk};
use crate::act::Objects;
use crate::decide::{RecreateFailure, Refused};
use crate::report::Place;

/// A cluster on behalf of one evaluation of a policy.
#[derive(Clone)]
pub struct Live {
    batch: Arc<Batch<ObjectKey>>,
    client: Client,
    kinds: KnownKinds,
    freshness: Freshness,
}

/// Who knows the kinds of a cluster.
#[derive(Clone)]
pub enum KnownKinds {
    /// Watches, which wake this policy when a kind that it misses may have come.
    Watched(Kinds<ObjectKey>, ObjectKey),
    /// The API server, asked again from time to time: on a hub an agent may not watch what defines kinds.
    Asked(Discovery),
}

impl KnownKinds {
    async fn find(&self, kind: &GroupVersionKind) -> Result<ServedKind, DiscoveryError> {
        match self {
            Self::Watched(kinds, policy) => kinds.find(kind, policy).await,
            Self::Asked(discovery) => discovery.find(kind).await,
        }
    }

    fn invalidate(&self, kind: &GroupVersionKind) {
        match self {
            Self::Watched(kinds, _) => kinds.invalidate(kind),
            Self::Asked(discovery) => discovery.forget(kind),
        }
    }
}

impl Live {
    /// Reads through `batch`, and past it with `client`.
    #[must_use]
    pub fn new(
        batch: Batch<ObjectKey>,
        client: Client,
        kinds: KnownKinds,
        freshness: Freshness,
    ) -> Self {
        Self {
            batch: Arc::new(batch),
            client,
            kinds,
            freshness,
        }
    }

    /// The evaluation is over: what it did not read is no longer watched for the policy.
    pub fn end(self) {
        // A batch that somebody still holds ends when that is dropped, which keeps its watches: dearer, never wrong.
        if let Some(batch) = Arc::into_inner(self.batch) {
            batch.end();
        }
    }

    fn objects<'a>(&'a self, kind: &'a ServedKind, place: &Place) -> Objects<'a> {
        Objects::at(&self.client, kind, place)
    }

    fn reads_directly(&self, kind: &ServedKind) -> bool {
        !kind.watchable && self.freshness == Freshness::Polled
    }

    fn failed(&self, kind: &ServedKind, error: &ReadError) -> Unreadable {
        match error {
            ReadError::Unwatchable(_) => Unreadable::Unwatchable(error.to_string()),
            ReadError::Refused(refused) => {
                // The kind may be gone: the next evaluation asks anew.
                self.kinds.invalidate(&gvk(kind));
                Unreadable::Failed(status_message(refused))
            }
            ReadError::Undecodable { .. } | ReadError::Ended => {
                Unreadable::Failed(error.to_string())
            }
        }
    }
}

impl Cluster for Live {
    fn freshness(&self) -> Freshness {
        self.freshness
    }

    async fn kind(&self, kind: &GroupVersionKind) -> Result<ServedKind, DiscoveryError> {
        self.kinds.find(kind).await
    }

    async fn get(
        &self,
        kind: &ServedKind,
        place: &Place,
    ) -> Result<Option<Arc<Value>>, Unreadable> {
        if self.reads_directly(kind) {
            let found = self.get_now(kind, place).await?;
            return Ok(found.map(Arc::new));
        }
        let found = self.batch.get(kind, &place.namespace, &place.name).await;
        found.map_err(|error| self.failed(kind, &error))
    }

    async fn list(
        &self,
        kind: &ServedKind,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Arc<Value>>, Unreadable> {
        if self.reads_directly(kind) {
            let place = Place::new(namespace, "");
            let listed = self.objects(kind, &place).list(selector).await;
            let listed = listed.map_err(|error| Unreadable::Failed(status_message(&error)))?;
            return Ok(listed.into_iter().map(Arc::new).collect());
        }
        let listed = self.batch.list(kind, namespace, selector).await;
        listed.map_err(|error| self.failed(kind, &error))
    }

    async fn find(&self, kind: &ServedKind, name: &str) -> Result<Option<Arc<Value>>, Unreadable> {
        if self.reads_directly(kind) {
            let place = Place::new("", "");
            let named = self.objects(kind, &place).named(name).await;
            let named = named.map_err(|error| Unreadable::Failed(status_message(&error)))?;
            return Ok(named.map(Arc::new));
        }
        let found = self.batch.find(kind, name).await;
        found.map_err(|error| self.failed(kind, &error))
    }

    async fn get_now(&self, kind: &ServedKind, place: &Place) -> Result<Option<Value>, Unreadable> {
        let found = self.objects(kind, place).get(&place.name).await;
        found.map_err(|error| Unreadable::Failed(status_message(&error)))
    }

    async fn create(
        &self,
        kind: &ServedKind,
        place: &Place,
        object: &Value,
        maker: Option<&str>,
    ) -> Result<Value, Refused> {
        self.objects(kind, place).create(object, maker).await
    }

    async fn replace(
        &self,
        kind: &ServedKind,
        place: &Place,
        object: &Value,
        write: Write,
    ) -> Result<Value, Refused> {
        let objects = self.objects(kind, place);
        objects.replace(&place.name, object, write).await
    }

    async fn delete(&self, kind: &ServedKind, place: &Place, uid: &str) -> Result<(), Refused> {
        self.objects(kind, place).delete(&place.name, uid).await
    }

    async fn recreate(
        &self,
        kind: &ServedKind,
        (place, uid): (&Place, &str),
        object: &Value,
        maker: Option<&str>,
    ) -> Result<Value, RecreateFailure> {
        let objects = self.objects(kind, place);
        objects.recreate((&place.name, uid), object, maker).await
    }

    async fn await_namespace(&self, namespace: &str) {
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

    async fn on_a_thread<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        reeve_template_reads::run_blocking(work).await
    }

    fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        tokio::runtime::Handle::current().block_on(answer)
    }
}
