//! Reports about templates: to people, and by compliance events to status sync.

use std::time::Instant;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use kube::api::{DynamicObject, Patch, PatchParams};
use reeve_api::Compliance;
use reeve_api::names::GROUP;
use reeve_api::policy::DetailsPerTemplate;
use reeve_runtime::discovery::ServedKind;
use reeve_runtime::events::{ComplianceEvent, Information};
use reeve_runtime::object::absent_is_none;
use reeve_runtime::watch::Known;
use serde_json::{Value, json};

use super::TemplateSync;
use super::act::Work;
use super::decide::Sight;
use super::error::{SyncError, TemplateError};
use super::memory::{self, Sent};
use super::messages;
use super::plan::{self, Asked, Complaint, Parent};
use crate::replica::Replica;
use crate::reports::{self, newest_first};

/// What a report is about.
#[derive(Clone, Debug)]
pub struct About {
    /// The name under which the template is reported.
    pub template: String,
    /// The object's namespace; absent when its kind is cluster-scoped.
    pub namespace: Option<String>,
    /// The object, as the template says.
    pub related: Option<ObjectReference>,
}

impl About {
    /// A template that could be read.
    pub fn asked(parent: &Parent, asked: &Asked, sight: &Sight) -> Self {
        let cluster_scoped = match sight {
            Sight::Ready(ready) => !ready.kind.namespaced,
            Sight::Unmapped(_) | Sight::Unsupported => messages::is_gatekeeper(&asked.kind),
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

/// A report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The compliance that it announces.
    pub compliance: Compliance,
    /// What people read.
    pub text: String,
}

impl Report {
    fn error(error: &TemplateError) -> Self {
        Self {
            compliance: Compliance::NonCompliant,
            text: format!("{}{error}", messages::ERROR),
        }
    }

    /// Dependencies, each `<Kind> <name>`, are not as they must be.
    pub fn pending(unmet: &[String], ignored: bool) -> Self {
        if ignored {
            Self {
                compliance: Compliance::Compliant,
                text: messages::pending_ignored(unmet),
            }
        } else {
            Self {
                compliance: Compliance::Pending,
                text: messages::pending(unmet),
            }
        }
    }

    /// As the history has it.
    pub fn message(&self) -> String {
        format!("{}; {}", self.compliance, self.text)
    }
}

impl TemplateSync {
    /// Counts and reports what is wrong with a template. An error asks for another try.
    pub(super) async fn complain(
        &self,
        policy: &Replica,
        about: &About,
        error: TemplateError,
    ) -> Result<(), SyncError> {
        self.metrics
            .count(policy.name(), &about.template, error.blame());
        self.report(policy, about, &Report::error(&error)).await?;
        if error.is_worth_retrying() {
            let template = about.template.clone();
            return Err(SyncError::Reported { template, error });
        }
        Ok(())
    }

    /// Reports, unless that has been done. The compliance event is stored when this returns.
    pub(super) async fn report(
        &self,
        policy: &Replica,
        about: &About,
        report: &Report,
    ) -> Result<(), SyncError> {
        let message = report.message();
        let memo = self.memory.of(policy, &about.template);
        let seen = self.seen(policy, &about.template);
        if !memory::must_report(&message, &seen, &memo, Instant::now()) {
            return Ok(());
        }
        self.inform(
            policy,
            &report.text,
            report.compliance != Compliance::Compliant,
        );
        let event = ComplianceEvent {
            policy: policy.object_ref(&()),
            template_namespace: about.namespace.clone(),
            template_name: about.template.clone(),
            related: about.related.clone(),
            compliance: report.compliance,
            message: message.clone(),
        };
        let created = self.events.compliance(&event).await;
        let event = created.map_err(|source| SyncError::Report {
            template: about.template.clone(),
            source,
        })?;
        tracing::info!(
            policy = policy.name(),
            template = about.template,
            "{message}"
        );
        let at = Instant::now();
        self.memory.change(policy, &about.template, |memo| {
            memo.sent = Some(Sent { message, event, at });
        });
        Ok(())
    }

    /// The template's object is as it should be. If the last word about it is an older error, its
    /// controller is asked for a new one: it does not repeat what it has said before.
    pub(super) async fn succeeded(
        &self,
        work: Work<'_>,
        kind: &ServedKind,
        live: &DynamicObject,
        note: Option<String>,
    ) -> Result<(), SyncError> {
        let (policy, name) = (work.policy, work.asked.name.as_str());
        if let Some(note) = note {
            tracing::info!(policy = policy.name(), "{note}");
            self.inform(policy, &note, false);
        }
        let memo = self.memory.of(policy, name);
        let stale = memory::stale_report(&self.seen(policy, name), &memo);
        let asked_for = stale.filter(|_| kind.resource.group == GROUP && has_answered(&live.data));
        if asked_for.is_some() {
            let patch = Patch::Merge(json!({"status": {"compliant": null}}));
            let patched = self
                .api(kind)
                .patch_status(name, &PatchParams::default(), &patch)
                .await;
            absent_is_none(patched).map_err(|source| SyncError::Reset {
                template: name.to_owned(),
                source,
            })?;
        }
        if asked_for.is_some() || memo.sent.is_some() {
            self.memory.change(policy, name, |memo| {
                memo.sent = None;
                memo.reset_for = asked_for.or(memo.reset_for.take());
            });
        }
        Ok(())
    }

    /// What events and the status say about a template now, newest first.
    fn seen(&self, policy: &Replica, template: &str) -> Vec<reports::Report> {
        let newest = match self.world.managed.policy(policy.name()) {
            Some(Known::Valid(newest)) if newest.uid() == policy.uid() => newest,
            _ => return Vec::new(),
        };
        let status = newest.typed_status().unwrap_or_default();
        let is_its = |details: &DetailsPerTemplate| details.template_name() == template;
        let details = status.details.unwrap_or_default().into_iter().find(is_its);
        let shown = details.and_then(|details| details.history);
        let events = self.world.reports.of(policy.uid(), template);
        let seen = newest_first(events, &shown.unwrap_or_default());
        seen.into_iter().map(|(_, report)| report).collect()
    }

    fn inform(&self, policy: &Replica, note: &str, warning: bool) {
        let event = Information {
            reason: messages::REASON,
            action: messages::REASON,
            note,
            warning,
        };
        self.events.inform(&policy.object_ref(&()), &event);
    }
}

/// Whether an object carries an answer that could be asked for again.
pub fn has_answered(object: &Value) -> bool {
    let compliant = object.pointer("/status/compliant").and_then(Value::as_str);
    compliant.is_some_and(|compliant| !compliant.is_empty())
}
