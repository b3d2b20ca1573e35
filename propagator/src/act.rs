//! Writes replicas.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, PostParams, Preconditions};
use kube::{Client, Resource};
use reeve_api::Policy;
use reeve_api::names::RootPolicyName;
use reeve_runtime::events::{EventWriter, Information};
use reeve_runtime::object::{ObjectKey, absent_is_none, is_about_namespace};
use reeve_runtime::queue::Next;

use crate::decide::{self, Observed, ReplicaAction};
use crate::error::ReplicaError;
use crate::index::Pair;
use crate::messages;
use crate::metrics::PropagatorMetrics;
use crate::observe::Hub;

/// How soon to look again at a cluster namespace that is missing or being removed: nothing tells
/// when it is back.
const NAMESPACE_RETRY: Duration = Duration::from_secs(10);

/// Brings replicas in line.
#[derive(Clone)]
pub struct Replicas {
    client: Client,
    hub: Arc<Hub>,
    events: EventWriter,
    metrics: PropagatorMetrics,
}

impl Replicas {
    /// Reads from `hub`, writes through `client`.
    pub fn new(
        client: Client,
        hub: Arc<Hub>,
        events: EventWriter,
        metrics: PropagatorMetrics,
    ) -> Self {
        Self {
            client,
            hub,
            events,
            metrics,
        }
    }

    /// Brings one replica in line.
    pub async fn reconcile(self, key: ObjectKey) -> Result<Next, ReplicaError> {
        let root = RootPolicyName::parse(&key.name);
        let pair = root.map(|root| Pair {
            root,
            cluster: key.namespace.clone(),
        });
        let observed = Observed {
            replica: self.hub.replica(&key),
            root: pair.as_ref().and_then(|pair| self.hub.root(&pair.root)),
            placed: pair.as_ref().and_then(|pair| self.hub.placed(pair)),
            placement_known: pair
                .as_ref()
                .is_none_or(|pair| self.hub.knows_placement(&pair.root.namespace)),
            in_cluster_namespace: self.hub.is_cluster_namespace(&key.namespace),
        };
        let action = decide::replica(&key, &observed);
        let policies: Api<Policy> = Api::namespaced(self.client.clone(), &key.namespace);
        let done = match action {
            ReplicaAction::Nothing => return Ok(Next::Done),
            ReplicaAction::Leave(why) => {
                tracing::info!(replica = %key, why, "leaving the replicated policy alone");
                return Ok(Next::Done);
            }
            ReplicaAction::Create(desired) => create(&policies, &key, &desired).await,
            ReplicaAction::Update(desired) => update(&self.client, &key, &desired).await,
            ReplicaAction::Delete(uid) => delete(&policies, &key, uid).await,
        };
        match (done, pair) {
            (Ok(Done::Created), Some(pair)) => {
                self.announce(&pair, &observed, &messages::propagated(&pair));
            }
            (Ok(Done::Updated), Some(pair)) => {
                self.announce(&pair, &observed, &messages::updated(&pair));
            }
            (Ok(Done::NoNamespace), _) => return Ok(Next::After(NAMESPACE_RETRY)),
            (Ok(_), _) => {}
            (Err(error), pair) => {
                if let Some(pair) = pair {
                    self.metrics.failed(&pair.root);
                }
                return Err(error);
            }
        }
        Ok(Next::Done)
    }

    fn announce(&self, pair: &Pair, observed: &Observed, note: &str) {
        tracing::info!(cluster = pair.cluster, policy = %pair.root, "{note}");
        let root = observed.root.as_ref().and_then(|root| root.valid());
        if let Some(root) = root {
            let event = Information {
                reason: messages::PROPAGATION,
                action: messages::PROPAGATION,
                note,
                warning: false,
            };
            self.events.inform(&reference(root), &event);
        }
    }
}

/// A policy as events refer to it.
pub fn reference(policy: &Policy) -> ObjectReference {
    policy.object_ref(&())
}

enum Done {
    Created,
    Updated,
    Deleted,
    NoNamespace,
}

async fn create(
    policies: &Api<Policy>,
    key: &ObjectKey,
    desired: &Policy,
) -> Result<Done, ReplicaError> {
    match policies.create(&PostParams::default(), desired).await {
        Ok(_) => Ok(Done::Created),
        Err(error) if is_about_namespace(&error) => {
            tracing::warn!(replica = %key, %error, "the cluster namespace is not there");
            Ok(Done::NoNamespace)
        }
        Err(source) => Err(ReplicaError::Create {
            replica: key.clone(),
            source,
        }),
    }
}

/// Only what the root decides is overwritten, so the live object is read first: what others keep
/// on it, such as finalizers, stays. It is read without its type, because one that cannot be
/// decoded is mended by this.
async fn update(client: &Client, key: &ObjectKey, desired: &Policy) -> Result<Done, ReplicaError> {
    let kind = ApiResource::erase::<Policy>(&());
    let policies: Api<DynamicObject> = Api::namespaced_with(client.clone(), &key.namespace, &kind);
    let read = |source| ReplicaError::Read {
        replica: key.clone(),
        source,
    };
    let mut live = policies.get(&key.name).await.map_err(read)?;
    live.metadata.labels.clone_from(&desired.metadata.labels);
    live.metadata
        .annotations
        .clone_from(&desired.metadata.annotations);
    let update = |source| ReplicaError::Update {
        replica: key.clone(),
        source,
    };
    let spec = serde_json::to_value(&desired.spec).map_err(kube::Error::SerdeError);
    live.data["spec"] = spec.map_err(update)?;
    let replaced = policies
        .replace(&key.name, &PostParams::default(), &live)
        .await;
    replaced.map_err(update)?;
    Ok(Done::Updated)
}

async fn delete(
    policies: &Api<Policy>,
    key: &ObjectKey,
    uid: String,
) -> Result<Done, ReplicaError> {
    let preconditions = Preconditions {
        uid: Some(uid),
        resource_version: None,
    };
    let parameters = DeleteParams::default().preconditions(preconditions);
    let deleted = absent_is_none(policies.delete(&key.name, &parameters).await);
    deleted.map_err(|source| ReplicaError::Delete {
        replica: key.clone(),
        source,
    })?;
    tracing::info!(replica = %key, "the replicated policy was removed");
    Ok(Done::Deleted)
}
