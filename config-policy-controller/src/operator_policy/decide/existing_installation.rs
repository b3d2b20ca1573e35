//! An operator that is installed in another namespace for all namespaces: OLM copies its version here. Pure.

use serde_json::Value;

use super::approvals::properties;
use super::object::{Object, annotation, name};
use super::observed::CopiedCsv;
use super::spec::{DesiredGroup, Presence};
use super::state::{Interim, Part, Related, State, Step, Write};
use super::{Context, Plan, csv, deprecations, managed_annotation, minor_channels};
use crate::evaluate::cluster::text;
use crate::operator_policy::decide::MANAGED;

/// OLM's annotation with the properties of a version.
const PROPERTIES: &str = "operatorframework.io/properties";

/// The parts that the other installation takes care of.
const PARTS: &[Part] = &[
    Part::OperatorGroup,
    Part::Subscription,
    Part::InstallPlan,
    Part::Crd,
    Part::Deployment,
    Part::CatalogSource,
];

/// Whether an installation in another namespace can serve the policy.
pub fn is_possible(presence: Presence, group: &DesiredGroup) -> bool {
    presence == Presence::MustHave && group.selects_all_namespaces()
}

/// The copied version of a package.
pub fn find<'o>(copies: &'o [Object], package: &str) -> Option<&'o Object> {
    copies
        .iter()
        .find(|csv| package_of(csv).as_deref() == Some(package))
}

/// The package that a version belongs to, by OLM's properties.
fn package_of(csv: &Value) -> Option<String> {
    let properties = properties(annotation(csv, PROPERTIES)?);
    let mut packages = properties.iter().filter(|(kind, _)| kind == "olm.package");
    let (_, package) = packages.next()?;
    Some(text(package, "/packageName").to_owned())
}

/// Adds the steps of a policy whose operator is installed elsewhere to the plan.
pub fn decide(context: &Context<'_>, plan: &mut Plan, copied: &CopiedCsv) {
    let csv = &copied.csv;
    if !context.grants().allow(name(csv)) {
        plan.settle(csv::state(context, csv));
        return;
    }
    for part in PARTS {
        let condition = part.installed_elsewhere(&copied.namespace);
        plan.settle(State::new(condition, Related::Set(Vec::new())));
        if *part == Part::InstallPlan {
            plan.settle(csv::state(context, csv));
            deprecations::decide(context, plan, Some(csv));
            minor_channels::decide(context, plan);
        }
    }
    let Some(existing) = plan.read(&context.observed.subscription) else {
        return;
    };
    let Some(existing) = existing else { return };
    // A Subscription of this policy's own would install the operator a second time.
    if annotation(existing, MANAGED) == Some(managed_annotation(context.policy).as_str()) {
        plan.add(Step {
            part: Part::Subscription,
            before: None,
            writes: vec![Write::Delete(existing.clone())],
            after: None,
            needs: Vec::new(),
            interim: Interim::Silent,
        });
    }
}
