//! The catalog that the operator comes from. Its condition is inverted: False is good. Pure.

use super::spec::Presence;
use super::state::{
    COMPLIANT, Condition, NON_COMPLIANT, Part, Related, State, Truth, compliance, found, listed,
    related,
};
use super::{Context, Plan, is_compliant};
use crate::evaluate::cluster::text;
use crate::messages::operator as messages;

const PART: Part = Part::CatalogSource;
const READY: &str = "READY";

/// Adds the state of the catalog to the plan.
pub fn decide(context: &Context<'_>, plan: &mut Plan) {
    let is_mustnothave = context.presence == Presence::MustNotHave;
    let Some(desired) = &context.desired.subscription else {
        let condition = if is_mustnothave {
            PART.not_applicable()
        } else {
            PART.undetermined()
        };
        plan.settle(State::new(condition, Related::Keep));
        return;
    };
    let Some(catalog) = plan.read(&context.observed.catalog_source) else {
        return;
    };
    let location = (desired.field("source"), desired.field("sourceNamespace"));
    if is_mustnothave {
        let object = match catalog {
            Some(catalog) => found(PART, catalog, COMPLIANT, messages::IGNORED_IN_MUSTNOTHAVE),
            None => related(PART, location, COMPLIANT, messages::NOT_FOUND_AS_EXPECTED),
        };
        plan.settle(State::new(PART.not_applicable(), object));
        return;
    }
    let is_fine = is_compliant(
        context
            .policy
            .spec
            .compliance_config
            .catalog_source_unhealthy
            .as_deref(),
    );
    let bad = Truth::of(!is_fine);
    plan.settle(match catalog {
        None => {
            let message = messages::catalog_source_not_found(location.0);
            let reason = messages::CATALOG_SOURCE_NOT_FOUND;
            let object_reason = messages::NOT_FOUND_BUT_SHOULD_EXIST;
            State::new(
                Condition::new(PART, bad, reason, message),
                related(PART, location, compliance(is_fine), object_reason),
            )
        }
        Some(catalog) if catalog.pointer("/status/connectionState").is_none() => State::new(
            Condition::fixed(PART, bad, messages::CATALOG_SOURCE_UNKNOWN),
            listed(
                PART,
                catalog,
                NON_COMPLIANT,
                messages::STATE_UNKNOWN_RELATED,
            ),
        ),
        Some(catalog) => {
            let state = text(catalog, "/status/connectionState/lastObservedState");
            if state == READY {
                State::new(
                    Condition::fixed(PART, Truth::False, messages::CATALOG_SOURCE_FOUND),
                    listed(PART, catalog, COMPLIANT, messages::FOUND_AS_EXPECTED),
                )
            } else {
                State::new(
                    Condition::fixed(PART, bad, messages::CATALOG_SOURCE_UNHEALTHY),
                    listed(
                        PART,
                        catalog,
                        compliance(is_fine),
                        messages::FOUND_UNHEALTHY,
                    ),
                )
            }
        }
    });
}
