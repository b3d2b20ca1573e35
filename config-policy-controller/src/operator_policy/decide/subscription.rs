//! The Subscription. Pure.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::object::{Object, is_copied, is_deleting, location};
use super::observed::Update;
use super::operator_group::GroupVerdict;
use super::spec::{DesiredSubscription, Presence};
use super::state::{
    COMPLIANT, Condition, NON_COMPLIANT, Part, Related, State, Step, Truth, Write, found, listed,
    related, to_be_created,
};
use super::{Context, Mode, Plan, RemovalOf, keeps, managed_annotation, mark_managed};
use crate::evaluate::cluster::text;
use crate::messages::operator as messages;
use crate::status::update::seconds;

const PART: Part = Part::Subscription;
/// How long OLM has to resolve an operator by itself.
const GRACE_PERIOD: SignedDuration = SignedDuration::from_secs(30);
/// How long after that the intervention may take place.
const WINDOW: SignedDuration = SignedDuration::from_secs(10);

/// Adds the steps for the Subscription to the plan.
pub fn decide(context: &Context<'_>, plan: &mut Plan, group: GroupVerdict) {
    let Some(desired) = &context.desired.subscription else {
        plan.settle(State::new(PART.undetermined(), Related::Keep));
        return;
    };
    let Some(existing) = plan.read(&context.observed.subscription) else {
        return;
    };
    match (context.presence, existing) {
        (Presence::MustHave, None) => {
            plan.intervention = None;
            create(context, plan, desired, group);
        }
        (Presence::MustHave, Some(existing)) => must_have(context, plan, existing),
        (Presence::MustNotHave, existing) => {
            plan.intervention = None;
            must_not_have(context, plan, desired, existing.as_ref());
        }
    }
}

fn create(
    context: &Context<'_>,
    plan: &mut Plan,
    desired: &DesiredSubscription,
    group: GroupVerdict,
) {
    let location = (desired.name.as_str(), desired.namespace.as_str());
    let missing = related(
        PART,
        location,
        NON_COMPLIANT,
        messages::NOT_FOUND_BUT_SHOULD_EXIST,
    );
    let Some(subscriptions) = plan.read(&context.observed.subscriptions) else {
        return;
    };
    if let Some(other) = subscriptions
        .iter()
        .find(|other| is_duplicate(desired, other))
    {
        let message = messages::subscribed_by_another(super::object::name(other), &desired.name);
        let condition = Condition {
            message,
            ..PART.mismatch()
        };
        let mismatched = found(PART, other, NON_COMPLIANT, messages::FOUND_MISMATCHED);
        plan.settle(State::new(condition, vec![missing, mismatched]));
        return;
    }
    let before = State::new(PART.missing(), missing);
    if group == GroupVerdict::Incorrect {
        plan.settle(before);
        return;
    }
    let after = State::new(PART.created(), to_be_created(PART, location));
    let mut object = desired.object();
    mark_managed(&mut object, &managed_annotation(context.policy));
    let create = Write::Create(object);
    let step = Step::change(before, vec![create], after);
    plan.add(step.needs(&[Part::OperatorGroup]));
}

/// Whether another Subscription is for the same package. One that OLM made for a package that another one needs gives way
/// to the policy's.
fn is_duplicate(desired: &DesiredSubscription, other: &Value) -> bool {
    let field = |name: &str| text(other, &format!("/spec/{name}"));
    let parts = ["name", "channel", "source", "sourceNamespace"].map(field);
    field("name") == desired.name && super::object::name(other) != parts.join("-")
}

fn must_have(context: &Context<'_>, plan: &mut Plan, existing: &Object) {
    let mismatched = || found(PART, existing, NON_COMPLIANT, messages::FOUND_MISMATCHED);
    match &context.observed.subscription_update {
        Update::None => resolution(context, plan, existing),
        Update::Failed(error) => plan.errors.push(messages::comparing(PART.kind(), error)),
        Update::Forbidden => {
            plan.intervention = None;
            let condition = match context.mode {
                Mode::Enforce => PART.mismatch_forbidden(),
                Mode::Inform => PART.mismatch(),
            };
            plan.settle(State::new(condition, mismatched()));
        }
        Update::Needed(merged) => {
            plan.intervention = None;
            let updated = found(PART, existing, COMPLIANT, messages::OBJECT_UPDATED);
            plan.add(Step::change(
                State::new(PART.mismatch(), mismatched()),
                vec![Write::Replace(merged.as_ref().clone())],
                State::new(PART.updated(), updated),
            ));
        }
    }
}

/// A Subscription as the policy wants it, which OLM may not be able to resolve.
fn resolution(context: &Context<'_>, plan: &mut Plan, existing: &Object) {
    let Some(failure) = resolution_failure(existing) else {
        expire_intervention(plan, context.now);
        let matched = found(PART, existing, COMPLIANT, messages::FOUND_AS_EXPECTED);
        plan.settle(State::new(PART.matches(), matched));
        return;
    };
    let (reason, message) = (text(failure, "/reason"), text(failure, "/message"));
    let (fixed, _) = messages::CONSTRAINTS_NOT_SATISFIABLE;
    let is_about_constraints = reason.eq_ignore_ascii_case(fixed);
    let is_own = mentions(message, location(existing));
    if !is_about_constraints || !is_own {
        expire_intervention(plan, context.now);
        // OLM copies a failure to all Subscriptions of a namespace. Another one's failure says nothing about this one.
        if !is_about_constraints || !context.has_condition(PART) {
            plan.settle(reported_failure(existing, failure));
        }
        return;
    }
    let condition = Condition::fixed(PART, Truth::False, messages::CONSTRAINTS_NOT_SATISFIABLE);
    let before = State::new(condition, found(PART, existing, NON_COMPLIANT, fixed));
    match intervention(context, plan, existing, message) {
        None => plan.settle(before),
        Some(write) => {
            let updated = found(PART, existing, COMPLIANT, messages::OBJECT_UPDATED);
            let after = State::new(PART.updated(), updated);
            plan.add(Step::change(before, vec![write], after));
        }
    }
}

/// The condition of a Subscription that OLM cannot resolve.
pub fn resolution_failure(subscription: &Value) -> Option<&Value> {
    let conditions = subscription.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| {
        text(condition, "/type") == "ResolutionFailed" && text(condition, "/status") == "True"
    })
}

/// The failure in OLM's words.
fn reported_failure(existing: &Object, failure: &Value) -> State {
    let reason = Some(text(failure, "/reason")).filter(|reason| !reason.is_empty());
    let reason = reason.unwrap_or(messages::UNKNOWN_REASON);
    let since = text(failure, "/lastTransitionTime").to_owned();
    let condition = Condition {
        since: Some(since).filter(|since| !since.is_empty()),
        ..Condition::new(PART, Truth::False, reason, text(failure, "/message"))
    };
    State::new(condition, found(PART, existing, NON_COMPLIANT, reason))
}

/// Whether OLM's message is about this Subscription or its package, which have the same name.
pub fn mentions(message: &str, (name, namespace): (&str, &str)) -> bool {
    let qualified = format!("{namespace}/{name}");
    ["subscription", "package"].iter().any(|what| {
        [name, qualified.as_str()].iter().any(|name| {
            let needle = format!("{what} {name}");
            message.match_indices(&needle).any(|(at, _)| {
                let rest = message.get(at + needle.len()..).unwrap_or_default();
                let next = rest.chars().next();
                next.is_none_or(|next| next.is_whitespace() || next == ',' || next == ':')
            })
        })
    })
}

/// The version that OLM reports to exist without a Subscription.
pub fn unreferenced_csv(message: &str) -> Option<&str> {
    let (before, _) = message.split_once(" exists and is not referenced")?;
    let (_, name) = before.rsplit_once("clusterserviceversion ")?;
    (!name.contains(char::is_whitespace)).then_some(name)
}

/// Removes the time of an intervention that did not take place.
fn expire_intervention(plan: &mut Plan, now: Timestamp) {
    if plan.intervention.is_some_and(|due| due + WINDOW < now) {
        plan.intervention = None;
    }
}

/// Repairs a Subscription that OLM does not connect with the installed version, once OLM had time to do it itself.
fn intervention(
    context: &Context<'_>,
    plan: &mut Plan,
    existing: &Object,
    message: &str,
) -> Option<Write> {
    if context.mode == Mode::Inform || unreferenced_csv(message).is_none() {
        expire_intervention(plan, context.now);
        return None;
    }
    let now = context.now;
    match plan.intervention {
        Some(due) if due > now => None,
        Some(due) if due + WINDOW >= now => intervene(context, plan, existing),
        _ => {
            plan.intervention = Some(now + GRACE_PERIOD);
            None
        }
    }
}

fn intervene(context: &Context<'_>, plan: &mut Plan, existing: &Object) -> Option<Write> {
    let state = |field: &str| text(existing, field);
    if !state("/status/currentCSV").is_empty() || !state("/status/installedCSV").is_empty() {
        return None;
    }
    let csv = plan.read(&context.observed.unreferenced_csv)?.as_ref()?;
    if is_copied(csv) {
        return None;
    }
    let mut repaired = existing.as_ref().clone();
    let status = repaired
        .as_object_mut()?
        .entry("status")
        .or_insert_with(|| json!({}));
    let status = status.as_object_mut()?;
    status.insert("currentCSV".to_owned(), json!(super::object::name(csv)));
    status
        .entry("lastUpdated")
        .or_insert_with(|| json!(seconds(context.now)));
    Some(Write::ReplaceStatus(repaired))
}

fn must_not_have(
    context: &Context<'_>,
    plan: &mut Plan,
    desired: &DesiredSubscription,
    existing: Option<&Object>,
) {
    let Some(existing) = existing else {
        let location = (desired.name.as_str(), desired.namespace.as_str());
        let absent = related(PART, location, COMPLIANT, messages::NOT_FOUND_AS_EXPECTED);
        plan.settle(State::new(PART.not_present(), absent));
        return;
    };
    if keeps(&context.policy.spec, RemovalOf::Subscriptions) {
        let kept = found(PART, existing, None, messages::leftover(PART.kind()));
        plan.settle(State::new(PART.kept(), kept));
    } else if is_deleting(existing) {
        let deleting = listed(PART, existing, NON_COMPLIANT, messages::STILL_DELETING);
        plan.settle(State::new(PART.deleting(&[]), deleting));
    } else {
        let unwanted = found(
            PART,
            existing,
            NON_COMPLIANT,
            messages::FOUND_BUT_SHOULD_NOT_EXIST,
        );
        let deleted = listed(PART, existing, COMPLIANT, messages::DELETION_SUCCESS);
        plan.add(Step::change(
            State::new(PART.present(&[]), unwanted),
            vec![Write::Delete(existing.clone())],
            State::new(PART.deleted(&[]), deleted),
        ));
    }
}
