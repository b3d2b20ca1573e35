//! Reads objects on behalf of policies, and enqueues a policy when one of its answers changes.
//!
//! A reader (a policy) reads objects and selections in a *batch*; what it did not read again in its
//! next batch is no longer watched for it. Readers of the same thing share one watch, and a kind of
//! which many objects, selections or namespaces are read gets one watch for all of them: the number
//! of open watches depends on the number of kinds, not on that of policies, objects or namespaces.
//!
//! The guarantee, kept by [`index`] and checked by its model test: after any change of an object that a reader's
//! latest batch has read, the reader is enqueued, whatever was added, removed, listed again or interrupted in
//! between.

mod cover;
mod index;
mod metrics;
pub(crate) mod plain;
mod selector;
mod source;
mod watched;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::core::ApiResource;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::decode::DecodeError;
use crate::discovery::ServedKind;
use crate::interned;
use crate::object::ObjectKey;
use crate::queue::Key;
use index::{Answer, Index, Limits, Lost, Output, Source, Target};
use plain::Kept;

pub use metrics::{DEPENDENCY_METRICS, DependencyGauges};

/// From this many names or selectors of a kind in one namespace on, one watch of the kind there serves all.
pub const SHARED_WATCH_THRESHOLD: usize = 8;

/// Why a read failed. Never the same as "it is absent".
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReadError {
    /// The kind cannot be watched, so no reader could be enqueued.
    #[error("{0} cannot be watched: watch not supported on this resource")]
    Unwatchable(String),
    /// The API server rejected the watch or did not answer.
    #[error("{0}")]
    Refused(Arc<kube::Error>),
    /// The object exists, and its JSON cannot be decoded.
    #[error("cannot decode {kind} {object}: {reason}")]
    Undecodable {
        /// Its kind.
        kind: String,
        /// Its name.
        object: ObjectKey,
        /// The error of the decoder.
        reason: DecodeError,
    },
    /// The watch ended before it was established.
    #[error("the watch ended before it was established")]
    Ended,
}

/// Returns the part of an object that is kept. It keeps the name, namespace, UID, resource version and labels.
pub type Keep = fn(&ApiResource, Value) -> Value;

/// The form in which objects are kept between reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObjectForm {
    /// A read copies nothing.
    #[default]
    Decoded,
    /// Each read decodes its objects, which take about a fifth of the memory: for readers of few objects.
    Text,
}

/// Watches on behalf of readers `R`; clones share them.
pub struct DependencyWatches<R>(Arc<Inner<R>>);

impl<R> Clone for DependencyWatches<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct Inner<R> {
    client: Client,
    state: Mutex<State<R>>,
    changed: Notify,
    enqueue: Box<dyn Fn(&R) + Send + Sync>,
}

struct State<R> {
    index: Index<R, Kept>,
    running: HashMap<Source, AbortHandle>,
    form: ObjectForm,
}

impl<R> Drop for Inner<R> {
    fn drop(&mut self) {
        for (_, watch) in self.state.get_mut().running.drain() {
            watch.abort();
        }
    }
}

impl<R: Key> DependencyWatches<R> {
    /// No watches yet. `enqueue` is called for each reader whose answers changed, usually to put it on
    /// a queue; it must not call back.
    pub fn new(client: Client, enqueue: impl Fn(&R) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner {
            client,
            state: Mutex::new(State {
                index: Index::new(Limits::default(), Instant::now()),
                running: HashMap::new(),
                form: ObjectForm::default(),
            }),
            changed: Notify::new(),
            enqueue: Box::new(enqueue),
        }))
    }

    /// A refusal enqueues only the readers that relied on an earlier answer, not those that get it as their answer
    /// and choose their own retry. Else a read that is always refused is repeated without a pause.
    #[must_use]
    pub fn without_refusal_wakeups(self) -> Self {
        self.0.state.lock().index.echoes = false;
        self
    }

    /// Objects that are delivered from now on are kept in this form.
    #[must_use]
    pub fn with_form(self, form: ObjectForm) -> Self {
        self.0.state.lock().form = form;
        self
    }

    /// A refusal is answered from the cache for this long, whichever reader asks: with many readers of one credential
    /// the API server would get a request for each of them, again and again. No reader is enqueued when the time is
    /// over.
    #[must_use]
    pub fn with_refusal_ttl(self, remembers: Duration) -> Self {
        self.0.state.lock().index.remembers = remembers;
        self
    }

    /// Keeps only a part of the objects, for readers that need no more.
    #[must_use]
    pub fn keeping(self, keep: Keep) -> Self {
        self.0.state.lock().index.keep = keep;
        self
    }

    /// No watch of these kinds takes the place of several narrower ones: their objects are many and large, and readers
    /// select few of them.
    #[must_use]
    pub fn with_narrow_watches(self, kinds: fn(&ApiResource) -> bool) -> Self {
        self.0.state.lock().index.is_narrow = kinds;
        self
    }

    /// Starts a batch of reads. A reader has one batch at a time: its queue sees to that.
    pub fn begin(&self, reader: &R) -> Batch<R> {
        self.0.state.lock().index.begin(reader);
        Batch {
            watches: self.clone(),
            reader: reader.clone(),
        }
    }

    /// Stops watching on behalf of a deleted reader.
    pub fn unwatch(&self, reader: &R) {
        self.update(|index| index.unwatch(reader));
    }

    /// Adds these watches to gauges: how many are open, and how many objects they keep.
    pub fn count_in(&self, gauges: &DependencyGauges) {
        gauges.add(Arc::downgrade(&self.0));
    }

    /// How many watches are open.
    pub fn active(&self) -> usize {
        self.0.state.lock().running.len()
    }

    /// How many different objects and selections are read, whatever the number of watches that serve them.
    pub fn targets(&self) -> usize {
        self.0.state.lock().index.targets()
    }

    /// Removes from `objects` those of this kind that have readers.
    pub fn retain_unwatched(&self, kind: &ApiResource, objects: &mut Vec<ObjectKey>) {
        let kind = interned::kind(kind);
        let state = self.0.state.lock();
        objects.retain(|key| {
            let (kind, key) = (Arc::clone(&kind), key.clone());
            !state.index.is_read(&Target::Object { kind, key })
        });
    }

    fn update<T>(&self, change: impl FnOnce(&mut Index<R, Kept>) -> T) -> T {
        let mut state = self.0.state.lock();
        state.index.tick(Instant::now());
        let result = change(&mut state.index);
        let outputs = state.index.outputs();
        let mut readers = Vec::new();
        for output in outputs {
            match output {
                Output::Start(source) => {
                    let watch = tokio::spawn(source::watch(
                        Arc::downgrade(&self.0),
                        self.0.client.clone(),
                        source.clone(),
                        state.form,
                    ));
                    state.running.insert(source, watch.abort_handle());
                }
                Output::Stop(source) => {
                    if let Some(watch) = state.running.remove(&source) {
                        watch.abort();
                    }
                }
                Output::Enqueue(reader) => readers.push(reader),
            }
        }
        drop(state);
        for reader in readers {
            (self.0.enqueue)(&reader);
        }
        result
    }

    /// Applies an event of a watch, and notifies the reads that wait for its first list.
    fn apply(&self, change: impl FnOnce(&mut Index<R, Kept>)) {
        self.update(change);
        self.0.changed.notify_waiters();
    }
}

/// The reads of one reader in one reconcile.
pub struct Batch<R: Key> {
    watches: DependencyWatches<R>,
    reader: R,
}

impl<R: Key> Batch<R> {
    /// Reads one object; `None` if it does not exist. `namespace` is empty for cluster-scoped
    /// kinds. From now on a change of the object, its creation included, enqueues the reader.
    ///
    /// The object is whole, `apiVersion` and `kind` included, less `metadata.managedFields`.
    pub async fn get(
        &self,
        kind: &ServedKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Value>>, ReadError> {
        let target = Target::Object {
            kind: interned::kind(&kind.resource),
            key: ObjectKey::new(namespace, name),
        };
        Ok(self.read(kind, target).await?.into_iter().next())
    }

    /// Reads the object of a kind with namespaces that has this name, in the first namespace in order that has one; `None`
    /// if none has. From now on a change of the objects of this name enqueues the reader.
    pub async fn find(
        &self,
        kind: &ServedKind,
        name: &str,
    ) -> Result<Option<Arc<Value>>, ReadError> {
        let target = Target::Named {
            kind: interned::kind(&kind.resource),
            name: name.to_owned(),
        };
        Ok(self.read(kind, target).await?.into_iter().next())
    }

    /// Reads the objects of a kind in a namespace (everywhere if it is empty) that match a label
    /// selector (all if it is empty), sorted by namespace and name.
    pub async fn list(
        &self,
        kind: &ServedKind,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Arc<Value>>, ReadError> {
        let target = Target::Selection {
            kind: interned::kind(&kind.resource),
            namespace: namespace.to_owned(),
            selector: selector.to_owned(),
        };
        self.read(kind, target).await
    }

    async fn read(&self, kind: &ServedKind, target: Target) -> Result<Vec<Arc<Value>>, ReadError> {
        if !kind.watchable {
            let described = format!("{}, Kind={}", kind.resource.api_version, kind.resource.kind);
            return Err(ReadError::Unwatchable(described));
        }
        loop {
            // Registered before the answer is read, so no change is lost between the two.
            let changed = self.watches.0.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            match self
                .watches
                .update(|index| index.read(&self.reader, &target))
            {
                Answer::Known(objects) => {
                    return objects.iter().map(|kept| kept.decoded()).collect();
                }
                Answer::Lost(lost) => return Err(lost.into()),
                Answer::Pending => changed.await,
            }
        }
    }

    /// Ends the batch: targets that it did not read are no longer watched for this reader. A batch that is dropped
    /// without this keeps everything, which is safe, but costs more.
    pub fn end(self) {
        self.watches.update(|index| index.end(&self.reader));
    }
}

impl From<Lost> for ReadError {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Refused(error) => Self::Refused(error),
            Lost::Ended => Self::Ended,
        }
    }
}
