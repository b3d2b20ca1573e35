//! What policies cost the API servers, by the servers' own audit logs.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use reeve_scenarios::Governed;
use reeve_testkit::{AuditEvent, World, tally};
use serde_json::json;

const POLICIES: u32 = 50;
const IDLE: Duration = Duration::from_mins(1);
/// Our own programs; what the control plane and this program do is not counted.
const OURS: [&str; 3] = [
    "governance-policy-propagator",
    "governance-policy-framework-addon",
    "config-policy-controller",
];

pub(crate) async fn measure(world: &World) -> Result<()> {
    let cluster = &world.cluster("c1")?.plane;
    let marks = (world.hub.audit()?.mark()?, cluster.audit()?.mark()?);
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
    // What trails behind the last answer belongs to the policies too.
    tokio::time::sleep(Duration::from_secs(5)).await;
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
