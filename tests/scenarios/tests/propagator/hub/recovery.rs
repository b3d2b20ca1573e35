//! PROP-90: replicas are what they should be, whatever anybody does to them. PROP-82: policies where
//! none should be. PROP-93: namespaces that go and come back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Hub, Hubs, Via, annotation, label, plain, same, steadily, within};
use reeve_testkit::{Object, eventually};
use serde_json::{Value, json};

use crate::hub::{ROOT, V1};

pub(crate) async fn reverted(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e16", &["m1", "m2"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1", "m2"])
        .await?;
    root.replicas_are(&["m1", "m2"]).await?;
    let uid = |replica: Object| replica.metadata.uid;
    for cluster in ["m1", "m2"] {
        let before = uid(root.replica(cluster).await?);
        root.delete_replica(cluster).await?;
        root.until(cluster, "it is another one", |replica| {
            ensure!(replica.metadata.uid != before, "it is the old one");
            Ok(())
        })
        .await?;
    }
    let want = plain();
    for change in [
        json!({ "disabled": true }),
        json!({ "remediationAction": "enforce" }),
        json!({ "remediationAction": null }),
        json!({ "policy-templates": [] }),
        json!({ "policy-templates": [{ "objectDefinition": { "kind": "Other" } }] }),
        json!({ "copyPolicyMetadata": false }),
    ] {
        root.patch_replica("m1", json!({ "spec": change })).await?;
        root.spec_is("m1", &want).await?;
    }
    let metadata = json!({ "labels": { "mine": "1" }, "annotations": { "mine": "1" } });
    for part in ["labels", "annotations"] {
        let patch = json!({ "metadata": { part: metadata[part] } });
        root.patch_replica("m2", patch).await?;
        root.until("m2", "what was added is gone", |replica| {
            same("the label", label(replica, "mine"), None)?;
            same("the annotation", annotation(replica, "mine"), None)
        })
        .await?;
    }
    // Without its labels it is nobody's replica; it becomes one again, and is never gone: the cluster would
    // take a deletion at its word.
    let labels = json!({ ROOT: null, "policy.open-cluster-management.io/cluster-name": null });
    for _ in 0..5 {
        let before = uid(root.replica("m2").await?);
        root.patch_replica("m2", json!({ "metadata": { "labels": labels } }))
            .await?;
        root.replicas_are(&["m1", "m2"]).await?;
        same("it", uid(root.replica("m2").await?), before)?;
    }
    // Statuses are not its business.
    root.reports("m1", "NonCompliant").await?;
    steadily("the status stays", || async {
        let status = root.replica("m1").await?.data["status"].clone();
        same("its status", status, json!({ "compliant": "NonCompliant" }))
    })
    .await
}

fn policy(namespace: &str, name: &str, labels: &Value) -> String {
    json!({
        "apiVersion": V1, "kind": "Policy",
        "metadata": { "name": name, "namespace": namespace, "labels": labels }, "spec": plain()
    })
    .to_string()
}

async fn stays(hub: &Hub, namespace: &str, name: &str) -> Result<()> {
    steadily(format!("{namespace}/{name} is left alone"), || async {
        let found = hub.get(V1, "Policy", Some(namespace), name).await?;
        let found = found.context("it is gone")?;
        same("its deletion", found.metadata.deletion_timestamp, None)
    })
    .await
}

async fn goes(hub: &Hub, namespace: &str, name: &str) -> Result<()> {
    within(format!("{namespace}/{name} is gone"), || async {
        let found = hub.get(V1, "Policy", Some(namespace), name).await?;
        ensure!(found.is_none(), "it is there");
        Ok(())
    })
    .await
}

pub(crate) async fn unexpected(world: Arc<Hubs>) -> Result<()> {
    stray_replicas(&world.hub, "case-e17").await
}

/// The same on a hub without `PlacementRule`s.
pub(crate) async fn unexpected_without_rules(world: Arc<Hubs>) -> Result<()> {
    stray_replicas(world.bare().await?, "case-e17-bare").await
}

async fn stray_replicas(hub: &Hub, name: &str) -> Result<()> {
    let site = hub.site(name, &["m1"]).await?;
    let cluster = site.cluster("m1");
    site.apply(&policy(&cluster, "unlabelled", &json!({})))
        .await?;
    goes(hub, &cluster, "unlabelled").await?;
    let orphan = format!("{name}.nobody");
    site.apply(&policy(&cluster, &orphan, &json!({ ROOT: orphan })))
        .await?;
    goes(hub, &cluster, &orphan).await?;
    // In a namespace that is no cluster's they belong to somebody else.
    let leaf = format!("{name}-leaf-hub1");
    site.namespace(&leaf).await?;
    site.apply(&policy(&leaf, &orphan, &json!({ ROOT: orphan })))
        .await?;
    stays(hub, &leaf, &orphan).await
}

/// A policy of another hub is not deleted, whether its name lacks a dot or its root is disabled.
pub(crate) async fn hosted(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-17", &["m1"]).await?;
    let hub = &world.hub;
    let leaf = format!("{}-leaf", site.name);
    site.namespace(&leaf).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    root.replicas_are(&["m1"]).await?;
    let full = root.replica_name();
    site.apply(&policy(&leaf, "dotless", &json!({ ROOT: "dotless" })))
        .await?;
    site.apply(&policy(&leaf, &full, &json!({ ROOT: full })))
        .await?;
    let cluster = site.cluster("m1");
    site.apply(&policy(&cluster, "dotless", &json!({ ROOT: "dotless" })))
        .await?;
    goes(hub, &cluster, "dotless").await?;
    root.disable(true).await?;
    goes(hub, &cluster, &full).await?;
    stays(hub, &leaf, "dotless").await?;
    stays(hub, &leaf, &full).await?;
    root.delete().await?;
    stays(hub, &leaf, &full).await
}

/// A set in a cluster namespace has no effect on the replicas there.
pub(crate) async fn set_among_replicas(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-18", &["m1"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    root.replicas_are(&["m1"]).await?;
    let before = root.replica("m1").await?.metadata.uid;
    let set = |policies: &[String]| {
        json!({
            "apiVersion": "policy.open-cluster-management.io/v1beta1", "kind": "PolicySet",
            "metadata": { "name": "set", "namespace": site.cluster("m1") },
            "spec": { "policies": policies }
        })
        .to_string()
    };
    let text = set(&[root.replica_name()]);
    site.apply(&text).await?;
    let same_one = || async {
        let now = root.replica("m1").await?.metadata.uid;
        same("the replica", &now, &before)
    };
    steadily("it is left alone", same_one).await?;
    site.apply(&set(&[])).await?;
    site.delete(&text).await?;
    steadily("it is left alone", same_one).await
}

/// The objects that a replica needs may be created after the decision for it.
pub(crate) async fn late(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-06", &["m1"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let choice = site.choice(Via::Placement, "choice");
    choice.bind(&[("Policy", "policy")]).await?;
    choice.decides(&["m1", "m2"]).await?;
    root.replicas_stay(&[]).await?;
    choice.make().await?;
    root.replicas_are(&["m1"]).await?;
    site.register("m2").await?;
    root.replicas_are(&["m1", "m2"]).await?;
    // A namespace that becomes a cluster's: what does not belong there goes.
    let leaf = site.cluster("m3");
    site.namespace(&leaf).await?;
    let full = root.replica_name();
    site.apply(&policy(&leaf, &full, &json!({ ROOT: full })))
        .await?;
    site.apply(&policy(&leaf, "unlabelled", &json!({}))).await?;
    stays(&world.hub, &leaf, &full).await?;
    site.manage("m3").await?;
    goes(&world.hub, &leaf, &full).await?;
    goes(&world.hub, &leaf, "unlabelled").await
}

/// E26 and PROP-93: while a cluster's namespace ends there is no replica; soon after it is there
/// again, there is.
pub(crate) async fn terminating(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e26", &["m1", "m2"]).await?;
    let root = site.root("policy");
    let namespace = site.cluster("m2");
    let held = json!({ "metadata": { "finalizers": ["example.com/held"] } });
    site.patch("v1", "Namespace", None, &namespace, held)
        .await?;
    let text =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
    site.delete(&text.to_string()).await?;
    let audit = world.hub.plane().audit()?;
    let mark = audit.mark()?;
    root.apply(plain()).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1", "m2"])
        .await?;
    // Long enough for waits that only ever double to have become long.
    let end = Instant::now() + Duration::from_secs(22);
    root.replicas_are(&["m1"]).await?;
    while Instant::now() < end {
        same("its replicas", root.replicas().await?, ["m1"])?;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let mut tries = audit.since(mark)?;
    tries.retain(|event| {
        event.namespace == namespace && event.verb == "create" && event.resource == "policies"
    });
    ensure!(tries.len() <= 30, "it was tried {} times", tries.len());
    let free = json!({ "metadata": { "finalizers": null } });
    site.patch("v1", "Namespace", None, &namespace, free)
        .await?;
    site.gone("v1", "Namespace", None, &namespace, Duration::from_mins(1))
        .await?;
    site.namespace(&namespace).await?;
    eventually(
        "the replica is there again",
        Duration::from_secs(15),
        || async { same("its replicas", root.replicas().await?, ["m1", "m2"]) },
    )
    .await
}

/// The namespace of policies is deleted with its objects.
pub(crate) async fn namespace_goes(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e6", &["m1", "m2"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1", "m2"])
        .await?;
    root.replicas_are(&["m1", "m2"]).await?;
    let text =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": site.name } });
    site.delete(&text.to_string()).await?;
    let deadline = Duration::from_mins(1);
    site.gone("v1", "Namespace", None, &site.name, deadline)
        .await?;
    root.replicas_are(&[]).await
}
