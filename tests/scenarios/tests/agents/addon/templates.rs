//! Template objects: created, kept, removed.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{Agents, CONFIGURATION, Mode, POLICY, configuration, holds, rule, within};
use reeve_testkit::Object;
use serde_json::{Value, json};

pub(crate) const CLUSTER_RULE: (&str, &str) = ("rules.example.com/v1", "ClusterRule");
pub(crate) const RULE: (&str, &str) = ("rules.example.com/v1", "Rule");
const FINALIZER: &str = "policy.open-cluster-management.io/cleanup-cluster-scoped-policies";
const PARENT: &str = "policy.open-cluster-management.io/policy";

fn action(object: &Object) -> &str {
    object.data["spec"]["remediationAction"]
        .as_str()
        .unwrap_or_default()
}

pub(crate) async fn created(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c09-created";
    let policy = world.place(mode)?.policy(name);
    let place = policy.place();
    let mut template = configuration(name, "inform");
    template["metadata"]["namespace"] = json!("bad");
    template["metadata"]["labels"] = json!({ "mine": "1" });
    policy.apply("inform", &[template]).await?;
    let object = policy.template(name, |_| true).await?;
    ensure!(object.metadata.namespace.as_deref() == Some(place.namespace));
    ensure!(object.data["spec"]["pruneObjectBehavior"] == "None");
    let first = &object.data["spec"]["object-templates"][0];
    ensure!(first["recreateOption"] == "None", "{first:#}");
    for (label, want) in [
        (PARENT, name),
        ("cluster-name", place.hub_namespace),
        (
            "policy.open-cluster-management.io/cluster-name",
            place.hub_namespace,
        ),
        ("cluster-namespace", place.namespace),
        (
            "policy.open-cluster-management.io/cluster-namespace",
            place.namespace,
        ),
        ("mine", "1"),
    ] {
        let found = object.labels().get(label).map(String::as_str);
        ensure!(found == Some(want), "{label} is {found:?}");
    }
    let owners = object.owner_references();
    let uid = policy.copy().await?.uid().context("no UID")?;
    ensure!(owners.len() == 1 && owners[0].uid == uid, "{owners:?}");
    ensure!(owners[0].controller == Some(true) && owners[0].block_owner_deletion == Some(true));
    policy
        .reports(&format!("Policy template {name} created successfully"))
        .await?;
    policy.delete().await?;
    policy.no_object(CONFIGURATION, name).await
}

pub(crate) async fn parent_overrides(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c09-overridden";
    let policy = world.place(mode)?.policy(name);
    let templates = [configuration(name, "inform")];
    policy.apply("enforce", &templates).await?;
    policy
        .template(name, |object| action(object) == "enforce")
        .await?;
    policy.apply("inform", &templates).await?;
    policy
        .template(name, |object| action(object) == "inform")
        .await?;
    policy.apply("enforce", &templates).await?;
    policy
        .template(name, |object| action(object) == "enforce")
        .await?;
    policy
        .reports(&format!("Policy template {name} was updated successfully"))
        .await?;
    Ok(())
}

pub(crate) async fn no_parent_action(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c10-own-action";
    let policy = world.place(mode)?.policy(name);
    policy.apply("", &[configuration(name, "inform")]).await?;
    policy
        .template(name, |object| action(object) == "inform")
        .await?;
    Ok(())
}

pub(crate) async fn inform_only(world: Arc<Agents>, mode: Mode) -> Result<()> {
    for (number, (parent, own, want)) in [
        ("enforce", "InformOnly", "inform"),
        ("", "InformOnly", "inform"),
        ("enforce", "", "enforce"),
        ("Inform", "", "Inform"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("case-c20-{number}");
        let policy = world.place(mode)?.policy(&name);
        policy.apply(parent, &[configuration(&name, own)]).await?;
        policy
            .template(&name, |object| action(object) == want)
            .await?;
    }
    Ok(())
}

pub(crate) async fn renamed(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let names = ["case-c15-stable", "case-c15-before", "case-c15-after"];
    let policy = world.place(mode)?.policy("case-c15-renamed");
    let of = |names: &[&str]| -> Vec<Value> {
        names
            .iter()
            .map(|name| configuration(name, "inform"))
            .collect()
    };
    policy.apply("inform", &of(&names[..2])).await?;
    let stable = policy.template(names[0], |_| true).await?;
    policy.template(names[1], |_| true).await?;
    policy.apply("inform", &of(&[names[0], names[2]])).await?;
    policy.template(names[2], |_| true).await?;
    policy.no_object(CONFIGURATION, names[1]).await?;
    policy.apply("inform", &of(&names[..1])).await?;
    policy.no_object(CONFIGURATION, names[2]).await?;
    let now = policy.template(names[0], |_| true).await?;
    ensure!(now.resource_version() == stable.resource_version());
    Ok(())
}

/// Merge-patches a template object.
async fn patch(policy: &reeve_scenarios::Replicated<'_>, name: &str, patch: Value) -> Result<()> {
    let place = policy.place();
    let (api, kind) = CONFIGURATION;
    place
        .managed
        .patch(api, kind, Some(place.namespace), name, patch)
        .await?;
    Ok(())
}

pub(crate) async fn label_restored(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c15-label";
    let policy = world.place(mode)?.policy(name);
    policy
        .apply("inform", &[configuration(name, "inform")])
        .await?;
    policy.template(name, |_| true).await?;
    let foreign = json!({ "metadata": { "labels": { PARENT: "somebody-else" } } });
    patch(&policy, name, foreign).await?;
    let is_ours = |object: &Object| object.labels().get(PARENT).is_some_and(|of| of == name);
    policy.template(name, is_ours).await?;
    Ok(())
}

pub(crate) async fn owner_restored(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "case-c16-owner";
    let policy = world.place(mode)?.policy(name);
    policy
        .apply("inform", &[configuration(name, "inform")])
        .await?;
    let before = policy.template(name, |_| true).await?;
    let none = json!({ "metadata": { "ownerReferences": [] } });
    patch(&policy, name, none).await?;
    policy
        .template(name, |object| {
            object.owner_references() == before.owner_references()
        })
        .await?;
    Ok(())
}

/// FWK-79.
pub(crate) async fn others_objects(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "rough-edge-01-theirs";
    let place = world.place(mode)?;
    let mut theirs = configuration(name, "inform");
    theirs["metadata"]["namespace"] = json!(place.namespace);
    place.managed.apply(&theirs.to_string()).await?;
    let unmet = json!({
        "disabled": false,
        "policy-templates": [{
            "objectDefinition": configuration(name, "inform"),
            "extraDependencies": [{
                "apiVersion": CONFIGURATION.0, "kind": CONFIGURATION.1,
                "name": "rough-edge-01-absent", "compliance": "Compliant"
            }]
        }]
    });
    let mut broken = configuration(name, "inform");
    broken["metadata"]["annotations"] =
        json!({ "policy.open-cluster-management.io/hub-templates-error": "no such function" });
    let broken = json!({
        "disabled": false, "policy-templates": [{ "objectDefinition": broken }]
    });
    let before = place.policy(name).template(name, |_| true).await?;
    for (policy, spec) in [("unmet", unmet), ("broken", broken)] {
        let policy = place.policy(&format!("rough-edge-01-{policy}"));
        policy.apply_spec(&spec).await?;
        policy.reports("already exists outside of a Policy").await?;
        holds("the object is left alone", || async {
            let object = policy.template(name, |_| true).await?;
            ensure!(object.uid() == before.uid());
            ensure!(object.resource_version() == before.resource_version());
            Ok(())
        })
        .await?;
    }
    Ok(())
}

/// FWK-120.
pub(crate) async fn finalizer_spares_others(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let place = world.place(mode)?;
    let ours = format!("rough-edge-02-ours-{}", place.namespace);
    let theirs = format!("rough-edge-02-theirs-{}", place.namespace);
    let foreign = rule("ClusterRule", &theirs);
    place.managed.apply(&foreign.to_string()).await?;
    let policy = place.policy("rough-edge-02-cleanup");
    let templates = [&ours, &theirs].map(|name| rule("ClusterRule", name));
    policy.apply("", &templates).await?;
    policy.object(CLUSTER_RULE, &ours, |_| true).await?;
    policy.reports("already exists outside of a Policy").await?;
    policy.delete().await?;
    policy.gone().await?;
    policy.no_object(CLUSTER_RULE, &ours).await?;
    let left = policy.find(CLUSTER_RULE, &theirs).await?;
    ensure!(left.is_some(), "another's object was deleted");
    Ok(())
}

/// FWK-114.
pub(crate) async fn kind_changes(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "rough-edge-03-kind";
    let policy = world.place(mode)?.policy(name);
    policy.apply("inform", &[rule("Rule", name)]).await?;
    policy.object(RULE, name, |_| true).await?;
    policy
        .apply("inform", &[configuration(name, "inform")])
        .await?;
    policy.template(name, |_| true).await?;
    policy.no_object(RULE, name).await
}

/// FWK-114: a typo in the kind of a template takes nothing away.
pub(crate) async fn kind_becomes_unknown(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "rough-edge-03-typo";
    let policy = world.place(mode)?.policy(name);
    policy
        .apply("inform", &[configuration(name, "inform")])
        .await?;
    let created = policy.template(name, |_| true).await?;
    let mut typo = configuration(name, "inform");
    typo["kind"] = json!("ConfigurationPolitsy");
    policy.apply("inform", &[typo]).await?;
    policy.reports("template-error; Mapping not found").await?;
    holds("the object of the earlier revision is there", || async {
        let found = policy.find(CONFIGURATION, name).await?;
        let found = found.context("it was deleted")?;
        ensure!(found.uid() == created.uid(), "it was created anew");
        Ok(())
    })
    .await?;
    // Another kind, which the template is applied of.
    policy.apply("inform", &[rule("Rule", name)]).await?;
    policy.object(RULE, name, |_| true).await?;
    policy.no_object(CONFIGURATION, name).await?;
    // And one that the API server refuses: its predecessor stays.
    let mut refused = configuration(name, "inform");
    refused["spec"]["remediationAction"] = json!("perhaps");
    policy.apply("", &[refused]).await?;
    policy
        .reports("template-error; Failed to create policy template")
        .await?;
    holds("the predecessor is there", || async {
        let found = policy.find(RULE, name).await?;
        found.map(drop).context("it was deleted")
    })
    .await
}

/// FWK-114, of two add-ons on one cluster.
pub(crate) async fn equal_names(world: Arc<Agents>) -> Result<()> {
    let name = "rough-edge-03-equal";
    let mut policies = Vec::new();
    for mode in [Mode::Default, Mode::Hosted] {
        let policy = world.place(mode)?.policy(name);
        let own = format!("rough-edge-03-{}", policy.place().namespace);
        policy.apply("", &[rule("ClusterRule", &own)]).await?;
        policy.object(CLUSTER_RULE, &own, |_| true).await?;
        policies.push((policy, own));
    }
    // Each cleans up once more.
    let other = rule("Rule", name);
    for (policy, own) in &policies {
        policy
            .apply("", &[rule("ClusterRule", own), other.clone()])
            .await?;
        policy.object(RULE, name, |_| true).await?;
    }
    holds("both objects are there", || async {
        for (policy, own) in &policies {
            ensure!(policy.find(CLUSTER_RULE, own).await?.is_some(), "no {own}");
        }
        Ok(())
    })
    .await?;
    let (first, own) = &policies[0];
    first.delete().await?;
    first.gone().await?;
    first.no_object(CLUSTER_RULE, own).await?;
    let (second, own) = &policies[1];
    ensure!(second.find(CLUSTER_RULE, own).await?.is_some(), "no {own}");
    second.delete().await?;
    second.gone().await
}

/// FWK-117.
pub(crate) async fn emptied(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let policy = world.place(mode)?.policy("rough-edge-04-emptied");
    let wide = format!("rough-edge-04-{}", policy.place().namespace);
    let templates = [
        rule("ClusterRule", &wide),
        configuration("rough-edge-04-near", "inform"),
    ];
    policy.apply("", &templates).await?;
    policy.object(CLUSTER_RULE, &wide, |_| true).await?;
    policy.template("rough-edge-04-near", |_| true).await?;
    ensure!(policy.copy().await?.finalizers() == [FINALIZER]);
    policy.apply("", &[]).await?;
    policy.no_object(CLUSTER_RULE, &wide).await?;
    policy
        .no_object(CONFIGURATION, "rough-edge-04-near")
        .await?;
    within("the finalizer is gone", || async {
        let copy = policy.copy().await?;
        ensure!(copy.finalizers().is_empty(), "{:?}", copy.finalizers());
        Ok(())
    })
    .await
}

/// FWK-118.
pub(crate) async fn finalizer_stays(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let policy = world.place(mode)?.policy("rough-edge-05-stays");
    let name = format!("rough-edge-05-{}", policy.place().namespace);
    policy.apply("", &[rule("ClusterRule", &name)]).await?;
    policy.object(CLUSTER_RULE, &name, |_| true).await?;
    // The template is not what it was, and its object cannot be brought in line.
    let mut pending = json!({
        "disabled": false,
        "policy-templates": [{ "objectDefinition": rule("ClusterRule", &name) }]
    });
    let mut bad = rule("ClusterRule", &name);
    bad["metadata"]["labels"] = json!({ "bad": "no label value!" });
    pending["policy-templates"][0]["objectDefinition"] = bad;
    policy.apply_spec(&pending).await?;
    policy.reports("Failed to update policy template").await?;
    ensure!(policy.copy().await?.finalizers() == [FINALIZER]);
    policy.delete().await?;
    policy.gone().await?;
    policy.no_object(CLUSTER_RULE, &name).await
}

/// FWK-75.
pub(crate) async fn deleted_with_duplicates(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let policy = world.place(mode)?.policy("rough-edge-06-duplicates");
    let name = format!("rough-edge-06-{}", policy.place().namespace);
    let template = rule("ClusterRule", &name);
    policy.apply("", std::slice::from_ref(&template)).await?;
    policy.object(CLUSTER_RULE, &name, |_| true).await?;
    policy.apply("", &[template.clone(), template]).await?;
    policy
        .reports("All policy-template names must be unique within a policy")
        .await?;
    policy.delete().await?;
    policy.gone().await?;
    policy.no_object(CLUSTER_RULE, &name).await
}

/// FWK-115.
pub(crate) async fn unreadable_is_kept(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = "rough-edge-07-kept";
    let policy = world.place(mode)?.policy(name);
    policy
        .apply("inform", &[configuration(name, "inform")])
        .await?;
    let before = policy.template(name, |_| true).await?;
    let mut broken = configuration(name, "inform");
    broken.as_object_mut().context("no object")?.remove("kind");
    policy.apply("inform", &[broken]).await?;
    policy.reports("Failed to decode policy template").await?;
    holds("the object is kept", || async {
        let object = policy.find(CONFIGURATION, name).await?;
        ensure!(object.is_some_and(|object| object.uid() == before.uid()));
        Ok(())
    })
    .await
}

/// FWK-29: the first version of the kind is not served.
pub(crate) async fn version_not_served(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let names = ["rough-edge-35-stays", "rough-edge-35-goes"];
    let policy = world.place(mode)?.policy("rough-edge-35-versions");
    let templates = names.map(|name| rule("Rule", name));
    policy.apply("", &templates).await?;
    policy.object(RULE, names[1], |_| true).await?;
    policy.apply("", &templates[..1]).await?;
    policy.no_object(RULE, names[1]).await?;
    policy.object(RULE, names[0], |_| true).await?;
    Ok(())
}

/// A name that no label can have: no object can be made for it, and none has to be looked for.
pub(crate) async fn long_name(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let name = format!("rough-edge-05-{}", "long".repeat(14));
    let policy = world.place(mode)?.policy(&name);
    let template = json!({ "objectDefinition": rule("ClusterRule", "rough-edge-05-long") });
    let unlabelled = json!({
        "apiVersion": POLICY.0, "kind": POLICY.1,
        "metadata": { "name": name, "namespace": policy.place().hub_namespace },
        "spec": { "disabled": false, "policy-templates": [template] }
    });
    let hub = policy.place().hub;
    hub.apply(&unlabelled.to_string()).await?;
    policy.copied().await?;
    policy.reports("Failed to create policy template").await?;
    policy.delete().await?;
    policy.gone().await
}
