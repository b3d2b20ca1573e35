//! PROP-81 and PROP-95, and with placements in place of rules E25: where replicas are, and what they look
//! like. E27: both at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use reeve_scenarios::{
    Hubs, Root, Site, Via, plain, policy_spec, refused, same, steadily, wants, within,
};
use serde_json::{Value, json};

use crate::hub::V1;

pub(crate) async fn disabled_once(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e1", &["m1", "m2"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    site.placed(Via::Rule, "choice", "policy", &["m1", "m2"])
        .await?;
    root.replicas_are(&["m1", "m2"]).await?;
    root.disable(true).await?;
    root.replicas_are(&[]).await?;
    let want = vec![format!("Policy {}/policy was disabled", site.name)];
    within("the event is emitted", || async {
        same("the events", root.reported("disabled").await?, want.clone())
    })
    .await?;
    steadily("the event is emitted once", || async {
        same("the events", root.reported("disabled").await?, want.clone())
    })
    .await?;
    let events = site.events("Policy", "policy").await?;
    let reported = events
        .iter()
        .find(|(_, _, message)| message.contains("disabled"));
    let (kind, reason, _) = reported.context("no event was emitted")?;
    same("type", kind.as_str(), "Normal")?;
    same("reason", reason.as_str(), "PolicyPropagation")
}

pub(crate) async fn follows_decisions(
    world: Arc<Hubs>,
    name: &'static str,
    via: Via,
) -> Result<()> {
    let site = world.site(name, &["m1", "m2"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let choice = site.placed(via, "choice", "policy", &["m1"]).await?;
    root.replicas_are(&["m1"]).await?;
    root.spec_is_copied("m1").await?;
    for clusters in [&["m2"][..], &["m1", "m2"], &["m1"], &["m1", "m2"]] {
        choice.decides(clusters).await?;
        root.replicas_are(clusters).await?;
    }
    // No cluster is chosen, then the decisions are deleted, then all objects.
    choice.decides(&[]).await?;
    root.replicas_are(&[]).await?;
    choice.decides(&["m1", "m2"]).await?;
    root.replicas_are(&["m1", "m2"]).await?;
    choice.forget().await?;
    root.replicas_are(&[]).await?;
    choice.decides(&["m1", "m2"]).await?;
    root.replicas_are(&["m1", "m2"]).await?;
    root.delete().await?;
    site.unbind("choice").await?;
    choice.remove().await?;
    choice.forget().await?;
    root.replicas_stay(&[]).await?;
    let left = site.list(V1, "Policy", Some(&site.name)).await?;
    same("policies left", left.len(), 0)
}

pub(crate) async fn follows_bindings(world: Arc<Hubs>, name: &'static str, via: Via) -> Result<()> {
    let site = world.site(name, &["m1", "m2"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let choice = site.placed(via, "choice", "policy", &["m1", "m2"]).await?;
    root.replicas_are(&["m1", "m2"]).await?;
    // The binding names a missing placement.
    let policy = [("Policy", "policy")];
    let missing = site.choice(via, "missing");
    site.bind("choice", &missing, &policy, json!({})).await?;
    root.replicas_are(&[]).await?;
    site.bind("choice", &choice, &policy, json!({})).await?;
    root.replicas_are(&["m1", "m2"]).await?;
    // Invalid subjects.
    for (field, value) in [("apiGroup", "policy1.example.com"), ("kind", "Policy1")] {
        let mut subject = json!({ "apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": "policy" });
        subject[field] = json!(value);
        let patch = json!({ "subjects": [subject] });
        let outcome = site
            .patch(V1, "PlacementBinding", Some(&site.name), "choice", patch)
            .await;
        refused(outcome, value)?;
    }
    root.replicas_are(&["m1", "m2"]).await?;
    // The binding names another policy.
    choice.bind(&[("Policy", "other")]).await?;
    root.replicas_are(&[]).await?;
    choice.bind(&policy).await?;
    root.replicas_are(&["m1", "m2"]).await?;
    site.unbind("choice").await?;
    root.replicas_are(&[]).await
}

pub(crate) async fn follows_the_root(world: Arc<Hubs>, name: &'static str, via: Via) -> Result<()> {
    let site = world.site(name, &["m1", "m2"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    site.placed(via, "choice", "policy", &["m1", "m2"]).await?;
    root.replicas_are(&["m1", "m2"]).await?;
    root.patch(json!({ "spec": { "remediationAction": "enforce" } }))
        .await?;
    for cluster in ["m1", "m2"] {
        root.wait_for_remediation(cluster, "enforce").await?;
        root.spec_is_copied(cluster).await?;
    }
    root.disable(true).await?;
    root.replicas_are(&[]).await?;
    root.apply(plain()).await?;
    root.replicas_are(&["m1", "m2"]).await?;
    root.spec_is_copied("m1").await?;
    // Other templates, whose numbers keep their type.
    let other = json!({
        "apiVersion": V1, "kind": "IamPolicy", "metadata": { "name": "other" },
        "spec": {
            "maxClusterRoleBindingUsers": 5, "ratio": 0.5, "large": 9_007_199_254_740_993_i64,
            "nothing": null, "empty": {}, "none": [], "namespaceSelector": { "include": ["default"], "exclude": ["kube-*"] }
        }
    });
    let spec = policy_spec(&[other, wants("second", json!({ "a": "b" }))]);
    root.apply(spec.clone()).await?;
    for cluster in ["m1", "m2"] {
        root.spec_is(cluster, &spec).await?;
    }
    Ok(())
}

type Entries = Option<BTreeMap<String, String>>;

/// Waits until the replica on m1 has these labels of the user (the framework's follow), and these
/// annotations (the one for Argo CD follows).
async fn metadata_is(
    site: &Site<'_>,
    root: &Root<'_>,
    labels: &[(&str, &str)],
    annotations: &[(&str, &str)],
) -> Result<()> {
    let owned = |entries: &[(&str, &str)]| -> BTreeMap<String, String> {
        let entries = entries.iter();
        entries
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    };
    let (full, cluster) = (root.replica_name(), site.cluster("m1"));
    let mut labels = owned(labels);
    for (key, value) in [
        ("root-policy", &full),
        ("cluster-name", &cluster),
        ("cluster-namespace", &cluster),
    ] {
        labels.insert(
            format!("policy.open-cluster-management.io/{key}"),
            value.clone(),
        );
    }
    let mut annotations = owned(annotations);
    let argo = "argocd.argoproj.io/compare-options".to_owned();
    annotations.insert(argo, "IgnoreExtraneous".to_owned());
    root.until("m1", "its metadata", |replica| {
        let same = |what: &str, got: &Entries, want: &BTreeMap<String, String>| {
            same(what, got.clone().unwrap_or_default(), want.clone())
        };
        same("its labels", &replica.metadata.labels, &labels)?;
        same(
            "its annotations",
            &replica.metadata.annotations,
            &annotations,
        )
    })
    .await?;
    Ok(())
}

pub(crate) async fn metadata(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e9", &["m1"]).await?;
    let root = site.root("policy");
    // A policy without templates is propagated too.
    let empty = json!({ "disabled": false, "policy-templates": [] });
    root.apply(empty.clone()).await?;
    site.placed(Via::Rule, "choice", "policy", &["m1"]).await?;
    root.spec_is("m1", &empty).await?;
    metadata_is(&site, &root, &[], &[]).await?;
    root.patch(json!({ "metadata": { "labels": { "team": "red" } } }))
        .await?;
    metadata_is(&site, &root, &[("team", "red")], &[]).await?;
    let argo = "argocd.argoproj.io/compare-options";
    root.patch(json!({ "metadata": { "annotations": { "note": "well", argo: "Mine" } } }))
        .await?;
    metadata_is(&site, &root, &[("team", "red")], &[("note", "well")]).await?;
    // Nobody names the cluster but the hub.
    let fake = json!({ "policy.open-cluster-management.io/cluster-name": "fake", "team": "blue" });
    root.patch(json!({ "metadata": { "labels": fake } }))
        .await?;
    metadata_is(&site, &root, &[("team", "blue")], &[("note", "well")]).await?;
    // What kubectl keeps of its own is nobody else's.
    let kubectl = "kubectl.kubernetes.io/last-applied-configuration";
    root.patch(json!({ "metadata": { "annotations": { kubectl: "{}", "note": "ill" } } }))
        .await?;
    metadata_is(&site, &root, &[("team", "blue")], &[("note", "ill")]).await
}

pub(crate) async fn copied_or_not(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e10", &["m1"]).await?;
    let root = site.root("policy");
    let label = ("policy.open-cluster-management.io/mine", "1");
    let labels = json!({ "team": "red", label.0: label.1 });
    let annotations =
        json!({ "note": "well", "policy.open-cluster-management.io/standards": "NIST" });
    let standards = ("policy.open-cluster-management.io/standards", "NIST");
    let spec = |copy: Option<bool>| {
        let mut spec: Value = plain();
        if let Some(copy) = copy {
            spec["copyPolicyMetadata"] = json!(copy);
        }
        spec
    };
    site.placed(Via::Rule, "choice", "policy", &["m1"]).await?;
    for copy in [None, Some(true), Some(false), None] {
        root.apply_with(labels.clone(), annotations.clone(), spec(copy))
            .await?;
        root.spec_is("m1", &spec(copy)).await?;
        if copy == Some(false) {
            metadata_is(&site, &root, &[label], &[standards]).await?;
        } else {
            let labels = [("team", "red"), label];
            metadata_is(&site, &root, &labels, &[("note", "well"), standards]).await?;
        }
    }
    Ok(())
}

pub(crate) async fn several(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e27", &["m1", "m2"]).await?;
    let root = site.root("policy");
    let policy = [("Policy", "policy")];
    root.apply(plain()).await?;
    let first = site
        .placed(Via::Placement, "pb1", "policy", &["m1"])
        .await?;
    let second = site.placed(Via::Placement, "pb2", "policy", &[]).await?;
    let third = site.placed(Via::Rule, "pb3", "policy", &[]).await?;
    let fourth = site.placed(Via::Rule, "pb4", "policy", &[]).await?;
    root.replicas_are(&["m1"]).await?;
    second.decides(&["m2"]).await?;
    root.replicas_are(&["m1", "m2"]).await?;
    let missing = site.choice(Via::Placement, "missing");
    site.bind("pb2", &missing, &policy, json!({})).await?;
    root.replicas_are(&["m1"]).await?;
    third.decides(&["m2"]).await?;
    root.replicas_are(&["m1", "m2"]).await?;
    site.bind("pb1", &missing, &policy, json!({})).await?;
    root.replicas_are(&["m2"]).await?;
    fourth.decides(&["m1"]).await?;
    root.replicas_are(&["m1", "m2"]).await?;
    first.bind(&policy).await?;
    root.replicas_are(&["m1", "m2"]).await
}
