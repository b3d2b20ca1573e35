//! "Which resource serves this kind, and tell me when that may have changed."
//!
//! [`Discovery`] answers; the watches of custom resource definitions and of API services keep its
//! answers fresh: when one of them changes, what was learnt of its group is forgotten at once, and
//! the readers who were told that a kind of the group does not exist are woken. While the watches
//! are healthy, that answer is believed: a reader that asks again and again costs no requests.
//!
//! ```no_run
//! # use kube::Client;
//! # use kube::core::GroupVersionKind;
//! # use reeve_runtime::{kinds::Kinds, supervisor::Supervisor};
//! # async fn example(client: Client, tasks: &mut Supervisor) {
//! let (kinds, watches) = Kinds::new(client, |policy: &String| println!("look again: {policy}"));
//! watches.start(tasks);
//! let kind = GroupVersionKind::gvk("shop", "v1", "Tea");
//! // If it is absent, the policy is woken once that may be otherwise.
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

/// How soon a reader is woken when discovery is about to know the kind.
const COMING: Duration = Duration::from_secs(1);
/// How long absence is believed at most: an API server that is replaced by a newer one has new
/// kinds that no watch tells of.
const BELIEVED: Duration = Duration::from_mins(10);
/// How long discovery may still show a kind whose definition is gone. It is usually a moment; what it says of such a
/// kind later is that somebody else serves it.
const LAGGING: Duration = Duration::from_mins(1);

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

/// Kinds on behalf of readers `R`; clones share what was learnt.
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
    wake: Box<dyn Fn(&R) + Send + Sync>,
}

struct State<R> {
    /// What discovery said does not exist, and when.
    absent: HashMap<GroupVersionKind, (Instant, Absence)>,
    /// Who waits for a kind of a group.
    waiting: HashMap<String, HashSet<R>>,
    /// Who is about to be woken because a kind is coming.
    expecting: HashSet<R>,
    /// Kinds that definitions no longer serve, and since when.
    gone: HashMap<GroupVersionKind, Instant>,
    /// Counts changes, so that one that happens during a request is noticed.
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
    /// Nothing learnt yet. `wake` is called for each reader who was told that a kind is absent when
    /// that may have changed; usually it puts the reader on a queue. It must not call back.
    pub fn new(
        client: Client,
        wake: impl Fn(&R) + Send + Sync + 'static,
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
                expecting: HashSet::new(),
                gone: HashMap::new(),
                changes: HashMap::new(),
            }),
            wake: Box::new(wake),
        }));
        let watches = KindWatches {
            kinds: kinds.clone(),
            definitions,
            services,
        };
        (kinds, watches)
    }

    /// The resource that serves a kind, as [`Discovery::find`]. A reader that is told of an absence
    /// is woken when a definition or API service of the group changes, and again every second while
    /// discovery lags behind that. Any other error has to be tried again
    /// by the reader.
    pub async fn find(
        &self,
        kind: &GroupVersionKind,
        reader: &R,
    ) -> Result<ServedKind, DiscoveryError> {
        // An empty or malformed apiVersion would ask for another page of the API server.
        if kind.version.is_empty() {
            return Err(DiscoveryError::UnknownVersion(kind.clone()));
        }
        loop {
            let (before, absence) = {
                let state = self.0.state.lock();
                (state.changes_of(&kind.group), state.believed(kind))
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
                    let is_coming = definitions::is_coming(&self.0.definitions, kind);
                    (error, is_coming)
                }
            };
            let Some(absence) = Absence::of(&error) else {
                return Err(error);
            };
            let mut state = self.0.state.lock();
            // What changed while discovery was asked may have come too late for its answer.
            if state.changes_of(&kind.group) != before {
                continue;
            }
            state.wait_for(&kind.group, reader);
            if lags || !self.0.discovery.is_settled(&kind.group) {
                self.expect(&mut state, reader);
            } else {
                state.believe(kind, absence);
            }
            return Err(error);
        }
    }

    /// Forgets a kind's resource, because the API server said that it is gone.
    pub fn distrust(&self, kind: &GroupVersionKind) {
        self.0.discovery.forget(kind);
    }

    /// A reader that is gone waits for nothing.
    pub fn forget(&self, reader: &R) {
        let mut state = self.0.state.lock();
        state.expecting.remove(reader);
        state.waiting.retain(|_, readers| {
            readers.remove(reader);
            !readers.is_empty()
        });
    }

    /// The definitions, by the names of their objects.
    pub fn definitions(&self) -> &Store<Definition> {
        &self.0.definitions
    }

    /// Whether the watches work, so that absence is believed without asking.
    pub fn is_healthy(&self) -> bool {
        self.0.definitions.is_healthy() && self.0.services.is_healthy()
    }

    /// Whether the definition of a kind is gone, and discovery may not know it yet.
    fn is_gone(&self, kind: &GroupVersionKind) -> bool {
        let since = self.0.state.lock().gone.get(kind).copied();
        since.is_some_and(|since| since.elapsed() < LAGGING)
            && !definitions::is_coming(&self.0.definitions, kind)
    }

    /// Wakes a reader in a moment.
    fn expect(&self, state: &mut State<R>, reader: &R) {
        if !state.expecting.insert(reader.clone()) {
            return;
        }
        let (inner, reader) = (Arc::downgrade(&self.0), reader.clone());
        tokio::spawn(async move {
            tokio::time::sleep(COMING).await;
            let Some(inner) = inner.upgrade() else { return };
            // Gone if the reader was forgotten.
            if inner.state.lock().expecting.remove(&reader) {
                (inner.wake)(&reader);
            }
        });
    }

    /// A definition or API service of a group is new, gone or another.
    fn changed(&self, group: &str, is_first_list: bool) {
        // What the first list shows was there when discovery was asked, or is new to those who wait.
        if !is_first_list {
            self.0.discovery.group_changed(group);
        }
        let woken = self.0.state.lock().change(group);
        for reader in woken {
            (self.0.wake)(&reader);
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
            self.changed(&definition.group, !self.0.definitions.is_ready());
        }
    }

    fn service_changed(&self, change: &Change<String>) {
        let (old, new) = change.valid();
        if let Some(group) = new.or(old) {
            self.changed(group, !self.0.services.is_ready());
        }
    }
}

impl<R: Key> State<R> {
    fn changes_of(&self, group: &str) -> u64 {
        self.changes.get(group).copied().unwrap_or_default()
    }

    fn believed(&self, kind: &GroupVersionKind) -> Option<Absence> {
        let (at, absence) = self.absent.get(kind)?;
        (at.elapsed() < BELIEVED).then_some(*absence)
    }

    fn believe(&mut self, kind: &GroupVersionKind, absence: Absence) {
        self.absent.retain(|_, (at, _)| at.elapsed() < BELIEVED);
        self.absent.insert(kind.clone(), (Instant::now(), absence));
    }

    fn wait_for(&mut self, group: &str, reader: &R) {
        let readers = self.waiting.entry(group.to_owned()).or_default();
        readers.insert(reader.clone());
    }

    /// Keeps which kinds a definition served and does no more.
    fn take(&mut self, old: &Definition, new: Option<&Definition>) {
        self.gone.retain(|_, since| since.elapsed() < LAGGING);
        for version in &old.served {
            let kind = GroupVersionKind::gvk(&old.group, version, &old.kind);
            if old.is_of(&kind) && !new.is_some_and(|new| new.is_of(&kind)) {
                self.gone.insert(kind, Instant::now());
            }
        }
    }

    /// Returns who has waited; whoever still has to will ask again.
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
