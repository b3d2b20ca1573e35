//! A controller that is killed again and again while it creates objects and deletes them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{Controller, Evaluator, Subject, namespace, same, within};

/// The policies' namespace: they have a controller of their own.
const POLICIES: &str = "mortal";
/// Policies at a time.
const COUNT: usize = 6;
/// Kills a phase; there are five.
const KILLS: u64 = 10;

/// After each phase the cluster is as it would be without a kill.
pub(crate) async fn fifty(world: Arc<Evaluator>) -> Result<()> {
    for name in [POLICIES, "kills"] {
        namespace(&world, name).await?;
    }
    // These were there before, and no policy created them.
    for number in 0..COUNT {
        world.apply(&map(&format!("old-{number}"))).await?;
    }
    let mut controller =
        Controller::start(world.plane(), POLICIES, &["--evaluation-backoff=1"]).await?;
    let outcome = phases(&world, &mut controller).await;
    let outcome = controller.with_log(outcome);
    controller.stop().await?;
    outcome
}

async fn phases(world: &Evaluator, controller: &mut Controller) -> Result<()> {
    let policies: Vec<Subject<'_>> = (0..COUNT)
        .map(|number| Subject::new(world, POLICIES, &format!("kills-{number}")))
        .collect();
    for (number, policy) in policies.iter().enumerate() {
        policy
            .apply(&wants(
                &[("new", number), ("more", number), ("old", number)],
                "v",
            ))
            .await?;
    }
    kill(controller, 0).await?;
    objects_are(world, &["more", "new", "old"]).await?;
    for policy in &policies {
        policy.is("Compliant").await?;
        created(policy, &["more", "new"]).await?;
    }
    // Values change: nothing is created, and whose the objects are stays known.
    for (number, policy) in policies.iter().enumerate() {
        policy
            .apply(&wants(
                &[("new", number), ("more", number), ("old", number)],
                "w",
            ))
            .await?;
    }
    kill(controller, 1).await?;
    for policy in &policies {
        policy.is("Compliant").await?;
        created(policy, &["more", "new"]).await?;
    }
    // What is no longer wanted goes, if the policy created it.
    for (number, policy) in policies.iter().enumerate() {
        policy.apply(&wants(&[("new", number)], "w")).await?;
    }
    kill(controller, 2).await?;
    objects_are(world, &["new", "old"]).await?;
    // With the policies their objects go.
    for policy in &policies {
        policy.delete().await?;
    }
    kill(controller, 3).await?;
    for policy in &policies {
        policy.gone().await?;
    }
    objects_are(world, &["old"]).await?;
    // And everything again, over what was there all along.
    for (number, policy) in policies.iter().enumerate() {
        policy
            .apply(&wants(&[("new", number), ("old", number)], "x"))
            .await?;
    }
    kill(controller, 4).await?;
    for policy in &policies {
        policy.is("Compliant").await?;
        created(policy, &["new"]).await?;
        policy.delete().await?;
    }
    for policy in &policies {
        policy.gone().await?;
    }
    objects_are(world, &["old"]).await
}

fn map(name: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: kills, labels: {{by: kills}}}}, data: {{other: there}}}}"
    )
}

fn wants(objects: &[(&str, usize)], value: &str) -> String {
    let template = |(prefix, number): &(&str, usize)| {
        format!(
            "- complianceType: musthave\n  objectDefinition: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {prefix}-{number}, namespace: kills, labels: {{by: kills}}}}, data: {{key: {value}}}}}\n"
        )
    };
    let templates: String = objects.iter().map(template).collect();
    format!(
        "remediationAction: enforce\npruneObjectBehavior: DeleteIfCreated\nobject-templates:\n{templates}"
    )
}

/// Kills at moments that differ from kill to kill but not from run to run.
async fn kill(controller: &mut Controller, phase: u64) -> Result<()> {
    for kill in 0..KILLS {
        // 5 to 405 ms after it is ready: while it connects, lists, creates, writes statuses, deletes.
        let after = (phase * KILLS + kill) * 97 % 400 + 5;
        tokio::time::sleep(Duration::from_millis(after)).await;
        controller.restart().await?;
    }
    Ok(())
}

/// Only these objects are there, one of each policy.
async fn objects_are(world: &Evaluator, prefixes: &[&str]) -> Result<()> {
    let names = |prefix: &&str| {
        (0..COUNT)
            .map(|number| format!("{prefix}-{number}"))
            .collect::<Vec<_>>()
    };
    let expected: BTreeSet<String> = prefixes.iter().flat_map(names).collect();
    within(format!("only {prefixes:?} are there"), || async {
        let all = world.list("v1", "ConfigMap", Some("kills")).await?;
        let ours = all
            .iter()
            .filter(|object| object.labels().contains_key("by"));
        let found: BTreeSet<String> = ours.map(kube::ResourceExt::name_any).collect();
        same("the objects", &found, &expected)
    })
    .await
}

/// The status knows which objects the policy created: these and no others.
async fn created(policy: &Subject<'_>, prefixes: &[&str]) -> Result<()> {
    within("it is known what the policy created", || async {
        let status = policy.observed().await?.0;
        let related = status["relatedObjects"].as_array().context("none")?.clone();
        let created: BTreeSet<String> = related
            .iter()
            .filter(|entry| entry["properties"]["createdByPolicy"] == true)
            .map(|entry| {
                entry["object"]["metadata"]["name"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect();
        let number = policy.name().rsplit('-').next().unwrap_or_default();
        let expected: BTreeSet<String> = prefixes
            .iter()
            .map(|prefix| format!("{prefix}-{number}"))
            .collect();
        ensure!(created == expected, "{created:?} instead of {expected:?}");
        Ok(())
    })
    .await
}
