//! A bad template reports so and disturbs nothing beside it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use reeve_scenarios::{Governed, history};
use reeve_testkit::{World, eventually};
use serde_json::{Value, json};

fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "default" },
        "data": { "k": "v" }
    })
}

/// Applies a policy with a bad template before a good one, and a good policy after it.
async fn bad_then_good<'a>(
    world: &'a World,
    name: &str,
    bad: Value,
) -> Result<(Governed<'a>, Governed<'a>)> {
    let good = format!("{name}-good");
    let next = format!("{name}-next");
    let template = |name: &str| Governed::template(name, "musthave", &config_map(name));
    let broken = Governed::apply(world, name, "enforce", vec![bad, template(&good)]).await?;
    broken.place(&["c1"]).await?;
    let whole = Governed::apply(world, &next, "enforce", vec![template(&next)]).await?;
    whole.place(&["c1"]).await?;
    Ok((broken, whole))
}

async fn the_rest_works(world: &World, broken: &Governed<'_>, next: &Governed<'_>) -> Result<()> {
    next.root_is("Compliant").await?;
    broken.root_is("NonCompliant").await?;
    let good = format!("{}-good", broken.name());
    let found = format!(
        "Compliant; notification - configmaps [{good}] found as specified in namespace default"
    );
    broken.reports("c1", &good, &found).await?;
    let object = world
        .cluster("c1")?
        .plane
        .get("v1", "ConfigMap", Some("default"), &good)
        .await?;
    ensure!(
        object.is_some(),
        "the good template beside the bad one was not enforced"
    );
    Ok(())
}

pub(crate) async fn undecodable(world: Arc<World>) -> Result<()> {
    let name = "broken-kind";
    let bad = json!({ "apiVersion": "policy.open-cluster-management.io/v1", "metadata": { "name": "x" } });
    let (broken, next) = bad_then_good(&world, name, bad).await?;
    let message = "NonCompliant; template-error; Failed to decode policy template with err: \
        Object 'Kind' is missing in \
        '{\"apiVersion\":\"policy.open-cluster-management.io/v1\",\"metadata\":{\"name\":\"x\"}}'";
    broken.reports("c1", "template-0", message).await?;
    the_rest_works(&world, &broken, &next).await
}

pub(crate) async fn refused(world: Arc<World>) -> Result<()> {
    let name = "broken-field";
    let mut bad = Governed::template("broken-field-bad", "musthave", &config_map("never"));
    bad["spec"]["unknownField"] = json!(true);
    let (broken, next) = bad_then_good(&world, name, bad).await?;
    let what = "the strict decoding error arrives on the hub";
    eventually(what, Duration::from_secs(30), || async {
        let history = broken.history("c1", "broken-field-bad").await?;
        let newest = history.first().cloned().unwrap_or_default();
        let starts = "NonCompliant; template-error; Failed to create policy template: ";
        let ends = "strict decoding error: unknown field \"spec.unknownField\"";
        ensure!(
            newest.starts_with(starts) && newest.ends_with(ends),
            "the history is {history:#?}"
        );
        Ok(())
    })
    .await?;
    the_rest_works(&world, &broken, &next).await?;

    // Mended, it works.
    broken.patch(json!({ "spec": { "policy-templates": [
        { "objectDefinition": Governed::template("broken-field-bad", "musthave", &config_map("mended")) }
    ] } })).await?;
    broken.root_is("Compliant").await?;
    Ok(())
}

pub(crate) async fn duplicates(world: Arc<World>) -> Result<()> {
    let name = "broken-twice";
    let template = || Governed::template("twin", "musthave", &config_map("twin"));
    let policy = Governed::apply(&world, name, "enforce", vec![template(), template()]).await?;
    policy.place(&["c1"]).await?;
    let message =
        "NonCompliant; template-error; All policy-template names must be unique within a policy";
    policy.reports("c1", "twin", message).await?;
    policy.root_is("NonCompliant").await?;
    let plane = &world.cluster("c1")?.plane;
    let api = "policy.open-cluster-management.io/v1";
    ensure!(
        plane
            .get(api, "ConfigurationPolicy", Some("c1"), "twin")
            .await?
            .is_none()
    );
    let replica = plane
        .get(api, "Policy", Some("c1"), &policy.replica())
        .await?;
    let observed = replica
        .map(|replica| history(&replica, "twin"))
        .unwrap_or_default();
    ensure!(
        observed.iter().filter(|found| *found == message).count() <= 2,
        "it repeats itself: {observed:#?}"
    );
    Ok(())
}
