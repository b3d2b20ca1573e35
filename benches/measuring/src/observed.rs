//! What happens on the API server, as it happens.

use std::pin::pin;
use std::time::Instant;

use anyhow::{Context, Result};
use futures::StreamExt as _;
use kube::api::{Api, DynamicObject};
use kube::runtime::{WatchStreamExt as _, watcher};
use tokio::sync::mpsc;

/// A version of an object.
pub struct Seen {
    /// When this program saw it.
    pub at: Instant,
    /// The object.
    pub object: DynamicObject,
}

/// Watches objects until it is dropped. Everything there was is seen first.
pub struct Observed {
    seen: mpsc::UnboundedReceiver<Seen>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Observed {
    /// Starts to watch.
    pub fn start(api: Api<DynamicObject>) -> Self {
        Self::start_with(api, |object| object)
    }

    /// Starts to watch, and keeps of each object what `keep` returns: a measurement may look at what it has seen much later, when
    /// whole objects would take gigabytes.
    pub fn start_with(api: Api<DynamicObject>, keep: fn(DynamicObject) -> DynamicObject) -> Self {
        let (sender, seen) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut events = pin!(
                watcher(api, watcher::Config::default())
                    .default_backoff()
                    .applied_objects()
            );
            while let Some(event) = events.next().await {
                let object = match event {
                    Ok(object) => object,
                    // It goes on, but what it measures may be its own delay.
                    Err(error) => {
                        eprintln!("the watch of the measurement failed: {error}");
                        continue;
                    }
                };
                let seen = Seen {
                    at: Instant::now(),
                    object: keep(object),
                };
                if sender.send(seen).is_err() {
                    return;
                }
            }
        });
        Self { seen, task }
    }

    /// The next version of any object.
    pub async fn next(&mut self) -> Result<Seen> {
        self.seen.recv().await.context("the watch ended")
    }
}
