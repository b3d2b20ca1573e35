//! The finalizer that keeps a policy until its objects are deleted.

use kube::Client;
use kube::api::Api;
use reeve_api::configuration_policy::ConfigurationPolicy;
use reeve_runtime::finalizers;
use reeve_runtime::object::ObjectKey;

use crate::error::PolicyError;

/// The finalizer, by the name that upstream gave it.
pub const FINALIZER: &str = "policy.open-cluster-management.io/delete-related-objects";

/// Whether the policy has the finalizer.
pub fn is_set(policy: &ConfigurationPolicy) -> bool {
    finalizers::has(&policy.metadata, FINALIZER)
}

/// Adds the finalizer, unless it is there.
pub async fn add(client: &Client, policy: &ConfigurationPolicy) -> Result<(), PolicyError> {
    let added = finalizers::add(&policies(client, policy), &policy.metadata, FINALIZER).await;
    finish(policy, added)
}

/// Removes the finalizer, if it is there.
pub async fn remove(client: &Client, policy: &ConfigurationPolicy) -> Result<(), PolicyError> {
    let removed = finalizers::remove(&policies(client, policy), &policy.metadata, FINALIZER).await;
    finish(policy, removed)
}

fn policies(client: &Client, policy: &ConfigurationPolicy) -> Api<ConfigurationPolicy> {
    Api::namespaced(client.clone(), &ObjectKey::of(policy).namespace)
}

/// A policy that no longer exists needs no change.
fn finish(policy: &ConfigurationPolicy, changed: kube::Result<bool>) -> Result<(), PolicyError> {
    changed.map(drop).map_err(|source| PolicyError::Finalizer {
        policy: ObjectKey::of(policy),
        source,
    })
}
