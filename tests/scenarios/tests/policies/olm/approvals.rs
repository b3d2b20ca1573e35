//! Install plans and their approval.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{namespace, same, steadily};
use serde_json::{Value, json};

use crate::olm::cluster::{CATALOG, Clusters, OLM, Operator, takes};

const TYPE: &str = "InstallPlanCompliant";
const REQUIRES: &str = "InstallPlanRequiresApproval";

/// The versions of the approved install plans, sorted. OLM may make two plans for a version.
pub(crate) async fn approved(operator: &Operator<'_>) -> Result<Vec<String>> {
    let plans = operator.list("InstallPlan").await?;
    let approved = plans
        .iter()
        .filter(|plan| plan.data["spec"]["approved"] == true);
    let names = approved.flat_map(|plan| {
        let names = plan.data["spec"]["clusterServiceVersionNames"].as_array();
        names.into_iter().flatten().filter_map(Value::as_str)
    });
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// Cases 27 to 34.
pub(crate) async fn upgrades(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "kafka").await?;
    never_resolved(&operator).await?;
    first_installation(&operator).await?;
    upgrade(&operator).await?;
    newer_channels(&operator).await
}

/// Cases 27 and 28: the starting version does not exist.
async fn never_resolved(operator: &Operator<'_>) -> Result<()> {
    let first = operator.csv("0.50.0");
    let mut spec = operator.spec("enforce");
    spec["upgradeApproval"] = json!("None");
    spec["versions"] = json!([first]);
    spec["subscription"]["channel"] = json!("strimzi-0.50.x");
    spec["subscription"]["startingCSV"] = json!("kafka.v0.50.bogus");
    operator.apply(spec).await?;
    operator
        .says(
            [
                "SubscriptionCompliant",
                "False",
                "ConstraintsNotSatisfiable",
            ],
            "refer to",
        )
        .await?;
    operator
        .says(
            [TYPE, "True", "NoInstallPlansFound"],
            "no relevant InstallPlans",
        )
        .await?;
    let none = [
        "-",
        "Compliant",
        "There are no relevant InstallPlans in this namespace",
    ];
    operator.relates("InstallPlan", &[none]).await
}

/// Cases 29 and 30: an install plan that waits for a policy that informs.
async fn first_installation(operator: &Operator<'_>) -> Result<()> {
    let first = operator.csv("0.50.0");
    let starting = json!({"startingCSV": first});
    operator
        .patch(json!({"remediationAction": "inform", "subscription": starting}))
        .await?;
    let place = Some(operator.namespace.as_str());
    operator
        .cluster
        .patch(
            OLM,
            "Subscription",
            place,
            "kafka",
            json!({"spec": starting}),
        )
        .await?;
    let available = format!("an InstallPlan to update to [{first}] is available for approval");
    operator.says([TYPE, "True", REQUIRES], &available).await?;
    let plan = operator.names("InstallPlan").await?;
    let plan = plan.first().context("no InstallPlan")?;
    let waiting = "The InstallPlan is RequiresApproval";
    operator
        .relates("InstallPlan", &[[plan, "Compliant", waiting]])
        .await?;
    let config = |of: &str| json!({"complianceConfig": {"upgradesAvailable": of}});
    operator.patch(config("NonCompliant")).await?;
    operator.says([TYPE, "False", REQUIRES], &available).await?;
    operator
        .relates("InstallPlan", &[[plan, "NonCompliant", waiting]])
        .await
}

/// Cases 31 to 33: the upgrade is refused until its version and upgrades are allowed.
async fn upgrade(operator: &Operator<'_>) -> Result<()> {
    let (first, second) = (operator.csv("0.50.0"), operator.csv("0.50.1"));
    operator
        .patch(json!({"remediationAction": "enforce", "upgradeApproval": "Automatic"}))
        .await?;
    let upgrade = format!("an InstallPlan to update to [{second}] is available for approval");
    let refused = format!("{upgrade} but approval for [{second}] is required");
    operator.says([TYPE, "False", REQUIRES], &refused).await?;
    same(
        "the approvals",
        approved(operator).await?,
        vec![first.clone()],
    )?;

    operator
        .patch(json!({"upgradeApproval": "None", "versions": [first, second]}))
        .await?;
    let message = takes("the message has no suffix", || async {
        let message = operator.condition(TYPE, "False", REQUIRES).await?;
        ensure!(message == upgrade, "it is {message}");
        Ok(message)
    });
    message.await?;
    steadily("it is not approved", || async {
        same(
            "the approvals",
            approved(operator).await?,
            vec![first.clone()],
        )
    })
    .await?;
    operator
        .patch(json!({"upgradeApproval": "Automatic"}))
        .await?;
    operator
        .says(
            [TYPE, "True", "NoInstallPlansRequiringApproval"],
            "no InstallPlans",
        )
        .await?;
    let csv = format!("ClusterServiceVersion ({second}) - install strategy completed");
    operator
        .says(
            ["ClusterServiceVersionCompliant", "True", "InstallSucceeded"],
            &csv,
        )
        .await?;
    same(
        "the approvals",
        approved(operator).await?,
        vec![first, second],
    )
}

/// Case 34.
async fn newer_channels(operator: &Operator<'_>) -> Result<()> {
    let type_ = "MinorChannelUpgradeAvailable";
    let message = "a newer version of the operator is available in channel(s): strimzi-0.51.x, strimzi-0.52.x";
    operator
        .says([type_, "True", "UpgradeAvailable"], message)
        .await?;
    let config = |of: &str| json!({"complianceConfig": {"minorChannelUpgradeAvailable": of}});
    operator.patch(config("NonCompliant")).await?;
    operator
        .says([type_, "False", "UpgradeAvailable"], message)
        .await?;
    operator.violates(message).await?;
    operator.patch(config("Compliant")).await?;
    operator
        .says([type_, "True", "UpgradeAvailable"], message)
        .await?;
    operator.complies().await
}

/// Cases 74 and 75: one install plan for two operators needs both policies.
pub(crate) async fn several(world: Arc<Clusters>) -> Result<()> {
    let argocd = Operator::of(&world, "argocd", "argocd", "several-system");
    let strimzi = argocd.beside("strimzi", "strimzi");
    namespace(&world, &argocd.namespace).await?;
    for operator in [&argocd, &strimzi] {
        let spec = json!({
            "name": operator.package, "channel": "stable", "source": CATALOG, "sourceNamespace": "olm",
            "installPlanApproval": "Manual",
        });
        operator
            .put("Subscription", &operator.package, spec)
            .await?;
    }
    let own = json!({"targetNamespaces": [argocd.namespace]});
    argocd
        .put("OperatorGroup", "scoped-operator-group", own)
        .await?;
    takes("there is one plan for both", || async {
        let plans = argocd.list("InstallPlan").await?;
        let is_for_both = |plan: &reeve_testkit::Object| {
            let names = plan.data["spec"]["clusterServiceVersionNames"].as_array();
            names.is_some_and(|names| names.len() == 2)
        };
        ensure!(plans.iter().any(is_for_both), "the plans are {plans:#?}");
        Ok(())
    })
    .await?;
    argocd.apply(argocd.spec("enforce")).await?;
    let missing = "but approval for [strimzi.v0.0.3] is required";
    argocd
        .says([TYPE, "True", "InstallPlanRequiresApproval"], missing)
        .await?;
    same("the approvals", approved(&argocd).await?.len(), 0)?;
    strimzi.apply(strimzi.spec("enforce")).await?;
    argocd.complies().await?;
    strimzi.complies().await
}
