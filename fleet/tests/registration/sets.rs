//! Sets and bindings.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kube::api::{Api, DynamicObject};
use reeve_testkit::eventually;
use serde_json::{Value, json};

use crate::hub::Hub;

/// Waits until an object has a condition with this status, reason and message.
pub async fn wait_for_condition(
    api: &Api<DynamicObject>,
    name: &str,
    kind: &str,
    expected: (&str, &str, &str),
) -> Result<()> {
    let what = format!("{kind} of {name} is {expected:?}");
    eventually(what, Duration::from_secs(30), || async {
        let object = api.get(name).await?;
        let conditions = object.data["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        let found = conditions
            .find(|one| one["type"] == kind)
            .context("no such condition")?;
        let reported =
            ["status", "reason", "message"].map(|field| found[field].as_str().unwrap_or(""));
        ensure!(reported == [expected.0, expected.1, expected.2], "{found}");
        Ok(())
    })
    .await
}

async fn wait_for_members(hub: &Hub, set: &str, members: usize) -> Result<()> {
    let message = format!("{members} ManagedClusters selected");
    let expected = match members {
        0 => ("True", "NoClusterMatched", "No ManagedCluster selected"),
        _ => ("False", "ClustersSelected", message.as_str()),
    };
    let api = hub.all("ManagedClusterSet");
    wait_for_condition(&api, &hub.full(set), "ClusterSetEmpty", expected).await
}

async fn relabel(hub: &Hub, cluster: &str, labels: Value) -> Result<()> {
    let patch = json!({"metadata": {"labels": labels}});
    hub.merge(&hub.all("ManagedCluster"), &hub.full(cluster), patch)
        .await
}

const SET: &str = "cluster.open-cluster-management.io/clusterset";

pub async fn exclusive(hub: Hub) -> Result<()> {
    hub.set("s1").await?;
    hub.set("s2").await?;
    wait_for_members(&hub, "s1", 0).await?;
    hub.cluster("c1", json!({"set": "s1"})).await?;
    hub.cluster("c2", json!({"set": "s1"})).await?;
    wait_for_members(&hub, "s1", 2).await?;
    relabel(&hub, "c2", json!({SET: hub.full("s2")})).await?;
    wait_for_members(&hub, "s1", 1).await?;
    wait_for_members(&hub, "s2", 1).await?;
    hub.drop_cluster("c1").await?;
    wait_for_members(&hub, "s1", 0).await
}

pub async fn by_labels(hub: Hub) -> Result<()> {
    hub.set_by_label("s1", "vendor", "openShift").await?;
    wait_for_members(&hub, "s1", 0).await?;
    hub.cluster("c1", json!({"labels": {"vendor": "openShift"}}))
        .await?;
    wait_for_members(&hub, "s1", 1).await?;
    relabel(&hub, "c1", json!({"vendor": "other"})).await?;
    wait_for_members(&hub, "s1", 0).await?;
    // The reverse: the set changes.
    let labels = json!({"vendor": "other"});
    let patch = json!({"spec": {"clusterSelector": {"labelSelector": {"matchLabels": labels}}}});
    hub.merge(&hub.all("ManagedClusterSet"), &hub.full("s1"), patch)
        .await?;
    wait_for_members(&hub, "s1", 1).await
}

pub async fn of_all(hub: Hub) -> Result<()> {
    let labels = json!({"matchLabels": {"scenario": hub.name}});
    hub.set_by(
        "s1",
        json!({"selectorType": "LabelSelector", "labelSelector": labels}),
    )
    .await?;
    wait_for_members(&hub, "s1", 0).await?;
    hub.fill("s2", 1..=3).await?;
    wait_for_members(&hub, "s1", 3).await?;
    hub.drop_cluster("s2-001").await?;
    wait_for_members(&hub, "s1", 2).await
}

async fn wait_for_selector(hub: &Hub, name: &str, selector: Value) -> Result<DynamicObject> {
    let api = hub.all("ManagedClusterSet");
    eventually(
        format!("{name} selects by {selector}"),
        Duration::from_secs(30),
        || async {
            let set = api.get(name).await?;
            ensure!(
                set.data["spec"]["clusterSelector"] == selector,
                "{}",
                set.data
            );
            Ok(set)
        },
    )
    .await
}

pub async fn default(hub: Hub) -> Result<()> {
    let right = json!({"selectorType": "ExclusiveClusterSetLabel"});
    let first = wait_for_selector(&hub, "default", right.clone()).await?;
    hub.delete(&hub.all("ManagedClusterSet"), "default").await?;
    eventually("default is back", Duration::from_secs(30), || async {
        let again = wait_for_selector(&hub, "default", right.clone()).await?;
        ensure!(again.metadata.uid != first.metadata.uid, "not yet");
        Ok::<_, anyhow::Error>(())
    })
    .await
}

pub async fn global(hub: Hub) -> Result<()> {
    let right = json!({"selectorType": "LabelSelector", "labelSelector": {}});
    let api = hub.all("ManagedClusterSet");
    wait_for_selector(&hub, "global", right.clone()).await?;
    let patch = json!({
        "metadata": {"labels": {"mine": "yes"}, "annotations": {"mine": "yes"}},
        "spec": {
            "clusterSelector": {"labelSelector": {"matchLabels": {"a": "b"}}},
            "managedNamespaces": [{"name": "ns1"}],
        },
    });
    hub.merge(&api, "global", patch).await?;
    let restored = wait_for_selector(&hub, "global", right.clone()).await?;
    ensure!(restored.metadata.labels.unwrap_or_default()["mine"] == "yes");
    ensure!(restored.metadata.annotations.unwrap_or_default()["mine"] == "yes");
    ensure!(restored.data["spec"]["managedNamespaces"][0]["name"] == "ns1");
    let key = "cluster.open-cluster-management.io/autoupdate";
    hub.merge(
        &api,
        "global",
        json!({"metadata": {"annotations": {key: "false"}}}),
    )
    .await?;
    let other = json!({"spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}});
    hub.merge(&api, "global", other).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let left = api.get("global").await?;
    let kind = &left.data["spec"]["clusterSelector"]["selectorType"];
    ensure!(kind == "ExclusiveClusterSetLabel", "{}", left.data);
    hub.delete(&api, "global").await?;
    wait_for_selector(&hub, "global", right).await?;
    Ok(())
}

pub async fn bindings(hub: Hub) -> Result<()> {
    hub.bind("s1").await?;
    let api = hub.own("ManagedClusterSetBinding");
    let name = hub.full("s1");
    let bound = ("True", "ClusterSetBound", "");
    let not_found = ("False", "ClusterSetNotFound", "");
    wait_for_condition(&api, &name, "Bound", not_found).await?;
    hub.set("s1").await?;
    wait_for_condition(&api, &name, "Bound", bound).await?;
    let before = api.get(&name).await?.metadata.resource_version;
    // A change of the set that does not affect the binding writes nothing.
    let sets = hub.all("ManagedClusterSet");
    hub.merge(&sets, &name, json!({"metadata": {"labels": {"a": "b"}}}))
        .await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    ensure!(api.get(&name).await?.metadata.resource_version == before);
    hub.unset("s1").await?;
    wait_for_condition(&api, &name, "Bound", not_found).await
}
