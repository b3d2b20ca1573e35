//! The install plan. Pure.

use serde_json::{Value, json};

use super::approvals::{self, Approver};
use super::object::Object;
use super::spec::Presence;
use super::state::{
    COMPLIANT, Condition, Part, Related, State, Step, Truth, Write, compliance, found, related,
};
use super::{Context, Mode, Plan, is_compliant};
use crate::evaluate::cluster::text;
use crate::messages::operator as messages;

const PART: Part = Part::InstallPlan;

/// Adds the steps for the install plan to the plan.
pub fn decide(context: &Context<'_>, plan: &mut Plan) {
    let Some(desired) = &context.desired.subscription else {
        plan.settle(State::new(PART.undetermined(), Related::Keep));
        return;
    };
    let Ok(subscription) = context.subscription_found() else {
        return;
    };
    let Some(install_plans) = plan.read(&context.observed.install_plans) else {
        return;
    };
    let chosen = subscription.and_then(|subscription| {
        let chosen = choose(install_plans, subscription)?;
        Some((subscription, chosen))
    });
    let Some((subscription, chosen)) = chosen else {
        let none = related(
            PART,
            ("", &desired.namespace),
            COMPLIANT,
            messages::NO_INSTALL_PLANS_RELATED,
        );
        let condition = Condition::fixed(PART, Truth::True, messages::NO_INSTALL_PLANS);
        plan.settle(State::new(condition, none));
        return;
    };
    match context.presence {
        Presence::MustNotHave => {
            let ignored = found(PART, chosen, COMPLIANT, messages::IGNORED_IN_MUSTNOTHAVE);
            plan.settle(State::new(PART.not_applicable(), ignored));
        }
        Presence::MustHave => must_have(context, plan, subscription, chosen),
    }
}

/// The install plan of the Subscription's version: the one that installs or has installed it, or else the newest.
pub fn choose<'o>(install_plans: &'o [Object], subscription: &Value) -> Option<&'o Object> {
    let current = text(subscription, "/status/currentCSV");
    let installed = text(subscription, "/status/installedCSV");
    let is_named = |csv: &str, wanted: &str| !wanted.is_empty() && csv == wanted;
    let mut newest: Option<(i64, &Object)> = None;
    for plan in install_plans {
        let names = plan.pointer("/spec/clusterServiceVersionNames");
        let mut names = names.and_then(Value::as_array).into_iter().flatten();
        let hit = names.find_map(|csv| {
            csv.as_str()
                .filter(|csv| is_named(csv, current) || is_named(csv, installed))
        });
        let Some(hit) = hit else { continue };
        if hit == current && matches!(text(plan, "/status/phase"), "Installing" | "Complete") {
            return Some(plan);
        }
        let generation = plan.pointer("/spec/generation").and_then(Value::as_i64);
        let Some(generation) = generation else {
            continue;
        };
        if newest.is_none_or(|(newest, _)| generation > newest) {
            newest = Some((generation, plan));
        }
    }
    newest.map(|(_, plan)| plan)
}

fn must_have(context: &Context<'_>, plan: &mut Plan, subscription: &Object, chosen: &Object) {
    let current = text(subscription, "/status/currentCSV");
    let none_required = Condition::fixed(PART, Truth::True, messages::NONE_REQUIRING_APPROVAL);
    let existing = existing(context, chosen);
    match text(chosen, "/status/phase") {
        "RequiresApproval" => requires_approval(context, plan, subscription, chosen),
        "Installing" => {
            let condition = Condition::fixed(PART, Truth::False, messages::INSTALLING);
            plan.settle(State::new(condition, existing));
        }
        "Failed" if failure_concerns(chosen, current) => {
            let condition = Condition::fixed(PART, Truth::False, messages::INSTALL_PLAN_FAILED);
            plan.settle(State::new(condition, existing));
        }
        _ => plan.settle(State::new(none_required, existing)),
    }
}

/// Whether a failed install plan failed for this version: it is the only one, or one of its steps is not done.
fn failure_concerns(install_plan: &Value, csv: &str) -> bool {
    if approvals::versions(install_plan).len() == 1 {
        return true;
    }
    let steps = install_plan.pointer("/status/plan");
    let mut steps = steps.and_then(Value::as_array).into_iter().flatten();
    steps.any(|step| {
        text(step, "/resolving") == csv && !matches!(text(step, "/status"), "Created" | "Present")
    })
}

fn requires_approval(
    context: &Context<'_>,
    plan: &mut Plan,
    subscription: &Object,
    chosen: &Object,
) {
    let current = text(subscription, "/status/currentCSV");
    let installed = text(subscription, "/status/installedCSV");
    let existing = existing(context, chosen);
    let approved = || {
        Condition::new(
            PART,
            Truth::True,
            messages::APPROVED,
            messages::approved(current),
        )
    };
    if !current.is_empty() && installed == current {
        let condition = Condition::fixed(PART, Truth::True, messages::NONE_REQUIRING_APPROVAL);
        return plan.settle(State::new(condition, Related::Keep));
    }
    if chosen.pointer("/spec/approved") == Some(&Value::Bool(true)) {
        return plan.settle(State::new(approved(), existing));
    }
    let waiting = |unapproved: &[&str]| {
        let message = messages::requires_approval(&approvals::versions(chosen), unapproved);
        let is_fine = upgrade_is_compliant(context);
        let status = Truth::of(is_fine);
        let condition = Condition::new(PART, status, messages::REQUIRES_APPROVAL, message);
        State::new(condition, existing.clone())
    };
    let grants = context.grants();
    let is_upgrade = !installed.is_empty() && !grants.approves_upgrades;
    if context.mode == Mode::Inform || is_upgrade {
        return plan.settle(waiting(&[]));
    }
    let Some(csvs) = plan.read(&context.observed.csvs) else {
        return;
    };
    let own = Approver {
        grants,
        subscription: subscription.clone(),
        csvs: csvs.clone(),
    };
    let mut approvers = vec![own];
    if !approvals::unapproved(chosen, approvers.clone()).is_empty() {
        let Some(others) = plan.read(&context.observed.approvers) else {
            return;
        };
        approvers.extend(others.iter().cloned());
    }
    let unapproved = approvals::unapproved(chosen, approvers);
    if !unapproved.is_empty() {
        return plan.settle(waiting(&unapproved));
    }
    let mut write = chosen.as_ref().clone();
    if let Some(spec) = write.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("approved".to_owned(), json!(true));
    }
    let after = State::new(approved(), existing.clone());
    plan.add(Step::change(waiting(&[]), vec![Write::Replace(write)], after).silent());
}

/// Whether an upgrade that is available counts as compliant.
fn upgrade_is_compliant(context: &Context<'_>) -> bool {
    let config = &context.policy.spec.compliance_config;
    is_compliant(config.upgrades_available.as_deref())
}

fn existing(context: &Context<'_>, install_plan: &Object) -> Related {
    let phase = text(install_plan, "/status/phase");
    let is_fine = match phase {
        "Complete" => true,
        "Installing" | "RequiresApproval" => upgrade_is_compliant(context),
        _ => false,
    };
    let reason = messages::install_plan_phase(phase);
    found(PART, install_plan, compliance(is_fine), reason).into()
}
