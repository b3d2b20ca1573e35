//! Every version of objects that the API server has had, in its own order.

use std::sync::Arc;

use anyhow::{Context, Result};
use futures::StreamExt as _;
use kube::api::{ListParams, WatchParams};
use kube::core::WatchEvent;
use kube::{Api, ResourceExt as _};
use parking_lot::Mutex;
use reeve_testkit::{Object, Objects};
use tokio::task::JoinHandle;

/// An object from a revision on; `None`: it is gone.
#[derive(Clone)]
pub struct Version {
    /// When: of two objects of one API server the later has the larger.
    pub revision: u64,
    /// Of what kind.
    pub kind: &'static str,
    /// In which namespace.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// What it was.
    pub object: Option<Object>,
}

/// Watches kinds of objects; one etcd holds them all, so their revisions show which came first.
pub struct Recorder {
    versions: Arc<Mutex<Vec<Version>>>,
    watches: Vec<JoinHandle<Result<()>>>,
}

impl Drop for Recorder {
    fn drop(&mut self) {
        for watch in &self.watches {
            watch.abort();
        }
    }
}

/// What to watch: API version, kind, and a field selector or none.
pub type Watched = (&'static str, &'static str, &'static str);

impl Recorder {
    /// Records from now on.
    pub async fn start(objects: &Objects, kinds: &[Watched]) -> Result<Self> {
        let versions: Arc<Mutex<Vec<Version>>> = Arc::default();
        let mut watches = Vec::new();
        for (api_version, kind, fields) in kinds {
            let (resource, _) = objects.kind(api_version, kind).await?;
            let api: Api<Object> = Api::all_with(objects.client(), &resource);
            let list = api.list(&ListParams::default().fields(fields)).await?;
            let from = list
                .metadata
                .resource_version
                .clone()
                .context("a list of no version")?;
            for object in list {
                note(&versions, kind, object, false)?;
            }
            let versions = Arc::clone(&versions);
            watches.push(tokio::spawn(follow(api, kind, fields, from, versions)));
        }
        Ok(Self { versions, watches })
    }

    /// What was recorded, in order.
    ///
    /// # Errors
    /// When a watch has ended, so that something may be missing.
    pub async fn versions(&mut self) -> Result<Vec<Version>> {
        for watch in &mut self.watches {
            if watch.is_finished() {
                watch.await?.context("a watch has ended")?;
            }
        }
        let mut versions = self.versions.lock().clone();
        versions.sort_by_key(|version| version.revision);
        Ok(versions)
    }
}

fn note(
    versions: &Mutex<Vec<Version>>,
    kind: &'static str,
    object: Object,
    gone: bool,
) -> Result<()> {
    let revision = object
        .resource_version()
        .context("an object of no version")?;
    let version = Version {
        revision: revision.parse()?,
        kind,
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
        object: (!gone).then_some(object),
    };
    versions.lock().push(version);
    Ok(())
}

/// Follows one kind for ever.
async fn follow(
    api: Api<Object>,
    kind: &'static str,
    fields: &'static str,
    from: String,
    versions: Arc<Mutex<Vec<Version>>>,
) -> Result<()> {
    let mut last = from;
    loop {
        let mut events = api
            .watch(&WatchParams::default().fields(fields), &last)
            .await?
            .boxed();
        while let Some(event) = events.next().await {
            let (object, gone) = match event? {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
                WatchEvent::Deleted(object) => (object, true),
                WatchEvent::Bookmark(bookmark) => {
                    last = bookmark.metadata.resource_version;
                    continue;
                }
                WatchEvent::Error(status) => anyhow::bail!("watching {kind}: {status:?}"),
            };
            if let Some(version) = object.resource_version() {
                last = version;
            }
            note(&versions, kind, object, gone)?;
        }
    }
}
