//! Template sync: one object on the managed cluster for each template of a policy.
//!
//! A round reads the policy's spec ([`plan`]), looks at the cluster ([`observe`]), decides about
//! each template on its own ([`decide`], [`desired`]), acts ([`act`]), deletes what is no longer
//! asked for ([`cleanup`]) and reports ([`publish`]). No template's error stops another.

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
use crate::metrics::{Blame, ErrorMetrics};
use crate::replica::Replica;
use crate::reporter::{ComplianceReporter, ReportedTemplate};
use act::Worked;
use decide::Sight;
use error::{SyncError, SyncErrors};
use observe::{Observed, Own};
use plan::{Parent, Plan, TemplateWork};
pub use trigger::is_concerned;

/// The controller's name in logs, metrics and events.
pub const CONTROLLER: &str = "policy-template-sync";

/// Keeps template objects.
pub struct TemplateSync {
    caches: Caches,
    reporter: ComplianceReporter,
    metrics: ErrorMetrics,
    /// Takes policies whose constraints have come to be in place.
    relay: Option<Queue<String>>,
}

impl TemplateSync {
    /// Works on the managed cluster of `caches`. Policies whose constraints have come to be in place go to `relay`.
    pub fn new(caches: Caches, metrics: ErrorMetrics, relay: Option<Queue<String>>) -> Arc<Self> {
        Arc::new(Self {
            reporter: ComplianceReporter::new(&caches, CONTROLLER),
            caches,
            metrics,
            relay,
        })
    }

    /// What it remembers of templates.
    pub fn memory(&self) -> SentReports {
        self.reporter.memory.clone()
    }

    /// Brings the template objects of one policy in line.
    pub async fn reconcile(self: Arc<Self>, name: String) -> Result<Action, SyncErrors> {
        let policy = match self.caches.managed.policy(&name) {
            Some(Cached::Valid(policy)) => policy,
            // The watch has logged it; what it asks for is not known, so nothing is changed.
            Some(Cached::Invalid(_)) => return Ok(Action::AwaitChange),
            None => {
                self.metrics.forget(&name);
                self.reporter.memory.forget(&name);
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
                Ok(spec) => self.round(&policy, &spec).await,
                Err(error) => (Action::AwaitChange, vec![SyncError::Policy(error)]),
            }
        };
        for (template, blame) in errors.iter().filter_map(SyncError::blame) {
            self.metrics.count(&name, template, blame);
        }
        if errors.iter().all(SyncError::is_outdated) {
            let next = if errors.is_empty() {
                next
            } else {
                Action::Requeue
            };
            Ok(next)
        } else {
            Err(SyncErrors(errors))
        }
    }

    async fn round(&self, policy: &Replica, spec: &PolicySpec) -> (Action, Vec<SyncError>) {
        let parent = Parent::of(policy, spec, &self.caches.managed.namespace);
        let plan = plan::read(spec, &parent.namespace);
        self.reporter.memory.retain(policy, |name| plan.has(name));
        let mut errors = self.complain_of(policy, &parent, &plan).await;
        let mut observed = self.observe(&parent, &plan.asked).await;

        let crosses =
            |sight: &Sight| matches!(sight, Sight::Ready(ready) if !ready.kind.namespaced);
        let mut is_held = true;
        if observed.sights.iter().flatten().any(crosses)
            && let Err(error) = self.hold(policy).await
        {
            errors.push(error);
            is_held = false;
        }
        let may_let_go = may_let_go(&plan, &observed);
        let sights = std::mem::take(&mut observed.sights);
        let mut applied = HashSet::new();
        for (asked, sight) in plan.asked.iter().zip(sights) {
            let work = TemplateWork {
                policy,
                parent: &parent,
                asked,
            };
            let worked = match sight {
                // Without the finalizer its object could outlive the policy.
                Ok(sight) if crosses(&sight) && !is_held => Ok(Worked::default()),
                Ok(sight) => self.look(work, &plan, &sight).await,
                Err(error) => Err(error),
            };
            match worked {
                Ok(worked) => {
                    if let Some(after) = worked.again {
                        observed.look_again(after);
                    }
                    if worked.is_applied {
                        applied.insert(asked.name.as_str());
                    }
                }
                Err(error) => errors.push(error),
            }
        }
        errors.extend(self.clean(&parent, &plan, &applied, &observed.own).await);
        if errors.is_empty() && may_let_go {
            errors.extend(self.let_go(policy).await.err());
        }
        errors.extend(observed.own.into_iter().filter_map(Result::err));
        (observed.again, errors)
    }

    /// Works on one template, unless its kind is being made by another one of the policy.
    async fn look(
        &self,
        work: TemplateWork<'_>,
        plan: &Plan,
        sight: &Sight,
    ) -> Result<Worked, SyncError> {
        if matches!(sight, Sight::Unmapped(_)) {
            if let Some(left) = self.is_being_made(work, plan) {
                return Ok(Worked {
                    again: Some(left),
                    is_applied: false,
                });
            }
        } else if gatekeeper::is_constraint(&work.asked.kind) {
            self.reporter.memory.answered(work.policy, &work.asked.name);
        }
        self.template(work, sight).await
    }

    async fn complain_of(&self, policy: &Replica, parent: &Parent, plan: &Plan) -> Vec<SyncError> {
        for dependency in &plan.contradictions {
            let name = policy.name();
            tracing::error!(
                policy = name,
                "{}",
                messages::conflicting_dependency(dependency)
            );
            self.metrics
                .count(name, "", Blame::User("dependency-error"));
        }
        let mut errors = Vec::new();
        for complaint in &plan.complaints {
            let about = ReportedTemplate::unread(parent, complaint);
            let complained = self.complain(policy, &about, complaint.error.clone()).await;
            errors.extend(complained.err());
        }
        errors
    }
}

/// Whether the policy certainly has no cluster-scoped objects, once the superfluous are deleted.
fn may_let_go(plan: &Plan, observed: &Observed) -> bool {
    let none = |sight: &Result<Sight, SyncError>| match sight {
        Ok(Sight::Ready(ready)) => ready.kind.namespaced,
        Ok(Sight::Unmapped(_)) => true,
        Ok(Sight::Unsupported) | Err(_) => false,
    };
    let namespaced = |own: &Result<Own, SyncError>| matches!(own, Ok(own) if own.kind.namespaced);
    plan.complaints.is_empty()
        && observed.sights.iter().all(none)
        && observed.own.iter().all(namespaced)
}
