//! What changes faster than it can be followed, and names that are hard to read.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use reeve_scenarios::{Hubs, Via, on, plain, policy_spec, same, steadily, version, wants};
use serde_json::{Value, json};

/// Decisions change without waiting for replicas; the last one counts.
pub(crate) async fn decisions(world: Arc<Hubs>, name: &'static str, via: Via) -> Result<()> {
    let site = world.site(name, &["m1", "m2"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let choice = site.placed(via, "choice", "policy", &[]).await?;
    for clusters in [&["m1"][..], &[], &["m2"], &["m1", "m2"]] {
        for round in 0..10 {
            choice
                .decides(if round % 2 == 0 { &["m1", "m2"] } else { &[] })
                .await?;
            choice.decides(clusters).await?;
        }
        root.replicas_are(clusters).await?;
        tokio::time::sleep(Duration::from_millis(500)).await;
        root.replicas_are(clusters).await?;
        for cluster in clusters {
            root.reports(cluster, "Compliant").await?;
        }
        let mut observed = json!({ "placement": [choice.entry("choice")] });
        if !clusters.is_empty() {
            let status: Vec<Value> = clusters.iter().map(|name| on(name, "Compliant")).collect();
            observed["compliant"] = json!("Compliant");
            observed["status"] = json!(status);
        }
        root.status_is(observed).await?;
    }
    Ok(())
}

/// A root is deleted and made anew, again and again.
pub(crate) async fn made_anew(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e16-anew", &["m1", "m2"]).await?;
    let root = site.root("policy");
    site.placed(Via::Placement, "choice", "policy", &["m1", "m2"])
        .await?;
    for round in 0..6 {
        let spec = policy_spec(&[wants("round", json!({ "round": round }))]);
        root.apply(spec.clone()).await?;
        if round % 2 == 1 {
            for cluster in ["m1", "m2"] {
                root.spec_is(cluster, &spec).await?;
                root.reports(cluster, "NonCompliant").await?;
            }
            root.is("NonCompliant").await?;
        }
        root.delete().await?;
    }
    root.replicas_stay(&[]).await?;
    let spec = policy_spec(&[wants("last", json!({ "round": "last" }))]);
    root.apply(spec.clone()).await?;
    for cluster in ["m1", "m2"] {
        root.spec_is(cluster, &spec).await?;
        root.reports(cluster, "Compliant").await?;
    }
    root.is("Compliant").await
}

/// Statuses of replicas change at once and often; what is added up is their last word.
pub(crate) async fn statuses(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e15-often", &["m1", "m2", "m3"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let clusters = ["m1", "m2", "m3"];
    let choice = site
        .placed(Via::Placement, "choice", "policy", &clusters)
        .await?;
    root.replicas_are(&clusters).await?;
    for last in ["NonCompliant", "Pending", "Compliant"] {
        for compliance in ["Compliant", "NonCompliant", "Pending", last] {
            let all = clusters.map(|cluster| root.reports(cluster, compliance));
            futures::future::try_join_all(all).await?;
        }
        root.status_is(json!({
            "compliant": last,
            "placement": [choice.entry("choice")],
            "status": clusters.map(|cluster| on(cluster, last))
        }))
        .await?;
    }
    Ok(())
}

/// U14: a name may have dots; the namespace ends at the first one.
pub(crate) async fn dots(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-u14", &["m1"]).await?;
    let (dotted, plainly) = (site.root("a.dotted.name"), site.root("a"));
    dotted.apply(plain()).await?;
    plainly.apply(plain()).await?;
    let choice = site.choice(Via::Placement, "choice");
    choice.make().await?;
    choice.decides(&["m1"]).await?;
    choice
        .bind(&[("Policy", "a.dotted.name"), ("Policy", "a")])
        .await?;
    for root in [&dotted, &plainly] {
        root.replicas_are(&["m1"]).await?;
    }
    dotted.reports("m1", "NonCompliant").await?;
    plainly.reports("m1", "Compliant").await?;
    for (root, compliance) in [(&dotted, "NonCompliant"), (&plainly, "Compliant")] {
        root.status_is(json!({
            "compliant": compliance,
            "placement": [choice.entry("choice")],
            "status": [on("m1", compliance)]
        }))
        .await?;
    }
    dotted.delete().await?;
    dotted.replicas_are(&[]).await?;
    plainly.replicas_are(&["m1"]).await
}

/// A placement's decisions may be in several objects.
pub(crate) async fn several_decisions(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e25-many", &["m1", "m2", "m3"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let choice = site
        .placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    let part = |placement: &str, clusters: &[&str], reason: &str| {
        let decisions: Vec<Value> = clusters
            .iter()
            .map(|short| json!({ "clusterName": site.cluster(short), "reason": reason }))
            .collect();
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
            "metadata": {
                "name": "another", "namespace": site.name,
                "labels": { "cluster.open-cluster-management.io/placement": placement }
            },
            "status": { "decisions": decisions }
        })
        .to_string()
    };
    site.apply(&part("choice", &["m1", "m2"], "")).await?;
    root.replicas_are(&["m1", "m2"]).await?;
    root.status_is(json!({
        "placement": [choice.entry("choice")], "status": [on("m1", ""), on("m2", "")]
    }))
    .await?;
    // Another reason is nothing new.
    let before = version(&root.replica("m2").await?);
    site.apply(&part("choice", &["m1", "m2"], "other")).await?;
    choice.decides(&[]).await?;
    root.replicas_are(&["m1", "m2"]).await?;
    steadily("nothing is written", || async {
        same("its version", &version(&root.replica("m2").await?), &before)
    })
    .await?;
    // It becomes another placement's, and comes back.
    site.apply(&part("other", &["m1", "m2"], "")).await?;
    root.replicas_are(&[]).await?;
    choice.decides(&["m3"]).await?;
    site.apply(&part("choice", &["m1"], "")).await?;
    root.replicas_are(&["m1", "m3"]).await?;
    site.remove("PlacementDecision", "another").await?;
    root.replicas_are(&["m3"]).await
}

/// What is in the namespace of a cluster that is none any more is not ours.
pub(crate) async fn no_cluster_any_more(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e17-gone", &["m1", "m2"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let choice = site
        .placed(Via::Placement, "choice", "policy", &["m1", "m2"])
        .await?;
    root.replicas_are(&["m1", "m2"]).await?;
    let cluster = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": { "name": site.cluster("m1") }
    });
    site.delete(&cluster.to_string()).await?;
    ensure!(root.replica("m1").await.is_ok(), "it went with the cluster");
    choice.decides(&[]).await?;
    root.replicas_stay(&["m1"]).await?;
    site.manage("m1").await?;
    root.replicas_are(&[]).await
}

/// A list that a template has read may grow and shrink.
pub(crate) async fn lists(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e29-list", &["m1"]).await?;
    let root = site.root("policy");
    let list = r#"range (lookup "v1" "ConfigMap" "" "" "app=listed").items hub}}{{hub .metadata.name hub}};{{hub end"#;
    let object = |value: &str| wants("list", json!({ "names": value }));
    root.apply(policy_spec(&[object(&format!(
        "names={}",
        crate::hub::hub(list)
    ))]))
    .await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    root.renders("m1", &[object("names=")]).await?;
    for (name, app) in [("a", "listed"), ("b", "other"), ("c", "listed")] {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": site.name, "labels": { "app": app } }
        });
        site.apply(&map.to_string()).await?;
    }
    root.renders("m1", &[object("names=a;c;")]).await?;
    let relabelled = json!({ "metadata": { "labels": { "app": "listed" } } });
    site.patch("v1", "ConfigMap", Some(&site.name), "b", relabelled)
        .await?;
    root.renders("m1", &[object("names=a;b;c;")]).await?;
    site.remove("ConfigMap", "a").await?;
    root.renders("m1", &[object("names=b;c;")]).await?;
    Ok(())
}
