//! Reports about templates: to people, and by compliance events to status sync.

use kube::Resource;
use kube::api::{DynamicObject, Patch, PatchParams};
use reeve_api::Compliance;
use reeve_api::names::GROUP;
use reeve_runtime::discovery::ServedKind;
use reeve_runtime::events::InformationalEvent;
use reeve_runtime::object::not_found_as_none;
use serde_json::{Value, json};

use super::TemplateSync;
use super::decide::Sight;
use super::error::{SyncError, TemplateError};
use super::messages;
use super::plan::{self, Asked, Complaint, Parent, TemplateWork};
use crate::compliance_events::sent::{self, TemplateObject};
use crate::gatekeeper;
use crate::replica::Replica;
use crate::reporter::{Finding, ReportedTemplate};

impl ReportedTemplate {
    /// A template that could be read.
    pub fn asked(parent: &Parent, asked: &Asked, sight: &Sight) -> Self {
        let cluster_scoped = match sight {
            Sight::Ready(ready) => !ready.kind.namespaced,
            Sight::Unmapped(_) | Sight::Unsupported => gatekeeper::is_policy(&asked.kind),
        };
        Self {
            template: asked.name.clone(),
            namespace: (!cluster_scoped).then(|| parent.namespace.clone()),
            related: plan::related(&asked.definition),
        }
    }

    /// A template that could not be read.
    pub fn unread(parent: &Parent, complaint: &Complaint) -> Self {
        Self {
            template: complaint.template.clone(),
            namespace: Some(parent.namespace.clone()),
            related: complaint.related.clone(),
        }
    }
}

impl Finding {
    /// Says what is wrong with a template.
    pub fn error(error: &TemplateError) -> Self {
        Self::violation(format!("{}{error}", messages::ERROR))
    }

    /// Says which dependencies, each `<Kind> <name>`, are not as they must be.
    pub fn pending(unmet: &[String], ignored: bool) -> Self {
        if ignored {
            return Self::compliant(messages::pending_ignored(unmet));
        }
        Self {
            compliance: Compliance::Pending,
            text: messages::pending(unmet),
        }
    }
}

impl TemplateSync {
    /// Counts and reports what is wrong with a template. An error asks for another try.
    pub(super) async fn complain(
        &self,
        policy: &Replica,
        about: &ReportedTemplate,
        error: TemplateError,
    ) -> Result<(), SyncError> {
        self.metrics
            .count(policy.name(), &about.template, error.blame());
        self.trouble(policy, about, &Finding::error(&error)).await?;
        if error.is_worth_retrying() {
            let template = about.template.clone();
            return Err(SyncError::Reported { template, error });
        }
        Ok(())
    }

    /// Reports why a template's object is not as it should be. From now on this is the word about it.
    pub(super) async fn trouble(
        &self,
        policy: &Replica,
        about: &ReportedTemplate,
        finding: &Finding,
    ) -> Result<(), SyncError> {
        let memory = &self.reporter.memory;
        memory.change(policy, &about.template, |memo| {
            memo.stance = TemplateObject::NotReady;
        });
        self.report(policy, about, finding).await
    }

    /// Reports, unless that has been done. The compliance event is stored when this returns.
    pub(super) async fn report(
        &self,
        policy: &Replica,
        about: &ReportedTemplate,
        finding: &Finding,
    ) -> Result<(), SyncError> {
        if !self.reporter.needs_report(policy, about, finding) {
            return Ok(());
        }
        let warning = finding.compliance != Compliance::Compliant;
        self.emit_event(policy, &finding.text, warning);
        let sent = self.reporter.send(policy, about, finding).await;
        sent.map_err(|source| SyncError::Report {
            template: about.template.clone(),
            source,
        })
    }

    /// The template's object is as it should be. If the last word about it is an older error, its
    /// controller is asked for a new one: it does not repeat what it has said before.
    pub(super) async fn succeeded(
        &self,
        work: TemplateWork<'_>,
        kind: &ServedKind,
        live: &DynamicObject,
        note: Option<String>,
    ) -> Result<(), SyncError> {
        let (policy, name) = (work.policy, work.asked.name.as_str());
        if let Some(note) = note {
            tracing::info!(policy = policy.name(), "{note}");
            self.emit_event(policy, &note, false);
        }
        let memory = &self.reporter.memory;
        let memo = memory.of(policy, name);
        let stale = sent::stale_report(&self.reporter.seen(policy, name), &memo);
        let asked_for = stale.filter(|_| kind.resource.group == GROUP && has_answered(&live.data));
        if asked_for.is_some() {
            let patch = Patch::Merge(json!({"status": {"compliant": null}}));
            let patched = self
                .api(kind)
                .patch_status(name, &PatchParams::default(), &patch)
                .await;
            not_found_as_none(patched).map_err(|source| SyncError::Reset {
                template: name.to_owned(),
                source,
            })?;
        }
        let in_trouble = memo.stance != TemplateObject::Applied;
        if asked_for.is_some() || memo.sent.is_some() || in_trouble {
            memory.change(policy, name, |memo| {
                // What was wrong may be wrong again, and is news then.
                memo.sent.take_if(|sent| sent::is_trouble(&sent.message));
                memo.reset_for = asked_for.or(memo.reset_for.take());
                memo.stance = TemplateObject::Applied;
            });
        }
        if in_trouble
            && gatekeeper::is_constraint(&work.asked.kind)
            && let Some(relay) = &self.relay
        {
            relay.add(policy.name().to_owned());
        }
        Ok(())
    }

    fn emit_event(&self, policy: &Replica, note: &str, warning: bool) {
        let event = InformationalEvent {
            reason: messages::REASON,
            action: messages::REASON,
            note,
            warning,
        };
        self.reporter
            .events
            .emit_event(&policy.object_ref(&()), &event);
    }
}

/// Whether an object carries an answer that could be asked for again.
pub fn has_answered(object: &Value) -> bool {
    let compliant = object.pointer("/status/compliant").and_then(Value::as_str);
    compliant.is_some_and(|compliant| !compliant.is_empty())
}
