//! The definitions of the operator's kinds. Pure.

use super::object::Object;
use super::spec::Presence;
use super::state::{COMPLIANT, Condition, INAPPLICABLE, Part, State, Truth, found, related};
use super::{Context, Plan, RemovalOf, keeps, removal};
use crate::messages::operator as messages;

const PART: Part = Part::Crd;

/// Adds the steps for the definitions to the plan.
pub fn decide(context: &Context<'_>, plan: &mut Plan) {
    let none = || {
        let condition = Condition::fixed(PART, Truth::True, messages::RELEVANT_CRD_NOT_FOUND);
        State::new(
            condition,
            related(PART, ("", ""), INAPPLICABLE, messages::NO_CRD),
        )
    };
    if context.desired.subscription.is_none() {
        plan.settle(none());
        return;
    }
    let Some(crds) = plan.read(&context.observed.crds) else {
        return;
    };
    if crds.is_empty() {
        plan.settle(none());
    } else if context.presence == Presence::MustHave {
        let matched = |crd: &Object| found(PART, crd, COMPLIANT, messages::FOUND_AS_EXPECTED);
        let condition = Condition::fixed(PART, Truth::True, messages::RELEVANT_CRD_FOUND);
        plan.settle(State::new(
            condition,
            crds.iter().map(matched).collect::<Vec<_>>(),
        ));
    } else if keeps(&context.policy.spec, RemovalOf::CustomResourceDefinitions) {
        plan.settle(removal::kept(PART, crds));
    } else {
        plan.add(removal::delete_all(PART, crds));
    }
}
