//! Several policies, and operators that were there before.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::{namespace, same, steadily};
use serde_json::json;

use crate::operator::cluster::{Cluster, Operator};

/// Enforced policies about one operator change nothing until one of them is gone.
pub(crate) async fn overlapping(world: Arc<Cluster>) -> Result<()> {
    let one = Operator::new(&world, "overlap").await?;
    let other = one.beside("overlap-other.of.them");
    let mut removing = one.enforced();
    removing["complianceType"] = json!("mustnothave");
    let inform = |mut spec: serde_json::Value| {
        spec["remediationAction"] = json!("inform");
        spec
    };
    one.apply(inform(one.enforced())).await?;
    other.apply(inform(removing)).await?;
    for policy in [&one, &other] {
        policy
            .condition("ValidPolicySpec", "True", "PolicyValidated")
            .await?;
    }
    one.patch(json!({"remediationAction": "enforce"})).await?;
    one.install().await?;
    one.is("Compliant").await?;
    other.patch(json!({"remediationAction": "enforce"})).await?;
    let expected = "the specified operator is managed by multiple enforced policies (overlap-other.of.them.managed, overlap.managed)";
    for policy in [&one, &other] {
        let message = policy
            .condition("ValidPolicySpec", "False", "InvalidPolicySpec")
            .await?;
        same("the message", message.as_str(), expected)?;
        let listed = &policy.status().await?["overlappingPolicies"];
        same(
            "the list",
            listed,
            &json!(["overlap-other.of.them.managed", "overlap.managed"]),
        )?;
    }
    let events = one.events().await?.len();
    steadily("nothing is removed, and nothing is written", || async {
        ensure!(
            one.get("Subscription", "overlap").await?.is_some(),
            "it is gone"
        );
        same("the events", one.events().await?.len(), events)
    })
    .await?;
    other.delete_policy().await?;
    one.condition("ValidPolicySpec", "True", "PolicyValidated")
        .await?;
    one.is("Compliant").await?;
    Ok(())
}

/// OLM puts the versions of two operators into one install plan. Each policy approves its own.
pub(crate) async fn shared_install_plan(world: Arc<Cluster>) -> Result<()> {
    let one = Operator::new(&world, "first").await?;
    let mut other = Operator::without_namespace(&world, "second").await?;
    other.namespace.clone_from(&one.namespace);
    let (first, second) = (one.csv(), other.csv());
    let spec = |operator: &Operator<'_>| {
        let mut spec = operator.enforced();
        spec["versions"] = json!([operator.csv()]);
        spec["subscription"]["namespace"] = json!(one.namespace);
        spec["operatorGroup"] = json!({"name": "group"});
        spec
    };
    one.apply(spec(&one)).await?;
    one.subscribed().await?;
    one.versions(&first, "").await?;
    one.plan("install-shared", &[&first, &second], "RequiresApproval")
        .await?;
    let reason = "InstallPlanRequiresApproval";
    let message = one
        .condition("InstallPlanCompliant", "True", reason)
        .await?;
    let expected = "an InstallPlan to update to [first.v1, second.v1] is available for approval but approval for [second.v1] is required";
    same("the message", message.as_str(), expected)?;
    other.apply(spec(&other)).await?;
    other.subscribed().await?;
    other.versions(&second, "").await?;
    one.approved("install-shared").await
}

/// An operator that serves all namespaces from another one is not installed a second time.
pub(crate) async fn existing_installation(world: Arc<Cluster>) -> Result<()> {
    let operator = Operator::new(&world, "global").await?;
    let mut original = operator.beside("global");
    "global-original".clone_into(&mut original.namespace);
    namespace(&world, &original.namespace).await?;
    original.make_csv("global.v1", json!({})).await?;
    let properties = json!({"properties": [
        {"type": "olm.maxOpenShiftVersion", "value": "4.17"},
        {"type": "olm.package", "value": {"packageName": "global", "version": "1.0.0"}},
    ]});
    let copy = json!({"metadata": {
        "labels": {"olm.copiedFrom": original.namespace},
        "annotations": {"operatorframework.io/properties": properties.to_string()},
    }});
    operator
        .create("ClusterServiceVersion", "global.v1", copy)
        .await?;
    let status = json!({"phase": "Succeeded", "reason": "Copied", "message": "copied"});
    operator
        .set_status("ClusterServiceVersion", "global.v1", status)
        .await?;
    operator.apply(operator.enforced()).await?;
    let message = operator
        .condition("SubscriptionCompliant", "True", "ExistingInstallation")
        .await?;
    let expected = "the operator is installed in namespace global-original and is available via AllNamespaces mode";
    same("the message", message.as_str(), expected)?;
    operator.is("Compliant").await?;
    steadily("nothing is installed", || async {
        ensure!(
            operator.get("Subscription", "global").await?.is_none(),
            "subscribed"
        );
        same("the groups", operator.groups().await?.len(), 0)
    })
    .await
}
