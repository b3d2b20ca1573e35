//! Hub templates of operator policies.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::{Controller, OperatorSubject, apply_json, namespace, within};
use serde_json::{Value, json};

use crate::operator::cluster::{Cluster, Operator};

/// Templates follow the hub, and are plain text when they are switched off.
pub(crate) async fn templates(world: Arc<Cluster>) -> Result<()> {
    let policies = "hub-policies";
    namespace(&world, policies).await?;
    namespace(world.other.objects(), policies).await?;
    let hub = format!(
        "--standalone-hub-templates-kubeconfig-path={}",
        world.other.kubeconfig().display()
    );
    let name = format!("--cluster-name={policies}");
    let args = ["--enable-operator-policy=true", &hub, &name];
    let controller = Controller::start(world.plane(), policies, &args).await?;
    controller.with_log(followed(&world, policies).await)?;
    controller.with_log(watches_end(&world, policies, &controller).await)
}

/// OP-24.33: the watches that a policy needs end with it, those on the hub too.
async fn watches_end(world: &Cluster, policies: &str, controller: &Controller) -> Result<()> {
    let operator = with_hub_template(world, "unwatched", policies).await?;
    invalid_for(
        &operator,
        "the operator namespace ('changed') does not exist",
    )
    .await?;
    let open = || async {
        let series = controller.metric("reeve_dependency_watches", &[]).await?;
        anyhow::Ok(series.iter().map(|(_, value)| value).sum::<f64>())
    };
    ensure!(open().await? > 0.0, "nothing is watched");
    operator.delete_policy().await?;
    let hubbed = OperatorSubject {
        hosting: operator.hosting,
        policies: policies.to_owned(),
        name: "hubbed".to_owned(),
    };
    hubbed.delete_policy().await?;
    within("nothing is watched", || async {
        let open = open().await?;
        ensure!(open <= 0.0, "{open} watches are open");
        Ok(())
    })
    .await
}

/// An informing policy whose namespace is read on the hub.
async fn with_hub_template<'w>(
    world: &'w Cluster,
    name: &str,
    policies: &str,
) -> Result<Operator<'w>> {
    let mut operator = Operator::without_namespace(world, name).await?;
    policies.clone_into(&mut operator.policies);
    let template = r#"{{hub fromConfigMap .ManagedClusterName "source" "namespace" hub}}"#;
    let mut spec = operator.enforced();
    spec["remediationAction"] = json!("inform");
    spec["subscription"]["namespace"] = json!(template);
    operator.apply(spec).await?;
    Ok(operator)
}

async fn followed(world: &Cluster, policies: &str) -> Result<()> {
    let operator = with_hub_template(world, "hubbed", policies).await?;
    invalid_for(&operator, "failed to resolve the template").await?;
    let hub = world.other.objects();
    for value in ["hello", "changed"] {
        apply_json(hub, source(policies, value)).await?;
        let message = format!("the operator namespace ('{value}') does not exist");
        invalid_for(&operator, &message).await?;
    }
    let off = json!({"policy.open-cluster-management.io/disable-templates": "true"});
    operator.annotate(off).await?;
    invalid_for(&operator, "the namespace '{{hub fromConfigMap").await
}

fn source(namespace: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "source", "namespace": namespace}, "data": {"namespace": value},
    })
}

/// Waits for an invalid spec, in the status and in an event.
async fn invalid_for(operator: &Operator<'_>, start: &str) -> Result<()> {
    within(format!("the spec is invalid: {start}"), || async {
        let type_ = "ValidPolicySpec";
        let message = operator
            .condition(type_, "False", "InvalidPolicySpec")
            .await?;
        ensure!(message.starts_with(start), "the message is {message}");
        let events = operator.events().await?;
        let start = format!("NonCompliant; {start}");
        let is_reported = events.iter().any(|event| event.starts_with(&start));
        ensure!(is_reported, "the events are {events:#?}");
        Ok(())
    })
    .await
}
