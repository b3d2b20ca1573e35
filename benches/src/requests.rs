//! What policies cost the API servers, by the servers' own audit logs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use reeve_scenarios::Governed;
use reeve_testkit::{AuditEvent, World, eventually, tally};
use serde_json::json;

const POLICIES: u32 = 50;
const IDLE: Duration = Duration::from_mins(1);
const QUIET: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_mins(3);
/// Our own programs; what the control plane and this program do is not counted.
const OURS: [&str; 3] = [
    "governance-policy-propagator",
    "governance-policy-framework-addon",
    "config-policy-controller",
];

pub(crate) async fn measure(world: &World) -> Result<()> {
    let cluster = &world.cluster("c1")?.plane;
    let marks = (world.hub.audit()?.mark()?, cluster.audit()?.mark()?);
    let started = Instant::now();
    for number in 0..POLICIES {
        let name = format!("requests-{number}");
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": "default" }, "data": { "k": "v" }
        });
        let template = Governed::template(&name, "musthave", &object);
        Governed::apply(world, &name, "enforce", vec![template])
            .await?
            .place(&["c1"])
            .await?;
    }
    for number in 0..POLICIES {
        Governed::known(world, &format!("requests-{number}"))
            .root_is("Compliant")
            .await?;
    }
    println!(
        "{POLICIES} policies at once, all Compliant on the hub after {:.1} s",
        started.elapsed().as_secs_f64()
    );
    until_quiet(world).await?;
    for (plane, name, mark) in [(&world.hub, "hub", marks.0), (cluster, "cluster", marks.1)] {
        print_per_policy(name, &plane.audit()?.since(mark)?);
    }

    let marks = (world.hub.audit()?.mark()?, cluster.audit()?.mark()?);
    tokio::time::sleep(IDLE).await;
    for (plane, name, mark) in [(&world.hub, "hub", marks.0), (cluster, "cluster", marks.1)] {
        print_idle(name, &plane.audit()?.since(mark)?);
    }
    Ok(())
}

/// What trails behind the last answer belongs to the policies too.
async fn until_quiet(world: &World) -> Result<()> {
    let cluster = &world.cluster("c1")?.plane;
    eventually("no request for five seconds", TIMEOUT, || async {
        let marks = (world.hub.audit()?.mark()?, cluster.audit()?.mark()?);
        tokio::time::sleep(QUIET).await;
        let since = [
            world.hub.audit()?.since(marks.0)?,
            cluster.audit()?.since(marks.1)?,
        ];
        let count: usize = since
            .iter()
            .map(|events| ours(events).values().sum::<usize>())
            .sum();
        ensure!(count == 0, "{count} requests");
        Ok(())
    })
    .await
}

fn ours(events: &[AuditEvent]) -> BTreeMap<(String, String), usize> {
    let mut table = BTreeMap::new();
    for ((program, verb, resource), count) in tally(events) {
        if OURS.contains(&program.as_str()) {
            *table.entry((verb, resource)).or_default() += count;
        }
    }
    table
}

fn print_per_policy(name: &str, events: &[AuditEvent]) {
    let table = ours(events);
    let total: usize = table.values().sum();
    println!(
        "requests to the {name} for {POLICIES} policies, {} a policy:",
        per_policy(total)
    );
    for ((verb, resource), count) in table {
        println!("  {:>6} a policy  {verb} {resource}", per_policy(count));
    }
}

fn per_policy(count: usize) -> String {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    format!("{:.2}", f64::from(count) / f64::from(POLICIES))
}

fn print_idle(name: &str, events: &[AuditEvent]) {
    let table = ours(events);
    let total: usize = table.values().sum();
    println!(
        "idle requests to the {name} in {} s: {total}",
        IDLE.as_secs()
    );
    for ((verb, resource), count) in table {
        println!("  {count:>6}  {verb} {resource}");
    }
}
