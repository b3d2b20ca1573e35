//! What happens on the API server, as it happens.

use std::collections::HashMap;
use std::pin::pin;
use std::time::Instant;

use anyhow::{Context, Result};
use futures::StreamExt as _;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject};
use kube::runtime::{WatchStreamExt as _, watcher};
use tokio::sync::mpsc;

/// A version of an object, and when this program saw it.
pub(crate) struct Seen {
    pub(crate) at: Instant,
    pub(crate) object: DynamicObject,
}

/// Watches objects until it is dropped. Everything there was is seen first.
pub(crate) struct Observed {
    seen: mpsc::UnboundedReceiver<Seen>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Observed {
    pub(crate) fn start(api: Api<DynamicObject>) -> Self {
        let (tell, seen) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut events = pin!(
                watcher(api, watcher::Config::default())
                    .default_backoff()
                    .applied_objects()
            );
            while let Some(event) = events.next().await {
                let Ok(object) = event else { continue };
                let seen = Seen {
                    at: Instant::now(),
                    object,
                };
                if tell.send(seen).is_err() {
                    return;
                }
            }
        });
        Self { seen, task }
    }

    pub(crate) async fn next(&mut self) -> Result<Seen> {
        self.seen.recv().await.context("the watch ended")
    }

    /// When the last of `count` policies with this prefix became Compliant.
    pub(crate) async fn all_compliant(&mut self, prefix: &str, count: usize) -> Result<Instant> {
        let mut compliant: HashMap<String, Instant> = HashMap::new();
        while compliant.len() < count {
            let Seen { at, object } = self.next().await?;
            let state = object
                .data
                .pointer("/status/compliant")
                .and_then(|state| state.as_str());
            let name = object.name_any();
            if state == Some("Compliant") && name.starts_with(prefix) {
                compliant.entry(name).or_insert(at);
            }
        }
        compliant.into_values().max().context("there were none")
    }
}
