//! One evaluation of a policy, from the spec to the published status: the same for a cluster behind an API server and
//! for objects in memory.

pub mod cluster;
pub mod compare;
mod decide;
pub mod desired;
pub mod diff;
pub mod encryption_keys;
pub mod evaluator;
pub mod memo;
pub mod prune;
pub mod selectors;
pub mod spec;
pub mod templates;

#[cfg(test)]
mod tests;

use std::time::Duration;

use reeve_api::configuration_policy::{
    ConfigurationPolicy, ConfigurationPolicyStatus, ObjectTemplate, RelatedObject,
};
use reeve_runtime::object::ObjectKey;

use self::cluster::Cluster;
use self::desired::{Deps, is_templated};
use self::diff::{DiffLength, Sensitivity};
use self::evaluator::{Evaluation, EvaluationInput, Evaluator};
use self::prune::RemainingReason;
use self::selectors::namespaces::SelectedNamespaces;
use self::spec::{EvaluationError, Retry, TemplateSource, Templating, raw};
use self::templates::Templates;
use crate::error::PolicyError;
use crate::messages;
use crate::metrics::Fault;
use crate::status::custom_message::LiveObjects;
use crate::status::finding::{add_related, sort_related};
use crate::status::publish::{
    PublishStatus, publish_changed, publish_templates, publish_verdict, record_verdict,
};
use crate::status::summary::TemplateVerdict;
use crate::status::update::EvaluatedPolicy;
use reeve_runtime::secrets::Secrets;

/// When the deletion of an object that failed is tried again.
const PRUNE_AGAIN: Duration = Duration::from_secs(10);

/// One evaluation of a policy.
pub struct PolicyEvaluation<'a, C, S> {
    /// Evaluates object templates against the cluster.
    pub evaluator: &'a Evaluator,
    /// The target cluster of the policy.
    pub cluster: &'a C,
    /// Publishes the status.
    pub publisher: &'a S,
    /// The policy, with its hub templates resolved.
    pub policy: &'a ConfigurationPolicy,
    /// Its latest status.
    pub before: &'a ConfigurationPolicyStatus,
    /// Resolves its templates, or the error that prevents it.
    pub templates: Result<Templates, EvaluationError>,
    /// The namespaces that its selector chose; `None` if it has none that could choose any.
    pub selection: Option<SelectedNamespaces>,
    /// Whether what its hub templates read was sensitive.
    pub sensitivity: Sensitivity,
    /// The secret values that these templates read.
    pub secrets: Secrets,
    /// How much of a difference is recorded.
    pub length: DiffLength,
}

/// The outcome of one evaluation of a policy.
pub struct PolicyOutcome {
    /// The status that was published.
    pub status: ConfigurationPolicyStatus,
    /// What was found.
    pub evaluation: Evaluation,
    /// The verdict is on the policy as a whole, whatever the cluster holds: only an edit changes it.
    pub only_edits_matter: bool,
}

impl<C: Cluster, S: PublishStatus> PolicyEvaluation<'_, C, S> {
    /// Evaluates the policy, deletes what it no longer names, and publishes its status.
    pub async fn run(self) -> Result<PolicyOutcome, PolicyError> {
        let templating = spec::templating(self.policy);
        let source = match spec::object_templates(self.policy) {
            Ok(source) => source,
            Err(error) => return self.refused(&error).await,
        };
        let templates = match &self.templates {
            Ok(templates) => templates,
            Err(error) if templating == Templating::On => return self.refused(error).await,
            // Nothing is resolved, so nothing is missing.
            Err(_) => &Templates::default(),
        };
        let (object_templates, sensitivity, secrets) = match source {
            TemplateSource::List(listed) => (listed, self.sensitivity, self.secrets.clone()),
            TemplateSource::Raw(text) => match self.read_raw(templates, &text).await {
                Ok(read) => read,
                Err(error) => return self.refused(&error).await,
            },
        };
        if object_templates.is_empty() {
            return self.nothing().await;
        }
        let work = EvaluationInput {
            policy: self.policy,
            templates: &object_templates,
            templating: match self.policy.spec.object_templates_raw {
                // The text was resolved once already; templates in its result are not resolved again.
                Some(_) => Templating::Off,
                None => templating,
            },
            sensitivity,
            secrets: &secrets,
            before: self.related_before(),
            length: self.length,
        };
        let deps = Deps {
            cluster: self.cluster,
            templates,
            selection: self.selection.as_ref(),
            policy: &ObjectKey::of(self.policy).name,
        };
        let mut evaluation = self.evaluator.run(&work, &deps).await;
        self.prune(&mut evaluation).await;
        let evaluated = self.evaluated(&evaluation.objects);
        let status = publish_templates(
            self.publisher,
            evaluated,
            self.before,
            &evaluation.templates,
            &evaluation.related,
        )
        .await?;
        Ok(PolicyOutcome {
            status,
            evaluation,
            only_edits_matter: false,
        })
    }

    async fn read_raw(
        &self,
        templates: &Templates,
        text: &str,
    ) -> Result<(Vec<ObjectTemplate>, Sensitivity, Secrets), EvaluationError> {
        let reason = messages::TEMPLATE_ERROR;
        if !is_templated(text) {
            let listed = raw::parse(text);
            let listed = listed.map_err(|message| EvaluationError::permanent(reason, message))?;
            return Ok((listed, self.sensitivity, self.secrets.clone()));
        }
        let rendered = templates.resolve_raw(self.cluster, text).await?;
        let listed = raw::resolved(&rendered.value).map_err(|message| {
            let message = rendered.secrets.redact(&message);
            EvaluationError::transient(reason, message)
        })?;
        let sensitivity = self.sensitivity.and(rendered.sensitivity);
        Ok((listed, sensitivity, self.secrets.union(&rendered.secrets)))
    }

    fn evaluated<'t>(&'t self, objects: &'t LiveObjects) -> EvaluatedPolicy<'t> {
        EvaluatedPolicy {
            policy: self.policy,
            objects,
        }
    }

    fn related_before(&self) -> &[RelatedObject] {
        self.before.related_objects.as_deref().unwrap_or_default()
    }

    /// Deletes what the policy no longer names. An object that still exists stays a related object, so that a later evaluation deletes it.
    async fn prune(&self, evaluation: &mut Evaluation) {
        let stale = prune::candidates(self.policy, self.related_before(), &evaluation.related);
        if stale.is_empty() {
            return;
        }
        let remaining: Vec<RelatedObject> = if evaluation.incomplete {
            // An incomplete evaluation does not know whether the policy still names them.
            stale.into_iter().cloned().collect()
        } else {
            evaluation.wrote = true;
            let existing = prune::prune(self.cluster, self.policy, &stale).await;
            if existing
                .iter()
                .any(|object| object.reason != RemainingReason::Terminating)
            {
                evaluation.again = Some(evaluation.again.unwrap_or(PRUNE_AGAIN));
            }
            existing.into_iter().map(|object| object.entry).collect()
        };
        add_related(&mut evaluation.related, remaining);
        sort_related(&mut evaluation.related);
    }

    /// A policy without object templates is compliant.
    async fn nothing(&self) -> Result<PolicyOutcome, PolicyError> {
        let verdict = TemplateVerdict {
            compliant: true,
            reason: messages::NO_TEMPLATES_REASON.to_owned(),
            message: messages::no_templates(&ObjectKey::of(self.policy).name),
        };
        let mut evaluation = Evaluation::default();
        self.prune(&mut evaluation).await;
        let objects = LiveObjects::new();
        let evaluated = self.evaluated(&objects);
        let mut status = self.before.clone();
        let related = evaluation.related.clone();
        status.related_objects = Some(related).filter(|related| !related.is_empty());
        let changed = record_verdict(evaluated, &mut status, &verdict);
        let published =
            publish_changed(self.publisher, evaluated, self.before, (status, changed)).await?;
        Ok(PolicyOutcome {
            status: published,
            evaluation,
            // The result of object-templates-raw may change with the cluster.
            only_edits_matter: false,
        })
    }

    async fn refused(&self, error: &EvaluationError) -> Result<PolicyOutcome, PolicyError> {
        let metrics = &self.evaluator.metrics;
        metrics.failed(self.policy, Fault::InvalidTemplate);
        // Errors quote the policy, which may hold what its hub templates read.
        let message = self.secrets.redact(&error.event.message);
        let reason = messages::condition_reason(&error.event.reason);
        let verdict = TemplateVerdict::violation(reason, message.clone());
        let objects = LiveObjects::new();
        let evaluated = self.evaluated(&objects);
        let status = publish_verdict(self.publisher, evaluated, self.before, &verdict).await?;
        let mut evaluation = Evaluation::default();
        if error.retry != Retry::No {
            evaluation.failures.push(message);
        }
        Ok(PolicyOutcome {
            status,
            evaluation,
            only_edits_matter: error.retry == Retry::No,
        })
    }
}
