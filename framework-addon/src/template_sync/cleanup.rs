//! Deletes objects that a policy no longer asks for, and those that Kubernetes cannot delete with
//! it: cluster-scoped objects cannot be owned by a namespaced policy, so a finalizer keeps the
//! policy until they are deleted.

use std::collections::HashSet;

use kube::api::{ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use reeve_api::names::{CLUSTER_SCOPED_CLEANUP_FINALIZER, PARENT_POLICY_LABEL};
use reeve_api::policy::PolicySpec;
use reeve_runtime::discovery::describe;
use reeve_runtime::object::{Refusal, absent_is_none};
use serde_json::json;

use super::TemplateSync;
use super::decide::may_delete;
use super::error::SyncError;
use super::plan::{Parent, Plan};
use crate::replica::Replica;
use crate::templates;

/// Which of a policy's objects to delete.
#[derive(Clone, Copy)]
enum Which<'a> {
    /// Those whose group, kind and name it does not ask for.
    Superfluous(&'a HashSet<(String, String, String)>),
    /// All that are cluster-scoped.
    ClusterScoped,
}

impl TemplateSync {
    /// Deletes what the policy no longer asks for. Lists are made only when the policy asks for
    /// something else than before, or there is a new kind that its objects could be of.
    pub(super) async fn clean(
        &self,
        policy: &Replica,
        parent: &Parent,
        plan: &Plan,
    ) -> Vec<SyncError> {
        let Some(expected) = &plan.expected else {
            return Vec::new();
        };
        let kinds = self.world.kinds.template_kinds();
        let cleanup = (expected.clone(), kinds);
        if self.memory.is_clean(policy, &cleanup) {
            return Vec::new();
        }
        let mut errors = Vec::new();
        for kind in &cleanup.1 {
            errors.extend(
                self.clean_kind(parent, kind, Which::Superfluous(expected))
                    .await,
            );
        }
        if errors.is_empty() {
            self.memory.cleaned(policy, cleanup);
        }
        errors
    }

    async fn clean_kind(
        &self,
        parent: &Parent,
        kind: &GroupVersionKind,
        which: Which<'_>,
    ) -> Vec<SyncError> {
        let served = match self.world.kinds.find(kind).await {
            Ok(served) => served,
            // No kind, no objects.
            Err(error) if error.is_absent() => return Vec::new(),
            Err(source) => {
                let template = String::new();
                return vec![SyncError::Discover { template, source }];
            }
        };
        if served.namespaced && matches!(which, Which::ClusterScoped) {
            return Vec::new();
        }
        let ours = ListParams::default().labels(&format!("{PARENT_POLICY_LABEL}={}", parent.name));
        let objects = match self.api(&served).list(&ours).await {
            Ok(objects) => objects,
            Err(error) if Refusal::of(&error) == Refusal::NotFound => return Vec::new(),
            Err(source) => {
                let kind = describe(kind);
                return vec![SyncError::List { kind, source }];
            }
        };
        let mut errors = Vec::new();
        for object in objects {
            let name = object.metadata.name.clone().unwrap_or_default();
            let superfluous = match which {
                Which::Superfluous(expected) => {
                    !expected.contains(&(kind.group.clone(), kind.kind.clone(), name))
                }
                Which::ClusterScoped => true,
            };
            if superfluous && may_delete(parent, &object.metadata, &served) {
                errors.extend(self.delete(&served, &object).await.err());
            }
        }
        errors
    }

    /// The policy is being deleted: deletes its cluster-scoped objects, then lets it go. They are
    /// found by their label, whatever the templates say by now.
    pub(super) async fn finalize(&self, policy: &Replica) -> Vec<SyncError> {
        if !is_held(policy) {
            return Vec::new();
        }
        let spec = policy.typed_spec().unwrap_or_else(|error| {
            tracing::warn!(policy = policy.name(), %error, "cannot decode the policy");
            PolicySpec::default()
        });
        let parent = Parent::of(policy, &spec, &self.world.managed.namespace);
        let mut kinds = self.world.kinds.template_kinds();
        let own = spec.policy_templates.iter();
        for identity in own.filter_map(|own| templates::identify(&own.object_definition)) {
            // A definition may have lost its label since.
            if !kinds.contains(&identity.kind) {
                kinds.push(identity.kind);
            }
        }
        let mut errors = Vec::new();
        for kind in &kinds {
            errors.extend(self.clean_kind(&parent, kind, Which::ClusterScoped).await);
        }
        if errors.is_empty() {
            errors.extend(self.let_go(policy).await.err());
        }
        errors
    }

    /// Adds the finalizer. This comes before the first cluster-scoped object is created.
    pub(super) async fn hold(&self, policy: &Replica) -> Result<(), SyncError> {
        if is_held(policy) {
            return Ok(());
        }
        let mut finalizers = policy.metadata.finalizers.clone().unwrap_or_default();
        finalizers.push(CLUSTER_SCOPED_CLEANUP_FINALIZER.to_owned());
        self.write_finalizers(policy, &finalizers).await
    }

    /// Removes the finalizer.
    pub(super) async fn let_go(&self, policy: &Replica) -> Result<(), SyncError> {
        if !is_held(policy) {
            return Ok(());
        }
        let mut finalizers = policy.metadata.finalizers.clone().unwrap_or_default();
        finalizers.retain(|finalizer| finalizer != CLUSTER_SCOPED_CLEANUP_FINALIZER);
        self.write_finalizers(policy, &finalizers).await
    }

    async fn write_finalizers(
        &self,
        policy: &Replica,
        finalizers: &[String],
    ) -> Result<(), SyncError> {
        // A list can only be written whole, so nobody may have written it in between.
        let patch = Patch::Merge(json!({"metadata": {
            "resourceVersion": policy.metadata.resource_version,
            "finalizers": finalizers
        }}));
        let policies = self.world.managed.api();
        let patched = policies
            .patch(policy.name(), &PatchParams::default(), &patch)
            .await;
        absent_is_none(patched).map_err(SyncError::Finalizer)?;
        Ok(())
    }
}

fn is_held(policy: &Replica) -> bool {
    let mut finalizers = policy.metadata.finalizers.iter().flatten();
    finalizers.any(|finalizer| finalizer == CLUSTER_SCOPED_CLEANUP_FINALIZER)
}
