//! What an evaluation found, told in the order in which it happened.

use jiff::Timestamp;
use reeve_api::configuration_policy::{
    ConfigurationPolicy, ConfigurationPolicyStatus, RelatedObject,
};

use crate::error::PolicyError;
use crate::status::finding::TemplateOutcome;
use crate::status::summary::{self, TemplateVerdict};
use crate::status::update::{Context, Telling, Verdicts, keep_templates, record, record_whole};

/// Where statuses and messages go.
pub trait Sink: Sync {
    /// Tells what changed since `before`, if anything, and returns the status as it is now.
    fn publish(
        &self,
        telling: Telling<'_>,
        before: &ConfigurationPolicyStatus,
        after: ConfigurationPolicyStatus,
        verdicts: Verdicts,
    ) -> impl Future<Output = Result<ConfigurationPolicyStatus, PolicyError>> + Send;

    /// Tells people of something about a policy as a whole.
    fn inform(&self, policy: &ConfigurationPolicy, status: &ConfigurationPolicyStatus);
}

fn context(policy: &ConfigurationPolicy) -> Context<'_> {
    Context {
        intervals: policy.spec.evaluation_interval.as_ref(),
        now: Timestamp::now(),
    }
}

fn verdicts(changed: bool) -> Verdicts {
    if changed {
        Verdicts::Changed
    } else {
        Verdicts::AsBefore
    }
}

/// Publishes the verdicts on the object templates.
pub async fn tell<S: Sink>(
    sink: &S,
    telling: Telling<'_>,
    before: &ConfigurationPolicyStatus,
    templates: &[TemplateOutcome],
    related: &[RelatedObject],
) -> Result<ConfigurationPolicyStatus, PolicyError> {
    let mut published = before.clone();
    let mut status = before.clone();
    let mut news = keep_templates(&mut status, templates.len());
    for (index, outcome) in templates.iter().enumerate() {
        let all = summary::verdicts(outcome);
        let Some((last, earlier)) = all.split_last() else {
            continue;
        };
        let context = context(telling.policy);
        let is_news = || record(&mut status.clone(), index, last, context);
        if !earlier.is_empty() && !last.compliant && !is_news() {
            // The same failure as before: its steps have been told.
            continue;
        }
        for verdict in earlier {
            if record(&mut status, index, verdict, context) {
                published = sink
                    .publish(telling, &published, status, Verdicts::ChangedSoFar)
                    .await?;
                status = published.clone();
                news = false;
            }
        }
        news |= record(&mut status, index, last, context);
    }
    let related = related.to_vec();
    status.related_objects = Some(related).filter(|related| !related.is_empty());
    sink.publish(telling, &published, status, verdicts(news))
        .await
}

/// Records a verdict on the policy as a whole. Whether anything a user sees has changed.
pub fn record_verdict(
    telling: Telling<'_>,
    status: &mut ConfigurationPolicyStatus,
    verdict: &TemplateVerdict,
) -> bool {
    record_whole(status, verdict, context(telling.policy))
}

/// Publishes a verdict on the policy as a whole.
pub async fn tell_whole<S: Sink>(
    sink: &S,
    telling: Telling<'_>,
    before: &ConfigurationPolicyStatus,
    verdict: &TemplateVerdict,
) -> Result<ConfigurationPolicyStatus, PolicyError> {
    let mut status = before.clone();
    let changed = record_verdict(telling, &mut status, verdict);
    tell_changed(sink, telling, before, (status, changed)).await
}

/// Publishes a status that is about the policy as a whole, and tells people of it if it `changed`.
pub async fn tell_changed<S: Sink>(
    sink: &S,
    telling: Telling<'_>,
    before: &ConfigurationPolicyStatus,
    (status, changed): (ConfigurationPolicyStatus, bool),
) -> Result<ConfigurationPolicyStatus, PolicyError> {
    let status = sink
        .publish(telling, before, status, verdicts(changed))
        .await?;
    if changed {
        sink.inform(telling.policy, &status);
    }
    Ok(status)
}
