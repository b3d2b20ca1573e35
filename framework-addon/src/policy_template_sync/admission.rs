//! What Gatekeeper makes of a constraint template: since release 3.17 it takes every template and says in the status
//! whether it could be used.

use std::time::Duration;

use kube::api::DynamicObject;
use reeve_runtime::discovery::ServedKind;
use serde_json::Value;

use super::TemplateSync;
use super::error::{SyncError, TemplateError};
use super::messages;
use super::plan::{Asked, Plan, TemplateWork};
use crate::compliance_events::sent::TemplateObject;
use crate::gatekeeper;
use crate::kinds::KIND_IS_COMING;
use crate::reporter::{Finding, ReportedTemplate};

/// How long Gatekeeper may take to look at a template, and the kind of its constraints to be served, before that is
/// reported as an error. It usually takes less than a second.
const PATIENCE: Duration = Duration::from_secs(10);

/// What Gatekeeper says of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Nothing yet.
    NotYet,
    /// It can be used.
    Created,
    /// Not yet that it can, nor that any of its Pods has failed to use it: so it begins.
    Begun,
    /// It cannot be used.
    Failed,
    /// Nothing that could be read; the text says why.
    Odd(String),
}

/// What was done to the object in this round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// It was created.
    Created,
    /// It was changed.
    Updated,
    /// Nothing was to be done.
    Nothing,
}

impl Admission {
    /// Reads a template's status.
    pub fn of(template: &Value) -> Self {
        match template.pointer("/status/created") {
            None => Self::NotYet,
            Some(Value::Bool(true)) => Self::Created,
            Some(Value::Bool(false)) if has_errors(template) => Self::Failed,
            Some(Value::Bool(false)) => Self::Begun,
            Some(other) => Self::Odd(messages::wrong_type(".status.created", other, "bool")),
        }
    }
}

/// Gatekeeper's word for a kind of constraints that it could not make. Its Pods make it all at once, and those that come
/// too late say so until they look again: nothing is wrong with the template.
const RACED: &str = "create_error";

/// Whether one of Gatekeeper's Pods tells of errors that will not go away by themselves.
fn has_errors(template: &Value) -> bool {
    let pods = template.pointer("/status/byPod").and_then(Value::as_array);
    let mut errors = pods
        .into_iter()
        .flatten()
        .filter_map(|pod| pod["errors"].as_array())
        .flatten();
    errors.any(|error| error["code"] != RACED)
}

impl TemplateSync {
    /// Reports what Gatekeeper says of a constraint template that is in place. Answers when to look again although nothing
    /// has changed.
    pub(super) async fn admission(
        &self,
        work: TemplateWork<'_>,
        about: &ReportedTemplate,
        (kind, live, done): (&ServedKind, &DynamicObject, Done),
    ) -> Result<Option<Duration>, SyncError> {
        let (policy, name) = (work.policy, work.asked.name.as_str());
        let memory = &self.reporter.memory;
        let admission = Admission::of(&live.data);
        if matches!(admission, Admission::NotYet | Admission::Begun) {
            if let Some(left) = memory.patience(policy, name, PATIENCE) {
                self.succeeded(work, kind, live, None).await?;
                return Ok(Some(left));
            }
        } else {
            memory.answered(policy, name);
        }
        let error = match admission {
            Admission::Created => {
                self.succeeded(work, kind, live, None).await?;
                let finding = self.success(work, done);
                self.report(policy, about, &finding).await?;
                return Ok(None);
            }
            Admission::NotYet => {
                TemplateError::NoAdmission(name.to_owned(), messages::NOTHING.to_owned())
            }
            Admission::Odd(reason) => TemplateError::NoAdmission(name.to_owned(), reason),
            Admission::Begun | Admission::Failed => {
                let errors = live.data.pointer("/status/byPod").map(Value::to_string);
                tracing::warn!(template = name, errors, "Gatekeeper cannot use it");
                TemplateError::NotAdmitted(name.to_owned())
            }
        };
        self.complain(policy, about, error).await?;
        Ok(None)
    }

    /// What there is to say of a template that works. "Created" and "updated" mean the same to the policy's history:
    /// while nothing was done the one that stands is left standing.
    fn success(&self, work: TemplateWork<'_>, done: Done) -> Finding {
        let name = work.asked.name.as_str();
        let created = Finding::compliant(messages::constraint_template_created(name));
        let updated = Finding::compliant(messages::constraint_template_updated(name));
        match done {
            Done::Updated => updated,
            Done::Created => created,
            Done::Nothing => {
                let seen = self.reporter.seen(work.policy, name);
                let stands = seen.first().map(|last| last.message.trim());
                let stands = stands == Some(updated.message().as_str());
                if stands { updated } else { created }
            }
        }
    }

    /// How long the kind of a constraint may still take to be served: the template that makes it is in the same policy, and
    /// nothing is wrong with it. The time begins when Gatekeeper has said that the template can be used.
    pub(super) fn is_being_made(&self, work: TemplateWork<'_>, plan: &Plan) -> Option<Duration> {
        let maker = work.asked.kind.kind.to_lowercase();
        let is_maker =
            |other: &&Asked| gatekeeper::is_constraint_template(&other.kind) && other.name == maker;
        if !gatekeeper::is_constraint(&work.asked.kind)
            || !plan.asked.iter().any(|it| is_maker(&it))
        {
            return None;
        }
        let memory = &self.reporter.memory;
        let made = memory.of(work.policy, &maker);
        match made.stance {
            TemplateObject::NotReady => {
                memory.answered(work.policy, &work.asked.name);
                None
            }
            TemplateObject::Applied if made.waits_since.is_none() => {
                memory.patience(work.policy, &work.asked.name, PATIENCE)
            }
            TemplateObject::Unknown | TemplateObject::Applied => {
                memory.answered(work.policy, &work.asked.name);
                Some(KIND_IS_COMING)
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
    #[case(json!({}), Admission::NotYet)]
    #[case(json!({"created": true}), Admission::Created)]
    #[case(json!({"created": false}), Admission::Begun)]
    #[case(json!({"created": false, "byPod": [{"id": "audit"}, {"errors": []}]}), Admission::Begun)]
    #[case(json!({"created": false, "byPod": [{"errors": [{"code": "ingest_error"}]}]}), Admission::Failed)]
    #[case(json!({"created": false, "byPod": [{"errors": [{"code": "create_error"}]}]}), Admission::Begun)]
    #[case(json!({"created": false, "byPod": [{"errors": [{"code": "create_error"}, {"code": "x"}]}]}), Admission::Failed)]
    #[case(json!({"created": "yes"}), Admission::Odd(".status.created accessor error: yes is of the type string, expected bool".to_owned()))]
    #[case(json!({"created": null}), Admission::Odd(".status.created accessor error: <nil> is of the type <nil>, expected bool".to_owned()))]
    fn the_status_says_what_gatekeeper_makes_of_it(
        #[case] status: Value,
        #[case] expected: Admission,
    ) {
        assert_eq!(Admission::of(&json!({"status": status})), expected);
    }
}
