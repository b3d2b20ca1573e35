//! Each process killed with SIGKILL again and again while policies come and go: the end is the same
//! as without, and every report arrives once.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Governed, SuiteRun, run_in_turns, scenario};
use reeve_testkit::{Component, World, WorldOptions, eventually};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// Policies per round.
const POLICIES: usize = 8;
/// Kills per round.
const KILLS: u32 = 10;

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    let options = WorldOptions {
        clusters: vec!["c1"],
        audit: false,
        ..WorldOptions::default()
    };
    run_in_turns(
        suite,
        options,
        vec![
            scenario("h_killing_the_propagator", |w| {
                Box::pin(kill(w, Victim::Propagator))
            }),
            scenario("h_killing_the_framework_addon", |w| {
                Box::pin(kill(w, Victim::Addon))
            }),
            scenario("h_killing_the_controller", |w| {
                Box::pin(kill(w, Victim::Controller))
            }),
        ],
    )
}

async fn kill(world: Arc<Mutex<World>>, victim: Victim) -> Result<()> {
    round(&mut *world.lock().await, victim).await
}

/// Which process is killed.
#[derive(Clone, Copy, Debug)]
enum Victim {
    Propagator,
    Addon,
    Controller,
}

impl Victim {
    fn of(self, world: &mut World) -> Result<&mut Component> {
        let cluster = world.clusters.first_mut().context("one cluster")?;
        Ok(match self {
            Self::Propagator => &mut world.propagator,
            Self::Addon => &mut cluster.addon,
            Self::Controller => &mut cluster.controller,
        })
    }
}

fn name(victim: Victim, number: usize) -> String {
    format!("{victim:?}-{number}").to_lowercase()
}

fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "default" }, "data": { "k": "v" }
    })
}

async fn round(world: &mut World, victim: Victim) -> Result<()> {
    // The policies are applied while the process is killed at moments that differ from kill to kill
    // but not from run to run.
    for number in 0..POLICIES {
        let name = name(victim, number);
        let template = Governed::template(&name, "musthave", &config_map(&name));
        let policy = Governed::apply(world, &name, "inform", vec![template]).await?;
        policy.place(&["c1"]).await?;
    }
    kill_repeatedly(world, victim, 0).await?;
    for number in 0..POLICIES {
        let policy = Governed::known(world, &name(victim, number));
        policy.root_is("NonCompliant").await?;
        policy.remediate("enforce").await?;
    }
    kill_repeatedly(world, victim, KILLS).await?;
    for number in 0..POLICIES {
        let name = name(victim, number);
        let policy = Governed::known(world, &name);
        policy.root_is("Compliant").await?;
        let found = format!(
            "Compliant; notification - configmaps [{name}] found as specified in namespace default"
        );
        policy.reports("c1", &name, &found).await?;
        each_report_once(world, &policy).await?;
    }
    for number in 0..POLICIES {
        Governed::known(world, &name(victim, number))
            .remove()
            .await?;
    }
    kill_repeatedly(world, victim, 2 * KILLS).await?;
    for number in 0..POLICIES {
        let name = name(victim, number);
        Governed::known(world, &name)
            .gone_from("c1", &[&name])
            .await?;
    }
    Ok(())
}

async fn kill_repeatedly(world: &mut World, victim: Victim, seed: u32) -> Result<()> {
    for kill in 0..KILLS {
        // 5 to 305 ms after the start: in the middle of connecting, listing, writing.
        let after = Duration::from_millis(u64::from((seed + kill) * 97 % 300) + 5);
        let until = Instant::now() + after;
        tokio::time::sleep_until(until.into()).await;
        let component = victim.of(world)?;
        component.kill().await;
        component.restart()?;
    }
    Ok(())
}

/// The history on the hub is what it would be without a crash: not found, created, found. A report
/// lost would be missing, one doubled would stand there twice in a row.
async fn each_report_once(world: &World, policy: &Governed<'_>) -> Result<()> {
    let name = policy.name();
    let object = format!("configmaps [{name}]");
    let want = [
        format!("Compliant; notification - {object} found as specified in namespace default"),
        format!("NonCompliant; violation - {object} not found in namespace default"),
    ];
    let history = policy.history("c1", name).await?;
    for message in &want {
        ensure!(
            history.contains(message),
            "{name} lost {message:?}: {history:#?}"
        );
    }
    for pair in history.windows(2) {
        ensure!(pair[0] != pair[1], "{name} reported twice: {history:#?}");
    }
    // Hub and cluster agree to the letter.
    let api = "policy.open-cluster-management.io/v1";
    let replica = policy.replica();
    eventually(
        format!("hub and cluster agree on {name}"),
        Duration::from_secs(30),
        || async {
            let hub = world.hub.get(api, "Policy", Some("c1"), &replica).await?;
            let cluster = world.clusters[0]
                .plane
                .get(api, "Policy", Some("c1"), &replica)
                .await?;
            let status = |policy: Option<kube::api::DynamicObject>| {
                policy.and_then(|policy| policy.data.get("status").cloned())
            };
            let (hub, cluster) = (status(hub), status(cluster));
            ensure!(
                hub == cluster,
                "the hub has {hub:?}, the cluster has {cluster:?}"
            );
            anyhow::Ok(())
        },
    )
    .await
}
