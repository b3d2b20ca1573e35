//! Creates, updates and deletes template objects.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, Patch, Preconditions};
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::discovery::ServedKind;
use reeve_runtime::object::{StatusReason, not_found_as_none, status_message};
use reeve_runtime::strict::{self, Write};
use reeve_runtime::writes;
use serde_json::{Value, json};

use super::TemplateSync;
use super::admission::{Admission, Done};
use super::decide::{self, Decision, Ready, Sight};
use super::error::{SyncError, TemplateError, Verdict};
use super::messages;
use super::plan::{Asked, TemplateWork};
use crate::compliance_events::sent::digest;
use crate::gatekeeper;
use crate::reporter::{Finding, ReportedTemplate};

/// An object that is as it should be, and what was done to it for that.
type Placed = Option<(Arc<DynamicObject>, Done)>;

/// What came of one template in one round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Worked {
    /// When to look again although nothing has changed.
    pub again: Option<Duration>,
    /// Whether its object is in place, as the template says and without error.
    pub is_applied: bool,
}

impl TemplateSync {
    /// Brings one template's object in line.
    pub(super) async fn template(
        &self,
        work: TemplateWork<'_>,
        sight: &Sight,
    ) -> Result<Worked, SyncError> {
        let about = ReportedTemplate::asked(work.parent, work.asked, sight);
        let integration = self.caches.kinds.integration;
        let ready @ Ready { kind, .. } = match sight.ready(work.asked, integration) {
            Ok(ready) => ready,
            Err(error) => {
                self.complain(work.policy, &about, error).await?;
                return Ok(Worked::default());
            }
        };
        let placed = match decide::decide(work.parent, work.asked, ready) {
            Decision::Complain(error) => {
                self.complain(work.policy, &about, error).await?;
                None
            }
            Decision::Wait { unmet, delete } => {
                let finding = Finding::pending(&unmet, work.asked.ignores_pending);
                self.trouble(work.policy, &about, &finding).await?;
                if let Some(object) = delete {
                    self.delete(kind, &object).await?;
                }
                None
            }
            Decision::Withdraw { error, delete } => {
                self.complain(work.policy, &about, error).await?;
                if let Some(object) = delete {
                    self.withdraw(work.asked, kind, &object).await?;
                }
                None
            }
            Decision::Create(desired) => self.create(work, &about, kind, &desired).await?,
            Decision::Update { live, changed } => {
                self.update(work, &about, kind, &live, &changed).await?
            }
            Decision::Same(live) => {
                // Of constraint templates Gatekeeper has the last word.
                if !gatekeeper::is_constraint_template(&work.asked.kind) {
                    self.succeeded(work, kind, &live, None).await?;
                }
                Some((live, Done::Nothing))
            }
            Decision::Unclear(reason) => {
                return Err(SyncError::Unclear {
                    template: work.asked.name.clone(),
                    reason,
                });
            }
        };
        match placed {
            Some((live, done)) if gatekeeper::is_constraint_template(&work.asked.kind) => {
                let again = self.admission(work, &about, (kind, &live, done)).await?;
                let is_applied = Admission::of(&live.data) == Admission::Created;
                Ok(Worked { again, is_applied })
            }
            placed => Ok(Worked {
                again: None,
                is_applied: placed.is_some(),
            }),
        }
    }

    pub(super) fn api(&self, kind: &ServedKind) -> Api<AnyDepth<DynamicObject>> {
        let client = self.caches.managed.client.clone();
        if kind.namespaced {
            Api::namespaced_with(client, &self.caches.managed.namespace, &kind.resource)
        } else {
            Api::all_with(client, &kind.resource)
        }
    }

    async fn create(
        &self,
        work: TemplateWork<'_>,
        about: &ReportedTemplate,
        kind: &ServedKind,
        desired: &DynamicObject,
    ) -> Result<Placed, SyncError> {
        let client = &self.caches.managed.client;
        let path = self.api(kind).resource_url().to_owned();
        let name = &work.asked.name;
        match strict::create(client, &path, desired, Write::Real).await {
            Ok(created) => {
                let note = messages::created(name);
                self.succeeded(work, kind, &created, Some(note)).await?;
                Ok(Some((Arc::new(created), Done::Created)))
            }
            Err(error) if StatusReason::of(&error) == StatusReason::AlreadyExists => {
                Err(SyncError::Behind {
                    template: name.clone(),
                })
            }
            Err(error) => {
                let (reason, verdict) = refused(name, &kind.resource.kind, &error);
                let error = TemplateError::Create(reason, verdict);
                self.complain(work.policy, about, error).await?;
                Ok(None)
            }
        }
    }

    async fn update(
        &self,
        work: TemplateWork<'_>,
        about: &ReportedTemplate,
        kind: &ServedKind,
        live: &Arc<DynamicObject>,
        changed: &DynamicObject,
    ) -> Result<Placed, SyncError> {
        let name = &work.asked.name;
        let digest = digest(live, changed);
        let memory = &self.reporter.memory;
        if memory.of(work.policy, name).settled == Some(digest) {
            self.succeeded(work, kind, live, None).await?;
            return Ok(Some((Arc::clone(live), Done::Nothing)));
        }
        let client = &self.caches.managed.client;
        let path = self.api(kind).resource_url().to_owned();
        match strict::replace(client, &path, name, changed, Write::Real).await {
            Ok(after) if after.metadata.resource_version == live.metadata.resource_version => {
                // The API server fills in or drops something that the template says otherwise.
                memory.change(work.policy, name, |memo| memo.settled = Some(digest));
                self.succeeded(work, kind, &after, None).await?;
                Ok(Some((Arc::new(after), Done::Nothing)))
            }
            Ok(after) => {
                let note = messages::updated(name);
                self.succeeded(work, kind, &after, Some(note)).await?;
                Ok(Some((Arc::new(after), Done::Updated)))
            }
            Err(error) => match StatusReason::of(&error) {
                StatusReason::Conflict | StatusReason::NotFound => Err(SyncError::Behind {
                    template: name.clone(),
                }),
                _ => {
                    let (reason, verdict) = refused(name, &kind.resource.kind, &error);
                    let error = TemplateError::Update(name.clone(), reason, verdict);
                    self.complain(work.policy, about, error).await?;
                    Ok(None)
                }
            },
        }
    }

    /// Deletes an object whose template the hub could not resolve. What it has created stays: the
    /// template is broken, not gone.
    async fn withdraw(
        &self,
        asked: &Asked,
        kind: &ServedKind,
        object: &DynamicObject,
    ) -> Result<(), SyncError> {
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
            let patched = writes::patch_with(&api, &asked.name, &patch).await;
            not_found_as_none(patched).map_err(|source| SyncError::KeepChildren {
                template: asked.name.clone(),
                source,
            })?;
        }
        self.delete(kind, object).await
    }

    /// Deletes this object, and no successor of its name.
    pub(super) async fn delete(
        &self,
        kind: &ServedKind,
        object: &DynamicObject,
    ) -> Result<(), SyncError> {
        if object.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let described = format!("{} {name}", kind.resource.kind);
        let only_this_one = Preconditions {
            uid: object.metadata.uid.clone(),
            resource_version: None,
        };
        let parameters = DeleteParams::default().preconditions(only_this_one);
        let deleted = writes::delete(&self.api(kind), name, &parameters).await;
        not_found_as_none(deleted).map_err(|source| SyncError::Delete {
            object: described.clone(),
            source,
        })?;
        tracing::info!(object = described, "deleted");
        Ok(())
    }
}

/// The API server's words, in ours where its own help nobody.
fn refused(name: &str, kind: &str, error: &kube::Error) -> (String, Verdict) {
    let reason = status_message(error);
    if kind == "ConfigurationPolicy" && reason.ends_with(messages::BOTH_OBJECT_TEMPLATES) {
        return (messages::both_object_templates(name), Verdict::Other);
    }
    let verdict = match StatusReason::of(error) {
        StatusReason::Invalid => Verdict::Invalid,
        _ => Verdict::Other,
    };
    (reason, verdict)
}
