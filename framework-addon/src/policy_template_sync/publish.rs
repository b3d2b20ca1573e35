//! Reports about templates: informational events, and compliance events for status sync.

use kube::Resource;
use kube::api::{DynamicObject, Patch, PatchParams};
use reeve_api::Compliance;
use reeve_api::names::GROUP;
use reeve_runtime::discovery::ServedKind;
use reeve_runtime::events::InformationalEvent;
use reeve_runtime::object::not_found_as_none;
use serde_json::{Value, json};

use super::TemplateSync;
use super::decide::TemplateObservation;
use super::error::{TemplateError, TemplateSyncError};
use super::messages;
use super::plan::{self, InvalidTemplate, Parent, ParsedTemplate, TemplateWork};
use crate::compliance_events::sent::{self, TemplateObjectState};
use crate::gatekeeper;
use crate::replica::Replica;
use crate::reporter::{Finding, ReportedTemplate};

impl ReportedTemplate {
    /// A template that could be parsed.
    pub fn parsed(
        parent: &Parent,
        parsed: &ParsedTemplate,
        observation: &TemplateObservation,
    ) -> Self {
        let cluster_scoped = match observation {
            TemplateObservation::Ready(ready) => !ready.kind.namespaced,
            TemplateObservation::Unmapped(_) | TemplateObservation::Unsupported => {
                gatekeeper::is_policy(&parsed.kind)
            }
        };
        Self {
            template: parsed.name.clone(),
            namespace: (!cluster_scoped).then(|| parent.namespace.clone()),
            related: plan::related(&parsed.definition),
        }
    }

    /// A template that could not be parsed.
    pub fn invalid(parent: &Parent, template: &InvalidTemplate) -> Self {
        Self {
            template: template.template.clone(),
            namespace: Some(parent.namespace.clone()),
            related: template.related.clone(),
        }
    }
}

impl Finding {
    /// A finding about a template in error.
    pub fn error(error: &TemplateError) -> Self {
        Self::violation(format!("{}{error}", messages::ERROR))
    }

    /// A finding about unmet dependencies, each `<Kind> <name>`.
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
    /// Counts and reports an error of a template. Returns an error if a retry can succeed.
    pub(super) async fn report_error(
        &self,
        policy: &Replica,
        about: &ReportedTemplate,
        error: TemplateError,
    ) -> Result<(), TemplateSyncError> {
        self.metrics
            .count(policy.name(), &about.template, error.error_class());
        self.report_not_applied(policy, about, &Finding::error(&error))
            .await?;
        if error.is_retriable() {
            let template = about.template.clone();
            return Err(TemplateSyncError::Reported { template, error });
        }
        Ok(())
    }

    /// Reports why a template's object is not applied, and records that.
    pub(super) async fn report_not_applied(
        &self,
        policy: &Replica,
        about: &ReportedTemplate,
        finding: &Finding,
    ) -> Result<(), TemplateSyncError> {
        let sent_reports = &self.reporter.sent_reports;
        sent_reports.change(policy, &about.template, |state| {
            state.object_state = TemplateObjectState::NotReady;
        });
        self.report(policy, about, finding).await
    }

    /// Reports a finding, unless it is the newest report. The compliance event is stored when this returns.
    pub(super) async fn report(
        &self,
        policy: &Replica,
        about: &ReportedTemplate,
        finding: &Finding,
    ) -> Result<(), TemplateSyncError> {
        if !self.reporter.needs_report(policy, about, finding) {
            return Ok(());
        }
        let warning = finding.compliance != Compliance::Compliant;
        self.emit_event(policy, &finding.text, warning);
        let sent = self.reporter.send(policy, about, finding).await;
        sent.map_err(|source| TemplateSyncError::Report {
            template: about.template.clone(),
            source,
        })
    }

    /// Records that the template's object is applied. If the newest report is an older error, the object's compliance is cleared,
    /// because its controller does not repeat an unchanged report.
    pub(super) async fn record_applied(
        &self,
        work: TemplateWork<'_>,
        kind: &ServedKind,
        live: &DynamicObject,
        note: Option<String>,
    ) -> Result<(), TemplateSyncError> {
        let (policy, name) = (work.policy, work.parsed.name.as_str());
        if let Some(note) = note {
            tracing::info!(policy = policy.name(), "{note}");
            self.emit_event(policy, &note, false);
        }
        let sent_reports = &self.reporter.sent_reports;
        let state = sent_reports.of(policy, name);
        let stale_event = sent::stale_report(&self.reporter.reports(policy, name), &state);
        let reset_for =
            stale_event.filter(|_| kind.resource.group == GROUP && has_compliance(&live.data));
        if reset_for.is_some() {
            let patch = Patch::Merge(json!({"status": {"compliant": null}}));
            let patched = self
                .api(kind)
                .patch_status(name, &PatchParams::default(), &patch)
                .await;
            not_found_as_none(patched).map_err(|source| TemplateSyncError::ClearCompliance {
                template: name.to_owned(),
                source,
            })?;
        }
        let was_not_applied = state.object_state != TemplateObjectState::Applied;
        if reset_for.is_some() || state.sent.is_some() || was_not_applied {
            sent_reports.change(policy, name, |state| {
                // The same error has to be reported again when it recurs.
                state
                    .sent
                    .take_if(|sent| sent::is_stale_message(&sent.message));
                state.reset_for = reset_for.or(state.reset_for.take());
                state.object_state = TemplateObjectState::Applied;
            });
        }
        if was_not_applied
            && gatekeeper::is_constraint(&work.parsed.kind)
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

/// Whether an object has a compliance that can be cleared.
pub fn has_compliance(object: &Value) -> bool {
    let compliant = object.pointer("/status/compliant").and_then(Value::as_str);
    compliant.is_some_and(|compliant| !compliant.is_empty())
}
