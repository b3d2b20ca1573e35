//! Decides what a reconcile does: from the policy, what was read, and the time, to ordered steps. Pure.

pub mod aggregate;
pub mod approvals;
mod catalog_source;
mod crd;
pub mod csv;
pub mod deployment;
mod deprecations;
pub mod existing_installation;
pub mod install_plan;
mod minor_channels;
pub mod object;
pub mod observed;
pub mod operator_group;
pub mod package;
mod removal;
pub mod spec;
pub mod state;
pub mod subscription;

use jiff::Timestamp;
use reeve_api::operator_policy::{OperatorPolicy, OperatorPolicySpec, OperatorPolicyStatus};
use reeve_runtime::object::ObjectKey;
use serde_json::{Map, Value};

use crate::evaluate::cluster::text;
use crate::messages::operator as messages;
use approvals::Grants;
use object::{Object, Read, label};
use observed::Observed;
use spec::{Desired, DesiredSubscription, Presence};
use state::{Condition, Part, Related, State, Step, Truth, Write};

/// Label and annotation of Subscriptions that a policy manages. The annotation is `<namespace>.<name>` of the policy.
pub const MANAGED: &str = "operatorpolicy.policy.open-cluster-management.io/managed";

/// The prefix of OLM's labels of what belongs to an operator.
pub const OPERATOR_LABEL: &str = "operators.coreos.com/";

/// Whether the steps of a reconcile write to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They report only.
    Inform,
    /// They write.
    Enforce,
}

/// What a decision depends on.
pub struct Context<'a> {
    /// The policy, with its hub templates resolved.
    pub policy: &'a OperatorPolicy,
    /// Its latest status.
    pub status: &'a OperatorPolicyStatus,
    pub presence: Presence,
    pub mode: Mode,
    pub desired: &'a Desired,
    pub observed: &'a Observed,
    pub now: Timestamp,
}

/// What a reconcile does.
#[derive(Debug, Default)]
pub struct Plan {
    /// In this order.
    pub steps: Vec<Step>,
    /// The step after all others.
    last: Option<Step>,
    /// Why parts could not be decided. They keep their conditions.
    pub errors: Vec<String>,
    /// When the policy intervenes in a resolution that failed.
    pub intervention: Option<Timestamp>,
}

impl Plan {
    fn add(&mut self, step: Step) {
        self.steps.push(step);
    }

    fn settle(&mut self, state: State) {
        self.add(Step::settled(state));
    }

    /// The result of a read; `None` if it failed, which is recorded once.
    fn read<'r, T>(&mut self, read: &'r Read<T>) -> Option<&'r T> {
        match read {
            Ok(value) => Some(value),
            Err(error) => {
                if !self.errors.contains(error) {
                    self.errors.push(error.clone());
                }
                None
            }
        }
    }
}

impl Context<'_> {
    /// The Subscription on the cluster. The error is reported with its own part.
    fn subscription_found(&self) -> Result<Option<&Object>, &String> {
        self.observed.subscription.as_ref().map(Option::as_ref)
    }

    /// The installed version. The error is reported with its own part.
    fn installed_csv(&self) -> Result<Option<&Object>, &String> {
        let subscription = self.subscription_found()?;
        let csvs = self.observed.csvs.as_ref()?;
        Ok(subscription
            .and_then(|subscription| csv::find(csvs, text(subscription, "/status/installedCSV"))))
    }

    fn has_condition(&self, part: Part) -> bool {
        let mut conditions = self.status.conditions.iter().flatten();
        conditions.any(|condition| condition.type_ == part.condition_type())
    }

    /// What the policy approves.
    fn grants(&self) -> Grants {
        grants(&self.policy.spec, self.desired)
    }
}

/// What a policy approves.
pub fn grants(spec: &OperatorPolicySpec, desired: &Desired) -> Grants {
    let subscription = desired.subscription.as_ref();
    let starting_csv = subscription.map(|subscription| subscription.field("startingCSV"));
    Grants {
        versions: desired.versions.clone(),
        starting_csv: starting_csv.unwrap_or_default().to_owned(),
        approves_upgrades: spec::approves_upgrades(spec),
    }
}

/// The value of the annotation [`MANAGED`].
pub fn managed_annotation(policy: &OperatorPolicy) -> String {
    let key = ObjectKey::of(policy);
    format!("{}.{}", key.namespace, key.name)
}

/// The policy that the annotation [`MANAGED`] names. Namespaces have no dots, and policies may.
pub fn managing_policy(annotation: &str) -> Option<ObjectKey> {
    let (namespace, name) = annotation.split_once('.')?;
    Some(ObjectKey::new(namespace, name))
}

/// Sets the label and annotation of Subscriptions that a policy manages.
pub fn mark_managed(subscription: &mut Value, owner: &str) {
    let metadata = subscription
        .get_mut("metadata")
        .and_then(Value::as_object_mut);
    let Some(metadata) = metadata else { return };
    for (field, value) in [("labels", ""), ("annotations", owner)] {
        let values = metadata
            .entry(field)
            .or_insert_with(|| Value::Object(Map::new()));
        if let Some(values) = values.as_object_mut() {
            values.insert(MANAGED.to_owned(), Value::String(value.to_owned()));
        }
    }
}

/// The kinds whose objects a `mustnothave` policy may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalOf {
    OperatorGroups,
    Subscriptions,
    ClusterServiceVersions,
    CustomResourceDefinitions,
}

/// Whether a `mustnothave` policy keeps the objects of a kind in any case.
pub fn keeps(spec: &OperatorPolicySpec, of: RemovalOf) -> bool {
    let behavior = &spec.removal_behavior;
    let (given, default) = match of {
        RemovalOf::OperatorGroups => (&behavior.operator_groups, "DeleteIfUnused"),
        RemovalOf::Subscriptions => (&behavior.subscriptions, "Delete"),
        RemovalOf::ClusterServiceVersions => (&behavior.cluster_service_versions, "Delete"),
        RemovalOf::CustomResourceDefinitions => (&behavior.custom_resource_definitions, "Keep"),
    };
    let given = given.as_deref().filter(|given| !given.is_empty());
    given.unwrap_or(default).eq_ignore_ascii_case("Keep")
}

/// Whether a state that `complianceConfig` covers counts as compliant.
fn is_compliant(config: Option<&str>) -> bool {
    config == Some("Compliant")
}

/// The condition about the spec.
pub fn validity(desired: &Desired) -> State {
    let condition = match &desired.invalid {
        None => Condition::fixed(Part::Spec, Truth::True, messages::POLICY_VALIDATED),
        Some(reason) => {
            let invalid = messages::INVALID_POLICY_SPEC;
            Condition::new(Part::Spec, Truth::False, invalid, reason.as_str())
        }
    };
    State::new(condition, Related::Keep)
}

/// Decides the steps of a reconcile.
pub fn decide(context: &Context<'_>) -> Plan {
    let mut plan = all_steps(context);
    for step in &mut plan.steps {
        let part = step.part;
        step.writes.retain(|write| is_own(context, part, write));
    }
    plan
}

/// Whether a write is for a part of the policy's operator: what the reads select, checked once more before anything is
/// changed or deleted.
fn is_own(context: &Context<'_>, part: Part, write: &Write) -> bool {
    let object: &Value = match write {
        Write::Create(_) => return true,
        Write::Replace(object) | Write::ReplaceStatus(object) => object,
        Write::Delete(object) => object,
    };
    let Some(subscription) = &context.desired.subscription else {
        return false;
    };
    let is_here = text(object, "/metadata/namespace") == subscription.namespace;
    let has_label = || label(object, &operator_label(subscription)).is_some();
    match part {
        Part::Crd => has_label(),
        Part::Csv => is_here && has_label(),
        _ => is_here,
    }
}

/// OLM's label of what belongs to an operator.
pub fn operator_label(subscription: &DesiredSubscription) -> String {
    format!("{OPERATOR_LABEL}{}", subscription.label())
}

fn all_steps(context: &Context<'_>) -> Plan {
    let intervention = context.status.subscription_intervention_time.as_deref();
    let mut plan = Plan {
        intervention: intervention.and_then(|time| time.parse().ok()),
        ..Plan::default()
    };
    plan.settle(validity(context.desired));
    let Some(copied) = plan.read(&context.observed.copied) else {
        // An installation beside another one would be harmful, and whether there is one is not known.
        return plan;
    };
    if let Some(copied) = copied {
        existing_installation::decide(context, &mut plan, copied);
        return plan;
    }
    let group = operator_group::decide(context, &mut plan);
    subscription::decide(context, &mut plan, group);
    install_plan::decide(context, &mut plan);
    csv::decide(context, &mut plan);
    if let Ok(csv) = context.installed_csv() {
        deprecations::decide(context, &mut plan, csv);
    }
    minor_channels::decide(context, &mut plan);
    crd::decide(context, &mut plan);
    deployment::decide(context, &mut plan);
    catalog_source::decide(context, &mut plan);
    if let Some(last) = plan.last.take() {
        plan.add(last);
    }
    plan
}
