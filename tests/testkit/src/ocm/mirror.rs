//! Watched kinds, and the loops that act on what they see.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::StreamExt as _;
use kube::api::DynamicObject;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::reflector::{Store, reflector, store::Writer};
use kube::runtime::watcher::{self, watcher};
use kube::{Api, ResourceExt as _};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::journal::Journal;
use super::names::Kind;
use crate::{Objects, SOON};

/// Until a failed step is tried again; most failures are conflicts, which are over at once.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// A task that ends when this is dropped.
#[derive(Debug)]
pub(super) struct Task(JoinHandle<()>);

impl Task {
    pub(super) fn spawn(future: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(future))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Wakes the stand-in after a change. Clones share it.
pub(super) type ChangeTrigger = Arc<Notify>;

/// All objects of a kind, kept up to date by a watch; every change notifies the trigger.
#[derive(Debug)]
pub(super) struct Mirror {
    store: Store<DynamicObject>,
    _task: Task,
}

impl Mirror {
    /// Watches `kind`, in `namespace` or everywhere. Complete when this returns.
    pub(super) async fn start(
        objects: &Objects,
        kind: Kind,
        namespace: Option<&str>,
        trigger: &ChangeTrigger,
    ) -> Result<Self> {
        let (resource, _) = objects.kind(kind.api_version, kind.kind).await?;
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(objects.client(), namespace, &resource),
            None => Api::all_with(objects.client(), &resource),
        };
        let writer = Writer::new(resource);
        let store = writer.as_reader();
        let events = watcher(api, watcher::Config::default()).default_backoff();
        let mut stream = Box::pin(reflector(writer, events));
        let notifier = Arc::clone(trigger);
        let task = Task::spawn(async move {
            while stream.next().await.is_some() {
                notifier.notify_one();
            }
        });
        let ready = tokio::time::timeout(SOON, store.wait_until_ready()).await;
        ready
            .with_context(|| format!("watching {}", kind.kind))?
            .with_context(|| format!("watching {}", kind.kind))?;
        Ok(Self { store, _task: task })
    }

    /// All of them, by namespace and name.
    pub(super) fn all(&self) -> Vec<Arc<DynamicObject>> {
        let mut all = self.store.state();
        all.sort_by_key(|object| (object.namespace(), object.name_any()));
        all
    }

    /// The one of this name; for kinds without namespaces and mirrors of one namespace.
    pub(super) fn named(&self, name: &str) -> Option<Arc<DynamicObject>> {
        self.store.find(|object| object.name_any() == name)
    }

    /// The one of this namespace and name.
    pub(super) fn find(&self, namespace: &str, name: &str) -> Option<Arc<DynamicObject>> {
        self.store.find(|object| {
            object.name_any() == name && object.metadata.namespace.as_deref() == Some(namespace)
        })
    }
}

/// One reconcile of a stand-in, over all its objects.
pub(super) trait Step: Send + 'static {
    fn step(&mut self) -> impl Future<Output = Result<()>> + Send;
}

/// When a stand-in takes a step.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    pub(super) trigger: ChangeTrigger,
    /// The interval of steps without a change.
    pub(super) tick: Duration,
    /// No step while this is false.
    pub(super) open: watch::Receiver<bool>,
    pub(super) journal: Journal,
}

/// Takes steps until the task is dropped.
pub(super) fn run(who: String, mut stand_in: impl Step, mut pace: Pace) -> Task {
    Task::spawn(async move {
        loop {
            if pace.open.wait_for(|open| *open).await.is_err() {
                return;
            }
            let rest = match stand_in.step().await {
                Ok(()) => pace.tick,
                Err(error) => {
                    // Others write the same objects: the next round sees what they have written.
                    if !conflicts(&error) {
                        pace.journal.record(format!("{who}: {error:#}"));
                    }
                    tokio::time::sleep(RETRY_INTERVAL).await;
                    continue;
                }
            };
            let _ = tokio::time::timeout(rest, pace.trigger.notified()).await;
        }
    })
}

fn conflicts(error: &anyhow::Error) -> bool {
    let conflict = |error: &kube::Error| matches!(error, kube::Error::Api(it) if it.code == 409);
    error.downcast_ref().is_some_and(conflict)
}
