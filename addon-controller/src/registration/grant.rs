//! Grants agents their access. The controller may neither list nor watch roles, so it remembers its writes, and
//! checks them again periodically.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{Api, DeleteParams, PostParams, Preconditions};
use kube::{Client, Resource};
use parking_lot::Mutex;
use reeve_api::addon::Subject;
use reeve_runtime::events::{EventRecorder, InformationalEvent};
use reeve_runtime::object::{ObjectKey, StatusReason, not_found_as_none, status_message};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::rights;
use crate::addon::{Addon, Installation};
use crate::digest::Digest;
use crate::messages;

/// How long a write is assumed to be unchanged.
const RECHECK_INTERVAL: Duration = Duration::from_hours(1);

/// Access could not be granted.
#[derive(Debug, thiserror::Error)]
#[error("{kind} {name}: {}", status_message(.source))]
pub struct GrantError {
    kind: &'static str,
    name: String,
    #[source]
    source: Box<kube::Error>,
}

impl GrantError {
    fn new<K: Right>(name: &str, source: kube::Error) -> Self {
        Self {
            kind: K::KIND_NAME,
            name: name.to_owned(),
            source: Box::new(source),
        }
    }
}

/// Grants access, and remembers the grants; clones share them.
#[derive(Clone)]
pub struct Grants {
    client: Client,
    events: EventRecorder,
    /// This process's Pod.
    own: Option<ObjectReference>,
    applied: Arc<Mutex<HashMap<(&'static str, ObjectKey), AppliedGrant>>>,
    /// Without this lock all workers would create the shared roles at once.
    shared: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone, Copy)]
struct AppliedGrant {
    digest: Digest,
    at: Instant,
}

impl Grants {
    /// No grants yet. Events are about `own`.
    pub fn new(client: Client, events: EventRecorder, own: Option<ObjectReference>) -> Self {
        Self {
            client,
            events,
            own,
            applied: Arc::default(),
            shared: Arc::default(),
        }
    }

    /// How long until a grant is checked again.
    pub const fn recheck_interval() -> Duration {
        RECHECK_INTERVAL
    }

    /// Grants an agent its access. `owner` is the add-on on its cluster.
    pub async fn grant_access(
        &self,
        installation: &Installation,
        owner: OwnerReference,
        registered: Option<&Subject>,
    ) -> Result<(), GrantError> {
        let addon = installation.addon;
        // A right that the agents of all clusters share has no owner: when the ClusterManagementAddOn is deleted, the garbage collector
        // would delete the rights of agents that still clean up. `revoke_shared` deletes it.
        let role = rights::role(addon);
        let metadata = |namespace: Option<&str>, owner: Option<OwnerReference>| ObjectMeta {
            name: Some(rights::role_name(addon).to_owned()),
            namespace: namespace.map(str::to_owned),
            owner_references: owner.map(|owner| vec![owner]),
            ..ObjectMeta::default()
        };
        let subjects = Some(rights::subjects(installation, registered));
        let role_ref = rights::role_ref(addon);
        {
            let _one_at_a_time = self.shared.lock().await;
            self.apply(Api::all(self.client.clone()), role).await?;
            if rights::is_cluster_wide(addon) {
                let binding = ClusterRoleBinding {
                    metadata: metadata(None, None),
                    role_ref,
                    subjects,
                };
                return self.apply(Api::all(self.client.clone()), binding).await;
            }
        }
        let namespace = &installation.cluster;
        let binding = RoleBinding {
            metadata: metadata(Some(namespace), Some(owner)),
            role_ref,
            subjects,
        };
        let bindings = Api::namespaced(self.client.clone(), namespace);
        self.apply(bindings, binding).await
    }

    /// Deletes the rights that the agents of all clusters share when `is_retired`, which is asked while no right is granted. An
    /// object that differs from the one that the controller writes stays.
    pub async fn revoke_shared(
        &self,
        addon: Addon,
        is_retired: impl Fn() -> bool,
    ) -> Result<(), GrantError> {
        let _one_at_a_time = self.shared.lock().await;
        if !is_retired() {
            return Ok(());
        }
        let name = rights::role_name(addon);
        if rights::is_cluster_wide(addon) {
            let bindings: Api<ClusterRoleBinding> = Api::all(self.client.clone());
            self.revoke(bindings, name, |found| {
                found.role_ref == rights::role_ref(addon)
                    && found.subjects.iter().flatten().all(rights::is_agent)
            })
            .await?;
        }
        let api: Api<ClusterRole> = Api::all(self.client.clone());
        let rules = rights::role(addon).rules;
        self.revoke(api, name, |found| found.rules == rules).await
    }

    async fn revoke<K: Right>(
        &self,
        api: Api<K>,
        name: &str,
        is_ours: impl Fn(&K) -> bool,
    ) -> Result<(), GrantError> {
        let failed = |source| GrantError::new::<K>(name, source);
        let found = not_found_as_none(api.get(name).await).map_err(failed)?;
        if let Some(found) = found.filter(is_ours) {
            let params = DeleteParams {
                preconditions: Some(Preconditions {
                    uid: found.meta().uid.clone(),
                    resource_version: found.meta().resource_version.clone(),
                }),
                ..DeleteParams::default()
            };
            not_found_as_none(api.delete(name, &params).await).map_err(failed)?;
            tracing::info!(kind = K::KIND_NAME, %name, "{}", messages::REVOKED);
        }
        let key = ObjectKey::new("", name);
        self.applied.lock().remove(&(K::KIND_NAME, key));
        Ok(())
    }

    /// Drops the grants of a deleted agent.
    pub fn forget(&self, installation: &Installation) {
        let key = ObjectKey::new(
            &*installation.cluster,
            rights::role_name(installation.addon),
        );
        self.applied.lock().remove(&(RoleBinding::KIND_NAME, key));
    }

    async fn apply<K: Right>(&self, api: Api<K>, desired: K) -> Result<(), GrantError> {
        let key = ObjectKey::of(&desired);
        let digest = Digest::of(&desired);
        let memo_key = (K::KIND_NAME, key.clone());
        let applied = self.applied.lock().get(&memo_key).copied();
        if applied
            .is_some_and(|grant| grant.digest == digest && grant.at.elapsed() < RECHECK_INTERVAL)
        {
            return Ok(());
        }
        let failed = |source| GrantError::new::<K>(&key.to_string(), source);
        let found = not_found_as_none(api.get(&key.name).await).map_err(failed)?;
        match found {
            None => match api.create(&PostParams::default(), &desired).await {
                Ok(_) => self.emit_event(K::KIND_NAME, &key, true),
                Err(error) if StatusReason::of(&error) == StatusReason::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            },
            Some(mut live) => {
                if live.update_to(desired) {
                    let replaced = api.replace(&key.name, &PostParams::default(), &live).await;
                    replaced.map_err(failed)?;
                    self.emit_event(K::KIND_NAME, &key, false);
                }
            }
        }
        let at = Instant::now();
        self.applied
            .lock()
            .insert(memo_key, AppliedGrant { digest, at });
        Ok(())
    }

    fn emit_event(&self, kind: &'static str, key: &ObjectKey, was_missing: bool) {
        let namespace = (!key.namespace.is_empty()).then_some(key.namespace.as_str());
        let (reason, note) = messages::rbac_event(kind, &key.name, namespace, was_missing);
        tracing::info!(kind, name = %key, "{note}");
        if let Some(own) = &self.own {
            let event = InformationalEvent {
                reason: &reason,
                action: &reason,
                note: &note,
                warning: false,
            };
            self.events.emit_event(own, &event);
        }
    }
}

/// A role or a binding.
trait Right:
    Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned + Send + Sync
{
    const KIND_NAME: &'static str;

    /// Makes the live object equal to the desired one; metadata of others stays. Returns whether it differed.
    fn update_to(&mut self, desired: Self) -> bool;
}

impl Right for ClusterRole {
    const KIND_NAME: &'static str = "ClusterRole";

    fn update_to(&mut self, desired: Self) -> bool {
        let was_owned = disown(&mut self.metadata);
        let is_same = self.rules == desired.rules;
        self.rules = desired.rules;
        !is_same || was_owned
    }
}

impl Right for ClusterRoleBinding {
    const KIND_NAME: &'static str = "ClusterRoleBinding";

    /// The binding is shared by the agents of all clusters: its other subjects stay.
    fn update_to(&mut self, mut desired: Self) -> bool {
        let wanted = desired.subjects.get_or_insert_default();
        for subject in self.subjects.iter().flatten() {
            if rights::is_agent(subject) && !wanted.contains(subject) {
                wanted.push(subject.clone());
            }
        }
        // The order of existing subjects does not matter.
        if let Some(present) = &self.subjects
            && present.len() == wanted.len()
            && present.iter().all(|subject| wanted.contains(subject))
        {
            wanted.clone_from(present);
        }
        let was_owned = disown(&mut self.metadata);
        let is_same = self.subjects == desired.subjects && self.role_ref == desired.role_ref;
        (self.subjects, self.role_ref) = (desired.subjects, desired.role_ref);
        !is_same || was_owned
    }
}

impl Right for RoleBinding {
    const KIND_NAME: &'static str = "RoleBinding";

    fn update_to(&mut self, desired: Self) -> bool {
        let is_owned = own(&mut self.metadata, desired.metadata.owner_references);
        let is_same = self.subjects == desired.subjects && self.role_ref == desired.role_ref;
        (self.subjects, self.role_ref) = (desired.subjects, desired.role_ref);
        !is_same || is_owned
    }
}

/// Adds missing owners. An owner of the same kind and name with another UID was deleted, and is replaced: the garbage
/// collector would delete the object otherwise. Returns whether anything changed.
fn own(metadata: &mut ObjectMeta, owners: Option<Vec<OwnerReference>>) -> bool {
    let present = metadata.owner_references.get_or_insert_default();
    let before = present.clone();
    for owner in owners.into_iter().flatten() {
        present.retain(|found| {
            (&found.kind, &found.name) != (&owner.kind, &owner.name) || found.uid == owner.uid
        });
        if !present.iter().any(|found| found.uid == owner.uid) {
            present.push(owner);
        }
    }
    *present != before
}

/// Removes the owner that earlier versions gave to what agents share. Returns whether there was one.
fn disown(metadata: &mut ObjectMeta) -> bool {
    let Some(owners) = &mut metadata.owner_references else {
        return false;
    };
    let before = owners.len();
    owners.retain(|owner| owner.kind != "ClusterManagementAddOn");
    owners.len() != before
}
