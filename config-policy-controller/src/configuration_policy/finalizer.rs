//! The finalizer that keeps a policy until its objects are deleted.

use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use reeve_api::configuration_policy::ConfigurationPolicy;
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::object::{ObjectKey, StatusReason};
use serde_json::{Value, json};

use crate::error::PolicyError;

/// The finalizer, by the name that upstream gave it.
pub const FINALIZER: &str = "policy.open-cluster-management.io/delete-related-objects";

/// How often a change is retried while other clients change the finalizers.
const TRIES: u32 = 3;

/// Whether the policy has the finalizer.
pub fn is_set(policy: &ConfigurationPolicy) -> bool {
    finalizers(policy).iter().any(|name| name == FINALIZER)
}

/// Adds the finalizer, unless it is there.
pub async fn add(client: &Client, policy: &ConfigurationPolicy) -> Result<(), PolicyError> {
    change(client, policy, |policy| {
        if is_set(policy) {
            return None;
        }
        Some(match policy.metadata.finalizers {
            Some(_) => json!({"op": "add", "path": "/metadata/finalizers/-", "value": FINALIZER}),
            None => json!({"op": "add", "path": "/metadata/finalizers", "value": [FINALIZER]}),
        })
    })
    .await
}

/// Removes the finalizer, if it is there.
pub async fn remove(client: &Client, policy: &ConfigurationPolicy) -> Result<(), PolicyError> {
    change(client, policy, |policy| {
        let at = finalizers(policy)
            .iter()
            .position(|name| name == FINALIZER)?;
        Some(json!({"op": "remove", "path": format!("/metadata/finalizers/{at}")}))
    })
    .await
}

fn finalizers(policy: &ConfigurationPolicy) -> &[String] {
    policy.metadata.finalizers.as_deref().unwrap_or_default()
}

/// Changes the finalizers of exactly the version that the change was made for.
async fn change(
    client: &Client,
    policy: &ConfigurationPolicy,
    operation: impl Fn(&ConfigurationPolicy) -> Option<Value>,
) -> Result<(), PolicyError> {
    let key = ObjectKey::of(policy);
    let api: Api<AnyDepth<ConfigurationPolicy>> = Api::namespaced(client.clone(), &key.namespace);
    let failed = |source| PolicyError::Finalizer {
        policy: key.clone(),
        source,
    };
    let mut read: Option<ConfigurationPolicy> = None;
    for tries in 1.. {
        let current = read.as_ref().unwrap_or(policy);
        if current.metadata.uid != policy.metadata.uid {
            return Ok(());
        }
        let Some(operation) = operation(current) else {
            return Ok(());
        };
        let version = &current.metadata.resource_version;
        let operations = json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            operation,
        ]);
        let patch = serde_json::from_value(operations).map_err(|source| PolicyError::Encode {
            policy: key.clone(),
            source,
        })?;
        let patched = api
            .patch(
                &key.name,
                &PatchParams::default(),
                &Patch::<()>::Json(patch),
            )
            .await;
        match patched.map_err(|error| (StatusReason::of(&error), error)) {
            Ok(_) | Err((StatusReason::NotFound, _)) => return Ok(()),
            // Another version is there by now.
            Err((StatusReason::Conflict | StatusReason::Invalid, _)) if tries < TRIES => {
                let found = api.get_opt(&key.name).await.map_err(failed)?;
                read = found.map(|AnyDepth(found)| found);
                if read.is_none() {
                    return Ok(());
                }
            }
            Err((_, error)) => return Err(failed(error)),
        }
    }
    Ok(())
}
