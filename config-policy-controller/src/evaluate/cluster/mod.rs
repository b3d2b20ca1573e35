//! What an evaluation asks of a cluster, and the two clusters there are: [`live`], behind an API server, and
//! [`offline`], objects in memory. An evaluation is the same on both.

mod error;
mod live;
mod objects;

use std::sync::Arc;

use kube::core::GroupVersionKind;
use reeve_runtime::discovery::{DiscoveryError, ServedKind};
use reeve_runtime::strict::Write;
use serde_json::Value;

use crate::status::finding::Place;

pub use error::{RecreateFailure, Refused, Unreadable};
pub use live::{KnownKinds, Live};

/// How a policy is kept up to date, which decides how a kind that cannot be watched is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// By watches: a change of what was read wakes the policy.
    Watched,
    /// By evaluating it again after a while.
    Polled,
}

/// What reading an object returned: the object, or `None` if it does not exist.
pub type ReadResult = Result<Option<Arc<Value>>, Unreadable>;

/// The cluster that a policy speaks about, as one evaluation of the policy sees it.
pub trait Cluster: Clone + Send + Sync + 'static {
    /// How the policy is kept up to date.
    fn freshness(&self) -> Freshness;

    /// The resource that serves a kind.
    fn kind(
        &self,
        kind: &GroupVersionKind,
    ) -> impl Future<Output = Result<ServedKind, DiscoveryError>> + Send;

    /// One object, which wakes the policy when it changes; `None` if it does not exist.
    fn get(
        &self,
        kind: &ServedKind,
        place: &Place,
    ) -> impl Future<Output = Result<Option<Arc<Value>>, Unreadable>> + Send;

    /// The objects of a kind in a namespace (everywhere if it is empty) that match a label selector (all if it is
    /// empty), which wake the policy when they change.
    fn list(
        &self,
        kind: &ServedKind,
        namespace: &str,
        selector: &str,
    ) -> impl Future<Output = Result<Vec<Arc<Value>>, Unreadable>> + Send;

    /// The object of a kind with namespaces that has this name, in the first namespace in order that has one. It wakes
    /// the policy when another one is.
    fn find(
        &self,
        kind: &ServedKind,
        name: &str,
    ) -> impl Future<Output = Result<Option<Arc<Value>>, Unreadable>> + Send {
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

    /// One object as the API server has it now, past every cache.
    fn get_now(
        &self,
        kind: &ServedKind,
        place: &Place,
    ) -> impl Future<Output = Result<Option<Value>, Unreadable>> + Send;

    /// Creates an object that remembers `maker`. A misspelt field is an error.
    fn create(
        &self,
        kind: &ServedKind,
        place: &Place,
        object: &Value,
        maker: Option<&str>,
    ) -> impl Future<Output = Result<Value, Refused>> + Send;

    /// Replaces an object, or asks what replacing it would come to.
    fn replace(
        &self,
        kind: &ServedKind,
        place: &Place,
        object: &Value,
        write: Write,
    ) -> impl Future<Output = Result<Value, Refused>> + Send;

    /// Deletes the object with this UID. If another one has its name by now, that one stays and this is a conflict.
    fn delete(
        &self,
        kind: &ServedKind,
        place: &Place,
        uid: &str,
    ) -> impl Future<Output = Result<(), Refused>> + Send;

    /// Deletes the object at this place, if it has this UID, and creates another, which remembers `maker`.
    fn recreate(
        &self,
        kind: &ServedKind,
        which: (&Place, &str),
        object: &Value,
        maker: Option<&str>,
    ) -> impl Future<Output = Result<Value, RecreateFailure>> + Send;

    /// The policy waits for this namespace: its creation wakes the policy.
    fn await_namespace(&self, namespace: &str) -> impl Future<Output = ()> + Send;

    /// Runs something that computes for long, or that waits with [`Cluster::wait`].
    fn on_a_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send;

    /// Waits for a future. Only for what runs [on a thread](Cluster::on_a_thread).
    fn wait<T>(&self, answer: impl Future<Output = T>) -> T;
}

/// The kind that a resource serves.
pub fn gvk(kind: &ServedKind) -> GroupVersionKind {
    let resource = &kind.resource;
    GroupVersionKind::gvk(&resource.group, &resource.version, &resource.kind)
}

/// The text at a path of an object, or nothing.
pub fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
