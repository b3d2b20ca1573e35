//! Creates, updates and deletes template objects.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, Patch, Preconditions};
use reeve_api::dependency_graph::Dependent;
use reeve_api::names::GROUP;
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::discovery::ServedKind;
use reeve_runtime::object::{StatusReason, not_found_as_none, status_message};
use reeve_runtime::path::segment;
use reeve_runtime::strict::{self, Write};
use reeve_runtime::writes;
use serde_json::{Value, json};

use super::TemplateSync;
use super::admission::{AppliedChange, ConstraintTemplateState};
use super::decide::{self, ObservedObject, TemplateDecision, TemplateObservation};
use super::error::{RejectionKind, TemplateError, TemplateSyncError};
use super::messages;
use super::plan::{ParsedTemplate, TemplateWork};
use crate::compliance_events::sent::digest;
use crate::gatekeeper;
use crate::reporter::{Finding, ReportedTemplate};

/// An object that equals the desired one, and the change that was made to it.
type AppliedObject = Option<(Arc<DynamicObject>, AppliedChange)>;

/// The outcome of one template in one reconcile.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TemplateOutcome {
    /// When to requeue the policy although no watched object has changed.
    pub requeue: Option<Duration>,
    /// Whether its object equals the desired one, without error.
    pub is_applied: bool,
}

impl TemplateSync {
    /// Reconciles the object of one template.
    pub(super) async fn template(
        &self,
        work: TemplateWork<'_>,
        observation: &TemplateObservation,
    ) -> Result<TemplateOutcome, TemplateSyncError> {
        let about = ReportedTemplate::parsed(work.parent, work.parsed, observation);
        let integration = self.caches.kinds.integration;
        let ready @ ObservedObject { kind, .. } = match observation.ready(work.parsed, integration)
        {
            Ok(ready) => ready,
            Err(error) => {
                self.report_error(work.policy, &about, error).await?;
                return Ok(TemplateOutcome::default());
            }
        };
        let applied_object = match decide::decide(work.parent, work.parsed, ready) {
            TemplateDecision::Reject(error) => {
                self.report_error(work.policy, &about, error).await?;
                None
            }
            TemplateDecision::Wait { unmet, delete } => {
                let mut finding = Finding::pending(&unmet, work.parsed.ignores_pending);
                let absent = &ready.dependency_state.absent;
                finding.text.push_str(&self.why_pending(work, absent));
                self.report_not_applied(work.policy, &about, &finding)
                    .await?;
                if let Some(object) = delete {
                    self.delete(kind, &object).await?;
                }
                None
            }
            TemplateDecision::DeleteUnresolved { error, delete } => {
                self.report_error(work.policy, &about, error).await?;
                if let Some(object) = delete {
                    self.delete_unresolved(work.parsed, kind, &object).await?;
                }
                None
            }
            TemplateDecision::Create(desired) => self.create(work, &about, kind, &desired).await?,
            TemplateDecision::Update { live, changed } => {
                self.update(work, &about, kind, &live, &changed).await?
            }
            TemplateDecision::Unchanged(live) => {
                // Gatekeeper's status decides about constraint templates.
                if !gatekeeper::is_constraint_template(&work.parsed.kind) {
                    self.record_applied(work, kind, &live, None).await?;
                }
                Some((live, AppliedChange::Nothing))
            }
            TemplateDecision::Retry(reason) => {
                return Err(TemplateSyncError::Unclear {
                    template: work.parsed.name.clone(),
                    reason,
                });
            }
        };
        match applied_object {
            Some((live, change)) if gatekeeper::is_constraint_template(&work.parsed.kind) => {
                let requeue = self.admission(work, &about, (kind, &live, change)).await?;
                let is_applied =
                    ConstraintTemplateState::of(&live.data) == ConstraintTemplateState::Created;
                Ok(TemplateOutcome {
                    requeue,
                    is_applied,
                })
            }
            applied_object => Ok(TemplateOutcome {
                requeue: None,
                is_applied: applied_object.is_some(),
            }),
        }
    }

    /// What no change of a dependency can mend: a loop, and a policy or template that is neither on the cluster nor in one of its
    /// policies. Objects of other groups are made by others, at any time.
    fn why_pending(&self, work: TemplateWork<'_>, absent: &[Dependent]) -> String {
        self.caches.pending.add(work.policy.name());
        let graph = self.caches.managed.dependency_graph();
        let unknown = absent.iter();
        let unknown = unknown.filter(|one| one.group == GROUP && !graph.has(one));
        let mut why = messages::not_on_cluster(unknown);
        let start = Dependent {
            group: work.parsed.kind.group.clone(),
            kind: work.parsed.kind.kind.clone(),
            name: work.parsed.name.clone(),
        };
        if let Some(members) = graph.find_loop(&start) {
            why.push_str(&messages::dependency_loop(&members));
        }
        why
    }

    pub(super) fn api(&self, kind: &ServedKind) -> Api<AnyDepth<DynamicObject>> {
        let managed = &self.caches.managed;
        kind.api(managed.client.clone(), &managed.namespace)
    }

    async fn create(
        &self,
        work: TemplateWork<'_>,
        about: &ReportedTemplate,
        kind: &ServedKind,
        desired: &DynamicObject,
    ) -> Result<AppliedObject, TemplateSyncError> {
        let client = &self.caches.managed.client;
        let path = self.api(kind).resource_url().to_owned();
        let name = &work.parsed.name;
        match strict::create(client, &path, desired, Write::Real).await {
            Ok(created) => {
                let note = messages::created(name);
                self.record_applied(work, kind, &created, Some(note))
                    .await?;
                Ok(Some((Arc::new(created), AppliedChange::Created)))
            }
            // The API server checks the fields first, so another error does not mean that the object is absent. One that exists is
            // updated once the watch has delivered it.
            Err(error)
                if StatusReason::of(&error) == StatusReason::AlreadyExists
                    || self.exists(kind, name).await =>
            {
                Err(TemplateSyncError::Outdated {
                    template: name.clone(),
                })
            }
            Err(error) => {
                let (reason, rejection) = rejection_of(name, &kind.resource.kind, &error);
                let error = TemplateError::Create(reason, rejection);
                self.report_error(work.policy, about, error).await?;
                Ok(None)
            }
        }
    }

    /// Whether the API server has the object, which the watch may not have delivered yet.
    async fn exists(&self, kind: &ServedKind, name: &str) -> bool {
        // If it cannot be asked, the reason for which the creation failed is the better one.
        matches!(
            self.api(kind).get_metadata_opt(&segment(name)).await,
            Ok(Some(_))
        )
    }

    async fn update(
        &self,
        work: TemplateWork<'_>,
        about: &ReportedTemplate,
        kind: &ServedKind,
        live: &Arc<DynamicObject>,
        changed: &DynamicObject,
    ) -> Result<AppliedObject, TemplateSyncError> {
        let name = &work.parsed.name;
        let digest = digest(live, changed);
        let sent_reports = &self.reporter.sent_reports;
        if sent_reports.of(work.policy, name).unchanged_update == Some(digest) {
            self.record_applied(work, kind, live, None).await?;
            return Ok(Some((Arc::clone(live), AppliedChange::Nothing)));
        }
        let client = &self.caches.managed.client;
        let path = self.api(kind).resource_url().to_owned();
        match strict::replace(client, &path, name, changed, Write::Real).await {
            Ok(after) if after.metadata.resource_version == live.metadata.resource_version => {
                // The API server defaults or prunes fields that the template sets otherwise.
                sent_reports.change(work.policy, name, |state| {
                    state.unchanged_update = Some(digest);
                });
                self.record_applied(work, kind, &after, None).await?;
                Ok(Some((Arc::new(after), AppliedChange::Nothing)))
            }
            Ok(after) => {
                let note = messages::updated(name);
                self.record_applied(work, kind, &after, Some(note)).await?;
                Ok(Some((Arc::new(after), AppliedChange::Updated)))
            }
            Err(error) => match StatusReason::of(&error) {
                StatusReason::Conflict | StatusReason::NotFound => {
                    Err(TemplateSyncError::Outdated {
                        template: name.clone(),
                    })
                }
                _ => {
                    let (reason, rejection) = rejection_of(name, &kind.resource.kind, &error);
                    let error = TemplateError::Update(name.clone(), reason, rejection);
                    self.report_error(work.policy, about, error).await?;
                    Ok(None)
                }
            },
        }
    }

    /// Deletes an object whose template the hub could not resolve, without pruning what it has created.
    async fn delete_unresolved(
        &self,
        parsed: &ParsedTemplate,
        kind: &ServedKind,
        object: &DynamicObject,
    ) -> Result<(), TemplateSyncError> {
        let prunes = object
            .data
            .pointer("/spec/pruneObjectBehavior")
            .and_then(Value::as_str);
        if kind.resource.plural == "configurationpolicies" && prunes != Some("None") {
            let patch = Patch::Merge(json!({
                "metadata": {"uid": object.metadata.uid},
                "spec": {"pruneObjectBehavior": "None"}
            }));
            let api = self.api(kind);
            let patched = writes::patch_with(&api, &parsed.name, &patch).await;
            not_found_as_none(patched).map_err(|source| TemplateSyncError::DisablePruning {
                template: parsed.name.clone(),
                source,
            })?;
        }
        self.delete(kind, object).await
    }

    /// Deletes the object with this uid.
    pub(super) async fn delete(
        &self,
        kind: &ServedKind,
        object: &DynamicObject,
    ) -> Result<(), TemplateSyncError> {
        if object.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let described = format!("{} {name}", kind.resource.kind);
        let preconditions = Preconditions {
            uid: object.metadata.uid.clone(),
            resource_version: None,
        };
        let parameters = DeleteParams::default().preconditions(preconditions);
        let deleted = writes::delete(&self.api(kind), name, &parameters).await;
        not_found_as_none(deleted).map_err(|source| TemplateSyncError::Delete {
            object: described.clone(),
            source,
        })?;
        tracing::info!(object = described, "deleted");
        Ok(())
    }
}

/// The API server's reason, or a clearer text for one whose own is of no use, and the kind of rejection.
fn rejection_of(name: &str, kind: &str, error: &kube::Error) -> (String, RejectionKind) {
    let reason = status_message(error);
    if kind == "ConfigurationPolicy" && reason.ends_with(messages::BOTH_OBJECT_TEMPLATES) {
        return (messages::both_object_templates(name), RejectionKind::Other);
    }
    let rejection = match StatusReason::of(error) {
        StatusReason::Invalid => RejectionKind::Invalid,
        _ => RejectionKind::Other,
    };
    (reason, rejection)
}
