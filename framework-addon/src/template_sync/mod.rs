//! Template sync: one object on the managed cluster for each template of a policy.
//!
//! A round reads the policy's spec ([`plan`]), looks at the cluster ([`observe`]), decides about
//! each template on its own ([`decide`], [`desired`]), acts ([`act`]), deletes what is no longer
//! asked for ([`cleanup`]) and reports ([`publish`]). No template's error stops another.

pub mod act;
pub mod cleanup;
pub mod decide;
pub mod dependencies;
pub mod desired;
pub mod error;
pub mod memory;
pub mod messages;
pub mod observe;
pub mod plan;
pub mod publish;
pub mod trigger;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use reeve_api::policy::PolicySpec;
use reeve_runtime::events::EventWriter;
use reeve_runtime::queue::Next;
use reeve_runtime::watch::Known;

use crate::metrics::{Blame, ErrorMetrics};
use crate::replica::Replica;
use crate::world::{Reader, World};
use act::Work;
use decide::Sight;
use error::{SyncError, SyncErrors};
use memory::Memory;
use observe::Observed;
use plan::{Parent, Plan};
use publish::About;
pub use trigger::is_concerned;

/// The controller's name in logs, metrics and events.
pub const CONTROLLER: &str = "policy-template-sync";

/// Keeps template objects.
pub struct TemplateSync {
    world: World,
    events: EventWriter,
    metrics: ErrorMetrics,
    memory: Memory,
}

impl TemplateSync {
    /// Works on the managed cluster of `world`.
    pub fn new(world: World, metrics: ErrorMetrics) -> Arc<Self> {
        Arc::new(Self {
            events: world.managed.events(CONTROLLER),
            world,
            metrics,
            memory: Memory::default(),
        })
    }

    /// Brings the template objects of one policy in line.
    pub async fn reconcile(self: Arc<Self>, name: String) -> Result<Next, SyncErrors> {
        let policy = match self.world.managed.policy(&name) {
            Some(Known::Valid(policy)) => policy,
            // The watch has logged it; what it asks for is not known, so nothing is changed.
            Some(Known::Invalid(_)) => return Ok(Next::Done),
            None => {
                self.metrics.forget(&name);
                self.memory.forget(&name);
                self.world.objects.forget(&Reader::Templates(name));
                return Ok(Next::Done);
            }
        };
        let (next, errors) = if policy.metadata.deletion_timestamp.is_some() {
            (Next::Done, self.finalize(&policy).await)
        } else {
            match policy.typed_spec() {
                Ok(spec) => self.round(&policy, &spec).await,
                Err(error) => (Next::Done, vec![SyncError::Policy(error)]),
            }
        };
        for (template, blame) in errors.iter().filter_map(SyncError::blame) {
            self.metrics.count(&name, template, blame);
        }
        if errors.is_empty() {
            Ok(next)
        } else {
            Err(SyncErrors(errors))
        }
    }

    async fn round(&self, policy: &Replica, spec: &PolicySpec) -> (Next, Vec<SyncError>) {
        let parent = Parent::of(policy, spec, &self.world.managed.namespace);
        let plan = plan::read(spec, &parent.namespace);
        let mut errors = self.complain_of(policy, &parent, &plan).await;
        let observed = self.observe(&parent, &plan.asked).await;

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
        for (asked, sight) in plan.asked.iter().zip(observed.sights) {
            let work = Work {
                policy,
                parent: &parent,
                asked,
            };
            match sight {
                // Without the finalizer its object could outlive the policy.
                Ok(sight) if crosses(&sight) && !is_held => {}
                Ok(sight) => errors.extend(self.template(work, &sight).await.err()),
                Err(error) => errors.push(error),
            }
        }
        errors.extend(self.clean(policy, &parent, &plan).await);
        if errors.is_empty() && may_let_go {
            errors.extend(self.let_go(policy).await.err());
        }
        (observed.again.map_or(Next::Done, Next::After), errors)
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
            let about = About::unread(parent, complaint);
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
    plan.complaints.is_empty() && observed.sights.iter().all(none)
}
