//! Operators that must be there.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{apply_json, namespace, same, steadily, steadily_for};
use reeve_testkit::OLM_NAMESPACE;
use serde_json::{Value, json};

use crate::olm::catalog::Package;
use crate::olm::cluster::{CATALOG, Clusters, OLM, Operator, takes};

const SUBSCRIPTION: &str = "SubscriptionCompliant";

/// Cases 1, 2, 57 and 58: everything by default, also after the catalog has gone.
pub(crate) async fn defaults(world: Arc<Clusters>) -> Result<()> {
    let catalog = "fleeting";
    world
        .here
        .serve(&world, catalog, &[Package::plain("fleeting")])
        .await?;
    let operator = Operator::suggested(&world, "fleeting");
    operator
        .apply(json!({
            "remediationAction": "enforce", "complianceType": "musthave",
            "upgradeApproval": "Automatic", "subscription": {"name": "fleeting"},
        }))
        .await?;
    operator
        .reports("the Subscription required by the policy was created")
        .await?;
    operator.complies().await?;
    let subscription = operator.subscription().await?;
    let expected = json!({
        "channel": "stable", "installPlanApproval": "Automatic", "name": "fleeting",
        "source": catalog, "sourceNamespace": OLM_NAMESPACE,
    });
    same("the spec", &subscription.data["spec"], &expected)?;
    let spec = operator.policy().await?.data["spec"].clone();
    let removal = json!({
        "operatorGroups": "DeleteIfUnused", "subscriptions": "Delete",
        "clusterServiceVersions": "Delete", "customResourceDefinitions": "Keep",
    });
    same("the removal behaviour", &spec["removalBehavior"], &removal)?;
    let config = json!({
        "catalogSourceUnhealthy": "Compliant", "deploymentsUnavailable": "NonCompliant",
        "upgradesAvailable": "Compliant", "deprecationsPresent": "Compliant",
        "minorChannelUpgradeAvailable": "Compliant",
    });
    same("the compliance", &spec["complianceConfig"], &config)?;

    let source = json!({
        "apiVersion": OLM, "kind": "CatalogSource",
        "metadata": {"name": catalog, "namespace": OLM_NAMESPACE},
    });
    world.delete(&source.to_string()).await?;
    operator
        .says(
            ["CatalogSourcesUnhealthy", "False", "CatalogSourcesNotFound"],
            catalog,
        )
        .await?;
    operator.patch(json!({"severity": "low"})).await?;
    steadily("the policy is valid", || async {
        operator
            .condition("ValidPolicySpec", "True", "PolicyValidated")
            .await?;
        Ok(())
    })
    .await
}

/// Case 3: defaults of another catalog.
pub(crate) async fn partial_defaults(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "partial").await?;
    let mut spec = operator.spec("inform");
    spec["subscription"]["channel"] = Value::Null;
    spec["subscription"]["source"] = json!("wrong");
    operator.apply(spec).await?;
    let message = "NonCompliant; the subscription defaults could not be determined because the catalog specified in the policy does not match what was found in the PackageManifest on the cluster";
    operator.violates(message).await?;
    operator.reports(message).await
}

/// Case 16: a channel that does not exist.
pub(crate) async fn wrong_channel(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "shared").await?;
    operator.apply(operator.spec("enforce")).await?;
    operator
        .says([SUBSCRIPTION, "True", "SubscriptionMatches"], "matches")
        .await?;
    operator
        .patch(json!({"subscription": {"channel": "fake"}}))
        .await?;
    operator
        .reports("the Subscription was updated to match the policy")
        .await?;
    let message = "constraints not satisfiable: refer to the Subscription for more details";
    operator
        .says(
            [SUBSCRIPTION, "False", "ConstraintsNotSatisfiable"],
            message,
        )
        .await?;
    let related = ["shared", "NonCompliant", "ConstraintsNotSatisfiable"];
    operator.relates("Subscription", &[related]).await
}

/// Cases 17 and 18: what a policy that informs compares.
pub(crate) async fn inform_compares(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "adopted").await?;
    let mut subscription = operator.spec("inform")["subscription"].clone();
    subscription["installPlanApproval"] = json!("Automatic");
    subscription
        .as_object_mut()
        .context("no object")?
        .remove("namespace");
    operator
        .put("Subscription", "adopted", subscription)
        .await?;
    operator.apply(operator.spec("inform")).await?;
    operator
        .says([SUBSCRIPTION, "True", "SubscriptionMatches"], "matches")
        .await?;
    operator
        .patch(json!({"subscription": {"sourceNamespace": "elsewhere"}}))
        .await?;
    operator
        .says(
            [SUBSCRIPTION, "False", "SubscriptionMismatch"],
            "does not match",
        )
        .await?;
    let related = [
        "adopted",
        "NonCompliant",
        "Resource found but does not match",
    ];
    operator.relates("Subscription", &[related]).await
}

/// Cases 19 to 21: an operator that cannot serve all namespaces.
pub(crate) async fn failed_csv(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "etcd").await?;
    operator.apply(operator.without_group("enforce")).await?;
    let condition = [
        "ClusterServiceVersionCompliant",
        "False",
        "UnsupportedOperatorGroup",
    ];
    operator
        .says(condition, "AllNamespaces InstallModeType not supported")
        .await?;
    let csv = operator.csv("0.9.4");
    let related = [csv.as_str(), "NonCompliant", "UnsupportedOperatorGroup"];
    operator
        .relates("ClusterServiceVersion", &[related])
        .await?;
    let missing = [
        "etcd",
        "NonCompliant",
        "Resource not found but should exist",
    ];
    operator.relates("Deployment", &[missing]).await?;
    operator
        .says(
            ["DeploymentCompliant", "True", "NoExistingDeployments"],
            "no existing",
        )
        .await?;
    let events = operator.events().await?;
    let compliant: Vec<&String> = events
        .iter()
        .filter(|event| event.starts_with("Compliant;"))
        .collect();
    ensure!(compliant.is_empty(), "{compliant:#?}");
    Ok(())
}

/// An operator whose Deployment never gets ready.
pub(crate) async fn never_ready(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "never").await?;
    operator.apply(operator.spec("enforce")).await?;
    let message = "the deployments never do not have their minimum availability";
    operator
        .says(
            ["DeploymentCompliant", "False", "DeploymentsUnavailable"],
            message,
        )
        .await?;
    operator
        .relates(
            "Deployment",
            &[["never", "NonCompliant", "Deployment Unavailable"]],
        )
        .await?;
    operator
        .says(
            ["ClusterServiceVersionCompliant", "False", "InstallWaiting"],
            "never",
        )
        .await?;
    operator
        .patch(json!({"complianceConfig": {"deploymentsUnavailable": "Compliant"}}))
        .await?;
    operator
        .says(
            ["DeploymentCompliant", "True", "DeploymentsUnavailable"],
            message,
        )
        .await
}

/// An operator that needs another package: OLM installs both by one install plan. The catalog has the objects of the
/// versions, so that the plan does not name the packages that they need: each needs a policy that approves it.
pub(crate) async fn needing(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "needing").await?;
    let (needing, needed) = (operator.csv("0.0.3"), "needed.v0.0.3");
    let mut spec = operator.spec("enforce");
    spec["versions"] = json!([needing]);
    operator.apply(spec).await?;
    let waits = format!(
        "an InstallPlan to update to [{needed}, {needing}] is available for approval but approval for [{needed}] is required"
    );
    operator
        .says(
            [
                "InstallPlanCompliant",
                "True",
                "InstallPlanRequiresApproval",
            ],
            &waits,
        )
        .await?;
    let other = operator.beside("needed", "needed");
    other.apply(other.spec("enforce")).await?;
    for operator in [&operator, &other] {
        operator.complies().await?;
    }
    Ok(())
}

/// Cases 64 and 65: templates.
pub(crate) async fn templates(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "lookup").await?;
    let config = |channel: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "lookup", "namespace": operator.namespace},
            "data": {"channel": channel, "namespaces": format!(r#"["default", "{}"]"#, operator.namespace)},
        })
    };
    apply_json(&world, config("stable")).await?;
    let mut spec = operator.spec("enforce");
    let of = &operator.namespace;
    spec["operatorGroup"]["targetNamespaces"] = json!(format!(
        r#"{{{{ fromConfigMap "{of}" "lookup" "namespaces" | toLiteral }}}}"#
    ));
    spec["subscription"]["channel"] = json!(format!(
        r#"{{{{ (lookup "v1" "ConfigMap" "{of}" "lookup").data.channel }}}}"#
    ));
    operator.apply(spec).await?;
    operator
        .says([SUBSCRIPTION, "True", "SubscriptionMatches"], "matches")
        .await?;
    let channel = operator.subscription().await?.data["spec"]["channel"].clone();
    same("the channel", channel, json!("stable"))?;
    let group = operator
        .get("OperatorGroup", "scoped-operator-group")
        .await?;
    let targets = group.context("no OperatorGroup")?.data["spec"]["targetNamespaces"].clone();
    same(
        "the targets",
        targets,
        json!(["default", operator.namespace]),
    )?;
    apply_json(&world, config("other")).await?;
    operator
        .reports("the Subscription was updated to match the policy")
        .await?;
    let channel = operator.subscription().await?.data["spec"]["channel"].clone();
    same("the channel", channel, json!("other"))
}

/// How often a Subscription is deleted to have OLM leave its version unreferenced, which OLM does by chance.
const DELETIONS: usize = 4;
/// How long the version of a repaired Subscription is watched.
const REPAIRED: Duration = Duration::from_secs(30);

/// The Subscription is deleted again and again. Whether OLM takes the version up by itself or leaves it unreferenced, the
/// policy ends compliant with it.
async fn resubscribed(operator: &Operator<'_>, csv: &str) -> Result<()> {
    let mut unreferenced = 0;
    for _ in 0..DELETIONS {
        let before = operator.subscription().await?.metadata.uid;
        operator.delete("Subscription", &operator.package).await?;
        takes("the new Subscription has the installed version", || async {
            let now = operator.subscription().await?;
            ensure!(now.metadata.uid != before, "it is the one of before");
            let status = operator.status().await?;
            let is_awaited = !status["subscriptionInterventionTime"].is_null();
            let installed = &now.data["status"]["installedCSV"];
            ensure!(
                is_awaited || installed == csv,
                "the status is {:#}",
                now.data["status"]
            );
            Ok(())
        })
        .await?;
        let status = operator.status().await?;
        if !status["subscriptionInterventionTime"].is_null() {
            unreferenced += 1;
            break;
        }
    }
    // The policy intervenes 30 s after it saw that the version is not referenced.
    eprintln!("OLM left the version unreferenced {unreferenced} times");
    takes("the Subscription has the installed version", || async {
        let now = operator.subscription().await?;
        let installed = now.data["status"]["installedCSV"].clone();
        same("the installed version", installed, json!(csv))
    })
    .await?;
    operator.complies().await?;
    steadily_for(REPAIRED, "it stays compliant", || async {
        operator.is("Compliant").await.map(|_| ())
    })
    .await
}

/// Cases 66 to 73: no `OperatorGroup`, a second policy whose package does not exist, and a Subscription that was deleted.
pub(crate) async fn without_group(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "authorino").await?;
    let mut spec = operator.without_group("enforce");
    spec["versions"] = json!([operator.csv("0.0.3")]);
    operator.apply(spec).await?;
    operator.complies().await?;
    let message =
        "ClusterServiceVersion (authorino.v0.0.3) - install strategy completed with no errors";
    operator
        .says(
            ["ClusterServiceVersionCompliant", "True", "InstallSucceeded"],
            message,
        )
        .await?;
    operator
        .says(
            ["DeploymentCompliant", "True", "DeploymentsAvailable"],
            "minimum availability",
        )
        .await?;
    operator
        .relates(
            "Deployment",
            &[["authorino", "Compliant", "Deployment Available"]],
        )
        .await?;

    operator.patch(json!({"versions": []})).await?;
    operator
        .says(
            ["NoDeprecations", "True", "Recommended"],
            "recommended versions",
        )
        .await?;
    operator
        .says(
            [
                "InstallPlanCompliant",
                "True",
                "NoInstallPlansRequiringApproval",
            ],
            "no InstallPlans",
        )
        .await?;
    let other = operator.beside("authorino-missing", "authorino-does-not-exist");
    other.apply(other.without_group("enforce")).await?;
    other.violates("constraints not satisfiable").await?;
    other
        .says(
            [SUBSCRIPTION, "False", "ConstraintsNotSatisfiable"],
            "refer to",
        )
        .await?;
    operator
        .says([SUBSCRIPTION, "True", "SubscriptionMatches"], "matches")
        .await?;
    other.delete_policy().await?;
    other
        .delete("Subscription", "authorino-does-not-exist")
        .await?;

    resubscribed(&operator, &operator.csv("0.0.3")).await?;

    operator
        .patch(json!({"versions": ["pie.v3.14159"]}))
        .await?;
    let message = "ClusterServiceVersion (authorino.v0.0.3) is not an approved version";
    operator
        .says(
            [
                "ClusterServiceVersionCompliant",
                "False",
                "UnapprovedVersion",
            ],
            message,
        )
        .await
}

/// Cases 82 to 85: an operator of another namespace that serves all of them.
pub(crate) async fn preinstalled(world: Arc<Clusters>) -> Result<()> {
    let first = Operator::of(&world, "preinstalled", "preinstalled", "preinstalled-first");
    namespace(&world, &first.namespace).await?;
    first.put("OperatorGroup", "all", json!({})).await?;
    let spec = json!({
        "name": "preinstalled", "channel": "stable", "source": CATALOG, "sourceNamespace": OLM_NAMESPACE,
    });
    first.put("Subscription", "preinstalled", spec).await?;
    let operator = Operator::new(&world, "preinstalled").await?;
    copied(&operator).await?;
    let mut policy = operator.without_group("enforce");
    policy["complianceConfig"] = json!({"deprecationsPresent": "NonCompliant", "minorChannelUpgradeAvailable": "NonCompliant"});
    operator.apply(policy).await?;
    operator.complies().await?;
    let message = "the operator is installed in namespace preinstalled-first and is available via AllNamespaces mode";
    operator
        .says([SUBSCRIPTION, "True", "ExistingInstallation"], message)
        .await?;
    let csv = operator.csv("0.0.3");
    operator
        .relates("ClusterServiceVersion", &[[&csv, "Compliant", "Copied"]])
        .await?;
    for kind in ["Subscription", "OperatorGroup"] {
        same(kind, operator.names(kind).await?.len(), 0)?;
    }
    Ok(())
}

/// Waits until OLM has copied the version of another namespace.
async fn copied(operator: &Operator<'_>) -> Result<()> {
    takes("the version is copied", || async {
        let found = operator.names("ClusterServiceVersion").await?;
        ensure!(found.contains(&operator.csv("0.0.3")), "{found:?}");
        Ok(())
    })
    .await
}

/// Cases 86 and 87: policies for one operator in several namespaces.
pub(crate) async fn competing(world: Arc<Clusters>) -> Result<()> {
    let package = "competing";
    let first = Operator::of(&world, "competing-first", package, "competing-first");
    let second = Operator::of(&world, "competing-second", package, "competing-second");
    let third = Operator::of(&world, "competing-third", package, "competing-third");
    for operator in [&first, &second, &third] {
        namespace(&world, &operator.namespace).await?;
    }
    third.put("OperatorGroup", "own", json!({})).await?;
    first.apply(first.without_group("enforce")).await?;
    first.complies().await?;
    for operator in [&second, &third] {
        copied(operator).await?;
        operator.apply(operator.without_group("enforce")).await?;
        operator.complies().await?;
        operator
            .says(
                [SUBSCRIPTION, "True", "ExistingInstallation"],
                &first.namespace,
            )
            .await?;
        for kind in ["Subscription", "InstallPlan"] {
            same(kind, operator.names(kind).await?.len(), 0)?;
        }
    }
    same("the groups", second.names("OperatorGroup").await?.len(), 0)?;
    same(
        "the groups",
        third.names("OperatorGroup").await?,
        vec!["own"],
    )
}
