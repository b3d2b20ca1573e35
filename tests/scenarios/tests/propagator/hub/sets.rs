//! PROP-77 and PROP-142: policies that are bound through sets.

use std::sync::Arc;

use anyhow::Result;
use reeve_scenarios::{Choice, Hubs, Root, Site, Via, on, plain, steadily};
use serde_json::{Value, json};

/// A root with a plain spec.
async fn root<'a>(site: &'a Site<'a>, name: &str) -> Result<Root<'a>> {
    let root = site.root(name);
    root.apply(plain()).await?;
    Ok(root)
}

/// A choice bound to subjects by a binding of its name.
async fn chosen<'a>(
    site: &'a Site<'a>,
    via: Via,
    name: &str,
    subjects: &[(&str, &str)],
    clusters: &[&str],
) -> Result<Choice<'a>> {
    let choice = site.choice(via, name);
    choice.make().await?;
    choice.bind(subjects).await?;
    choice.decides(clusters).await?;
    Ok(choice)
}

pub(crate) async fn follows_sets(world: Arc<Hubs>, name: &'static str, via: Via) -> Result<()> {
    let site = world.site(name, &["m1", "m2"]).await?;
    let policy = root(&site, "policy").await?;
    site.set("set", &["policy"]).await?;
    let set = [("PolicySet", "set")];
    let choice = chosen(&site, via, "choice", &set, &["m1"]).await?;
    for clusters in [&["m1"][..], &["m2"], &["m1", "m2"], &["m1"], &["m1", "m2"]] {
        choice.decides(clusters).await?;
        policy.replicas_are(clusters).await?;
    }
    let observed = json!({
        "placement": [choice.entry_of_set("choice", "set")], "status": [on("m1", ""), on("m2", "")]
    });
    policy.status_is(observed.clone()).await?;
    // The set, the binding and the decisions go in turn.
    site.remove("PolicySet", "set").await?;
    policy.replicas_are(&[]).await?;
    policy.status_is(json!({})).await?;
    site.set("set", &["policy"]).await?;
    policy.replicas_are(&["m1", "m2"]).await?;
    site.unbind("choice").await?;
    policy.replicas_are(&[]).await?;
    choice.bind(&set).await?;
    policy.replicas_are(&["m1", "m2"]).await?;
    policy.status_is(observed).await?;
    choice.forget().await?;
    policy.replicas_are(&[]).await
}

pub(crate) async fn direct_and_set(world: Arc<Hubs>, name: &'static str, via: Via) -> Result<()> {
    let site = world.site(name, &["m1", "m2"]).await?;
    let policy = root(&site, "policy").await?;
    site.set("set", &["policy"]).await?;
    let direct = site.placed(via, "direct", "policy", &["m1"]).await?;
    policy.replicas_are(&["m1"]).await?;
    let set = [("PolicySet", "set")];
    let through = chosen(&site, via, "through", &set, &["m2"]).await?;
    policy.replicas_are(&["m1", "m2"]).await?;
    policy
        .status_is(json!({
            "placement": [direct.entry("direct"), through.entry_of_set("through", "set")],
            "status": [on("m1", ""), on("m2", "")]
        }))
        .await?;
    site.remove("PolicySet", "set").await?;
    policy.replicas_are(&["m1"]).await?;
    site.set("set", &["policy"]).await?;
    policy.replicas_are(&["m1", "m2"]).await?;
    site.unbind("direct").await?;
    policy.replicas_are(&["m2"]).await?;
    // Both ways lead to one cluster: either keeps the policy there.
    through.decides(&["m1"]).await?;
    direct.bind(&[("Policy", "policy")]).await?;
    policy.replicas_are(&["m1"]).await?;
    through.decides(&[]).await?;
    policy.replicas_stay(&["m1"]).await
}

pub(crate) async fn members(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e41", &["m1", "m2"]).await?;
    let policy = root(&site, "policy").await?;
    site.set("set", &["policy"]).await?;
    let set = [("PolicySet", "set")];
    chosen(&site, Via::Placement, "choice", &set, &["m1", "m2"]).await?;
    policy.replicas_are(&["m1", "m2"]).await?;
    site.set("set", &[]).await?;
    policy.replicas_are(&[]).await?;
    site.set("set", &["policy"]).await?;
    policy.replicas_are(&["m1", "m2"]).await?;
    site.set("set", &["policy", "nobody"]).await?;
    policy.replicas_stay(&["m1", "m2"]).await?;
    // A member that comes later is placed when it comes.
    let late = root(&site, "nobody").await?;
    late.replicas_are(&["m1", "m2"]).await?;
    site.set("set", &[]).await?;
    policy.replicas_are(&[]).await?;
    late.replicas_are(&[]).await
}

pub(crate) async fn two_sets_two_bindings(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e42", &["m1", "m2"]).await?;
    let policy = root(&site, "policy").await?;
    let mut entries = Vec::new();
    for (set, cluster) in [("set-1", "m1"), ("set-2", "m2")] {
        site.set(set, &["policy"]).await?;
        let subjects = [("PolicySet", set)];
        let choice = chosen(&site, Via::Placement, set, &subjects, &[cluster]).await?;
        entries.push(choice.entry_of_set(set, set));
    }
    policy.replicas_are(&["m1", "m2"]).await?;
    policy
        .status_is(json!({ "placement": entries, "status": [on("m1", ""), on("m2", "")] }))
        .await?;
    site.set("set-1", &[]).await?;
    policy.replicas_are(&["m2"]).await
}

pub(crate) async fn two_sets_one_binding(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e43", &["m1", "m2"]).await?;
    let (first, second) = (root(&site, "first").await?, root(&site, "second").await?);
    site.set("set-1", &["first"]).await?;
    site.set("set-2", &["second"]).await?;
    let sets = [("PolicySet", "set-1"), ("PolicySet", "set-2")];
    let choice = chosen(&site, Via::Placement, "choice", &sets, &["m1"]).await?;
    let observed = |set: &str, cluster: &str| json!({ "placement": [choice.entry_of_set("choice", set)], "status": [on(cluster, "")] });
    for cluster in ["m1", "m2"] {
        choice.decides(&[cluster]).await?;
        for (policy, set) in [(&first, "set-1"), (&second, "set-2")] {
            policy.status_is(observed(set, cluster)).await?;
            policy.replicas_are(&[cluster]).await?;
        }
    }
    let sets = [
        ("PolicySet", "set-1"),
        ("PolicySet", "set-2"),
        ("PolicySet", "missing"),
    ];
    choice.bind(&sets).await?;
    for cluster in ["m1", "m2"] {
        choice.decides(&[cluster]).await?;
        for (policy, set) in [(&first, "set-1"), (&second, "set-2")] {
            policy.status_is(observed(set, cluster)).await?;
            policy.replicas_are(&[cluster]).await?;
        }
    }
    Ok(())
}

pub(crate) async fn repeated_subjects(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e44", &["m1"]).await?;
    let (first, second) = (root(&site, "first").await?, root(&site, "second").await?);
    site.set("set-1", &["first"]).await?;
    site.set("set-2", &["second"]).await?;
    let subjects = [
        ("Policy", "first"),
        ("PolicySet", "set-1"),
        ("PolicySet", "set-2"),
        ("Policy", "first"),
    ];
    let choice = chosen(&site, Via::Placement, "choice", &subjects, &["m1"]).await?;
    let observed =
        |placement: &[Value]| json!({ "placement": placement, "status": [on("m1", "")] });
    let direct = choice.entry("choice");
    let (one, two) = (
        choice.entry_of_set("choice", "set-1"),
        choice.entry_of_set("choice", "set-2"),
    );
    first.status_is(observed(&[direct, one])).await?;
    second.status_is(observed(&[two])).await?;
    first.replicas_are(&["m1"]).await?;
    second.replicas_are(&["m1"]).await
}

/// 5 and 12: whatever changes at once, and whatever the status knew, no replica is forgotten.
pub(crate) async fn at_once(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-05", &["m1", "m2"]).await?;
    let policy = root(&site, "policy").await?;
    let set = [("PolicySet", "set")];
    site.set("set", &["policy"]).await?;
    let choice = chosen(&site, Via::Placement, "choice", &set, &["m1", "m2"]).await?;
    for round in 0..8 {
        policy.replicas_are(&["m1", "m2"]).await?;
        let (left, right) = match round % 4 {
            0 => tokio::join!(site.set("set", &[]), choice.decides(&[])),
            1 => tokio::join!(choice.decides(&["m1"]), site.set("set", &[])),
            2 => tokio::join!(site.unbind("choice"), choice.forget()),
            _ => tokio::join!(site.remove("PolicySet", "set"), site.unbind("choice")),
        };
        left.and(right)?;
        policy.replicas_are(&[]).await?;
        policy.status_is(json!({})).await?;
        choice.decides(&["m1", "m2"]).await?;
        choice.bind(&set).await?;
        site.set("set", &["policy"]).await?;
    }
    policy.replicas_are(&["m1", "m2"]).await
}

/// 5 and 12, when nobody looks.
pub(crate) async fn while_away(world: Arc<Hubs>) -> Result<()> {
    let hub = world.bare().await?;
    let site = hub.site("rough-edge-12", &["m1", "m2"]).await?;
    let policy = root(&site, "policy").await?;
    let choice = site
        .placed(Via::Placement, "choice", "policy", &["m1", "m2"])
        .await?;
    policy.replicas_are(&["m1", "m2"]).await?;
    policy.reports("m1", "Compliant").await?;
    policy.reports("m2", "Compliant").await?;
    policy.is("Compliant").await?;
    let changes = async {
        site.unbind("choice").await?;
        choice.forget().await?;
        let status = json!({ "status": { "status": null, "compliant": null, "placement": null } });
        site.patch_status(crate::hub::V1, "Policy", Some(&site.name), "policy", status)
            .await?;
        Ok(())
    };
    hub.propagator().while_away(changes).await?;
    policy.replicas_are(&[]).await?;
    steadily("it stays so", || async {
        anyhow::ensure!(policy.replicas().await?.is_empty(), "there are replicas");
        Ok(())
    })
    .await
}
