//! Publishes the findings of an evaluation in the order in which they happened.

use jiff::Timestamp;
use reeve_api::configuration_policy::{
    ConfigurationPolicy, ConfigurationPolicyStatus, RelatedObject,
};

use crate::error::PolicyError;
use crate::status::finding::TemplateFindings;
use crate::status::summary::{self, TemplateVerdict};
use crate::status::update::{
    ConditionChange, EvaluatedPolicy, RecordContext, record, record_policy_verdict,
    truncate_templates,
};

/// Publishes statuses and events.
pub trait PublishStatus: Sync {
    /// Emits events about `after`, in which the policy was during the evaluation only, such as the violation that is
    /// enforced at once. It is not written: the history of the status that is returned has it, and that is written
    /// when the evaluation ends.
    fn report_interim(
        &self,
        evaluated: EvaluatedPolicy<'_>,
        before: &ConfigurationPolicyStatus,
        after: ConfigurationPolicyStatus,
    ) -> impl Future<Output = Result<ConfigurationPolicyStatus, PolicyError>> + Send;

    /// Writes `after` if it differs from what is written, and emits events if it differs from the latest status. Returns
    /// the resulting status.
    fn publish_status(
        &self,
        evaluated: EvaluatedPolicy<'_>,
        before: StatusBefore<'_>,
        after: ConfigurationPolicyStatus,
        verdicts: ConditionChange,
    ) -> impl Future<Output = Result<ConfigurationPolicyStatus, PolicyError>> + Send;

    /// Emits an event on the policy about its status as a whole.
    fn emit_policy_event(&self, policy: &ConfigurationPolicy, status: &ConfigurationPolicyStatus);
}

/// The status before a change of it.
#[derive(Clone, Copy, Debug)]
pub struct StatusBefore<'a> {
    /// As it was written last.
    pub written: &'a ConfigurationPolicyStatus,
    /// With what was reported since.
    pub latest: &'a ConfigurationPolicyStatus,
}

impl StatusBefore<'_> {
    /// Whether something was reported that is not written.
    pub fn has_unwritten(self) -> bool {
        self.latest != self.written
    }
}

fn context(policy: &ConfigurationPolicy) -> RecordContext<'_> {
    RecordContext {
        intervals: policy.spec.evaluation_interval.as_ref(),
        now: Timestamp::now(),
    }
}

fn condition_change(changed: bool) -> ConditionChange {
    if changed {
        ConditionChange::Changed
    } else {
        ConditionChange::Unchanged
    }
}

/// Publishes the verdicts on the object templates.
pub async fn publish_templates<S: PublishStatus>(
    publisher: &S,
    evaluated: EvaluatedPolicy<'_>,
    before: &ConfigurationPolicyStatus,
    templates: &[TemplateFindings],
    related: &[RelatedObject],
) -> Result<ConfigurationPolicyStatus, PolicyError> {
    let mut latest = before.clone();
    let mut status = before.clone();
    let mut changed = truncate_templates(&mut status, templates.len());
    for (index, outcome) in templates.iter().enumerate() {
        let all = summary::verdicts(outcome);
        let Some((last, earlier)) = all.split_last() else {
            continue;
        };
        let context = context(evaluated.policy);
        let changes_condition = || record(&mut status.clone(), index, last, context);
        if !earlier.is_empty() && !last.compliant && !changes_condition() {
            // The same failure as before: its steps were published then.
            continue;
        }
        for verdict in earlier {
            if record(&mut status, index, verdict, context) {
                latest = publisher.report_interim(evaluated, &latest, status).await?;
                status = latest.clone();
                changed = false;
            }
        }
        changed |= record(&mut status, index, last, context);
    }
    let related = related.to_vec();
    status.related_objects = Some(related).filter(|related| !related.is_empty());
    let before = StatusBefore {
        written: before,
        latest: &latest,
    };
    publisher
        .publish_status(evaluated, before, status, condition_change(changed))
        .await
}

/// Records a verdict on the policy as a whole. Whether anything a user sees has changed.
pub fn record_verdict(
    evaluated: EvaluatedPolicy<'_>,
    status: &mut ConfigurationPolicyStatus,
    verdict: &TemplateVerdict,
) -> bool {
    record_policy_verdict(status, verdict, context(evaluated.policy))
}

/// Publishes a verdict on the policy as a whole.
pub async fn publish_verdict<S: PublishStatus>(
    publisher: &S,
    evaluated: EvaluatedPolicy<'_>,
    before: &ConfigurationPolicyStatus,
    verdict: &TemplateVerdict,
) -> Result<ConfigurationPolicyStatus, PolicyError> {
    let mut status = before.clone();
    let changed = record_verdict(evaluated, &mut status, verdict);
    publish_changed(publisher, evaluated, before, (status, changed)).await
}

/// Publishes a status that is about the policy as a whole, and emits an event on the policy if it `changed`.
pub async fn publish_changed<S: PublishStatus>(
    publisher: &S,
    evaluated: EvaluatedPolicy<'_>,
    before: &ConfigurationPolicyStatus,
    (status, changed): (ConfigurationPolicyStatus, bool),
) -> Result<ConfigurationPolicyStatus, PolicyError> {
    let before = StatusBefore {
        written: before,
        latest: before,
    };
    let status = publisher
        .publish_status(evaluated, before, status, condition_change(changed))
        .await?;
    if changed {
        publisher.emit_policy_event(evaluated.policy, &status);
    }
    Ok(status)
}
