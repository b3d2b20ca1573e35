//! Maps kinds to resources on behalf of readers, and enqueues a reader when the mapping may have changed.
//!
//! [`Discovery`] answers; the watches of custom resource definitions and of API services keep its cache fresh: when
//! one of them changes, the cached resources of its group are dropped at once, and the readers that got the absence
//! of a kind of the group are enqueued. While the watches are healthy, absence is cached: a reader that asks
//! repeatedly costs no requests.
//!
//! ```no_run
//! # use kube::Client;
//! # use kube::core::GroupVersionKind;
//! # use reeve_runtime::{kinds::Kinds, supervisor::Supervisor};
//! # async fn example(client: Client, tasks: &mut Supervisor) {
//! let (kinds, watches) = Kinds::new(client, |policy: &String| println!("enqueue {policy}"));
//! watches.start(tasks);
//! let kind = GroupVersionKind::gvk("shop", "v1", "Tea");
//! // If it is absent, the policy is enqueued when that may have changed.
//! let served = kinds.find(&kind, &"a policy".to_owned()).await;
//! # }
//! ```

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::Api;
use kube::core::GroupVersionKind;
use kube::{Client, Resource};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::time::Instant;

use crate::definitions::{self, Crd, Definition};
use crate::discovery::{Discovery, DiscoveryError, ServedKind};
use crate::queue::Key;
use crate::supervisor::Supervisor;
use crate::watch::{Change, Store, Watch};

/// After this time a reader is enqueued again while discovery does not serve an established CRD yet.
const DISCOVERY_RETRY: Duration = Duration::from_secs(1);
/// How long absence is cached at most: an API server that is upgraded has new kinds that no watch delivers.
const ABSENCE_TTL: Duration = Duration::from_mins(10);
/// How long discovery may still show a kind whose definition was deleted. It is usually a moment; a kind that it
/// shows later is served by another API, such as an aggregated one.
const DISCOVERY_LAG: Duration = Duration::from_mins(1);

/// The group of an API service, which may also be an aggregated API.
#[derive(Resource, Deserialize, Clone, Debug)]
#[resource(inherit = APIService)]
struct Service {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: ServiceSpec,
}

#[derive(Deserialize, Clone, Debug, Default)]
#[serde(default)]
struct ServiceSpec {
    group: String,
}

/// Kinds on behalf of readers `R`; clones share the cache.
pub struct Kinds<R>(Arc<Inner<R>>);

impl<R> Clone for Kinds<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct Inner<R> {
    discovery: Discovery,
    definitions: Store<Definition>,
    services: Store<String>,
    state: Mutex<State<R>>,
    enqueue: Box<dyn Fn(&R) + Send + Sync>,
}

struct State<R> {
    /// The kinds that discovery did not show, and when.
    absent: HashMap<GroupVersionKind, (Instant, Absence)>,
    /// The readers that wait for a kind of a group.
    waiting: HashMap<String, HashSet<R>>,
    /// The readers to enqueue after a delay, because discovery lags behind a CRD.
    enqueued_soon: HashSet<R>,
    /// Kinds that definitions no longer serve, and since when.
    gone: HashMap<GroupVersionKind, Instant>,
    /// Counts changes, to detect one during a request.
    changes: HashMap<String, u64>,
}

/// What is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absence {
    Version,
    Kind,
}

impl Absence {
    fn of(error: &DiscoveryError) -> Option<Self> {
        match error {
            DiscoveryError::UnknownVersion(_) => Some(Self::Version),
            DiscoveryError::UnknownKind(_) => Some(Self::Kind),
            DiscoveryError::Unavailable { .. } => None,
        }
    }

    fn error(self, kind: &GroupVersionKind) -> DiscoveryError {
        match self {
            Self::Version => DiscoveryError::UnknownVersion(kind.clone()),
            Self::Kind => DiscoveryError::UnknownKind(kind.clone()),
        }
    }
}

/// The watches behind [`Kinds`], until they are started.
pub struct KindWatches<R> {
    kinds: Kinds<R>,
    definitions: Watch<Crd, Definition>,
    services: Watch<Service, String>,
}

impl<R: Key> Kinds<R> {
    /// An empty cache. `enqueue` is called for each reader that was answered with the absence of a kind when
    /// that may have changed; usually it puts the reader on a queue. It must not call back.
    pub fn new(
        client: Client,
        enqueue: impl Fn(&R) + Send + Sync + 'static,
    ) -> (Self, KindWatches<R>) {
        let definitions = definitions::watch(&client);
        let services = Api::all(client.clone());
        let services = Watch::projected(services, |service: Service| service.spec.group);
        let kinds = Self(Arc::new(Inner {
            discovery: Discovery::new(client),
            definitions: definitions.store(),
            services: services.store(),
            state: Mutex::new(State {
                absent: HashMap::new(),
                waiting: HashMap::new(),
                enqueued_soon: HashSet::new(),
                gone: HashMap::new(),
                changes: HashMap::new(),
            }),
            enqueue: Box::new(enqueue),
        }));
        let watches = KindWatches {
            kinds: kinds.clone(),
            definitions,
            services,
        };
        (kinds, watches)
    }

    /// The resource that serves a kind, as [`Discovery::find`]. A reader that is answered with an absence
    /// is enqueued when a definition or API service of the group changes, and again every second while
    /// discovery lags behind that. Any other error has to be tried again
    /// by the reader.
    pub async fn find(
        &self,
        kind: &GroupVersionKind,
        reader: &R,
    ) -> Result<ServedKind, DiscoveryError> {
        // An empty or malformed `apiVersion` would request another page of the API server.
        if kind.version.is_empty() {
            return Err(DiscoveryError::UnknownVersion(kind.clone()));
        }
        loop {
            let (before, absence) = {
                let state = self.0.state.lock();
                (state.changes_of(&kind.group), state.cached_absence(kind))
            };
            if let Some(absence) = absence.filter(|_| self.is_healthy()) {
                self.0.state.lock().wait_for(&kind.group, reader);
                return Err(absence.error(kind));
            }
            let (error, lags) = match self.0.discovery.find(kind).await {
                Ok(_) if self.is_gone(kind) => {
                    self.0.discovery.forget(kind);
                    (Absence::Kind.error(kind), true)
                }
                Ok(served) => return Ok(served),
                Err(error) => {
                    let is_defined = definitions::is_defined(&self.0.definitions, kind);
                    (error, is_defined)
                }
            };
            let Some(absence) = Absence::of(&error) else {
                return Err(error);
            };
            let mut state = self.0.state.lock();
            // A change during the request may be missing in its response.
            if state.changes_of(&kind.group) != before {
                continue;
            }
            state.wait_for(&kind.group, reader);
            if lags || !self.0.discovery.is_settled(&kind.group) {
                self.enqueue_soon(&mut state, reader);
            } else {
                state.cache_absence(kind, absence);
            }
            return Err(error);
        }
    }

    /// Drops a kind from the cache, because the API server answered that it is not served.
    pub fn invalidate(&self, kind: &GroupVersionKind) {
        self.0.discovery.forget(kind);
    }

    /// Removes a deleted reader.
    pub fn unwatch(&self, reader: &R) {
        let mut state = self.0.state.lock();
        state.enqueued_soon.remove(reader);
        state.waiting.retain(|_, readers| {
            readers.remove(reader);
            !readers.is_empty()
        });
    }

    /// The definitions, by name.
    pub fn definitions(&self) -> &Store<Definition> {
        &self.0.definitions
    }

    /// Whether the watches are healthy, so that absence may be answered from the cache.
    pub fn is_healthy(&self) -> bool {
        self.0.definitions.is_healthy() && self.0.services.is_healthy()
    }

    /// Whether the definition of a kind was deleted, and discovery may still show it.
    fn is_gone(&self, kind: &GroupVersionKind) -> bool {
        let since = self.0.state.lock().gone.get(kind).copied();
        since.is_some_and(|since| since.elapsed() < DISCOVERY_LAG)
            && !definitions::is_defined(&self.0.definitions, kind)
    }

    /// Enqueues a reader after a delay.
    fn enqueue_soon(&self, state: &mut State<R>, reader: &R) {
        if !state.enqueued_soon.insert(reader.clone()) {
            return;
        }
        let (inner, reader) = (Arc::downgrade(&self.0), reader.clone());
        tokio::spawn(async move {
            tokio::time::sleep(DISCOVERY_RETRY).await;
            let Some(inner) = inner.upgrade() else { return };
            // Absent if the reader was removed.
            if inner.state.lock().enqueued_soon.remove(&reader) {
                (inner.enqueue)(&reader);
            }
        });
    }

    /// A definition or API service of a group was created, changed or deleted.
    fn changed(&self, group: &str, is_first_list: bool) {
        // Objects of the first list existed when discovery was asked, or are new to the waiting readers.
        if !is_first_list {
            self.0.discovery.group_changed(group);
        }
        let readers = self.0.state.lock().change(group);
        for reader in readers {
            (self.0.enqueue)(&reader);
        }
    }

    fn definition_changed(&self, change: &Change<Definition>) {
        let (old, new) = change.valid();
        // Labels, annotations and schemas change more often than kinds do.
        let is_same = |old: &Definition, new: &Definition| {
            let labels = new.labels.clone();
            Definition {
                labels,
                ..old.clone()
            } == *new
        };
        if old.zip(new).is_some_and(|(old, new)| is_same(old, new)) {
            return;
        }
        if let Some(old) = old {
            self.0.state.lock().take(old, new.map(Arc::as_ref));
        }
        if let Some(definition) = new.or(old) {
            self.changed(&definition.group, !self.0.definitions.has_synced());
        }
    }

    fn service_changed(&self, change: &Change<String>) {
        let (old, new) = change.valid();
        if let Some(group) = new.or(old) {
            self.changed(group, !self.0.services.has_synced());
        }
    }
}

impl<R: Key> State<R> {
    fn changes_of(&self, group: &str) -> u64 {
        self.changes.get(group).copied().unwrap_or_default()
    }

    fn cached_absence(&self, kind: &GroupVersionKind) -> Option<Absence> {
        let (at, absence) = self.absent.get(kind)?;
        (at.elapsed() < ABSENCE_TTL).then_some(*absence)
    }

    fn cache_absence(&mut self, kind: &GroupVersionKind, absence: Absence) {
        self.absent.retain(|_, (at, _)| at.elapsed() < ABSENCE_TTL);
        self.absent.insert(kind.clone(), (Instant::now(), absence));
    }

    fn wait_for(&mut self, group: &str, reader: &R) {
        let readers = self.waiting.entry(group.to_owned()).or_default();
        readers.insert(reader.clone());
    }

    /// Records the kinds that a definition no longer serves.
    fn take(&mut self, old: &Definition, new: Option<&Definition>) {
        self.gone.retain(|_, since| since.elapsed() < DISCOVERY_LAG);
        for version in &old.served {
            let kind = GroupVersionKind::gvk(&old.group, version, &old.kind);
            if old.defines(&kind) && !new.is_some_and(|new| new.defines(&kind)) {
                self.gone.insert(kind, Instant::now());
            }
        }
    }

    /// Returns the waiting readers; those that still have to wait will ask again.
    fn change(&mut self, group: &str) -> HashSet<R> {
        *self.changes.entry(group.to_owned()).or_default() += 1;
        self.absent.retain(|kind, _| kind.group != group);
        self.waiting.remove(group).unwrap_or_default()
    }
}

impl<R: Key> KindWatches<R> {
    /// Starts the watches.
    pub fn start(self, tasks: &mut Supervisor) {
        let kinds = self.kinds.clone();
        let work = self.definitions.run(tasks.stop(), move |change| {
            kinds.definition_changed(&change);
        });
        tasks.spawn_infallible("the watch of custom resource definitions", work);
        let kinds = self.kinds;
        let work = self.services.run(tasks.stop(), move |change| {
            kinds.service_changed(&change);
        });
        tasks.spawn_infallible("the watch of API services", work);
    }
}
