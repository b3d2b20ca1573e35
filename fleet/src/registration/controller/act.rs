//! Reconciles one cluster, set or binding, and writes the differences.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use reeve_api::ocm::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, SetStatus};
use reeve_runtime::object::{ObjectKey, StatusReason, status_message};
use reeve_runtime::queue::Action;
use serde_json::{Value, json};

use super::super::bindings;
use super::super::clusters::{self, LEASE, LeaseState};
use super::super::sets::{self, BuiltInSetWrite};
use super::Controller;
use crate::placement::status::{self, ConditionState};

/// After this time the watch should have delivered a created object.
const WATCH_DELAY: Duration = Duration::from_secs(2);

/// Why an object could not be reconciled.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// A write failed.
    #[error("cannot {operation} {object}: {}", status_message(.source))]
    Write {
        operation: &'static str,
        object: String,
        source: kube::Error,
    },
    /// A set is invalid.
    #[error("set {set}: {reason}")]
    Set { set: String, reason: String },
}

/// The next action after a write. After a conflict the watch is about to deliver the newer object.
fn written<T>(
    result: Result<T, kube::Error>,
    operation: &'static str,
    object: &str,
) -> Result<Action, Error> {
    match result {
        Ok(_) => Ok(Action::AwaitChange),
        Err(source) => match StatusReason::of(&source) {
            StatusReason::Conflict | StatusReason::AlreadyExists | StatusReason::NotFound => {
                Ok(Action::Requeue)
            }
            _ => Err(Error::Write {
                operation,
                object: object.to_owned(),
                source,
            }),
        },
    }
}

fn identity(metadata: &ObjectMeta) -> Value {
    json!({"uid": metadata.uid, "resourceVersion": metadata.resource_version})
}

/// The conditions with one of them set; `None` if it is set already.
fn with(status: Option<&SetStatus>, desired: ConditionState) -> Option<Value> {
    let before = status.cloned().unwrap_or_default().conditions;
    let mut after = before.clone();
    status::set(&mut after, desired, Timestamp::now());
    (after != before).then(|| json!({ "conditions": after }))
}

impl Controller {
    /// Reconciles the taints and the lease of a cluster.
    pub(super) async fn cluster(self, name: String) -> Result<Action, Error> {
        let key = ObjectKey::new("", name.as_str());
        let Some(cluster) = self.clusters.get_valid(&key) else {
            return Ok(Action::AwaitChange);
        };
        if let Some(taints) = clusters::taints(&cluster) {
            let patch =
                json!({"metadata": identity(&cluster.metadata), "spec": {"taints": taints}});
            let api: Api<ManagedCluster> = Api::all(self.client.clone());
            let patched = api
                .patch(&name, &PatchParams::default(), &Patch::Merge(patch))
                .await;
            // The watch enqueues the cluster again, and the next reconcile checks its lease.
            return written(patched, "taint cluster", &name);
        }
        let lease = self.leases.get_valid(&ObjectKey::new(name.as_str(), LEASE));
        let now = Timestamp::now();
        let after = |wait: jiff::SignedDuration| {
            // A little after the exact end.
            let wait = Duration::try_from(wait).unwrap_or_default();
            Action::RequeueAfter(wait + Duration::from_millis(10))
        };
        match clusters::lease_state(&cluster, lease.as_deref(), now) {
            LeaseState::Undecided => Ok(Action::AwaitChange),
            LeaseState::Missing => {
                let lease: Result<Lease, _> = serde_json::from_value(clusters::lease(&name, now));
                let lease = lease.map_err(kube::Error::SerdeError);
                let api: Api<Lease> = Api::namespaced(self.client.clone(), &name);
                let created = match lease {
                    Ok(lease) => api.create(&PostParams::default(), &lease).await,
                    Err(error) => Err(error),
                };
                Ok(written(created, "create the lease of cluster", &name)?.within(WATCH_DELAY))
            }
            LeaseState::Renewed(wait) => Ok(after(wait)),
            LeaseState::Expired(wait) => {
                let next = self.unknown(&cluster, now).await?;
                Ok(if next == Action::AwaitChange {
                    after(wait)
                } else {
                    next
                })
            }
            LeaseState::Abandoned => self.unknown(&cluster, now).await,
        }
    }

    async fn unknown(&self, cluster: &ManagedCluster, now: Timestamp) -> Result<Action, Error> {
        let Some(conditions) = clusters::unknown(cluster, now) else {
            return Ok(Action::AwaitChange);
        };
        let patch = json!({
            "metadata": identity(&cluster.metadata),
            "status": {"conditions": conditions},
        });
        let api: Api<ManagedCluster> = Api::all(self.client.clone());
        let (name, params) = (cluster.name(), PatchParams::default());
        let patched = api.patch_status(name, &params, &Patch::Merge(patch)).await;
        written(patched, "update the status of cluster", name)
    }

    /// Reconciles a set's status, and the selector of `default` and `global`.
    pub(super) async fn set(self, name: String) -> Result<Action, Error> {
        let set = self.known.read().get(&name).cloned();
        let api: Api<ManagedClusterSet> = Api::all(self.client.clone());
        match sets::built_in_set_write(&name, set.as_deref()) {
            BuiltInSetWrite::Nothing => {}
            BuiltInSetWrite::Create(body) => {
                let body: Result<ManagedClusterSet, _> = serde_json::from_value(body);
                let created = match body {
                    Ok(body) => api.create(&PostParams::default(), &body).await,
                    Err(error) => Err(kube::Error::SerdeError(error)),
                };
                tracing::info!(set = name, "created a set that is always there");
                // The watch misses a deletion while it is interrupted: the next reconcile checks that the set exists.
                let next = written(created, "create set", &name)?;
                return Ok(next.within(WATCH_DELAY));
            }
            BuiltInSetWrite::Restore(patch) => {
                let patched = api
                    .patch(&name, &PatchParams::default(), &Patch::Merge(patch))
                    .await;
                tracing::info!(set = name, "put back the selector of a set");
                return written(patched, "restore set", &name);
            }
        }
        let Some(set) = set.filter(|set| set.metadata.deletion_timestamp.is_none()) else {
            return Ok(Action::AwaitChange);
        };
        let clusters = self.clusters.collect(|_, cluster| Some(cluster.clone()));
        let desired = sets::emptiness(&set, &clusters).map_err(|reason| Error::Set {
            set: name.clone(),
            reason,
        })?;
        let Some(status) = with(set.status.as_ref(), desired) else {
            return Ok(Action::AwaitChange);
        };
        let patch = json!({"metadata": identity(&set.metadata), "status": status});
        let patched = api
            .patch_status(&name, &PatchParams::default(), &Patch::Merge(patch))
            .await;
        written(patched, "update the status of set", &name)
    }

    /// Reconciles a binding's status.
    pub(super) async fn binding(self, key: ObjectKey) -> Result<Action, Error> {
        let Some(binding) = self.bindings.get_valid(&key) else {
            return Ok(Action::AwaitChange);
        };
        if binding.metadata.deletion_timestamp.is_some() {
            return Ok(Action::AwaitChange);
        }
        let exists = self.known.read().contains_key(&binding.spec.cluster_set);
        let Some(status) = with(binding.status.as_ref(), bindings::bound(exists)) else {
            return Ok(Action::AwaitChange);
        };
        let patch = json!({"metadata": identity(&binding.metadata), "status": status});
        let patched = patch_binding(&self.client, &key, patch).await;
        written(patched, "update the status of binding", &binding.name_any())
    }
}

async fn patch_binding(
    client: &Client,
    key: &ObjectKey,
    patch: Value,
) -> Result<ManagedClusterSetBinding, kube::Error> {
    let api: Api<ManagedClusterSetBinding> = Api::namespaced(client.clone(), &key.namespace);
    let params = PatchParams::default();
    api.patch_status(&key.name, &params, &Patch::Merge(patch))
        .await
}
