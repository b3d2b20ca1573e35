//! What is taken away takes with it exactly what it put there.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use reeve_scenarios::Governed;
use reeve_testkit::world::{POLICIES, register};
use reeve_testkit::{World, eventually};
use serde_json::{Value, json};

fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "default" },
        "data": { "k": "v" }
    })
}

/// A policy on both clusters, and a second one beside it that nobody touches.
async fn two<'a>(world: &'a World, name: &str) -> Result<(Governed<'a>, Governed<'a>)> {
    let beside = format!("{name}-beside");
    let mut made = Vec::new();
    for name in [name, &beside] {
        let template = Governed::template(name, "musthave", &config_map(name));
        let policy = Governed::apply(world, name, "enforce", vec![template]).await?;
        policy.place(&["c1", "c2"]).await?;
        made.push(policy);
    }
    for policy in &made {
        policy.root_is("Compliant").await?;
    }
    let beside = made.remove(1);
    Ok((made.remove(0), beside))
}

/// What must be left: the neighbour with all it has, and the enforced object itself, because the
/// policy does not ask for pruning.
async fn neighbour_is_untouched(
    world: &World,
    gone: &Governed<'_>,
    beside: &Governed<'_>,
) -> Result<()> {
    let name = beside.name();
    let status = beside.status().await?;
    ensure!(
        status["compliant"] == "Compliant",
        "the neighbour's status is {status}"
    );
    for cluster in ["c1", "c2"] {
        let plane = &world.cluster(cluster)?.plane;
        let api = "policy.open-cluster-management.io/v1";
        let namespace = Some(cluster);
        ensure!(
            world
                .hub
                .get(api, "Policy", namespace, &beside.replica())
                .await?
                .is_some()
        );
        ensure!(
            plane
                .get(api, "Policy", namespace, &beside.replica())
                .await?
                .is_some()
        );
        ensure!(
            plane
                .get(api, "ConfigurationPolicy", namespace, name)
                .await?
                .is_some()
        );
        let object = plane
            .get("v1", "ConfigMap", Some("default"), gone.name())
            .await?;
        ensure!(
            object.is_some(),
            "the enforced object is gone from {cluster}"
        );
    }
    Ok(())
}

pub(crate) async fn policy(world: Arc<World>) -> Result<()> {
    let (policy, beside) = two(&world, "remove-policy").await?;
    let root = json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy",
        "metadata": { "name": policy.name(), "namespace": POLICIES }
    });
    world.hub.delete(&root.to_string()).await?;
    for cluster in ["c1", "c2"] {
        policy.gone_from(cluster, &[policy.name()]).await?;
    }
    neighbour_is_untouched(&world, &policy, &beside).await
}

pub(crate) async fn binding(world: Arc<World>) -> Result<()> {
    let (policy, beside) = two(&world, "remove-binding").await?;
    let binding = json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "PlacementBinding",
        "metadata": { "name": policy.name(), "namespace": POLICIES }
    });
    world.hub.delete(&binding.to_string()).await?;
    for cluster in ["c1", "c2"] {
        policy.gone_from(cluster, &[policy.name()]).await?;
    }
    policy
        .root("the status is empty", |status| *status == json!({}))
        .await?;
    neighbour_is_untouched(&world, &policy, &beside).await
}

pub(crate) async fn decision(world: Arc<World>) -> Result<()> {
    let (policy, beside) = two(&world, "remove-decision").await?;
    policy.place(&["c2"]).await?;
    policy.gone_from("c1", &[policy.name()]).await?;
    policy
        .root("only c2 is listed", |status| {
            status["status"]
                .as_array()
                .is_some_and(|list| list.len() == 1)
                && status["compliant"] == "Compliant"
        })
        .await?;
    policy.place(&[]).await?;
    policy.gone_from("c2", &[policy.name()]).await?;
    policy
        .root("no cluster is listed", |status| {
            status.get("status").is_none()
        })
        .await?;
    neighbour_is_untouched(&world, &policy, &beside).await
}

pub(crate) async fn disabled(world: Arc<World>) -> Result<()> {
    let (policy, beside) = two(&world, "disable").await?;
    policy
        .patch(json!({ "spec": { "disabled": true } }))
        .await?;
    for cluster in ["c1", "c2"] {
        policy.gone_from(cluster, &[policy.name()]).await?;
    }
    policy
        .root("the placement stays, the answers go", |status| {
            status.get("placement").is_some()
                && status.get("status").is_none()
                && status.get("compliant").is_none()
        })
        .await?;
    policy
        .patch(json!({ "spec": { "disabled": false } }))
        .await?;
    policy.root_is("Compliant").await?;
    neighbour_is_untouched(&world, &policy, &beside).await
}

pub(crate) async fn cluster(world: Arc<World>) -> Result<()> {
    let name = "join-and-leave";
    let template = Governed::template(name, "musthave", &config_map(name));
    let policy = Governed::apply(&world, name, "enforce", vec![template]).await?;
    policy.place(&["c1"]).await?;
    policy.root_is("Compliant").await?;

    // A cluster that has no agents: it gets its replica and gives no answer.
    register(&world.hub, "c3").await?;
    policy.place(&["c1", "c3"]).await?;
    let api = "policy.open-cluster-management.io/v1";
    let soon = Duration::from_secs(30);
    eventually("c3 has its replica", soon, || async {
        let found = world
            .hub
            .get(api, "Policy", Some("c3"), &policy.replica())
            .await?;
        found.ok_or_else(|| anyhow::anyhow!("it has none"))
    })
    .await?;
    policy
        .root(
            "c3 is listed without an answer, so the sum is open",
            |status| {
                status["status"][1] == json!({ "clustername": "c3", "clusternamespace": "c3" })
                    && status.get("compliant").is_none()
            },
        )
        .await?;

    policy.place(&["c1"]).await?;
    world
        .hub
        .gone(api, "Policy", Some("c3"), &policy.replica(), soon)
        .await?;
    policy.root_is("Compliant").await?;
    let managed = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": { "name": "c3" }
    });
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "c3" } });
    world
        .hub
        .delete(&format!("{managed}\n---\n{namespace}"))
        .await?;
    world.hub.gone("v1", "Namespace", None, "c3", soon).await?;
    policy.root_is("Compliant").await?;
    Ok(())
}
