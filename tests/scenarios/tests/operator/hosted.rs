//! A controller on one cluster for the operators of another one.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::{Controller, namespace};

use crate::cluster::{Cluster, OLM, Operator};

/// Policies and events stay here, and operators are there.
pub(crate) async fn other_cluster(world: Arc<Cluster>) -> Result<()> {
    let (policies, target) = ("hosted-policies", world.other.objects());
    namespace(&world, policies).await?;
    let kubeconfig = format!(
        "--target-kubeconfig-path={}",
        world.other.kubeconfig().display()
    );
    let args = ["--enable-operator-policy=true", &kubeconfig];
    let controller = Controller::start(world.plane(), policies, &args).await?;
    controller.with_log(installed(&world, policies, target).await)
}

async fn installed(world: &Cluster, policies: &str, target: &reeve_testkit::Objects) -> Result<()> {
    let mut operator = Operator::without_namespace(target, "hosted").await?;
    operator.hosting = world;
    policies.clone_into(&mut operator.policies);
    operator.apply(operator.enforced()).await?;
    operator.install().await?;
    operator.is("Compliant").await?;
    let here = world
        .list(OLM, "Subscription", Some(&operator.namespace))
        .await?;
    ensure!(here.is_empty(), "it is subscribed on the hosting cluster");
    let there = target.list("v1", "Event", Some(policies)).await?;
    ensure!(there.is_empty(), "there are events on the target cluster");
    ensure!(!operator.events().await?.is_empty(), "there are no events");
    Ok(())
}
