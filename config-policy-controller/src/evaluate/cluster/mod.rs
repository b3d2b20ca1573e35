//! The requests of an evaluation to its target cluster: [`live`] sends them to an API server,
//! `dryrun::offline` answers them from objects in memory.

mod error;
mod live;
mod objects;

use std::sync::Arc;

use kube::core::GroupVersionKind;
use reeve_runtime::discovery::{DiscoveryError, ServedKind};
use reeve_runtime::strict::Write;
use reeve_runtime::writes::Deletion;
use serde_json::Value;

use crate::status::finding::Location;

pub use error::{ReadError, RecreateError, WriteError};
pub use live::{KindLookup, Live};
pub use objects::plain;

/// Whether a policy is evaluated in watch mode or polling mode. In polling mode kinds without the verb `watch` are read
/// by GET and LIST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    /// A change of an object that was read enqueues the policy.
    Watched,
    /// The policy is evaluated again after its interval.
    Polled,
}

/// What reading an object returned: the object, or `None` if it does not exist.
pub type ReadResult = Result<Option<Arc<Value>>, ReadError>;

/// The target cluster of a policy, as one evaluation of the policy sees it.
pub trait Cluster: Clone + Send + Sync + 'static {
    /// Whether the policy is evaluated in watch mode or polling mode.
    fn read_mode(&self) -> ReadMode;

    /// The resource that serves a kind.
    fn kind(
        &self,
        kind: &GroupVersionKind,
    ) -> impl Future<Output = Result<ServedKind, DiscoveryError>> + Send;

    /// One object, watched for the policy; `None` if it does not exist.
    fn get(
        &self,
        kind: &ServedKind,
        location: &Location,
    ) -> impl Future<Output = Result<Option<Arc<Value>>, ReadError>> + Send;

    /// The objects of a kind in a namespace (everywhere if it is empty) that match a label selector (all if it is
    /// empty), watched for the policy.
    fn list(
        &self,
        kind: &ServedKind,
        namespace: &str,
        selector: &str,
    ) -> impl Future<Output = Result<Vec<Arc<Value>>, ReadError>> + Send;

    /// The object of a kind with namespaces that has this name, in the first namespace in order that has one. The watch enqueues
    /// the policy when the answer changes.
    fn find(
        &self,
        kind: &ServedKind,
        name: &str,
    ) -> impl Future<Output = Result<Option<Arc<Value>>, ReadError>> + Send {
        async move {
            let is_named = |object: &Value| {
                object.pointer("/metadata/name").and_then(Value::as_str) == Some(name)
            };
            let namespace_of = |object: &Arc<Value>| {
                let namespace = object.pointer("/metadata/namespace");
                namespace.and_then(Value::as_str).map(str::to_owned)
            };
            let all = self.list(kind, "", "").await?;
            let named = all.into_iter().filter(|object| is_named(object));
            Ok(named.min_by_key(namespace_of))
        }
    }

    /// One object as the API server has it now, from the API server and not from a cache.
    fn get_uncached(
        &self,
        kind: &ServedKind,
        location: &Location,
    ) -> impl Future<Output = Result<Option<Value>, ReadError>> + Send;

    /// Creates an object under `field_manager`. An unknown field is an error.
    fn create(
        &self,
        kind: &ServedKind,
        location: &Location,
        object: &Value,
        field_manager: Option<&str>,
    ) -> impl Future<Output = Result<Value, WriteError>> + Send;

    /// Replaces an object, or sends a dry run of it.
    fn replace(
        &self,
        kind: &ServedKind,
        location: &Location,
        object: &Value,
        write: Write,
    ) -> impl Future<Output = Result<Value, WriteError>> + Send;

    /// Deletes the object with this UID. Another object of that name is not deleted: that is a conflict.
    fn delete(
        &self,
        kind: &ServedKind,
        location: &Location,
        uid: &str,
    ) -> impl Future<Output = Result<Deletion, WriteError>> + Send;

    /// Deletes the object at this location, if it has this UID, and creates another under `field_manager`.
    fn recreate(
        &self,
        kind: &ServedKind,
        which: (&Location, &str),
        object: &Value,
        field_manager: Option<&str>,
    ) -> impl Future<Output = Result<Value, RecreateError>> + Send;

    /// Watches a namespace, so that its creation enqueues the policy.
    fn watch_namespace(&self, namespace: &str) -> impl Future<Output = ()> + Send;

    /// Runs a computation that may take long, or that blocks with [`Cluster::wait`].
    fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send;

    /// Waits for a future. Only for what runs [on a thread](Cluster::run_blocking).
    fn wait<T>(&self, answer: impl Future<Output = T>) -> T;
}

/// The kind that a resource serves.
pub fn gvk(kind: &ServedKind) -> GroupVersionKind {
    let resource = &kind.resource;
    GroupVersionKind::gvk(&resource.group, &resource.version, &resource.kind)
}

/// The string at a JSON pointer, or an empty one.
pub fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
