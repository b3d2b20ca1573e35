//! Creates, updates and deletes the managed cluster's Secret.

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, PostParams, Preconditions};
use reeve_api::names::ENCRYPTION_SECRET;
use reeve_runtime::object::{StatusReason, not_found_as_none};
use reeve_runtime::writes;

use super::error::SecretError;
use super::{Data, SecretSync, messages};

impl SecretSync {
    pub(super) async fn create(&self, data: Data) -> Result<(), SecretError> {
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(ENCRYPTION_SECRET.to_owned()),
                namespace: Some(self.managed.namespace.clone()),
                ..ObjectMeta::default()
            },
            data: Some(data),
            ..Secret::default()
        };
        let created = writes::create(&self.managed.client, &self.managed.namespace, &secret).await;
        match created {
            // The watch will deliver it.
            Err(error) if StatusReason::of(&error) == StatusReason::AlreadyExists => Ok(()),
            Err(source) => Err(SecretError::Create {
                secret: self.managed.key(),
                source,
            }),
            Ok(()) => {
                tracing::info!(secret = %self.managed.key(), "{}", messages::CREATED);
                Ok(())
            }
        }
    }

    /// Writes the values on the version that was read. The add-on's RBAC allows updates, not patches, so the rest of the object is
    /// read first.
    pub(super) async fn update(
        &self,
        version: Option<String>,
        data: Data,
    ) -> Result<(), SecretError> {
        let secrets = self.managed.api();
        let failed = |source| SecretError::Update {
            secret: self.managed.key(),
            source,
        };
        let found = secrets.get_opt(ENCRYPTION_SECRET).await.map_err(failed)?;
        let Some(mut secret) = found else {
            return Ok(());
        };
        secret.metadata.resource_version = version;
        secret.data = Some(data);
        let replaced = secrets
            .replace(ENCRYPTION_SECRET, &PostParams::default(), &secret)
            .await;
        if not_found_as_none(replaced).map_err(failed)?.is_some() {
            tracing::info!(secret = %self.managed.key(), "{}", messages::UPDATED);
        }
        Ok(())
    }

    /// Deletes the Secret with this uid, once the hub's API server has answered that its Secret does not exist.
    pub(super) async fn delete(&self, uid: Option<String>) -> Result<(), SecretError> {
        let on_hub = self.hub.api().get_metadata_opt(ENCRYPTION_SECRET).await;
        let on_hub = on_hub.map_err(|source| SecretError::Confirm {
            secret: self.hub.key(),
            source,
        })?;
        if on_hub.is_some() {
            // The hub's watch lags; its next event enqueues the Secret again.
            return Ok(());
        }
        let preconditions = Preconditions {
            uid,
            resource_version: None,
        };
        let parameters = DeleteParams::default().preconditions(preconditions);
        let deleted = self
            .managed
            .api()
            .delete(ENCRYPTION_SECRET, &parameters)
            .await;
        let deleted =
            not_found_as_none(deleted.map(drop)).map_err(|source| SecretError::Delete {
                secret: self.managed.key(),
                source,
            })?;
        if deleted.is_some() {
            tracing::info!(secret = %self.managed.key(), "{}", messages::DELETED);
        }
        Ok(())
    }
}
