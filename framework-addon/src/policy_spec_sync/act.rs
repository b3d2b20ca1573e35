//! Creates, updates and deletes copies.

use kube::api::{DeleteParams, PostParams, Preconditions};
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::object::{StatusReason, not_found_as_none};
use reeve_runtime::writes;

use super::SpecSync;
use super::error::SpecError;
use crate::replica::Replica;

impl SpecSync {
    /// Creates a copy; `None` if it exists, of which the watch will tell.
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

    /// Replaces a copy; `None` if it is gone or has not changed. The latter happens where the
    /// managed cluster's CRD is older than the hub's and drops the new fields again.
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

    /// Deletes the copy with this uid, once the hub itself has said that it has no such policy.
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
            // The hub's watch is behind and will name the policy again.
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
