//! The operator's Deployments. Pure.

use serde_json::Value;

use super::object::Object;
use super::spec::Presence;
use super::state::{
    COMPLIANT, Condition, INAPPLICABLE, NON_COMPLIANT, Part, Related, State, Truth, compliance,
    found, related,
};
use super::{Context, Plan, is_compliant};
use crate::evaluate::cluster::text;
use crate::messages::operator as messages;

const PART: Part = Part::Deployment;

/// The names of the Deployments that a version installs.
pub fn names(csv: &Value) -> Vec<String> {
    let deployments = csv.pointer("/spec/install/spec/deployments");
    let deployments = deployments.and_then(Value::as_array).into_iter().flatten();
    let names = deployments.map(|deployment| text(deployment, "/name").to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

/// Adds the state of the Deployments to the plan.
pub fn decide(context: &Context<'_>, plan: &mut Plan) {
    if context.desired.subscription.is_none() {
        plan.settle(State::new(PART.undetermined(), Related::Keep));
        return;
    }
    let Ok(csv) = context.installed_csv() else {
        return;
    };
    let is_mustnothave = context.presence == Presence::MustNotHave;
    let Some(csv) = csv else {
        plan.settle(if is_mustnothave {
            // The Deployments of a version that was removed stay listed.
            State::new(PART.not_applicable(), Related::Keep)
        } else {
            let condition = Condition::fixed(PART, Truth::True, messages::NO_RELEVANT_DEPLOYMENTS);
            State::new(
                condition,
                related(PART, ("", ""), INAPPLICABLE, messages::NO_DEPLOYMENT),
            )
        });
        return;
    };
    let namespace = text(csv, "/metadata/namespace").to_owned();
    let mut deployments: Vec<(&str, Option<&Object>)> = Vec::new();
    for (name, read) in &context.observed.deployments {
        let Some(read) = plan.read(read) else { return };
        deployments.push((name, read.as_ref()));
    }
    plan.settle(if is_mustnothave {
        let ignored = |(name, object): &(&str, Option<&Object>)| {
            let absent = || {
                let reason = messages::NOT_FOUND_AS_EXPECTED;
                related(PART, (name, &namespace), COMPLIANT, reason)
            };
            let ignored =
                |object: &Object| found(PART, object, COMPLIANT, messages::IGNORED_IN_MUSTNOTHAVE);
            object.map_or_else(absent, ignored)
        };
        let ignored: Vec<_> = deployments.iter().map(ignored).collect();
        State::new(PART.not_applicable(), ignored)
    } else {
        availability(context, &deployments, &namespace)
    });
}

fn availability(
    context: &Context<'_>,
    deployments: &[(&str, Option<&Object>)],
    namespace: &str,
) -> State {
    let is_fine = is_compliant(
        context
            .policy
            .spec
            .compliance_config
            .deployments_unavailable
            .as_deref(),
    );
    let (mut unavailable, mut missing) = (Vec::new(), Vec::new());
    let listed = deployments.iter().map(|(name, object)| match object {
        None => {
            missing.push(*name);
            let reason = messages::NOT_FOUND_BUT_SHOULD_EXIST;
            related(PART, (name, namespace), NON_COMPLIANT, reason)
        }
        Some(object) if lacks_replicas(object) => {
            unavailable.push(*name);
            let reason = if is_fine {
                messages::DEPLOYMENT_UNAVAILABLE_IGNORED
            } else {
                messages::DEPLOYMENT_UNAVAILABLE
            };
            found(PART, object, compliance(is_fine), reason)
        }
        Some(object) => found(PART, object, COMPLIANT, messages::DEPLOYMENT_AVAILABLE),
    });
    let listed: Vec<_> = listed.collect();
    let condition = if missing.len() == deployments.len() {
        Condition::fixed(PART, Truth::True, messages::NO_EXISTING_DEPLOYMENTS)
    } else if unavailable.is_empty() && missing.is_empty() {
        Condition::fixed(PART, Truth::True, messages::DEPLOYMENTS_AVAILABLE)
    } else if unavailable.is_empty() {
        let (reason, _) = messages::DEPLOYMENTS_AVAILABLE;
        Condition::new(
            PART,
            Truth::True,
            reason,
            messages::deployments_missing(&missing),
        )
    } else {
        let message = messages::deployments_unavailable(&unavailable);
        let reason = messages::DEPLOYMENTS_UNAVAILABLE;
        Condition::new(PART, Truth::of(is_fine), reason, message)
    };
    State::new(condition, listed)
}

fn lacks_replicas(deployment: &Value) -> bool {
    let unavailable = deployment.pointer("/status/unavailableReplicas");
    unavailable
        .and_then(Value::as_i64)
        .is_some_and(|count| count > 0)
}
