//! Decides the writes of one installation: works, finalizers and conditions. No I/O.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use reeve_runtime::object::ObjectKey;

use super::build::BuildError;
use super::finalizers::{Edit, Finalizers, HOSTING_CLEANUP, HOSTING_PRE_DELETE, PRE_DELETE};
use super::shapes::{HookShape, Shape, Shapes};
use crate::addon::Installation;
use crate::facts::{Hosting, Inputs};
use crate::messages::{blocked, conditions as texts};
use crate::render::RenderError;
use crate::work::{Live, names};
use crate::work_conditions::{self, ConditionChange};

/// The live state.
pub struct View<'a> {
    /// The inputs of the desired state.
    pub inputs: &'a Inputs,
    /// The finalizers of the add-on.
    pub finalizers: &'a [String],
    /// The conditions of the add-on.
    pub conditions: &'a [Condition],
    /// The installation's works, in all namespaces.
    pub live: &'a BTreeMap<ObjectKey, Arc<Live>>,
    /// The desired works.
    pub wanted: Result<&'a Shapes, &'a BuildError>,
    /// Whether a live work equals the desired one, though the API server stored it with other bytes.
    pub is_settled: &'a dyn Fn(&ObjectKey, &Shape, &Live) -> bool,
}

/// The writes.
#[derive(Debug, Default, PartialEq)]
pub struct Plan {
    /// Works to create or change, in this order.
    pub write: Vec<ObjectKey>,
    /// Works to delete.
    pub delete: Vec<ObjectKey>,
    /// The conditions to set.
    pub condition_changes: Vec<ConditionChange>,
    /// The change of the finalizers, after all other writes.
    pub finalizers: Option<Edit>,
}

/// Compares the live state with the desired one.
pub fn decide(view: &View<'_>) -> Plan {
    let inputs = view.inputs;
    let mut decision = Decision {
        view,
        plan: Plan::default(),
        finalizers: Finalizers::new(view.finalizers, inputs.addon.is_deleting),
    };
    if inputs.addon.is_deleting && inputs.addon.is_forced() {
        decision.release();
    } else {
        decision.managed();
        match &inputs.hosting {
            None => decision.without_host(),
            Some(hosting) => decision.hosting(hosting),
        }
        decision.hook();
        if let Some(hosting) = &inputs.hosting {
            decision.hosting_hook(hosting);
        }
        decision.report_blocked_uninstall();
    }
    let Decision {
        mut plan,
        finalizers,
        ..
    } = decision;
    // A terminating work is not deleted again.
    plan.delete
        .retain(|key| view.live.get(key).is_some_and(|live| !live.is_deleting));
    plan.finalizers = finalizers.change();
    plan
}

/// The works of an installation outside its own namespace: they have no owner.
fn works_elsewhere<'a>(
    installation: &Installation,
    works: &'a BTreeMap<ObjectKey, Arc<Live>>,
) -> impl Iterator<Item = &'a ObjectKey> {
    let own = installation.cluster.clone();
    works.keys().filter(move |key| key.namespace != own)
}

/// The works that the garbage collector does not delete with the add-on or its cluster: those in other namespaces,
/// and those that have lost their owner.
pub fn leftovers(
    installation: &Installation,
    works: &BTreeMap<ObjectKey, Arc<Live>>,
) -> Vec<ObjectKey> {
    let ownerless = works.iter().filter(|(_, live)| !live.is_owned);
    let mut left: Vec<ObjectKey> = ownerless.map(|(key, _)| key.clone()).collect();
    left.extend(works_elsewhere(installation, works).cloned());
    left.sort();
    left.dedup();
    left
}

struct Decision<'a> {
    view: &'a View<'a>,
    plan: Plan,
    finalizers: Finalizers,
}

impl Decision<'_> {
    fn is_deleting(&self) -> bool {
        self.view.inputs.addon.is_deleting
    }

    fn change_condition(&mut self, change: ConditionChange) {
        self.plan.condition_changes.push(change);
    }

    /// A user disabled the cleanup: removes all finalizers.
    fn release(&mut self) {
        let works = works_elsewhere(&self.view.inputs.installation, self.view.live);
        self.plan.delete.extend(works.cloned());
        self.finalizers.drop_all();
    }

    /// Decides about the works for the managed cluster.
    fn managed(&mut self) {
        let inputs = self.view.inputs;
        let is_removed = inputs.addon.is_deleting || inputs.cluster.is_deleting;
        if is_removed && !self.finalizers.hold(PRE_DELETE) {
            return;
        }
        let own = &inputs.installation.cluster;
        let needs_finalizer = self.view.wanted.is_ok_and(|shapes| shapes.hook.is_some());
        let is_new = !self.view.live.keys().any(|key| key.namespace == *own);
        if is_new && needs_finalizer && !self.finalizers.hold(PRE_DELETE) {
            // A work without the finalizer would not be cleaned up if the add-on were deleted now.
            return;
        }
        let hook = names::hook(&inputs.installation);
        let present = |key: &ObjectKey| key.namespace == *own && key.name != hook;
        let works = self.view.wanted.map(|shapes| &shapes.managed[..]);
        self.reconcile_works(texts::MANIFEST_APPLIED, works, present);
    }

    /// Writes and deletes until the works that are `ours` are the desired ones, and sets the condition.
    fn reconcile_works(
        &mut self,
        kind: &'static str,
        wanted: Result<&[Shape], &BuildError>,
        ours: impl Fn(&ObjectKey) -> bool,
    ) {
        let wanted = match wanted {
            Ok(wanted) => wanted,
            Err(error) => {
                let message = match error {
                    BuildError::Render(error) => texts::not_rendered(&chain(error)),
                    BuildError::Location(_) => texts::not_built(error),
                };
                self.change_condition(ConditionChange::set_false(
                    kind,
                    (texts::WORK_FAILED, message),
                ));
                return;
            }
        };
        for shape in wanted {
            self.ensure(shape);
        }
        let surplus = self.view.live.keys().filter(|key| ours(key));
        let surplus = surplus.filter(|key| wanted.iter().all(|shape| shape.key != **key));
        self.plan.delete.extend(surplus.cloned());
        let applied = |shape: &Shape| self.view.live.get(&shape.key).and_then(|w| w.is_applied);
        let applied: Vec<Option<bool>> = wanted.iter().map(applied).collect();
        if wanted.is_empty() {
            self.change_condition(ConditionChange::set_true(
                kind,
                (texts::APPLIED, texts::NOTHING_TO_APPLY),
            ));
        } else if applied.contains(&Some(false)) {
            self.change_condition(ConditionChange::set_false(kind, texts::APPLY_FAILED));
        } else if !applied.contains(&None) {
            self.change_condition(ConditionChange::set_true(
                kind,
                (texts::APPLIED, texts::ALL_APPLIED),
            ));
        } else if work_conditions::status(self.view.conditions, kind) == Some(false) {
            // The failed work was replaced, and the new one has no status yet.
            self.change_condition(ConditionChange::Remove { kind });
        }
    }

    fn ensure(&mut self, shape: &Shape) {
        let is_there = self.view.live.get(&shape.key).is_some_and(|live| {
            live.is_deleting
                || live.digest == shape.digest
                || (self.view.is_settled)(&shape.key, shape, live)
        });
        if !is_there {
            self.plan.write.push(shape.key.clone());
        }
    }

    /// The agent runs on its own cluster: deletes works elsewhere.
    fn without_host(&mut self) {
        let works = works_elsewhere(&self.view.inputs.installation, self.view.live);
        self.plan.delete.extend(works.cloned());
        self.finalizers.drop_one(HOSTING_CLEANUP);
        self.finalizers.drop_one(HOSTING_PRE_DELETE);
        for kind in [texts::HOSTING_MANIFEST_APPLIED, texts::HOSTING_VALID] {
            if work_conditions::status(self.view.conditions, kind).is_some() {
                self.change_condition(ConditionChange::Remove { kind });
            }
        }
    }

    /// Decides about the works for the hosting cluster.
    fn hosting(&mut self, hosting: &Hosting) {
        let inputs = self.view.inputs;
        let Some(facts) = &hosting.facts else {
            self.without_works_elsewhere();
            self.finalizers.drop_one(HOSTING_PRE_DELETE);
            let invalid = texts::hosting_invalid(&hosting.name);
            self.change_condition(ConditionChange::set_false(texts::HOSTING_VALID, invalid));
            return;
        };
        let valid = texts::hosting_valid(&hosting.name);
        self.change_condition(ConditionChange::set_true(texts::HOSTING_VALID, valid));
        if !self.finalizers.hold(HOSTING_PRE_DELETE) {
            if self.is_deleting() || facts.is_deleting {
                self.without_works_elsewhere();
                return;
            }
            if inputs.cluster.is_deleting {
                return;
            }
        }
        if !self.finalizers.hold(HOSTING_CLEANUP) && !self.is_deleting() {
            // Works there have no owner: only this finalizer makes the controller delete them.
            self.finalizers.add(HOSTING_CLEANUP);
            return;
        }
        let own = &inputs.installation.cluster;
        let hook = names::hosting_hook(&inputs.installation);
        let present = |key: &ObjectKey| {
            key.namespace != *own && (key.namespace != hosting.name || key.name != hook)
        };
        let works = self.view.wanted.map(|shapes| &shapes.hosting[..]);
        self.reconcile_works(texts::HOSTING_MANIFEST_APPLIED, works, present);
    }

    fn without_works_elsewhere(&mut self) {
        let works = works_elsewhere(&self.view.inputs.installation, self.view.live);
        self.plan.delete.extend(works.cloned());
        self.finalizers.drop_one(HOSTING_CLEANUP);
    }

    /// Decides about the hook on the managed cluster.
    fn hook(&mut self) {
        let Ok(shapes) = self.view.wanted else { return };
        match &shapes.hook {
            None => self.finalizers.drop_one(PRE_DELETE),
            Some(hook) => {
                self.clean_up(hook, PRE_DELETE);
            }
        }
    }

    /// Decides about the hook on the hosting cluster.
    fn hosting_hook(&mut self, hosting: &Hosting) {
        let is_there = hosting
            .facts
            .as_ref()
            .is_some_and(|facts| !facts.is_deleting);
        if !is_there {
            self.finalizers.drop_one(HOSTING_PRE_DELETE);
            return;
        }
        let Ok(shapes) = self.view.wanted else { return };
        match &shapes.hosting_hook {
            None => self.finalizers.drop_one(HOSTING_PRE_DELETE),
            Some(hook) => {
                if self.clean_up(hook, HOSTING_PRE_DELETE) {
                    // The works have no owner, and after the cleanup none is needed.
                    self.plan.write.clear();
                    self.without_works_elsewhere();
                }
            }
        }
    }

    /// Runs a hook once the add-on is terminating. Returns whether it has succeeded.
    fn clean_up(&mut self, hook: &HookShape, finalizer: &'static str) -> bool {
        let inputs = self.view.inputs;
        if !self.is_deleting() {
            if !inputs.cluster.is_deleting {
                self.finalizers.add(finalizer);
            }
            return false;
        }
        if !self.finalizers.hold(finalizer) {
            return false;
        }
        self.ensure(&hook.work);
        let name = &hook.work.key.name;
        let live = self.view.live.get(&hook.work.key);
        let is_done = live.is_some_and(|live| live.has_succeeded(&hook.names));
        if is_done {
            let completed = texts::hook_completed(name);
            self.change_condition(ConditionChange::set_true(texts::HOOK_COMPLETED, completed));
            self.finalizers.drop_one(finalizer);
        } else {
            let waiting = texts::hook_not_completed(name);
            self.change_condition(ConditionChange::set_false(texts::HOOK_COMPLETED, waiting));
        }
        is_done
    }

    /// Sets a condition with the reason why a deletion waits.
    fn report_blocked_uninstall(&mut self) {
        let inputs = self.view.inputs;
        let holds = [PRE_DELETE, HOSTING_PRE_DELETE];
        let waits = holds.iter().any(|name| self.finalizers.hold(name));
        if !self.is_deleting() || !waits {
            return;
        }
        let agent_cluster = inputs.hosting.as_ref();
        let name = agent_cluster.map_or(&inputs.installation.cluster, |hosting| &hosting.name);
        let answers = inputs
            .agent_cluster()
            .is_none_or(|agent_cluster| agent_cluster.is_available != Some(false));
        let why = match self.view.wanted {
            Err(BuildError::Render(RenderError::Paused)) => blocked::paused(),
            Err(error) => blocked::not_rendered(&chain(error)),
            Ok(_) if !answers => blocked::unavailable(name),
            Ok(shapes) => {
                let hooks = [&shapes.hook, &shapes.hosting_hook];
                let work = hooks.into_iter().flatten().next();
                blocked::running(work.map_or("", |hook| &hook.work.key.name))
            }
        };
        self.change_condition(ConditionChange::set_true(texts::UNINSTALL_BLOCKED, why));
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    reeve_runtime::object::error_chain(error)
}
