//! What the parts of the audit share, and the queue that they hand work to each other by.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use kube::Client;
use parking_lot::{Mutex, RwLock};
use reeve_gatekeeper::audit::ResourceKind;
use reeve_gatekeeper::client::{self, Client as Engine, ConstraintKey};
use reeve_gatekeeper::rego::Limits;
use reeve_runtime::CancellationToken;
use reeve_runtime::metrics::ControllerMetrics;
use reeve_runtime::queue::{Action, Queue};
use reeve_runtime::supervisor::{Supervisor, TaskError};
use serde_json::Value;
use tokio::sync::watch;

use crate::constraints::ConstraintWatch;
use crate::error::AuditError;
use crate::kinds::Served;
use crate::objects::KindWatch;
use crate::results::Results;
use crate::{Options, definitions, inventory, kinds, namespaces, templates};

/// Keys that are reconciled at once. Those that wait for a list take no time of others.
const WORKERS: usize = 8;

/// A step of the audit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Work {
    /// Load, or unload, the constraint template of a name.
    Template(String),
    /// Load, or unload, a constraint.
    Constraint(ConstraintKey),
    /// Decide which kinds are audited.
    Kinds,
    /// List a kind, and review all of its objects.
    Kind(ResourceKind),
    /// Review everything that referential constraints match: the inventory has changed.
    Inventory,
    /// Write the status of a constraint, if it has changed.
    Status(ConstraintKey),
}

/// What was loaded: a change of a status alone does not load an object again.
pub(crate) type Loaded = (String, i64);

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
    pub(crate) served: Mutex<Option<Arc<Vec<Served>>>>,
    pub(crate) namespaces_synced: watch::Sender<bool>,
    /// The versions of the objects in the inventory.
    pub(crate) inventory: Mutex<inventory::Versions>,
}

/// Audits the constraints of a cluster until `stop`.
pub(crate) async fn run(
    client: Client,
    options: Options,
    metrics: &ControllerMetrics,
    stop: CancellationToken,
) -> Result<(), TaskError> {
    let mut tasks = Supervisor::new(stop);
    let engine = Engine::new(client::Options {
        engines: options.engines,
        limits: Limits::default(),
    });
    let audit = Arc::new(Audit {
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
        inventory: Mutex::default(),
    });
    let stop = tasks.stop();
    tasks.spawn_infallible("watch of constraint templates", {
        let (audit, stop) = (Arc::clone(&audit), stop.clone());
        async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = async {
                    definitions::install(&audit.client).await;
                    templates::watch(&audit).await;
                } => {}
            }
        }
    });
    tasks.spawn_infallible("watch of namespaces", {
        let (audit, stop) = (Arc::clone(&audit), stop.clone());
        async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = namespaces::watch(&audit) => {}
            }
        }
    });
    tasks.spawn_infallible("watch of custom resource definitions", {
        let (audit, stop) = (Arc::clone(&audit), stop.clone());
        async move { kinds::watch(&audit, stop).await }
    });
    tasks.spawn_infallible("constraint audit", {
        let audit = Arc::clone(&audit);
        async move {
            let (queue, shared) = (audit.queue.clone(), Arc::clone(&audit));
            queue
                .run(WORKERS, stop, move |work| {
                    Arc::clone(&shared).reconcile(work)
                })
                .await;
            audit.stop();
        }
    });
    tasks.run().await
}

impl Audit {
    async fn reconcile(self: Arc<Self>, work: Work) -> Result<Action, AuditError> {
        match work {
            Work::Template(name) => self.template(&name).await,
            Work::Constraint(key) => self.constraint(&key).await,
            Work::Kinds => self.plan().await,
            Work::Kind(kind) => Ok(self.list(&kind).await),
            Work::Inventory => Ok(self.inventory_changed()),
            Work::Status(key) => self.publish(&key).await,
        }
    }

    /// Ends the streams, which hold this.
    fn stop(&self) {
        self.kind_watches.lock().clear();
        self.constraint_watches.lock().clear();
    }
}

/// The identity and generation of an object.
pub(crate) fn loaded(object: &Value) -> Loaded {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    let generation = object["metadata"]["generation"].as_i64();
    (uid.to_owned(), generation.unwrap_or_default())
}

/// Whether an object is being deleted.
pub(crate) fn is_terminating(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}
