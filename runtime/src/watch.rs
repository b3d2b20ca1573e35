//! Typed watches: each fills a store and delivers every change, also those during an interruption.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use kube::api::Api;
use kube::runtime::watcher;
use kube::{Resource, ResourceExt};
use parking_lot::RwLock;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::guarded::Guarded;
use crate::object::ObjectKey;
use crate::{metrics, relist};

/// A watch that has not failed for this long counts as healthy: its backoff is reset.
const RECOVERED: Duration = Duration::from_mins(1);

/// The cached state of an object.
#[derive(Debug)]
pub enum Cached<V> {
    /// The object, or the part of it that the watch keeps.
    Valid(Arc<V>),
    /// The object exists but cannot be decoded; the text is the reason. It must be treated as "not readable", never
    /// as "absent".
    Invalid(Arc<str>),
}

impl<V> Clone for Cached<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Valid(value) => Self::Valid(Arc::clone(value)),
            Self::Invalid(error) => Self::Invalid(Arc::clone(error)),
        }
    }
}

impl<V> Cached<V> {
    /// The object if it could be decoded.
    pub fn valid(&self) -> Option<&Arc<V>> {
        match self {
            Self::Valid(value) => Some(value),
            Self::Invalid(_) => None,
        }
    }
}

/// One change of one object: at least one side is present.
#[derive(Debug)]
pub struct Change<V> {
    /// The object's name.
    pub key: ObjectKey,
    /// The cached state before.
    pub old: Option<Cached<V>>,
    /// The cached state now; absent when the object was deleted.
    pub new: Option<Cached<V>>,
}

impl<V> Change<V> {
    /// The readable objects before and after.
    pub fn valid(&self) -> (Option<&Arc<V>>, Option<&Arc<V>>) {
        (
            self.old.as_ref().and_then(Cached::valid),
            self.new.as_ref().and_then(Cached::valid),
        )
    }
}

struct Entry<V> {
    resource_version: String,
    known: Cached<V>,
    /// Whether the handler has processed this change.
    handled: bool,
}

struct Cache<V> {
    entries: RwLock<HashMap<ObjectKey, Entry<V>>>,
    ready: tokio::sync::watch::Sender<bool>,
    failed: RwLock<Option<Instant>>,
    /// The latest version of a processed event, deletions included.
    latest: AtomicU64,
}

/// The objects of a watch; clones share them.
pub struct Store<V>(Arc<Cache<V>>);

impl<V> Clone for Store<V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<V> Store<V> {
    fn new() -> Self {
        let ready = tokio::sync::watch::Sender::new(false);
        Self(Arc::new(Cache {
            entries: RwLock::new(HashMap::new()),
            ready,
            failed: RwLock::new(None),
            latest: AtomicU64::new(0),
        }))
    }

    /// The cached state of an object; `None` if it does not exist.
    pub fn get(&self, key: &ObjectKey) -> Option<Cached<V>> {
        self.0
            .entries
            .read()
            .get(key)
            .map(|entry| entry.known.clone())
    }

    /// The object if it exists and can be decoded.
    pub fn get_valid(&self, key: &ObjectKey) -> Option<Arc<V>> {
        self.0
            .entries
            .read()
            .get(key)
            .and_then(|entry| entry.known.valid().cloned())
    }

    /// The resource version of an object, as the watch has delivered it.
    pub fn resource_version(&self, key: &ObjectKey) -> Option<String> {
        let entries = self.0.entries.read();
        entries.get(key).map(|entry| entry.resource_version.clone())
    }

    /// Whether this version of an object, or a later one, was delivered and its change processed. For a deleted
    /// object this holds once a later event was delivered.
    pub fn has_version(&self, key: &ObjectKey, version: &str) -> bool {
        // Versions are increasing numbers; other versions can only be compared for equality.
        let number = version.parse::<u64>().ok();
        let entries = self.0.entries.read();
        let Some(entry) = entries.get(key) else {
            let latest = self.0.latest.load(Ordering::Acquire);
            return number.is_some_and(|number| latest >= number);
        };
        let seen = entry.resource_version.as_str();
        let numbers = seen.parse::<u64>().ok().zip(number);
        entry.handled && numbers.map_or(seen == version, |(seen, version)| seen >= version)
    }

    /// The change of an object to this version was processed; absent if it was deleted.
    fn handled(&self, key: &ObjectKey) {
        if let Some(entry) = self.0.entries.write().get_mut(key) {
            entry.handled = true;
        }
    }

    /// Everything up to this version was delivered and processed. Events of one watch come in the order of their
    /// versions; the objects of a list do not.
    fn seen_up_to(&self, version: Option<&str>) {
        if let Some(version) = version.and_then(|version| version.parse().ok()) {
            self.0.latest.fetch_max(version, Ordering::Release);
        }
    }

    /// Whether the object exists, readable or not.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.0.entries.read().contains_key(key)
    }

    /// The results of `pick` for the readable objects.
    pub fn collect<T>(&self, mut pick: impl FnMut(&ObjectKey, &Arc<V>) -> Option<T>) -> Vec<T> {
        let entries = self.0.entries.read();
        entries
            .iter()
            .filter_map(|(key, entry)| entry.known.valid().and_then(|value| pick(key, value)))
            .collect()
    }

    /// The names of all objects, readable or not.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.0.entries.read().keys().cloned().collect()
    }

    /// Whether the first list was delivered.
    pub fn has_synced(&self) -> bool {
        *self.0.ready.borrow()
    }

    /// Waits until the first list was delivered: before that, absence means nothing.
    pub async fn wait_for_cache_sync(&self) {
        let mut ready = self.0.ready.subscribe();
        // `self` keeps the sender alive.
        let _ = ready.wait_for(|ready| *ready).await;
    }

    /// Whether the first list was delivered and the watch has not failed recently. While it fails, the store keeps
    /// its last state.
    pub fn is_healthy(&self) -> bool {
        let failed = *self.0.failed.read();
        self.has_synced() && failed.is_none_or(|at| at.elapsed() > RECOVERED)
    }

    fn put(&self, key: ObjectKey, resource_version: String, known: Cached<V>) -> Option<Change<V>> {
        let mut entries = self.0.entries.write();
        if let Some(entry) = entries.get(&key)
            && entry.resource_version == resource_version
        {
            return None;
        }
        let entry = Entry {
            resource_version,
            known: known.clone(),
            handled: false,
        };
        let old = entries.insert(key.clone(), entry).map(|entry| entry.known);
        Some(Change {
            key,
            old,
            new: Some(known),
        })
    }

    fn take(&self, key: &ObjectKey) -> Option<Change<V>> {
        let old = self.0.entries.write().remove(key)?.known;
        Some(Change {
            key: key.clone(),
            old: Some(old),
            new: None,
        })
    }
}

type Project<K, V> = Box<dyn Fn(K) -> V + Send + Sync>;

/// A watch of one kind, to be [run](Self::run).
pub struct Watch<K, V = K> {
    api: Api<Guarded<K>>,
    config: watcher::Config,
    project: Project<K, V>,
    store: Store<V>,
}

// One letter for both: the kept type is the object itself.
#[allow(clippy::mismatching_type_param_order)]
impl<V> Watch<V, V>
where
    V: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    /// Watches whole objects, less `managedFields`.
    pub fn new(api: Api<Guarded<V>>) -> Self {
        Self::projected(api, |object| object)
    }
}

impl<K, V> Watch<K, V>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    /// Watches objects but keeps only the result of `project` for each.
    pub fn projected(
        api: Api<Guarded<K>>,
        project: impl Fn(K) -> V + Send + Sync + 'static,
    ) -> Self {
        Self {
            api,
            config: watcher::Config::default(),
            project: Box::new(project),
            store: Store::new(),
        }
    }

    /// Watches only objects that match a label selector.
    #[must_use]
    pub fn labels(mut self, selector: &str) -> Self {
        self.config = self.config.labels(selector);
        self
    }

    /// Lists this many objects per page. A page is in memory as a whole while it is decoded.
    #[must_use]
    pub fn pages(mut self, objects: u32) -> Self {
        self.config = self.config.page_size(objects);
        self
    }

    /// Watches only objects that match a field selector.
    #[must_use]
    pub fn fields(mut self, selector: &str) -> Self {
        self.config = self.config.fields(selector);
        self
    }

    /// The store that this watch fills.
    pub fn store(&self) -> Store<V> {
        self.store.clone()
    }

    /// Watches until `stop` and calls `on_change` after each change of the store. Every difference in a list after a
    /// lost connection is a change too, deletions included.
    pub async fn run(self, stop: CancellationToken, mut on_change: impl FnMut(Change<V>)) {
        let kind = K::kind(&()).into_owned();
        let mut events = Box::pin(relist::events(self.api, self.config, &kind));
        let mut listed: Option<Vec<ObjectKey>> = None;
        loop {
            let event = tokio::select! {
                () = stop.cancelled() => return,
                event = events.next() => event,
            };
            let latest = match &event {
                Some(Ok(watcher::Event::Apply(object) | watcher::Event::Delete(object))) => {
                    object.resource_version()
                }
                _ => None,
            };
            let change = match event {
                None => return,
                Some(Err(error)) => {
                    tracing::warn!(kind, %error, "watch failed, trying again");
                    *self.store.0.failed.write() = Some(Instant::now());
                    continue;
                }
                Some(Ok(watcher::Event::Init)) => {
                    listed = Some(Vec::new());
                    continue;
                }
                Some(Ok(watcher::Event::InitDone)) => {
                    let seen = listed.take().unwrap_or_default().into_iter().collect();
                    for change in drop_unlisted(&self.store, &seen) {
                        on_change(change);
                    }
                    self.store.0.ready.send_replace(true);
                    continue;
                }
                Some(Ok(watcher::Event::InitApply(object))) => {
                    if let Some(listed) = &mut listed {
                        listed.push(ObjectKey::of(&object));
                    }
                    apply(&self.store, &self.project, object)
                }
                Some(Ok(watcher::Event::Apply(object))) => {
                    apply(&self.store, &self.project, object)
                }
                Some(Ok(watcher::Event::Delete(object))) => {
                    self.store.take(&ObjectKey::of(&object))
                }
            };
            if let Some(change) = change {
                let key = change.key.clone();
                on_change(change);
                self.store.handled(&key);
            }
            self.store.seen_up_to(latest.as_deref());
        }
    }
}

fn apply<K: Resource<DynamicType = ()>, V>(
    store: &Store<V>,
    project: &Project<K, V>,
    object: Guarded<K>,
) -> Option<Change<V>> {
    let key = ObjectKey::of(&object);
    let version = object.resource_version().unwrap_or_default();
    let known = match object {
        Guarded::Valid(object) => Cached::Valid(Arc::new(project(object))),
        Guarded::Invalid { error, .. } => {
            let kind = K::kind(&());
            metrics::undecodable(&kind);
            tracing::error!(%kind, object = %key, %error, "cannot decode object");
            Cached::Invalid(error)
        }
    };
    store.put(key, version, known)
}

fn drop_unlisted<V>(store: &Store<V>, listed: &HashSet<ObjectKey>) -> Vec<Change<V>> {
    let gone = store.keys().into_iter().filter(|key| !listed.contains(key));
    gone.filter_map(|key| store.take(&key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(text: &str) -> Cached<String> {
        Cached::Valid(Arc::new(text.to_owned()))
    }

    #[test]
    fn version_counts_as_seen_when_its_change_was_processed() {
        let (store, key) = (Store::<String>::new(), ObjectKey::new("n", "a"));
        assert!(!store.has_version(&key, "7"));
        assert!(store.put(key.clone(), "7".to_owned(), known("7")).is_some());
        assert!(!store.has_version(&key, "7"), "nobody knows of it yet");
        store.handled(&key);
        assert!(store.has_version(&key, "7") && store.has_version(&key, "6"));
        assert!(!store.has_version(&key, "8"));
        assert!(store.put(key.clone(), "9".to_owned(), known("9")).is_some());
        assert!(!store.has_version(&key, "8"), "9 is not handled");
    }

    #[test]
    fn deleted_object_counts_as_seen_when_later_event_was_delivered() {
        let (store, key) = (Store::<String>::new(), ObjectKey::new("n", "a"));
        store.seen_up_to(Some("12"));
        assert!(store.has_version(&key, "12"));
        assert!(!store.has_version(&key, "13"));
        assert!(!store.has_version(&key, "opaque"));
    }
}
