//! Secret sync: the key of encrypted values in policies, copied from the cluster's namespace on the hub.
//!
//! Only the Secret of that name is watched on either cluster, because the add-on's RBAC allows no other. Both watches enqueue it, so
//! a changed or deleted Secret on the managed cluster is restored at once.

pub mod act;
pub mod decide;
pub mod error;
pub mod messages;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;
use reeve_api::names::ENCRYPTION_SECRET;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::{Action, Queue};
use reeve_runtime::supervisor::Supervisor;
use reeve_runtime::watch::{Store, Watch};

use crate::uninstalling::Uninstalling;
use decide::SecretAction;
use error::SecretError;

/// The controller's name in logs and metrics.
pub const CONTROLLER: &str = "secret-sync";

/// The values of a Secret, which are never logged.
pub type Data = BTreeMap<String, ByteString>;

/// The cached fields of a Secret.
#[derive(Clone, PartialEq)]
pub struct SecretFacts {
    /// Its uid.
    pub uid: Option<String>,
    /// Its resource version.
    pub version: Option<String>,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// Its values.
    pub data: Data,
}

impl fmt::Debug for SecretFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&String> = self.data.keys().collect();
        write!(f, "Contents({keys:?})")
    }
}

impl SecretFacts {
    fn of(secret: Secret) -> Self {
        Self {
            uid: secret.metadata.uid,
            version: secret.metadata.resource_version,
            terminating: secret.metadata.deletion_timestamp.is_some(),
            data: secret.data.unwrap_or_default(),
        }
    }
}

/// One of the two clusters.
struct Cluster {
    client: Client,
    namespace: String,
    secrets: Store<SecretFacts>,
}

impl Cluster {
    fn watch(
        (client, namespace): (Client, String),
        name: &'static str,
        queue: &Queue<String>,
        tasks: &mut Supervisor,
    ) -> Self {
        let secrets: Api<_> = Api::namespaced(client.clone(), &namespace);
        let watch = Watch::projected(secrets, SecretFacts::of);
        let watch = watch.fields(&format!("metadata.name={ENCRYPTION_SECRET}"));
        let secrets = watch.store();
        let queue = queue.clone();
        let work = watch.run(tasks.stop(), move |change| queue.add(change.key.name));
        tasks.spawn_infallible(name, work);
        Self {
            client,
            namespace,
            secrets,
        }
    }

    fn api(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn key(&self) -> ObjectKey {
        ObjectKey::new(self.namespace.as_str(), ENCRYPTION_SECRET)
    }
}

/// The reconciler of secret sync.
pub struct SecretSync {
    hub: Cluster,
    managed: Cluster,
    uninstalling: Uninstalling,
}

impl SecretSync {
    /// Starts the watches, with client and namespace of each cluster. Changes are enqueued on `queue`.
    pub fn start(
        hub: (Client, String),
        managed: (Client, String),
        uninstalling: Uninstalling,
        queue: &Queue<String>,
        tasks: &mut Supervisor,
    ) -> Arc<Self> {
        Arc::new(Self {
            hub: Cluster::watch(hub, "the watch of the Secret on the hub", queue, tasks),
            managed: Cluster::watch(managed, "the watch of the managed Secret", queue, tasks),
            uninstalling,
        })
    }

    /// Waits until both watches have delivered their first lists.
    pub async fn wait_for_cache_sync(&self) {
        self.hub.secrets.wait_for_cache_sync().await;
        self.managed.secrets.wait_for_cache_sync().await;
    }

    /// Reconciles the managed cluster's Secret. There is one Secret, and `name` is its name.
    pub async fn reconcile(self: Arc<Self>, name: String) -> Result<Action, SecretError> {
        if self.uninstalling.is_on() {
            return Ok(Action::AwaitChange);
        }
        let hub = self.hub.secrets.get(&self.hub.key());
        let managed = self.managed.secrets.get(&self.managed.key());
        match decide::decide(hub.as_ref(), managed.as_ref()) {
            SecretAction::Nothing => {}
            SecretAction::Leave => tracing::error!(name, "{}", messages::UNDECODABLE),
            SecretAction::Create(data) => self.create(data).await?,
            SecretAction::Update { version, data } => self.update(version, data).await?,
            SecretAction::Delete { uid } => self.delete(uid).await?,
        }
        Ok(Action::AwaitChange)
    }
}
