//! Operators that must be there.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{same, steadily, within};
use serde_json::json;

use crate::operator::cluster::{Cluster, Operator, SINCE};

/// From an empty cluster to an operator: namespace, group, Subscription, approval, version, Deployment.
pub(crate) async fn from_nothing(world: Arc<Cluster>) -> Result<()> {
    let operator = Operator::without_namespace(&world, "install").await?;
    let mut spec = operator.enforced();
    spec["versions"] = json!([operator.csv()]);
    operator.apply(spec).await?;
    let subscription = operator.subscribed().await?;
    let expected = json!({
        "channel": "stable", "installPlanApproval": "Manual", "name": "install",
        "source": "install-catalog", "sourceNamespace": "olm",
    });
    same("the spec", &subscription.data["spec"], &expected)?;
    same("the groups", operator.groups().await?.len(), 1)?;
    operator
        .condition("SubscriptionCompliant", "True", "SubscriptionMatches")
        .await?;
    operator
        .condition("OperatorGroupCompliant", "True", "OperatorGroupMatches")
        .await?;
    operator
        .condition("ValidPolicySpec", "True", "PolicyValidated")
        .await?;

    operator.versions(&operator.csv(), "").await?;
    operator
        .plan("install-a", &[&operator.csv()], "RequiresApproval")
        .await?;
    operator.approved("install-a").await?;
    operator
        .set_status("InstallPlan", "install-a", json!({"phase": "Installing"}))
        .await?;
    operator
        .condition("InstallPlanCompliant", "False", "InstallPlansInstalling")
        .await?;
    operator
        .set_status("InstallPlan", "install-a", json!({"phase": "Complete"}))
        .await?;
    operator.install().await?;
    let message = operator.is("Compliant").await?;
    let expected = "Compliant; the policy spec is valid, the OperatorGroup matches what is required by the policy, the Subscription matches what is required by the policy, no InstallPlans requiring approval were found, ClusterServiceVersion (install.v1) - install strategy completed with no errors, no CRDs were found for the operator, all operator Deployments have their minimum availability, CatalogSource was found";
    same("the message", message.as_str(), expected)?;

    let events = operator.events().await?;
    let compliant: Vec<&String> = events
        .iter()
        .filter(|event| event.starts_with("Compliant;"))
        .collect();
    same("the compliant events", compliant, vec![expected])?;
    ensure!(
        events
            .iter()
            .any(|event| event.contains("the Subscription required by the policy was created")),
        "the events are {events:#?}"
    );
    let created = operator.status().await?["relatedObjects"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|related| related["properties"]["createdByPolicy"] == true)
        .count();
    same("the objects that the policy created", created, 2)
}

/// A policy that has nothing to do writes no status and no event.
pub(crate) async fn settled(world: Arc<Cluster>) -> Result<()> {
    let operator = Operator::new(&world, "settled").await?;
    operator.apply(operator.enforced()).await?;
    operator.install().await?;
    operator.is("Compliant").await?;
    let before = within("the policy settles", || async {
        let one = operator.policy().await?.metadata.resource_version;
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        let other = operator.policy().await?.metadata.resource_version;
        ensure!(one == other, "it is still written");
        Ok(one)
    })
    .await?;
    let events = operator.events().await?.len();
    // A change of an object that the policy reads.
    let annotations = json!({"metadata": {"annotations": {"touched": "yes"}}});
    let (kind, namespace) = ("Subscription", Some(operator.namespace.as_str()));
    world
        .patch(
            crate::operator::cluster::OLM,
            kind,
            namespace,
            &operator.name,
            annotations,
        )
        .await?;
    steadily("neither status nor events are written", || async {
        let now = operator.policy().await?.metadata.resource_version;
        same("the version of the policy", &now, &before)?;
        same("the events", operator.events().await?.len(), events)
    })
    .await
}

/// The framework asks for a new report by an empty compliance.
pub(crate) async fn reset(world: Arc<Cluster>) -> Result<()> {
    let operator = Operator::new(&world, "reset").await?;
    operator.apply(operator.enforced()).await?;
    operator.install().await?;
    let message = operator.is("Compliant").await?;
    let count = |events: &[String]| events.iter().filter(|event| **event == message).count();
    let before = count(&operator.events().await?);
    operator.patch_status(json!({"compliant": null})).await?;
    within("it is reported again", || async {
        let events = operator.events().await?;
        ensure!(count(&events) > before, "the events are {events:#?}");
        Ok(())
    })
    .await?;
    same(
        "the compliance",
        &operator.status().await?["compliant"],
        &json!("Compliant"),
    )
}

/// A Subscription that somebody applied is managed from then on, and keeps what the policy does not determine.
pub(crate) async fn adopted(world: Arc<Cluster>) -> Result<()> {
    let operator = Operator::new(&world, "adopted").await?;
    let applied = json!({"kubectl.kubernetes.io/last-applied-configuration": "{}"});
    let config = json!({"nodeSelector": {"old": "yes"}});
    let spec = json!({
        "name": "adopted", "source": "adopted-catalog", "sourceNamespace": "olm",
        "channel": "beta", "config": config,
    });
    let existing = json!({"metadata": {"annotations": applied}, "spec": spec});
    operator.create("Subscription", "adopted", existing).await?;
    operator.versions("", "").await?;
    let mut spec = operator.enforced();
    spec["subscription"]["channel"] = json!("stable");
    spec["subscription"]["config"] = json!({"nodeSelector": {"new": "yes"}});
    operator.apply(spec).await?;
    operator
        .condition("SubscriptionCompliant", "True", "SubscriptionMatches")
        .await?;
    let subscription = operator.subscribed().await?;
    same(
        "the channel",
        &subscription.data["spec"]["channel"],
        &json!("stable"),
    )?;
    let config = json!({"nodeSelector": {"new": "yes"}});
    same("the config", &subscription.data["spec"]["config"], &config)?;
    same(
        "the status",
        &subscription.data["status"]["lastUpdated"],
        &json!(SINCE),
    )?;
    let annotations = subscription.metadata.annotations.unwrap_or_default();
    let key = "kubectl.kubernetes.io/last-applied-configuration";
    same(
        "the annotation",
        annotations.get(key).map(String::as_str),
        Some("{}"),
    )?;
    let key = "operatorpolicy.policy.open-cluster-management.io/managed";
    same(
        "the owner",
        annotations.get(key).map(String::as_str),
        Some("managed.adopted"),
    )?;
    let events = operator.events().await?;
    ensure!(
        events
            .iter()
            .any(|event| event.contains("the Subscription was updated to match the policy")),
        "the events are {events:#?}"
    );
    Ok(())
}

/// OLM does not connect a new Subscription with the version that is there. The policy does, after half a minute.
pub(crate) async fn intervention(world: Arc<Cluster>) -> Result<()> {
    let operator = Operator::new(&world, "repair").await?;
    operator.apply(operator.enforced()).await?;
    operator.subscribed().await?;
    operator.make_csv(&operator.csv(), json!({})).await?;
    let message = "constraints not satisfiable: subscription repair exists, clusterserviceversion repair.v1 exists and is not referenced by a subscription";
    let failed = json!({
        "type": "ResolutionFailed", "status": "True", "reason": "ConstraintsNotSatisfiable",
        "message": message, "lastTransitionTime": SINCE,
    });
    let status = json!({"lastUpdated": SINCE, "conditions": [failed]});
    operator
        .set_status("Subscription", "repair", status)
        .await?;
    operator
        .condition(
            "SubscriptionCompliant",
            "False",
            "ConstraintsNotSatisfiable",
        )
        .await?;
    let due = operator.status().await?["subscriptionInterventionTime"].clone();
    ensure!(due.is_string(), "no intervention is planned");
    within("the Subscription is repaired", || async {
        let subscription = operator.subscribed().await?;
        let current = &subscription.data["status"]["currentCSV"];
        same("the version", current, &json!("repair.v1"))
    })
    .await
}

/// The state of the catalog changes the compliance only if the policy says so.
pub(crate) async fn catalog(world: Arc<Cluster>) -> Result<()> {
    let operator = Operator::new(&world, "health").await?;
    operator.apply(operator.enforced()).await?;
    operator.install().await?;
    operator.is("Compliant").await?;
    operator.catalog_is("TRANSIENT_FAILURE").await?;
    let reason = "CatalogSourcesFoundUnhealthy";
    operator
        .condition("CatalogSourcesUnhealthy", "False", reason)
        .await?;
    operator.is("Compliant").await?;
    operator
        .patch(json!({"complianceConfig": {"catalogSourceUnhealthy": "NonCompliant"}}))
        .await?;
    operator
        .condition("CatalogSourcesUnhealthy", "True", reason)
        .await?;
    operator.is("NonCompliant").await?;
    operator.catalog_is("READY").await?;
    operator.is("Compliant").await?;
    let related = operator.related("CatalogSource").await?;
    let (_, compliant, _) = related.first().context("no related catalog")?;
    same("the catalog", compliant.as_str(), "Compliant")
}
