//! The whole life of an operator.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Governed, namespace, same};
use serde_json::{Value, json};

use crate::olm::approvals::approved;
use crate::olm::catalog::{Bundle, Package};
use crate::olm::cluster::{Clusters, MANAGED, Operator, WithOlm, takes};
use crate::olm::removing::nothing_left;

/// Approved by hand and by version, upgraded through the minor channels that the policy reports, disputed by another
/// policy, deprecated, and removed.
async fn live(operator: &Operator<'_>, place: &WithOlm) -> Result<()> {
    let catalog = format!("{}-catalog", operator.package);
    place
        .serve(operator.cluster, &catalog, &[package(operator, false)])
        .await?;
    namespace(operator.cluster, &operator.namespace).await?;
    let (first, second, third) = (
        operator.csv("0.50.0"),
        operator.csv("0.50.1"),
        operator.csv("0.51.0"),
    );
    let mut spec = operator.spec("enforce");
    spec["versions"] = json!([first]);
    spec["subscription"]["source"] = json!(catalog);
    spec["subscription"]["channel"] = json!("strimzi-0.50.x");
    // OLM would begin with the latest version of the channel.
    spec["subscription"]["startingCSV"] = json!(first);
    spec["complianceConfig"] = json!({"minorChannelUpgradeAvailable": "NonCompliant", "deprecationsPresent": "NonCompliant"});
    operator.apply(spec).await?;
    // The channel of the next minor version is known, and the version beyond the first one waits.
    waits(operator, &second).await?;
    operator
        .violates("a newer version of the operator is available in channel(s): strimzi-0.51.x")
        .await?;
    same(
        "the approvals",
        approved(operator).await?,
        vec![first.clone()],
    )?;

    operator.patch(json!({"versions": [first, second]})).await?;
    installed(operator, &second).await?;
    operator
        .patch(json!({"subscription": {"channel": "strimzi-0.51.x"}}))
        .await?;
    waits(operator, &third).await?;
    operator
        .patch(json!({"versions": [first, second, third]}))
        .await?;
    installed(operator, &third).await?;
    operator.complies().await?;
    let all = vec![first, second, third];
    same("the approvals", approved(operator).await?, all)?;

    disputed(operator).await?;
    place
        .serve(operator.cluster, &catalog, &[package(operator, true)])
        .await?;
    let message = format!(
        "the requested {} Package was deprecated. use another",
        operator.package
    );
    operator.violates(&message).await
}

/// The package with two minor channels.
fn package(operator: &Operator<'_>, is_deprecated: bool) -> Package {
    let older = [
        Bundle::new("0.50.0"),
        Bundle::new("0.50.1").replaces("0.50.0"),
    ];
    let newer = [
        Bundle::new("0.50.1"),
        Bundle::new("0.51.0").replaces("0.50.1"),
    ];
    let package = Package::new(&operator.package)
        .channel("strimzi-0.50.x", &older)
        .channel("strimzi-0.51.x", &newer);
    if is_deprecated {
        package.deprecated("olm.package", "", "use another")
    } else {
        package
    }
}

/// Waits until an upgrade lacks its approval.
async fn waits(operator: &Operator<'_>, csv: &str) -> Result<()> {
    let message = format!("but approval for [{csv}] is required");
    operator
        .says(
            [
                "InstallPlanCompliant",
                "True",
                "InstallPlanRequiresApproval",
            ],
            &message,
        )
        .await
}

async fn installed(operator: &Operator<'_>, csv: &str) -> Result<()> {
    let message = format!("ClusterServiceVersion ({csv}) - install strategy completed");
    operator
        .says(
            ["ClusterServiceVersionCompliant", "True", "InstallSucceeded"],
            &message,
        )
        .await
}

/// A second policy for the operator stops both, until it informs.
async fn disputed(operator: &Operator<'_>) -> Result<()> {
    let other = operator.beside(&format!("{}-other", operator.name), &operator.package);
    let mut spec = operator.policy().await?.data["spec"].clone();
    spec["complianceType"] = json!("mustnothave");
    other.apply(spec).await?;
    let message = "the specified operator is managed by multiple enforced policies";
    other.violates(message).await?;
    operator.violates(message).await?;
    other.patch(json!({"remediationAction": "inform"})).await?;
    operator.complies().await?;
    other.violates("the Subscription is present").await?;
    other.delete_policy().await
}

/// Keeps everything, then removes one kind after the other.
async fn removed(operator: &Operator<'_>) -> Result<()> {
    let keep = json!({
        "operatorGroups": "Keep", "subscriptions": "Keep", "clusterServiceVersions": "Keep",
        "customResourceDefinitions": "Keep",
    });
    operator
        .patch(json!({"complianceType": "mustnothave", "removalBehavior": keep}))
        .await?;
    operator.complies().await?;
    for (field, kind, behavior, reason) in [
        (
            "subscriptions",
            "Subscription",
            "Delete",
            "SubscriptionNotPresent",
        ),
        (
            "clusterServiceVersions",
            "ClusterServiceVersion",
            "Delete",
            "ClusterServiceVersionNotPresent",
        ),
        (
            "customResourceDefinitions",
            "CustomResourceDefinition",
            "Delete",
            "RelevantCRDNotFound",
        ),
        (
            "operatorGroups",
            "OperatorGroup",
            "DeleteIfUnused",
            "OperatorGroupNotPresent",
        ),
    ] {
        let found = takes_names(operator, kind).await?;
        ensure!(!found.is_empty(), "the {kind} was not kept");
        operator
            .patch(json!({"removalBehavior": {field: behavior}}))
            .await?;
        operator
            .says([&format!("{kind}Compliant"), "True", reason], "")
            .await?;
    }
    nothing_left(operator).await
}

/// The objects of a kind that are the operator's.
async fn takes_names(operator: &Operator<'_>, kind: &str) -> Result<Vec<String>> {
    if kind == "CustomResourceDefinition" {
        let crd = operator.crd();
        let found = operator
            .cluster
            .get("apiextensions.k8s.io/v1", kind, None, &crd)
            .await?;
        return Ok(found.map(|_| crd).into_iter().collect());
    }
    operator.names(kind).await
}

/// On the cluster of the policy.
pub(crate) async fn here(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::suggested(&world, "life");
    live(&operator, &world.here).await?;
    removed(&operator).await
}

/// On another cluster than the policy.
pub(crate) async fn hosted(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::suggested(&world, "life-hosted").hosted(&world);
    live(&operator, &world.there).await?;
    removed(&operator).await?;
    let here = world
        .list(
            crate::olm::cluster::OLM,
            "Subscription",
            Some(&operator.namespace),
        )
        .await?;
    ensure!(
        here.is_empty(),
        "it was subscribed on the cluster of the policy"
    );
    Ok(())
}

/// From a Policy on the hub: the operator is installed, and its deprecation is shown there.
pub(crate) async fn from_hub(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "governed").await?;
    let mut spec = operator.spec("enforce");
    spec["subscription"]["source"] = json!("governed-catalog");
    spec["complianceConfig"] = json!({"deprecationsPresent": "NonCompliant"});
    world
        .here
        .serve(&world, "governed-catalog", &[Package::plain("governed")])
        .await?;
    let template = json!({
        "apiVersion": "policy.open-cluster-management.io/v1beta1", "kind": "OperatorPolicy",
        "metadata": {"name": "governed"}, "spec": spec,
    });
    let policy = Governed::apply(&world.world, "governed", "enforce", vec![template]).await?;
    policy.place(&[MANAGED]).await?;
    shown(
        &policy,
        "Compliant",
        "install strategy completed with no errors",
    )
    .await?;
    let message = "the requested governed Package was deprecated. use another";
    let deprecated = Package::plain("governed").deprecated("olm.package", "", "use another");
    world
        .here
        .serve(&world, "governed-catalog", &[deprecated])
        .await?;
    shown(&policy, "NonCompliant", message).await?;
    policy.remove().await
}

/// Waits until the hub shows a compliance of the managed cluster, and a message of the operator's policy.
async fn shown(policy: &Governed<'_>, compliance: &str, part: &str) -> Result<()> {
    takes(format!("the hub shows {compliance}: {part}"), || async {
        let status = policy.status().await?;
        let of_cluster = status["status"].as_array().into_iter().flatten();
        let of_cluster: Vec<&Value> = of_cluster.collect();
        let first = of_cluster.first().context("no cluster")?;
        ensure!(first["compliant"] == compliance, "the status is {status:#}");
        let history = policy.history(MANAGED, "governed").await?;
        let newest = history.first().context("no history")?;
        ensure!(newest.contains(part), "the history is {history:#?}");
        Ok(())
    })
    .await
}
