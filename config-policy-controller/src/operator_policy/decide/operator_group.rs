//! The `OperatorGroup`. Pure.

use serde_json::Value;

use super::object::{Object, is_deleting, name};
use super::observed::Update;
use super::spec::{DesiredGroup, DesiredSubscription, Presence};
use super::state::{
    COMPLIANT, Condition, Interim, NON_COMPLIANT, Part, State, Step, Truth, Write, found, listed,
    related, to_be_created,
};
use super::{Context, Mode, Plan, RemovalOf, keeps};
use crate::evaluate::cluster::text;
use crate::messages::operator as messages;

const PART: Part = Part::OperatorGroup;

/// Whether a Subscription may be created beside the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupVerdict {
    Correct,
    Incorrect,
}

/// Adds the steps for the group to the plan.
pub fn decide(context: &Context<'_>, plan: &mut Plan) -> GroupVerdict {
    let desired = context.desired;
    let (Some(group), Some(subscription)) = (&desired.operator_group, &desired.subscription) else {
        plan.settle(State::new(PART.undetermined(), super::Related::Keep));
        return GroupVerdict::Incorrect;
    };
    let Some(groups) = plan.read(&context.observed.operator_groups) else {
        return GroupVerdict::Incorrect;
    };
    match context.presence {
        Presence::MustHave => must_have(context, plan, group, groups),
        Presence::MustNotHave => {
            must_not_have(context, plan, (group, subscription), groups);
            GroupVerdict::Incorrect
        }
    }
}

/// Whether a group on the cluster is the desired one.
pub fn is_same(desired: &DesiredGroup, existing: &Value) -> bool {
    match &desired.name {
        Some(wanted) => name(existing) == wanted,
        None => text(existing, "/metadata/generateName") == desired.generate_name(),
    }
}

fn desired_location(group: &DesiredGroup) -> (&str, &str) {
    (group.name.as_deref().unwrap_or_default(), &group.namespace)
}

fn must_have(
    context: &Context<'_>,
    plan: &mut Plan,
    group: &DesiredGroup,
    groups: &[Object],
) -> GroupVerdict {
    let location = desired_location(group);
    let missing = || {
        related(
            PART,
            location,
            NON_COMPLIANT,
            messages::NOT_FOUND_BUT_SHOULD_EXIST,
        )
    };
    let existing = match groups {
        [] => {
            let before = State::new(PART.missing(), missing());
            let after = State::new(PART.created(), to_be_created(PART, location));
            let create = Write::Create(group.object());
            plan.add(Step::change(before, vec![create], after));
            return GroupVerdict::Correct;
        }
        [one] => one,
        several => {
            plan.settle(too_many(several));
            return GroupVerdict::Incorrect;
        }
    };
    let is_same = is_same(group, existing);
    let preexisting = || {
        let condition = Condition::fixed(PART, Truth::True, messages::PREEXISTING_OPERATOR_GROUP);
        State::new(
            condition,
            found(PART, existing, COMPLIANT, messages::FOUND_AS_EXPECTED),
        )
    };
    let mismatched = || found(PART, existing, NON_COMPLIANT, messages::FOUND_MISMATCHED);
    if !is_same && group.is_specified() {
        plan.settle(State::new(PART.mismatch(), vec![missing(), mismatched()]));
        return GroupVerdict::Incorrect;
    }
    if !is_same {
        plan.settle(preexisting());
        return GroupVerdict::Correct;
    }
    match &context.observed.group_update {
        Update::None => {
            let matched = found(PART, existing, COMPLIANT, messages::FOUND_AS_EXPECTED);
            plan.settle(State::new(PART.matches(), matched));
            GroupVerdict::Correct
        }
        Update::Failed(error) => {
            plan.errors.push(messages::comparing(PART.kind(), error));
            GroupVerdict::Incorrect
        }
        _ if !group.is_specified() => {
            plan.settle(preexisting());
            GroupVerdict::Correct
        }
        Update::Forbidden => {
            let condition = match context.mode {
                Mode::Enforce => PART.mismatch_forbidden(),
                Mode::Inform => PART.mismatch(),
            };
            plan.settle(State::new(condition, mismatched()));
            GroupVerdict::Incorrect
        }
        Update::Needed(merged) => {
            let updated = found(PART, existing, COMPLIANT, messages::OBJECT_UPDATED);
            plan.add(Step::change(
                State::new(PART.mismatch(), mismatched()),
                vec![Write::Replace(merged.as_ref().clone())],
                State::new(PART.updated(), updated),
            ));
            GroupVerdict::Correct
        }
    }
}

fn too_many(groups: &[Object]) -> State {
    let condition = Condition::fixed(PART, Truth::False, messages::TOO_MANY_OPERATOR_GROUPS);
    let of = |group: &Object| {
        found(
            PART,
            group,
            NON_COMPLIANT,
            messages::SEVERAL_OPERATOR_GROUPS,
        )
    };
    State::new(condition, groups.iter().map(of).collect::<Vec<_>>())
}

fn must_not_have(
    context: &Context<'_>,
    plan: &mut Plan,
    (group, subscription): (&DesiredGroup, &DesiredSubscription),
    groups: &[Object],
) {
    let not_present = || {
        let location = desired_location(group);
        let absent = related(PART, location, COMPLIANT, messages::NOT_FOUND_AS_EXPECTED);
        State::new(PART.not_present(), absent)
    };
    let leftover = |group: &Object| found(PART, group, None, messages::leftover(PART.kind()));
    let always_kept = keeps(&context.policy.spec, RemovalOf::OperatorGroups);
    let existing = match groups {
        [] => return plan.settle(not_present()),
        [one] => one,
        several if always_kept => {
            let leftovers: Vec<_> = several.iter().map(leftover).collect();
            return plan.settle(State::new(PART.kept(), leftovers));
        }
        several => return plan.settle(too_many(several)),
    };
    let is_used = always_kept || {
        let Some(subscriptions) = plan.read(&context.observed.subscriptions) else {
            return;
        };
        let mut others = subscriptions.iter();
        others.any(|other| name(other) != subscription.name)
    };
    if is_used {
        return plan.settle(State::new(PART.kept(), leftover(existing)));
    }
    if !is_same(group, existing) {
        return plan.settle(not_present());
    }
    let owners = existing.pointer("/metadata/ownerReferences");
    if owners
        .and_then(Value::as_array)
        .is_some_and(|owners| !owners.is_empty())
    {
        let kept = listed(PART, existing, None, messages::leftover(PART.kind()));
        return plan.settle(State::new(PART.kept(), kept));
    }
    if is_deleting(existing) {
        let deleting = listed(PART, existing, NON_COMPLIANT, messages::STILL_DELETING);
        return plan.settle(State::new(PART.deleting(&[]), deleting));
    }
    let unwanted = found(
        PART,
        existing,
        NON_COMPLIANT,
        messages::FOUND_BUT_SHOULD_NOT_EXIST,
    );
    plan.settle(State::new(PART.present(&[]), unwanted));
    let deleted = listed(PART, existing, COMPLIANT, messages::DELETION_SUCCESS);
    // OLM needs the group to remove the others, so it goes last.
    plan.last = Some(Step {
        part: PART,
        before: None,
        writes: vec![Write::Delete(existing.clone())],
        after: Some(State::new(PART.deleted(&[]), deleted)),
        needs: vec![Part::Subscription, Part::Csv, Part::Crd],
        interim: Interim::Reported,
    });
}
