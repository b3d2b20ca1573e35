//! Creates, updates and deletes replicas.

use kube::api::{DeleteParams, PostParams, Preconditions};
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::object::{StatusReason, not_found_as_none};
use reeve_runtime::writes;

use super::SpecSync;
use super::error::SpecError;
use crate::replica::Replica;

impl SpecSync {
    /// Creates a replica; `None` if it exists: the watch will deliver it.
    pub(super) async fn create(&self, policy: &Replica) -> Result<Option<Replica>, SpecError> {
        match self
            .managed
            .api()
            .create(&PostParams::default(), &AnyDepth(policy.clone()))
            .await
        {
            Ok(AnyDepth(created)) => Ok(Some(created)),
            Err(error) if StatusReason::of(&error) == StatusReason::AlreadyExists => Ok(None),
            Err(source) => Err(SpecError::Create {
                policy: policy.name().to_owned(),
                source,
            }),
        }
    }

    /// Replaces a replica; `None` if it was deleted or the update changed nothing. The latter happens if the managed cluster's
    /// CRD is older than the hub's and prunes the new fields.
    pub(super) async fn update(&self, policy: &Replica) -> Result<Option<Replica>, SpecError> {
        let name = policy.name();
        let replaced = self
            .managed
            .api()
            .replace(name, &PostParams::default(), &AnyDepth(policy.clone()))
            .await;
        let replaced = not_found_as_none(replaced).map_err(|source| SpecError::Update {
            policy: name.to_owned(),
            source,
        })?;
        let before = &policy.metadata.resource_version;
        let after = replaced.map(|AnyDepth(after)| after);
        Ok(after.filter(|after| after.metadata.resource_version != *before))
    }

    /// Deletes the replica with this uid, once the hub's API server has answered that the policy does not exist.
    pub(super) async fn delete(&self, name: &str, uid: Option<String>) -> Result<(), SpecError> {
        let confirm = |source| SpecError::Confirm {
            policy: name.to_owned(),
            source,
        };
        if self
            .hub
            .api()
            .get_opt(name)
            .await
            .map_err(confirm)?
            .is_some()
        {
            // The hub's watch lags; its next event enqueues the policy again.
            return Ok(());
        }
        let preconditions = Preconditions {
            uid,
            resource_version: None,
        };
        let parameters = DeleteParams::default().preconditions(preconditions);
        let deleted = writes::delete(&self.managed.api(), name, &parameters).await;
        let deleted = not_found_as_none(deleted).map_err(|source| SpecError::Delete {
            policy: name.to_owned(),
            source,
        })?;
        if deleted.is_some() {
            tracing::info!(policy = name, "deleted, as the hub does not have it");
        }
        Ok(())
    }
}
