//! `OperatorGroups`.

use std::sync::Arc;

use anyhow::{Context, Result};
use reeve_scenarios::{same, steadily};
use serde_json::{Value, json};

use crate::olm::cluster::{Clusters, GROUPS, Operator, takes};

const TYPE: &str = "OperatorGroupCompliant";
const FOUND: &str = "Resource found as expected";
const TOO_MANY: &str = "There is more than one OperatorGroup in this namespace";

/// Cases 4 to 7: the policy specifies none.
pub(crate) async fn unspecified(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "unspecified").await?;
    operator.apply(operator.without_group("inform")).await?;
    operator
        .says([TYPE, "False", "OperatorGroupMissing"], "was not found")
        .await?;
    let missing = ["-", "NonCompliant", "Resource not found but should exist"];
    operator.relates("OperatorGroup", &[missing]).await?;

    operator
        .patch(json!({"remediationAction": "enforce"}))
        .await?;
    operator
        .reports("the OperatorGroup required by the policy was created")
        .await?;
    operator
        .says([TYPE, "True", "OperatorGroupMatches"], "matches")
        .await?;
    let own = operator.names("OperatorGroup").await?;
    let own = own.first().context("no OperatorGroup")?;
    operator
        .relates("OperatorGroup", &[[own, "Compliant", FOUND]])
        .await?;

    operator.put("OperatorGroup", "extra", json!({})).await?;
    operator
        .says([TYPE, "False", "TooManyOperatorGroups"], "more than one")
        .await?;
    let mut both = [
        [own, "NonCompliant", TOO_MANY],
        ["extra", "NonCompliant", TOO_MANY],
    ];
    both.sort_unstable();
    operator.relates("OperatorGroup", &both).await?;

    operator
        .patch(json!({"remediationAction": "inform"}))
        .await?;
    for name in [own, "extra"] {
        operator.delete("OperatorGroup", name).await?;
    }
    operator.put("OperatorGroup", "foreign", json!({})).await?;
    operator
        .says([TYPE, "True", "PreexistingOperatorGroupFound"], "assuming")
        .await?;
    operator
        .relates("OperatorGroup", &[["foreign", "Compliant", FOUND]])
        .await
}

/// Cases 8 to 12: the policy specifies one.
pub(crate) async fn specified(world: Arc<Clusters>) -> Result<()> {
    let (operator, name) = (
        Operator::new(&world, "selected").await?,
        "scoped-operator-group",
    );
    operator.put("OperatorGroup", "foreign", json!({})).await?;
    operator.apply(operator.spec("inform")).await?;
    operator
        .says([TYPE, "False", "OperatorGroupMismatch"], "does not match")
        .await?;
    let foreign = [
        "foreign",
        "NonCompliant",
        "Resource found but does not match",
    ];
    let missing = [name, "NonCompliant", "Resource not found but should exist"];
    operator
        .relates("OperatorGroup", &[foreign, missing])
        .await?;

    operator.delete("OperatorGroup", "foreign").await?;
    let namespaces = json!({"targetNamespaces": [operator.namespace]});
    operator
        .put("OperatorGroup", name, namespaces.clone())
        .await?;
    operator
        .says([TYPE, "True", "OperatorGroupMatches"], "matches")
        .await?;
    operator
        .relates("OperatorGroup", &[[name, "Compliant", FOUND]])
        .await?;

    set(&operator, json!({"targetNamespaces": null})).await?;
    operator
        .says([TYPE, "False", "OperatorGroupMismatch"], "does not match")
        .await?;
    operator
        .patch(json!({"remediationAction": "enforce"}))
        .await?;
    operator
        .reports("the OperatorGroup was updated to match the policy")
        .await?;
    operator
        .says([TYPE, "True", "OperatorGroupMatches"], "matches")
        .await?;
    same(
        "the spec",
        spec(&operator).await?["targetNamespaces"].clone(),
        namespaces["targetNamespaces"].clone(),
    )?;

    operator.put("OperatorGroup", "extra", json!({})).await?;
    operator
        .says([TYPE, "False", "TooManyOperatorGroups"], "more than one")
        .await?;
    let both = [
        ["extra", "NonCompliant", TOO_MANY],
        [name, "NonCompliant", TOO_MANY],
    ];
    operator.relates("OperatorGroup", &both).await
}

/// Cases 80 and 81: what a policy changes is replaced, and what it does not name any more stays.
pub(crate) async fn replaced(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "configured").await?;
    let mut policy = operator.spec("enforce");
    policy["complianceConfig"] = json!({"minorChannelUpgradeAvailable": "NonCompliant"});
    policy["subscription"]["config"] = json!({"nodeSelector": {"one": "1"}});
    operator.apply(policy).await?;
    operator
        .says(
            ["MinorChannelUpgradeAvailable", "True", "Recommended"],
            "recommended",
        )
        .await?;
    let selector = |of: Value| json!({"subscription": {"config": {"nodeSelector": of}}});
    // A merge patch would leave the first one in the policy.
    operator
        .patch(selector(json!({"one": null, "two": "2"})))
        .await?;
    operator
        .patch(json!({"operatorGroup": {"targetNamespaces": [operator.namespace, "default"]}}))
        .await?;
    let has = |what: &'static str, subscription: Value, group: Value| {
        let operator = &operator;
        takes(what, move || {
            let (subscription, group) = (subscription.clone(), group.clone());
            async move {
                let found = operator.subscription().await?;
                same("the config", &found.data["spec"]["config"], &subscription)?;
                same(
                    "the targets",
                    &spec(operator).await?["targetNamespaces"],
                    &group,
                )
            }
        })
    };
    let (two, targets) = (
        json!({"nodeSelector": {"two": "2"}}),
        json!([operator.namespace, "default"]),
    );
    has("both are replaced", two.clone(), targets.clone()).await?;

    operator
        .patch(
            json!({"subscription": {"config": null}, "operatorGroup": {"targetNamespaces": null}}),
        )
        .await?;
    operator
        .says(
            ["SubscriptionCompliant", "True", "SubscriptionMatches"],
            "matches",
        )
        .await?;
    has("both are kept", two, targets).await?;
    let labels = json!({"matchLabels": {"scope": "yes"}});
    selects(&operator, labels).await?;
    let expressions = json!({"matchExpressions": [{"key": "scope", "operator": "Exists"}]});
    operator
        .patch(json!({"operatorGroup": {"selector": {"matchLabels": null}}}))
        .await?;
    selects(&operator, expressions).await
}

async fn selects(operator: &Operator<'_>, selector: Value) -> Result<()> {
    operator
        .patch(json!({"operatorGroup": {"selector": selector}}))
        .await?;
    takes("the selector is replaced", || async {
        same(
            "the selector",
            &spec(operator).await?["selector"],
            &selector,
        )
    })
    .await
}

/// Cases 13 to 15: no Subscription beside an `OperatorGroup` that is not the policy's.
pub(crate) async fn wrong_group(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "unselected").await?;
    operator.put("OperatorGroup", "wrong", json!({})).await?;
    operator.apply(operator.spec("inform")).await?;
    operator
        .says(
            ["SubscriptionCompliant", "False", "SubscriptionMissing"],
            "was not found",
        )
        .await?;
    operator
        .patch(json!({"remediationAction": "enforce"}))
        .await?;
    operator
        .says([TYPE, "False", "OperatorGroupMismatch"], "does not match")
        .await?;
    steadily("there is no Subscription", || async {
        same(
            "the Subscriptions",
            operator.names("Subscription").await?.len(),
            0,
        )
    })
    .await?;
    operator.delete("OperatorGroup", "wrong").await?;
    operator
        .reports("the OperatorGroup required by the policy was created")
        .await?;
    operator
        .reports("the Subscription required by the policy was created")
        .await?;
    operator.complies().await
}

async fn spec(operator: &Operator<'_>) -> Result<Value> {
    let found = operator
        .get("OperatorGroup", "scoped-operator-group")
        .await?;
    Ok(found.context("no OperatorGroup")?.data["spec"].clone())
}

async fn set(operator: &Operator<'_>, spec: Value) -> Result<()> {
    let (name, namespace) = ("scoped-operator-group", Some(operator.namespace.as_str()));
    operator
        .cluster
        .patch(
            GROUPS,
            "OperatorGroup",
            namespace,
            name,
            json!({"spec": spec}),
        )
        .await?;
    Ok(())
}
