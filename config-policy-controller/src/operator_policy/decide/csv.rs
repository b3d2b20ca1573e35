//! The `ClusterServiceVersion`. Pure.

use super::object::{Object, name};
use super::spec::Presence;
use super::state::{
    COMPLIANT, Condition, INAPPLICABLE, NON_COMPLIANT, Part, State, Truth, compliance, found,
    related,
};
use super::{Context, Plan, RemovalOf, keeps, removal};
use crate::evaluate::cluster::text;
use crate::messages::operator as messages;

const PART: Part = Part::Csv;

/// Adds the steps for the version to the plan.
pub fn decide(context: &Context<'_>, plan: &mut Plan) {
    let Some(desired) = &context.desired.subscription else {
        let none = related(PART, ("", ""), INAPPLICABLE, messages::NO_CSV);
        let condition = Condition::fixed(PART, Truth::False, messages::RELEVANT_CSV_NOT_FOUND);
        plan.settle(State::new(condition, none));
        return;
    };
    let Ok(subscription) = context.subscription_found() else {
        return;
    };
    let Some(csvs) = plan.read(&context.observed.csvs) else {
        return;
    };
    if context.presence == Presence::MustNotHave {
        if csvs.is_empty() {
            let location = ("", desired.namespace.as_str());
            let absent = related(PART, location, COMPLIANT, messages::NOT_FOUND_AS_EXPECTED);
            plan.settle(State::new(PART.not_present(), absent));
        } else if keeps(&context.policy.spec, RemovalOf::ClusterServiceVersions) {
            plan.settle(removal::kept(PART, csvs));
        } else {
            plan.add(removal::delete_all(PART, csvs));
        }
        return;
    }
    let installed = subscription.map(|subscription| text(subscription, "/status/installedCSV"));
    let installed = installed.unwrap_or_default();
    if let Some(csv) = find(csvs, installed) {
        plan.settle(state(context, csv));
        return;
    }
    let listed = csvs.iter();
    let listed = listed.filter(|csv| installed.is_empty() || name(csv) == installed);
    let listed = listed.map(|csv| {
        let is_fine = compliance(text(csv, "/status/phase") == "Succeeded");
        found(PART, csv, is_fine, text(csv, "/status/reason"))
    });
    let mut listed: Vec<_> = listed.collect();
    if listed.is_empty() {
        let location = (desired.name.as_str(), desired.namespace.as_str());
        let reason = messages::NOT_FOUND_BUT_SHOULD_EXIST;
        listed.push(related(PART, location, NON_COMPLIANT, reason));
    }
    plan.settle(State::new(PART.missing(), listed));
}

/// The installed version.
pub fn find<'o>(csvs: &'o [Object], installed: &str) -> Option<&'o Object> {
    let mut csvs = csvs.iter();
    csvs.find(|csv| !installed.is_empty() && name(csv) == installed)
}

/// The state of the installed version.
pub fn state(context: &Context<'_>, csv: &Object) -> State {
    let csv_name = name(csv);
    if !context.grants().allow(csv_name) {
        let message = messages::unapproved_version(csv_name);
        let unapproved = found(PART, csv, NON_COMPLIANT, message.clone());
        let condition = Condition::new(PART, Truth::False, messages::UNAPPROVED_VERSION, message);
        return State::new(condition, unapproved);
    }
    let has_succeeded = text(csv, "/status/phase") == "Succeeded";
    let reason = Some(text(csv, "/status/reason")).filter(|reason| !reason.is_empty());
    let reason = reason.unwrap_or(messages::CSV_PENDING);
    let message = messages::csv_state(csv_name, text(csv, "/status/message"));
    let condition = Condition::new(PART, Truth::of(has_succeeded), reason, message);
    State::new(
        condition,
        found(PART, csv, compliance(has_succeeded), reason),
    )
}
