//! The hub templates of one tenant compute as long as they may; the policy of another one does not wait for all of them.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use reeve_scenarios::{Root, Site, Via, errors, objects, policy_spec, wants, within};
use reeve_testkit::{Object, Plane};
use serde_json::{Value, json};

use crate::hub_guarantees::{Propagator, V1, hub, plane};

const CLUSTERS: usize = 6;
/// Fewer than there are greedy replicas.
const WORKERS: &str = "--replicated-policy-max-concurrency=2";

/// An edit reaches all clusters soon although another policy makes one key after the other.
pub(crate) async fn greedy_policy_delays_no_other() -> Result<()> {
    let plane = plane("fair").await?;
    let mut propagator = Propagator::start(&plane, &[WORKERS], &[]).await?;
    let outcome = play(&plane).await;
    let outcome = propagator.with_log(outcome);
    propagator.component.stop().await?;
    outcome
}

async fn play(plane: &Plane) -> Result<()> {
    let clusters: Vec<String> = (0..CLUSTERS).map(|number| format!("m{number}")).collect();
    let clusters: Vec<&str> = clusters.iter().map(String::as_str).collect();
    let site = Site::open(plane, "fair", &clusters).await?;
    let honest = site.root("honest");
    honest.apply(spec("honest", r#""0""#)).await?;
    site.placed(Via::Placement, "honest", "honest", &clusters)
        .await?;
    arrived(&honest, &clusters, "0").await?;
    let alone = edit(&honest, &clusters, "1").await?;

    let greedy = site.root("greedy");
    let keys = format!(
        "{}{}{}",
        hub("range until 1000"),
        hub(r#"genPrivateKey "rsa" | len"#),
        hub("end")
    );
    let wanted = wants("greedy", json!({ "edit": keys }));
    greedy.apply(policy_spec(&[wanted])).await?;
    site.placed(Via::Placement, "greedy", "greedy", &clusters)
        .await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let beside = edit(&honest, &clusters, "2").await?;
    let ended = greedy_replicas(&site).await?;
    println!(
        "an edit takes {alone:?} alone, {beside:?} beside a greedy policy, of which {ended} of {CLUSTERS} replicas ended first"
    );
    // Behind the greedy replicas the edit comes after most of them, on machines of any speed.
    ensure!(ended < CLUSTERS / 2, "{ended} greedy replicas ended first");
    within(
        "the greedy replicas have their limit as an error",
        || async {
            let ended = greedy_replicas(&site).await?;
            ensure!(ended == CLUSTERS, "{ended} of {CLUSTERS} have");
            Ok(())
        },
    )
    .await
}

/// How many replicas have ended at the limit of a template.
async fn greedy_replicas(site: &Site<'_>) -> Result<usize> {
    let replicas = site.list(V1, "Policy", None).await?;
    let is_limit = |text: String| text.contains("the template exceeded the limit");
    let has_ended = |replica: &&Object| errors(replica).into_iter().flatten().any(is_limit);
    Ok(replicas.iter().filter(has_ended).count())
}

fn spec(name: &str, action: &str) -> Value {
    policy_spec(&[wants(name, json!({ "edit": hub(action) }))])
}

/// Edits the policy. Returns how long it takes until all replicas have the edit.
async fn edit(root: &Root<'_>, clusters: &[&str], number: &str) -> Result<Duration> {
    let begin = Instant::now();
    root.apply(spec("honest", &format!("{number:?}"))).await?;
    arrived(root, clusters, number).await?;
    Ok(begin.elapsed())
}

async fn arrived(root: &Root<'_>, clusters: &[&str], number: &str) -> Result<()> {
    for cluster in clusters {
        root.until(cluster, "the edit", |replica: &Object| {
            let objects = objects(replica);
            let path = "/spec/object-templates/0/objectDefinition/data/edit";
            let edit = objects.first().and_then(|object| object.pointer(path));
            ensure!(edit == Some(&json!(number)), "the edit is {edit:?}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}
