//! Gatekeeper's status of a constraint template: since release 3.17 Gatekeeper accepts every template, and its status has whether
//! the template could be used.

use std::time::Duration;

use kube::api::DynamicObject;
use reeve_runtime::discovery::ServedKind;
use serde_json::Value;

use super::TemplateSync;
use super::error::{TemplateError, TemplateSyncError};
use super::messages;
use super::plan::{ParsedTemplate, PolicyTemplates, TemplateWork};
use crate::compliance_events::sent::TemplateObjectState;
use crate::gatekeeper;
use crate::kinds::KIND_SERVED_SOON_RETRY;
use crate::reporter::{Finding, ReportedTemplate};

/// How long Gatekeeper may take to process a template, and the kind of its constraints to be served, before an error is reported.
/// It usually takes less than a second.
const ADMISSION_TIMEOUT: Duration = Duration::from_secs(10);

/// The state of a constraint template in its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstraintTemplateState {
    /// Gatekeeper has not processed it yet.
    Unobserved,
    /// It can be used.
    Created,
    /// It is not created yet, and no Pod of Gatekeeper has a lasting error.
    Creating,
    /// It cannot be used.
    Failed,
    /// The status cannot be decoded, for this reason.
    Invalid(String),
}

/// The change of an object in this reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppliedChange {
    /// It was created.
    Created,
    /// It was changed.
    Updated,
    /// It was not changed.
    Nothing,
}

impl ConstraintTemplateState {
    /// Reads a template's status.
    pub fn of(template: &Value) -> Self {
        match template.pointer("/status/created") {
            None => Self::Unobserved,
            Some(Value::Bool(true)) => Self::Created,
            Some(Value::Bool(false)) if has_errors(template) => Self::Failed,
            Some(Value::Bool(false)) => Self::Creating,
            Some(other) => Self::Invalid(messages::wrong_type(".status.created", other, "bool")),
        }
    }
}

/// Gatekeeper's error code for a CRD that it could not create. Its Pods create the CRD concurrently, and those that come second
/// report this error until their next reconcile.
const CREATE_ERROR: &str = "create_error";

/// Whether one of Gatekeeper's Pods reports a lasting error.
fn has_errors(template: &Value) -> bool {
    errors(template).any(|error| error["code"] != CREATE_ERROR)
}

/// The errors that the Pods report.
fn errors(template: &Value) -> impl Iterator<Item = &Value> {
    let pods = template.pointer("/status/byPod").and_then(Value::as_array);
    pods.into_iter()
        .flatten()
        .filter_map(|pod| pod["errors"].as_array())
        .flatten()
}

fn error_messages(template: &Value) -> Vec<String> {
    let messages = errors(template).filter_map(|error| error["message"].as_str());
    messages.map(str::to_owned).collect()
}

impl TemplateSync {
    /// Reports the state of a constraint template that is applied. Returns when to requeue the policy although no watched object has
    /// changed.
    pub(super) async fn admission(
        &self,
        work: TemplateWork<'_>,
        about: &ReportedTemplate,
        (kind, live, change): (&ServedKind, &DynamicObject, AppliedChange),
    ) -> Result<Option<Duration>, TemplateSyncError> {
        let (policy, name) = (work.policy, work.parsed.name.as_str());
        let sent_reports = &self.reporter.sent_reports;
        let admission = ConstraintTemplateState::of(&live.data);
        if matches!(
            admission,
            ConstraintTemplateState::Unobserved | ConstraintTemplateState::Creating
        ) {
            if let Some(left) = sent_reports.remaining_wait(policy, name, ADMISSION_TIMEOUT) {
                self.record_applied(work, kind, live, None).await?;
                return Ok(Some(left));
            }
        } else {
            sent_reports.clear_wait(policy, name);
        }
        let error = match admission {
            ConstraintTemplateState::Created => {
                self.record_applied(work, kind, live, None).await?;
                let finding = self.success(work, change);
                self.report(policy, about, &finding).await?;
                return Ok(None);
            }
            ConstraintTemplateState::Unobserved => {
                TemplateError::NoAdmission(name.to_owned(), messages::NOTHING.to_owned())
            }
            ConstraintTemplateState::Invalid(reason) => {
                TemplateError::NoAdmission(name.to_owned(), reason)
            }
            ConstraintTemplateState::Creating | ConstraintTemplateState::Failed => {
                let errors = live.data.pointer("/status/byPod").map(Value::to_string);
                tracing::warn!(template = name, errors, "Gatekeeper cannot use it");
                // Of Gatekeeper the text is upstream's.
                let reasons = if self.caches.kinds.audits_constraints() {
                    error_messages(&live.data)
                } else {
                    Vec::new()
                };
                TemplateError::NotAdmitted(name.to_owned(), reasons)
            }
        };
        self.report_error(policy, about, error).await?;
        Ok(None)
    }

    /// The finding for a template that is created. While the object is not changed, the newest report of "created" and "updated"
    /// stays, so that the history does not alternate.
    fn success(&self, work: TemplateWork<'_>, change: AppliedChange) -> Finding {
        let name = work.parsed.name.as_str();
        let created = Finding::compliant(messages::constraint_template_created(name));
        let updated = Finding::compliant(messages::constraint_template_updated(name));
        match change {
            AppliedChange::Updated => updated,
            AppliedChange::Created => created,
            AppliedChange::Nothing => {
                let seen = self.reporter.reports(work.policy, name);
                let latest = seen.first().map(|last| last.message.trim());
                let latest = latest == Some(updated.message().as_str());
                if latest { updated } else { created }
            }
        }
    }

    /// How long the kind of a constraint may still take to be served, if its constraint template is in the same policy and not in
    /// error. The time begins when the status of that template is created.
    pub(super) fn constraint_kind_wait(
        &self,
        work: TemplateWork<'_>,
        plan: &PolicyTemplates,
    ) -> Option<Duration> {
        let template_name = work.parsed.kind.kind.to_lowercase();
        let is_its_template = |other: &&ParsedTemplate| {
            gatekeeper::is_constraint_template(&other.kind) && other.name == template_name
        };
        if !gatekeeper::is_constraint(&work.parsed.kind)
            || !plan.parsed.iter().any(|it| is_its_template(&it))
        {
            return None;
        }
        let sent_reports = &self.reporter.sent_reports;
        let made = sent_reports.of(work.policy, &template_name);
        match made.object_state {
            TemplateObjectState::NotReady => {
                sent_reports.clear_wait(work.policy, &work.parsed.name);
                None
            }
            TemplateObjectState::Applied if made.waiting_since.is_none() => {
                sent_reports.remaining_wait(work.policy, &work.parsed.name, ADMISSION_TIMEOUT)
            }
            TemplateObjectState::Unknown | TemplateObjectState::Applied => {
                sent_reports.clear_wait(work.policy, &work.parsed.name);
                Some(KIND_SERVED_SOON_RETRY)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(json!({}), ConstraintTemplateState::Unobserved)]
    #[case(json!({"created": true}), ConstraintTemplateState::Created)]
    #[case(json!({"created": false}), ConstraintTemplateState::Creating)]
    #[case(json!({"created": false, "byPod": [{"id": "audit"}, {"errors": []}]}), ConstraintTemplateState::Creating)]
    #[case(json!({"created": false, "byPod": [{"errors": [{"code": "ingest_error"}]}]}), ConstraintTemplateState::Failed)]
    #[case(json!({"created": false, "byPod": [{"errors": [{"code": "create_error"}]}]}), ConstraintTemplateState::Creating)]
    #[case(json!({"created": false, "byPod": [{"errors": [{"code": "create_error"}, {"code": "x"}]}]}), ConstraintTemplateState::Failed)]
    #[case(json!({"created": "yes"}), ConstraintTemplateState::Invalid(".status.created accessor error: yes is of the type string, expected bool".to_owned()))]
    #[case(json!({"created": null}), ConstraintTemplateState::Invalid(".status.created accessor error: <nil> is of the type <nil>, expected bool".to_owned()))]
    fn state_is_read_from_status_created_and_pod_errors(
        #[case] status: Value,
        #[case] expected: ConstraintTemplateState,
    ) {
        assert_eq!(
            ConstraintTemplateState::of(&json!({"status": status})),
            expected
        );
    }
}
