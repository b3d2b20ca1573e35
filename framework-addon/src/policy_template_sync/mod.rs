//! Template sync: one object on the managed cluster for each template of a policy.
//!
//! A reconcile parses the policy's spec ([`plan`]), reads the cluster ([`observe`]), decides about each template separately
//! ([`decide`], [`desired`]), acts ([`act`]), deletes stale objects ([`cleanup`]) and reports ([`publish`]). An error of one template
//! does not stop the others.

pub mod act;
pub mod admission;
pub mod cleanup;
pub mod decide;
pub mod dependencies;
pub mod desired;
pub mod error;
pub mod messages;
pub mod observe;
pub mod plan;
pub mod publish;
pub mod trigger;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use reeve_api::policy::PolicySpec;
use reeve_runtime::queue::{Action, Queue};
use reeve_runtime::watch::Cached;

use crate::caches::{Caches, Reader};
use crate::compliance_events::sent::SentReports;
use crate::gatekeeper;
use crate::metrics::{ErrorClass, ErrorMetrics};
use crate::replica::Replica;
use crate::reporter::{ComplianceReporter, ReportedTemplate};
use act::TemplateOutcome;
use decide::TemplateObservation;
use error::{TemplateSyncError, TemplateSyncErrors};
use observe::{LabelledObject, Observed};
use plan::{Parent, PolicyTemplates, TemplateWork};
pub use trigger::affects_template_objects;

/// The controller's name in logs, metrics and events.
pub const CONTROLLER: &str = "policy-template-sync";

/// The reconciler of template sync.
pub struct TemplateSync {
    caches: Caches,
    reporter: ComplianceReporter,
    metrics: ErrorMetrics,
    /// The relay's queue, for policies whose constraints have been applied.
    relay: Option<Queue<String>>,
}

impl TemplateSync {
    /// Reconciles the managed cluster of `caches`. Policies whose constraints have been applied are enqueued on `relay`.
    pub fn new(caches: Caches, metrics: ErrorMetrics, relay: Option<Queue<String>>) -> Arc<Self> {
        Arc::new(Self {
            reporter: ComplianceReporter::new(&caches, CONTROLLER),
            caches,
            metrics,
            relay,
        })
    }

    /// The state of templates, which the relay reads.
    pub fn sent_reports(&self) -> SentReports {
        self.reporter.sent_reports.clone()
    }

    /// Reconciles the template objects of one policy.
    pub async fn reconcile(self: Arc<Self>, name: String) -> Result<Action, TemplateSyncErrors> {
        let policy = match self.caches.managed.policy(&name) {
            Some(Cached::Valid(policy)) => policy,
            // The watch has logged it; its templates are not known, so nothing is changed.
            Some(Cached::Invalid(_)) => return Ok(Action::AwaitChange),
            None => {
                self.metrics.forget(&name);
                self.reporter.sent_reports.forget(&name);
                self.caches.objects.unwatch(&Reader::Templates(name));
                return Ok(Action::AwaitChange);
            }
        };
        let (next, errors) = if policy.metadata.deletion_timestamp.is_some() {
            (Action::AwaitChange, self.finalize(&policy).await)
        } else if self.caches.uninstalling.is_on() {
            (Action::AwaitChange, Vec::new())
        } else {
            match policy.typed_spec() {
                Ok(spec) => self.sync_templates(&policy, &spec).await,
                Err(error) => (Action::AwaitChange, vec![TemplateSyncError::Policy(error)]),
            }
        };
        for (template, error_class) in errors.iter().filter_map(TemplateSyncError::error_class) {
            self.metrics.count(&name, template, error_class);
        }
        if errors.iter().all(TemplateSyncError::is_outdated) {
            let next = if errors.is_empty() {
                next
            } else {
                Action::Requeue
            };
            Ok(next)
        } else {
            Err(TemplateSyncErrors(errors))
        }
    }

    async fn sync_templates(
        &self,
        policy: &Replica,
        spec: &PolicySpec,
    ) -> (Action, Vec<TemplateSyncError>) {
        let parent = Parent::of(policy, spec, &self.caches.managed.namespace);
        let plan = plan::read(spec, &parent.namespace);
        self.reporter
            .sent_reports
            .retain(policy, |name| plan.has(name));
        let mut errors = self.report_invalid_templates(policy, &parent, &plan).await;
        let mut observed = self.observe(&parent, &plan.parsed).await;

        let is_cluster_scoped = |observation: &TemplateObservation| matches!(observation, TemplateObservation::Ready(ready) if !ready.kind.namespaced);
        let mut has_finalizer = true;
        if observed
            .observations
            .iter()
            .flatten()
            .any(is_cluster_scoped)
            && let Err(error) = self.add_finalizer(policy).await
        {
            errors.push(error);
            has_finalizer = false;
        }
        let may_remove_finalizer = may_remove_finalizer(&plan, &observed);
        let observations = std::mem::take(&mut observed.observations);
        let mut applied = HashSet::new();
        for (parsed, observation) in plan.parsed.iter().zip(observations) {
            let work = TemplateWork {
                policy,
                parent: &parent,
                parsed,
            };
            let outcome = match observation {
                // Without the finalizer its object could outlive the policy.
                Ok(observation) if is_cluster_scoped(&observation) && !has_finalizer => {
                    Ok(TemplateOutcome::default())
                }
                Ok(observation) => self.sync_template(work, &plan, &observation).await,
                Err(error) => Err(error),
            };
            match outcome {
                Ok(outcome) => {
                    if let Some(after) = outcome.requeue {
                        observed.requeue_after(after);
                    }
                    if outcome.is_applied {
                        applied.insert(parsed.name.as_str());
                    }
                }
                Err(error) => errors.push(error),
            }
        }
        errors.extend(
            self.delete_stale(&parent, &plan, &applied, &observed.labelled)
                .await,
        );
        if errors.is_empty() && may_remove_finalizer {
            errors.extend(self.remove_finalizer(policy).await.err());
        }
        errors.extend(observed.labelled.into_iter().filter_map(Result::err));
        (observed.requeue, errors)
    }

    /// Reconciles one template, unless its kind is about to be served by a constraint template of the policy.
    async fn sync_template(
        &self,
        work: TemplateWork<'_>,
        plan: &PolicyTemplates,
        observation: &TemplateObservation,
    ) -> Result<TemplateOutcome, TemplateSyncError> {
        if matches!(observation, TemplateObservation::Unmapped(_)) {
            if let Some(left) = self.constraint_kind_wait(work, plan) {
                return Ok(TemplateOutcome {
                    requeue: Some(left),
                    is_applied: false,
                });
            }
        } else if gatekeeper::is_constraint(&work.parsed.kind) {
            self.reporter
                .sent_reports
                .clear_wait(work.policy, &work.parsed.name);
        }
        self.template(work, observation).await
    }

    async fn report_invalid_templates(
        &self,
        policy: &Replica,
        parent: &Parent,
        plan: &PolicyTemplates,
    ) -> Vec<TemplateSyncError> {
        for dependency in &plan.conflicts {
            let name = policy.name();
            tracing::error!(
                policy = name,
                "{}",
                messages::conflicting_dependency(dependency)
            );
            self.metrics
                .count(name, "", ErrorClass::User("dependency-error"));
        }
        let mut errors = Vec::new();
        for invalid in &plan.invalid {
            let about = ReportedTemplate::invalid(parent, invalid);
            let reported = self
                .report_error(policy, &about, invalid.error.clone())
                .await;
            errors.extend(reported.err());
        }
        errors
    }
}

/// Whether the policy certainly has no cluster-scoped objects, once the stale ones are deleted.
fn may_remove_finalizer(plan: &PolicyTemplates, observed: &Observed) -> bool {
    let none = |observation: &Result<TemplateObservation, TemplateSyncError>| match observation {
        Ok(TemplateObservation::Ready(ready)) => ready.kind.namespaced,
        Ok(TemplateObservation::Unmapped(_)) => true,
        Ok(TemplateObservation::Unsupported) | Err(_) => false,
    };
    let namespaced = |labelled: &Result<LabelledObject, TemplateSyncError>| matches!(labelled, Ok(labelled) if labelled.kind.namespaced);
    plan.invalid.is_empty()
        && observed.observations.iter().all(none)
        && observed.labelled.iter().all(namespaced)
}
