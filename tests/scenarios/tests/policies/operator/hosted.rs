//! A controller on one cluster for the operators of another one.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::{Controller, namespace, same};
use serde_json::json;

use crate::operator::cluster::{Cluster, OLM, Operator};

/// Policies and events stay here, and operators are there.
pub(crate) async fn other_cluster(world: Arc<Cluster>) -> Result<()> {
    let (policies, target) = ("hosted-policies", world.other.objects());
    namespace(&world, policies).await?;
    let kubeconfig = format!(
        "--target-kubeconfig-path={}",
        world.other.kubeconfig().display()
    );
    let args = [
        "--enable-operator-policy=true",
        "--operator-policy-default-namespace=fallback",
        "--operator-policy-status-history-length=2",
        &kubeconfig,
    ];
    let mut controller = Controller::start(world.plane(), policies, &args).await?;
    let mut operator = Operator::without_namespace(target, "hosted").await?;
    operator.hosting = &world;
    policies.clone_into(&mut operator.policies);
    controller.with_log(installed(&world, &operator).await)?;
    controller.with_log(follows_flags(&operator).await)?;
    controller.with_log(controller.reconciles_no_operator_policy().await)?;
    let metrics = controller.metrics().await?;
    let compliant = "cluster_policy_governance_info{kind=\"OperatorPolicy\",policy=\"hosted\",policy_namespace=\"hosted-policies\",severity=\"\"} 0";
    ensure!(metrics.contains(compliant), "the metrics are {metrics}");

    // Another process finds everything as it is, and reports nothing anew.
    let before = (
        operator.events().await?,
        operator.policy().await?.metadata.resource_version,
    );
    controller.restart().await?;
    controller.with_log(controller.reconciles_no_operator_policy().await)?;
    let after = (
        operator.events().await?,
        operator.policy().await?.metadata.resource_version,
    );
    same("events and version after a restart", after, before)
}

/// The length of the history, and the namespace of an operator whose channel suggests none.
async fn follows_flags(operator: &Operator<'_>) -> Result<()> {
    let history = operator.status().await?["history"].clone();
    same("the history", history.as_array().map(Vec::len), Some(2))?;
    let other = operator.beside("hosted-other");
    let mut spec = operator.enforced();
    spec["remediationAction"] = json!("inform");
    spec["subscription"]["channel"] = json!("none");
    other.apply(spec).await?;
    let reason = "InvalidPolicySpec";
    let message = other.condition("ValidPolicySpec", "False", reason).await?;
    let expected = "the operator namespace ('fallback') does not exist";
    same("the message", message.as_str(), expected)
}

async fn installed(world: &Cluster, operator: &Operator<'_>) -> Result<()> {
    operator.apply(operator.enforced()).await?;
    operator.install().await?;
    operator.is("Compliant").await?;
    let namespace = Some(operator.namespace.as_str());
    let here = world.list(OLM, "Subscription", namespace).await?;
    ensure!(here.is_empty(), "it is subscribed on the hosting cluster");
    let there = operator
        .cluster
        .list("v1", "Event", Some(&operator.policies))
        .await?;
    ensure!(there.is_empty(), "there are events on the target cluster");
    ensure!(!operator.events().await?.is_empty(), "there are no events");
    Ok(())
}
