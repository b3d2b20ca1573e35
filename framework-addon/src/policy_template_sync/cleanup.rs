//! Deletes stale objects, and those that Kubernetes cannot garbage-collect: a namespaced policy cannot own cluster-scoped objects, so
//! a finalizer keeps the policy until they are deleted.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kube::api::ListParams;
use kube::core::GroupVersionKind;
use reeve_api::names::{CLUSTER_SCOPED_CLEANUP_FINALIZER, PARENT_POLICY_LABEL};
use reeve_api::policy::PolicySpec;
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::dependencies::ReadError;
use reeve_runtime::discovery::describe;
use reeve_runtime::finalizers;
use reeve_runtime::object::StatusReason;

use super::TemplateSync;
use super::decide::may_delete;
use super::error::TemplateSyncError;
use super::observe::{LabelledObject, MAX_LABEL_LENGTH};
use super::plan::{GroupKind, Parent, PolicyTemplates};
use crate::gatekeeper;
use crate::replica::Replica;
use crate::templates;

/// The stale objects among those that are proven to be the policy's. An object with the name of a template is kept, also when the
/// template is in error: a typo in its kind must not delete the object of an earlier revision. One of another kind is stale once
/// the template of its name is among the `applied`.
pub(super) fn stale_objects<'a>(
    parent: &Parent,
    expected: &HashMap<String, GroupKind>,
    applied: &HashSet<&str>,
    labelled: impl Iterator<Item = &'a LabelledObject>,
) -> Vec<&'a LabelledObject> {
    let is_stale = |labelled: &&LabelledObject| {
        let (resource, metadata) = (&labelled.kind.resource, &labelled.object.metadata);
        let name = metadata.name.as_deref().unwrap_or_default();
        let is_replaced = expected.get(name).is_none_or(|template| {
            let is_same = template.group == resource.group && template.kind == resource.kind;
            !is_same && applied.contains(name)
        });
        is_replaced && may_delete(parent, metadata, &labelled.kind)
    };
    labelled.filter(is_stale).collect()
}

impl TemplateSync {
    /// Deletes stale objects, given the names of the templates that were applied without error.
    pub(super) async fn delete_stale(
        &self,
        parent: &Parent,
        plan: &PolicyTemplates,
        applied: &HashSet<&str>,
        labelled: &[Result<LabelledObject, TemplateSyncError>],
    ) -> Vec<TemplateSyncError> {
        let Some(expected) = &plan.expected else {
            return Vec::new();
        };
        let mut errors = Vec::new();
        for labelled in stale_objects(parent, expected, applied, labelled.iter().flatten()) {
            errors.extend(self.delete(&labelled.kind, &labelled.object).await.err());
        }
        errors
    }

    /// Deletes the policy's objects of a kind if it is cluster-scoped. The objects are listed from the API server.
    async fn clean_cluster_scoped(
        &self,
        parent: &Parent,
        kind: &GroupVersionKind,
    ) -> Vec<TemplateSyncError> {
        let served = match self.caches.kinds.find(kind).await {
            Ok(served) if served.namespaced => return Vec::new(),
            Ok(served) => served,
            // If the kind is not served, there are no objects.
            Err(error) if error.is_absent() => return Vec::new(),
            Err(source) => return vec![TemplateSyncError::DiscoverForCleanup(source)],
        };
        let ours = ListParams::default().labels(&format!("{PARENT_POLICY_LABEL}={}", parent.name));
        let objects = match self.api(&served).list(&ours).await {
            Ok(objects) => objects,
            Err(error) if StatusReason::of(&error) == StatusReason::NotFound => return Vec::new(),
            Err(error) => {
                let kind = describe(kind);
                let source = ReadError::Refused(Arc::new(error));
                return vec![TemplateSyncError::List { kind, source }];
            }
        };
        let mut errors = Vec::new();
        for AnyDepth(object) in objects {
            if may_delete(parent, &object.metadata, &served) {
                errors.extend(self.delete(&served, &object).await.err());
            }
        }
        errors
    }

    /// Finalizes a policy that is being deleted: deletes its cluster-scoped objects, which are found by label, and removes the
    /// finalizer.
    pub(super) async fn finalize(&self, policy: &Replica) -> Vec<TemplateSyncError> {
        if !finalizers::has(&policy.metadata, CLUSTER_SCOPED_CLEANUP_FINALIZER) {
            return Vec::new();
        }
        let spec = policy.typed_spec().unwrap_or_else(|error| {
            tracing::warn!(policy = policy.name(), %error, "cannot decode the policy");
            PolicySpec::default()
        });
        let parent = Parent::of(policy, &spec, &self.caches.managed.namespace);
        let templates = spec.policy_templates.iter();
        let identities =
            templates.filter_map(|template| templates::identify(&template.object_definition));
        // The kinds of the templates too: a CRD may have lost its label since.
        let named: Vec<_> = identities.map(|identity| identity.kind).collect();
        let mut kinds = self.caches.kinds.template_kinds();
        kinds.extend(
            named
                .iter()
                .filter(|kind| !kinds.contains(kind))
                .cloned()
                .collect::<Vec<_>>(),
        );
        if parent.name.len() > MAX_LABEL_LENGTH {
            kinds.clear();
        }
        let mut errors = Vec::new();
        for kind in &kinds {
            let failed = self.clean_cluster_scoped(&parent, kind).await;
            if named.contains(kind) || gatekeeper::is_policy(kind) {
                errors.extend(failed);
            } else {
                // A kind that may not be listed has no objects of policies.
                errors.extend(failed.into_iter().filter(|error| !error.is_hidden()));
            }
        }
        if errors.is_empty() {
            errors.extend(self.remove_finalizer(policy).await.err());
        }
        errors
    }

    /// Adds the finalizer. This comes before the first cluster-scoped object is created.
    pub(super) async fn add_finalizer(&self, policy: &Replica) -> Result<(), TemplateSyncError> {
        let policies = self.caches.managed.api();
        let added = finalizers::add(
            &policies,
            &policy.metadata,
            CLUSTER_SCOPED_CLEANUP_FINALIZER,
        );
        if added.await.map_err(TemplateSyncError::Finalizer)? {
            Ok(())
        } else {
            // The objects of a deleted policy would outlive it.
            Err(TemplateSyncError::Deleted)
        }
    }

    /// Removes the finalizer.
    pub(super) async fn remove_finalizer(&self, policy: &Replica) -> Result<(), TemplateSyncError> {
        let policies = self.caches.managed.api();
        finalizers::remove(
            &policies,
            &policy.metadata,
            CLUSTER_SCOPED_CLEANUP_FINALIZER,
        )
        .await
        .map(drop)
        .map_err(TemplateSyncError::Finalizer)
    }
}
