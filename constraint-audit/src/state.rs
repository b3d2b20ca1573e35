//! What the parts of the audit share, and the work that they hand to each other.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::core::ApiResource;
use parking_lot::{Mutex, RwLock};
use reeve_gatekeeper::audit::ResourceKind;
use reeve_gatekeeper::client::{self, Client as Engine, ConstraintKey};
use reeve_gatekeeper::rego::Limits;
use reeve_runtime::metrics::ControllerMetrics;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Queue;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

use crate::Options;
use crate::configuration::{Configuration, Effect};
use crate::pace::Pace;
use crate::redaction::InventorySecrets;
use crate::resources::Loaded;
use crate::results::Results;

/// Constraints that come together are planned together.
pub(crate) const PLAN_WINDOW: Duration = Duration::from_millis(20);

/// A step of the audit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Work {
    /// Load, or unload, the constraint template of a name.
    Template(String),
    /// Write the status of the template of a kind that is evaluated no more.
    Quarantine(String),
    /// Load, or unload, a constraint.
    Constraint(ConstraintKey),
    /// Decide which kinds are audited.
    Kinds,
    /// Gatekeeper's own configuration has changed.
    Configuration,
    /// Wait until a kind is listed, and all of its objects are reviewed.
    Kind(ResourceKind),
    /// Review everything that referential constraints match: the inventory has changed.
    Inventory,
    /// Write the status of a constraint, if it has changed.
    Status(ConstraintKey),
}

/// What the parts share.
pub(crate) struct Audit {
    pub(crate) client: Client,
    pub(crate) options: Options,
    pub(crate) queue: Queue<Work>,
    pub(crate) engine: RwLock<Engine>,
    pub(crate) results: Mutex<Results>,
    /// The constraint templates of the cluster, by name.
    pub(crate) templates: Mutex<BTreeMap<String, Arc<Value>>>,
    pub(crate) loaded_templates: Mutex<HashMap<String, Loaded>>,
    /// The watches of constraints, by kind.
    pub(crate) constraint_watches: Mutex<HashMap<String, ConstraintWatch>>,
    pub(crate) constraints: Mutex<HashMap<ConstraintKey, Arc<Value>>>,
    pub(crate) loaded_constraints: Mutex<HashMap<ConstraintKey, Loaded>>,
    /// Constraints that [`Work::Kinds`] has not seen yet.
    pub(crate) unplanned: Mutex<HashSet<ConstraintKey>>,
    /// The audited kinds.
    pub(crate) kind_watches: Mutex<HashMap<ResourceKind, KindWatch>>,
    /// What the API server serves; absent when that may have changed.
    pub(crate) served: Mutex<Option<Arc<ServedKinds>>>,
    pub(crate) namespaces_synced: watch::Sender<bool>,
    pub(crate) configuration: Mutex<Configuration>,
    pub(crate) inventory_pace: Mutex<Pace>,
    /// The objects in the inventory, by kind.
    pub(crate) inventory: Mutex<HashMap<ResourceKind, HashMap<ObjectKey, Entry>>>,
    /// The values of its Secrets, which no message shows.
    pub(crate) secrets: Mutex<InventorySecrets>,
}

/// The kinds that the API server serves.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServedKinds {
    /// In their preferred versions.
    pub(crate) preferred: Vec<Served>,
    /// In all other versions.
    pub(crate) others: Vec<Served>,
}

/// A kind that the API server serves.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) kind: ResourceKind,
    pub(crate) resource: ApiResource,
}

/// What is known of an object in the inventory.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its resource version.
    pub(crate) version: String,
    /// Whether the latest list has brought it, or an event since.
    pub(crate) is_listed: bool,
}

/// A watch of the constraints of a kind; it ends when this is dropped.
pub(crate) struct ConstraintWatch {
    _task: AbortOnDropHandle<()>,
}

impl ConstraintWatch {
    /// The watch that a task is.
    pub(crate) fn new(task: JoinHandle<()>) -> Self {
        Self {
            _task: AbortOnDropHandle::new(task),
        }
    }
}

/// What is done with the objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Duties {
    /// They are reviewed.
    pub(crate) is_audited: bool,
    /// They are put into the inventory.
    pub(crate) feeds_inventory: bool,
}

/// The stream of a kind; it ends when this is dropped.
pub(crate) struct KindWatch {
    _task: AbortOnDropHandle<()>,
    listed: watch::Receiver<bool>,
    pub(crate) duties: Duties,
    /// What was reviewed is of constraints or Namespaces that have changed: the kind is to be listed again.
    pub(crate) is_outdated: bool,
}

impl KindWatch {
    /// The stream that a task is; `listed` is set once all objects were reviewed, or cannot be listed.
    pub(crate) fn new(task: JoinHandle<()>, listed: watch::Receiver<bool>, duties: Duties) -> Self {
        Self {
            _task: AbortOnDropHandle::new(task),
            listed,
            duties,
            is_outdated: false,
        }
    }

    /// Becomes true once all objects were reviewed, or cannot be listed.
    pub(crate) fn listed(&self) -> watch::Receiver<bool> {
        self.listed.clone()
    }

    /// Whether all objects were reviewed by the constraints of now, or cannot be listed.
    pub(crate) fn is_complete(&self) -> bool {
        !self.is_outdated && *self.listed.borrow()
    }
}

impl Audit {
    /// An audit that has not begun.
    pub(crate) fn new(client: Client, options: Options, metrics: &ControllerMetrics) -> Self {
        let engine = reeve_constraint_worker::client(client::Options {
            engines: options.engines,
            limits: Limits::default(),
            external_data: options.external_data.clone(),
        });
        Self {
            client,
            options,
            queue: Queue::new("constraint-audit", metrics),
            engine: RwLock::new(engine),
            results: Mutex::default(),
            templates: Mutex::default(),
            loaded_templates: Mutex::default(),
            constraint_watches: Mutex::default(),
            constraints: Mutex::default(),
            loaded_constraints: Mutex::default(),
            unplanned: Mutex::default(),
            kind_watches: Mutex::default(),
            served: Mutex::default(),
            namespaces_synced: watch::Sender::new(false),
            configuration: Mutex::default(),
            inventory_pace: Mutex::default(),
            inventory: Mutex::default(),
            secrets: Mutex::default(),
        }
    }

    /// Ends the streams, which hold this.
    pub(crate) fn stop(&self) {
        self.kind_watches.lock().clear();
        self.constraint_watches.lock().clear();
        self.configuration.lock().watches.clear();
        if let Some(admission) = &self.options.admission {
            admission.detach();
        }
        self.options.gauges.quarantined.set(0);
    }

    /// What the configuration comes to now.
    pub(crate) fn effect(&self) -> Arc<Effect> {
        Arc::clone(&self.configuration.lock().effect)
    }

    /// The templates of the engine have changed, or one of them is not evaluated any more.
    pub(crate) fn count_quarantined(&self, engine: &Engine) {
        let evaluator = engine.evaluator();
        let is_quarantined = |kind: &str| evaluator.quarantined(kind).is_some();
        let quarantined = engine
            .templates()
            .filter(|template| is_quarantined(&template.kind));
        let count = i64::try_from(quarantined.count()).unwrap_or(i64::MAX);
        self.options.gauges.quarantined.set(count);
    }

    /// The constraints of the engine have changed.
    pub(crate) fn count_constraints(&self, engine: &Engine) {
        if let Some(admission) = &self.options.admission {
            admission.count(engine);
        }
    }

    /// The kinds that a constraint matches are listed again.
    pub(crate) fn mark_matched_kinds(&self, key: &ConstraintKey) {
        self.mark_matched_kinds_in(&self.engine.read(), key);
    }

    /// The same, while nobody else changes the engine.
    pub(crate) fn mark_matched_kinds_in(&self, engine: &Engine, key: &ConstraintKey) {
        let Some(constraint) = engine.constraint(key) else {
            return;
        };
        let effect = self.effect();
        for (kind, watch) in self.kind_watches.lock().iter_mut() {
            if effect.concerns(constraint, kind) {
                watch.is_outdated = true;
            }
        }
    }
}
