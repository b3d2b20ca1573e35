//! Reads the objects of OLM.

use std::sync::Arc;

use serde_json::Value;

use super::Reads;
use super::compare::compare_with_cluster;
use crate::evaluate::cluster::{Cluster, text};
use crate::operator_policy::decide::approvals::{Approver, Grants};
use crate::operator_policy::decide::object::{COPIED_FROM, Object, Read, annotation, label, name};
use crate::operator_policy::decide::observed::{CopiedCsv, Observed, Update};
use crate::operator_policy::decide::spec::{Desired, DesiredSubscription, Presence, names};
use crate::operator_policy::decide::state::Part;
use crate::operator_policy::decide::{
    MANAGED, Mode, OPERATOR_LABEL, RemovalOf, csv, deployment, existing_installation, install_plan,
    keeps, managed_annotation, managing_policy, mark_managed, operator_group, operator_label,
    subscription,
};
use reeve_api::operator_policy::OperatorPolicy;
use reeve_runtime::object::ObjectKey;

/// A policy whose objects are read.
pub struct ObservedPolicy<'p, G> {
    pub policy: &'p OperatorPolicy,
    pub presence: Presence,
    pub mode: Mode,
    pub desired: &'p Desired,
    /// What another policy approves.
    pub grants_of: G,
}

/// Reads everything that the decision needs. Each read keeps its own error.
pub async fn observe<C: Cluster, G: Fn(&ObjectKey) -> Option<Grants>>(
    reads: &Reads<'_, C>,
    of: &ObservedPolicy<'_, G>,
    package: Read<Option<Object>>,
) -> Observed {
    let mut observed = Observed {
        package,
        ..Observed::default()
    };
    let Some(desired) = &of.desired.subscription else {
        return observed;
    };
    observed.copied = copied(reads, of, desired).await;
    let location = (desired.name.as_str(), desired.namespace.as_str());
    observed.subscription = reads
        .get(Part::Subscription, "the Subscription", location)
        .await;
    if !matches!(observed.copied, Ok(None)) {
        return observed;
    }
    groups(reads, of, &mut observed).await;
    subscriptions(reads, of, desired, &mut observed).await;
    installed(reads, desired, &mut observed).await;
    install_plans(reads, of, desired, &mut observed).await;
    let catalog = (desired.field("source"), desired.field("sourceNamespace"));
    observed.catalog_source = reads
        .get(Part::CatalogSource, "CatalogSource", catalog)
        .await;
    observed
}

/// The copy that makes an installation unnecessary, if there is one and its original exists.
async fn copied<C: Cluster, G>(
    reads: &Reads<'_, C>,
    of: &ObservedPolicy<'_, G>,
    desired: &DesiredSubscription,
) -> Read<Option<CopiedCsv>> {
    let group = of.desired.operator_group.as_ref();
    if !group.is_some_and(|group| existing_installation::is_possible(of.presence, group)) {
        return Ok(None);
    }
    let copies = reads
        .list(Part::Csv, "copied CSVs", &desired.namespace, COPIED_FROM)
        .await?;
    let Some(copy) = existing_installation::find(&copies, &desired.name) else {
        return Ok(None);
    };
    let namespace = label(copy, COPIED_FROM).unwrap_or_default();
    let original = reads
        .get(Part::Csv, "the copied CSV", (name(copy), namespace))
        .await?;
    Ok(original.map(|_| CopiedCsv {
        csv: Arc::clone(copy),
        namespace: namespace.to_owned(),
    }))
}

async fn groups<C: Cluster, G>(
    reads: &Reads<'_, C>,
    of: &ObservedPolicy<'_, G>,
    observed: &mut Observed,
) {
    let Some(group) = &of.desired.operator_group else {
        return;
    };
    let part = Part::OperatorGroup;
    observed.operator_groups = reads
        .list(part, "OperatorGroups", &group.namespace, "")
        .await;
    let Ok([existing]) = observed.operator_groups.as_deref() else {
        return;
    };
    match of.presence {
        Presence::MustHave if operator_group::is_same(group, existing) => {
            observed.group_update = update(reads, part, &group.object(), existing).await;
        }
        Presence::MustHave => {}
        Presence::MustNotHave if keeps(&of.policy.spec, RemovalOf::OperatorGroups) => {}
        Presence::MustNotHave => {
            let part = Part::Subscription;
            let namespace = &group.namespace;
            observed.subscriptions = reads.list(part, "Subscriptions", namespace, "").await;
        }
    }
}

async fn subscriptions<C: Cluster, G>(
    reads: &Reads<'_, C>,
    of: &ObservedPolicy<'_, G>,
    desired: &DesiredSubscription,
    observed: &mut Observed,
) {
    if of.presence == Presence::MustNotHave {
        return;
    }
    let Ok(Some(existing)) = &observed.subscription else {
        let part = Part::Subscription;
        observed.subscriptions = reads
            .list(part, "Subscriptions", &desired.namespace, "")
            .await;
        return;
    };
    let mut object = desired.object();
    if of.mode == Mode::Inform
        && let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
    {
        // Which approval it has is the user's choice as long as the policy does not enforce another.
        spec.remove("installPlanApproval");
    }
    let updated = update(reads, Part::Subscription, &object, existing).await;
    observed.subscription_update = match of.mode {
        Mode::Enforce => with_management(of.policy, existing, updated),
        Mode::Inform => updated,
    };
    let failure = subscription::resolution_failure(existing);
    let message = failure.map(|failure| text(failure, "/message"));
    if let Some(csv) = message.and_then(subscription::unreferenced_csv) {
        let what = "the existing CSV in the subscription status";
        let location = (csv, desired.namespace.as_str());
        observed.unreferenced_csv = reads.get(Part::Csv, what, location).await;
    }
}

async fn update<C: Cluster>(
    reads: &Reads<'_, C>,
    part: Part,
    desired: &Value,
    existing: &Object,
) -> Update {
    match reads.kind(&part.gvk()).await {
        Ok(kind) => compare_with_cluster(reads.objects, (part, &kind), desired, existing).await,
        Err(error) => Update::Failed(error),
    }
}

/// The update with the label and annotation of Subscriptions that a policy manages.
fn with_management(policy: &OperatorPolicy, existing: &Object, update: Update) -> Update {
    let owner = managed_annotation(policy);
    let is_managed =
        label(existing, MANAGED).is_some() && annotation(existing, MANAGED) == Some(&owner);
    let mut merged = match update {
        Update::Needed(merged) => merged,
        Update::None if !is_managed => Box::new(existing.as_ref().clone()),
        other => return other,
    };
    mark_managed(&mut merged, &owner);
    Update::Needed(merged)
}

async fn installed<C: Cluster>(
    reads: &Reads<'_, C>,
    desired: &DesiredSubscription,
    observed: &mut Observed,
) {
    let selector = operator_label(desired);
    observed.csvs = reads
        .list(Part::Csv, "CSVs", &desired.namespace, &selector)
        .await;
    observed.crds = reads.list(Part::Crd, "CRDs", "", &selector).await;
    let (Ok(Some(subscription)), Ok(csvs)) = (&observed.subscription, &observed.csvs) else {
        return;
    };
    let Some(csv) = csv::find(csvs, text(subscription, "/status/installedCSV")) else {
        return;
    };
    let namespace = text(csv, "/metadata/namespace");
    for name in deployment::names(csv) {
        let read = reads
            .get(Part::Deployment, "the Deployment", (&name, namespace))
            .await;
        observed.deployments.push((name, read));
    }
}

async fn install_plans<C: Cluster, G: Fn(&ObjectKey) -> Option<Grants>>(
    reads: &Reads<'_, C>,
    of: &ObservedPolicy<'_, G>,
    desired: &DesiredSubscription,
    observed: &mut Observed,
) {
    let Ok(Some(subscription)) = &observed.subscription else {
        return;
    };
    let version = |field: &str| text(subscription, field);
    if version("/status/currentCSV").is_empty() && version("/status/installedCSV").is_empty() {
        return;
    }
    let namespace = &desired.namespace;
    observed.install_plans = reads
        .list(Part::InstallPlan, "InstallPlans", namespace, "")
        .await;
    let Ok(install_plans) = &observed.install_plans else {
        return;
    };
    let chosen = install_plan::choose(install_plans, subscription);
    let waits = chosen.is_some_and(|plan| text(plan, "/status/phase") == "RequiresApproval");
    if waits && of.mode == Mode::Enforce && of.presence == Presence::MustHave {
        observed.approvers = approvers(reads, of, subscription).await;
    }
}

/// The other policies with Subscriptions in the namespace of this one, as far as they approve anything.
async fn approvers<C: Cluster, G: Fn(&ObjectKey) -> Option<Grants>>(
    reads: &Reads<'_, C>,
    of: &ObservedPolicy<'_, G>,
    own: &Object,
) -> Read<Vec<Approver>> {
    let namespace = text(own, "/metadata/namespace");
    let managed = reads
        .list(Part::Subscription, "Subscriptions", namespace, MANAGED)
        .await?;
    let mut approvers = Vec::new();
    for subscription in managed {
        if text(&subscription, "/metadata/uid") == text(own, "/metadata/uid") {
            continue;
        }
        let owner = annotation(&subscription, MANAGED).and_then(managing_policy);
        let Some(grants) = owner.and_then(|owner| (of.grants_of)(&owner)) else {
            continue;
        };
        let label = names::olm_label(name(&subscription), namespace);
        let selector = format!("{OPERATOR_LABEL}{label}");
        let csvs = reads.list(Part::Csv, "CSVs", namespace, &selector).await?;
        approvers.push(Approver {
            grants,
            subscription,
            csvs,
        });
    }
    Ok(approvers)
}
