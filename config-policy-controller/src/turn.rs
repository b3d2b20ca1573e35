//! One evaluation of a policy, from what it asks for to what is told: the same for a cluster behind an API server and
//! for objects in memory.

use std::time::Duration;

use reeve_api::configuration_policy::{
    ConfigurationPolicy, ConfigurationPolicyStatus, ObjectTemplate, RelatedObject,
};
use reeve_runtime::object::ObjectKey;

use crate::cluster::Cluster;
use crate::custom::Objects;
use crate::described::is_templated;
use crate::desired::Around;
use crate::diff::{Length, Origin};
use crate::error::PolicyError;
use crate::evaluation::{Evaluation, Evaluator, Work};
use crate::messages;
use crate::metrics::Fault;
use crate::namespaces::Selection;
use crate::prune::{self, Because};
use crate::publication::Telling;
use crate::raw;
use crate::spec::{self, Plan, Problem, Retry, Templating, parent};
use crate::status::{add_related, sort_related};
use crate::status_text::TemplateVerdict;
use crate::tell::{Sink, tell, tell_changed, tell_whole};
use crate::templates::Templates;
use reeve_template_reads::Secrets;

/// When the deletion of an object that failed is tried again.
const PRUNE_AGAIN: Duration = Duration::from_secs(10);

/// A policy's turn.
pub struct Turn<'a, C, S> {
    /// Evaluates object templates against the cluster.
    pub evaluator: &'a Evaluator,
    /// The cluster that the policy speaks about.
    pub cluster: &'a C,
    /// Where verdicts go.
    pub sink: &'a S,
    /// The policy, with its hub templates resolved.
    pub policy: &'a ConfigurationPolicy,
    /// Its latest status.
    pub before: &'a ConfigurationPolicyStatus,
    /// Resolves its templates, or why nothing can.
    pub templates: Result<Templates, Problem>,
    /// The namespaces that its selector chose; `None` if it has none that could choose any.
    pub selection: Option<Selection>,
    /// Whether what its hub templates read was sensitive.
    pub origin: Origin,
    /// The secret values that these templates read.
    pub secrets: Secrets,
    /// How much of a difference is recorded.
    pub length: Length,
}

/// What a turn came to.
pub struct Outcome {
    /// The status as it is now.
    pub status: ConfigurationPolicyStatus,
    /// What was found.
    pub evaluation: Evaluation,
    /// The verdict is on the policy as a whole, whatever the cluster holds: only an edit changes it.
    pub only_edits_matter: bool,
}

impl<C: Cluster, S: Sink> Turn<'_, C, S> {
    /// Evaluates the policy, deletes what it no longer names, and tells what came of it.
    pub async fn run(self) -> Result<Outcome, PolicyError> {
        let templating = spec::templating(self.policy);
        let plan = spec::read(self.policy);
        if let Plan::Refused(problem) = &plan {
            return self.refused(problem).await;
        }
        let templates = match &self.templates {
            Ok(templates) => templates,
            Err(problem) if templating == Templating::On => return self.refused(problem).await,
            // Nothing is resolved, so nothing is missing.
            Err(_) => &Templates::default(),
        };
        let none = self.secrets.clone();
        let (object_templates, origin, secrets) = match plan {
            Plan::Templates(listed) => (listed, self.origin, none),
            Plan::Raw(text) => match self.read_raw(templates, &text).await {
                Ok(read) => read,
                Err(problem) => return self.refused(&problem).await,
            },
            Plan::Refused(_) => (Vec::new(), self.origin, none),
        };
        if object_templates.is_empty() {
            return self.nothing().await;
        }
        let work = Work {
            policy: self.policy,
            templates: &object_templates,
            templating: match self.policy.spec.object_templates_raw {
                // A text is resolved once: what it came to is taken as it is.
                Some(_) => Templating::Off,
                None => templating,
            },
            origin,
            secrets: &secrets,
            before: self.related_before(),
            length: self.length,
        };
        let around = Around {
            cluster: self.cluster,
            templates,
            selection: self.selection.as_ref(),
            policy: &ObjectKey::of(self.policy).name,
        };
        let mut evaluation = self.evaluator.run(&work, &around).await;
        self.prune(&mut evaluation).await;
        let telling = self.telling(&evaluation.objects);
        let status = tell(self.sink, telling, self.before, &evaluation).await?;
        Ok(Outcome {
            status,
            evaluation,
            only_edits_matter: false,
        })
    }

    async fn read_raw(
        &self,
        templates: &Templates,
        text: &str,
    ) -> Result<(Vec<ObjectTemplate>, Origin, Secrets), Problem> {
        let reason = messages::TEMPLATE_ERROR;
        if !is_templated(text) {
            let listed = raw::parse(text);
            let listed = listed.map_err(|message| Problem::of_policy(reason, message))?;
            return Ok((listed, self.origin, self.secrets.clone()));
        }
        let rendered = templates.raw(self.cluster, text).await?;
        let listed = raw::resolved(rendered.value).map_err(|message| {
            let message = rendered.secrets.redact(&message);
            Problem::passing(reason, message)
        })?;
        let origin = self.origin.and(rendered.origin);
        Ok((listed, origin, self.secrets.union(&rendered.secrets)))
    }

    fn telling<'t>(&'t self, objects: &'t Objects) -> Telling<'t> {
        Telling {
            policy: self.policy,
            objects,
        }
    }

    fn related_before(&self) -> &[RelatedObject] {
        self.before.related_objects.as_deref().unwrap_or_default()
    }

    /// Deletes what the policy no longer names. What is not deleted yet stays on the list, so that it is not forgotten.
    async fn prune(&self, evaluation: &mut Evaluation) {
        let gone = prune::candidates(self.policy, self.related_before(), &evaluation.related);
        if gone.is_empty() {
            return;
        }
        let left: Vec<RelatedObject> = if evaluation.incomplete {
            // They may be wanted after all: that is for an evaluation that knows.
            gone.into_iter().cloned().collect()
        } else {
            evaluation.wrote = true;
            let left = prune::prune(self.cluster, self.policy, &gone).await;
            if left.iter().any(|left| left.because != Because::Going) {
                evaluation.again = Some(evaluation.again.unwrap_or(PRUNE_AGAIN));
            }
            left.into_iter().map(|left| left.entry).collect()
        };
        add_related(&mut evaluation.related, left);
        sort_related(&mut evaluation.related);
    }

    /// A policy that asks for nothing complies.
    async fn nothing(&self) -> Result<Outcome, PolicyError> {
        let verdict = TemplateVerdict {
            compliant: true,
            reason: messages::NO_TEMPLATES_REASON.to_owned(),
            message: messages::no_templates(&ObjectKey::of(self.policy).name),
        };
        let mut evaluation = Evaluation::default();
        self.prune(&mut evaluation).await;
        let objects = Objects::new();
        let telling = self.telling(&objects);
        let mut status = self.before.clone();
        let related = evaluation.related.clone();
        status.related_objects = Some(related).filter(|related| !related.is_empty());
        let changed = crate::tell::record_verdict(telling, &mut status, &verdict);
        let told = tell_changed(self.sink, telling, self.before, (status, changed)).await?;
        Ok(Outcome {
            status: told,
            evaluation,
            // What a text with templates comes to may change.
            only_edits_matter: false,
        })
    }

    async fn refused(&self, problem: &Problem) -> Result<Outcome, PolicyError> {
        let metrics = &self.evaluator.metrics;
        let key = ObjectKey::of(self.policy);
        metrics.failed(&key, &parent(self.policy), Fault::InvalidTemplate);
        // Errors quote the policy, which may hold what its hub templates read.
        let message = self.secrets.redact(&problem.event.message);
        let reason = messages::condition_reason(&problem.event.reason);
        let verdict = TemplateVerdict::violation(reason, message.clone());
        let objects = Objects::new();
        let telling = self.telling(&objects);
        let status = tell_whole(self.sink, telling, self.before, &verdict).await?;
        let mut evaluation = Evaluation::default();
        if problem.retry != Retry::No {
            evaluation.failures.push(message);
        }
        Ok(Outcome {
            status,
            evaluation,
            only_edits_matter: problem.retry == Retry::No,
        })
    }
}
