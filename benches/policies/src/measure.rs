//! The measurements, one function each.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use reeve_benches_measuring::{
    Observed, Program, Seen, Used, print_latencies, print_requests, print_used, until_quiet,
};
use reeve_testkit::Plane;
use serde_json::json;

use crate::objects;

/// How long one drift may stay.
const TIMEOUT: Duration = Duration::from_secs(30);

/// From the start of the program to the last first status.
pub(crate) async fn first_status(
    plane: &Plane,
    controller: &mut Program,
    policies: usize,
) -> Result<()> {
    let mark = plane.audit()?.mark()?;
    let mut observed = Observed::start(objects::policies(plane));
    let started = Instant::now();
    controller.start()?;
    let last = all_compliant(&mut observed, "look-", policies).await?;
    println!(
        "first full status after {:.2} s",
        (last - started).as_secs_f64()
    );
    until_quiet(plane, controller.name()).await?;
    print_used(controller.used()?, Used::default());
    print_requests(plane, controller.name(), mark)?;
    Ok(())
}

/// What is asked while nothing happens.
pub(crate) async fn idle(plane: &Plane, controller: &Program, seconds: u64) -> Result<()> {
    let (mark, before) = (plane.audit()?.mark()?, controller.used()?);
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    println!("\n# {seconds} s of nothing");
    print_used(controller.used()?, before);
    print_requests(plane, controller.name(), mark)?;
    Ok(())
}

/// What a new process asks and writes over what an old one left.
pub(crate) async fn restart(plane: &Plane, controller: &mut Program) -> Result<()> {
    controller.stop().await?;
    let mark = plane.audit()?.mark()?;
    let started = Instant::now();
    controller.start()?;
    let quiet = until_quiet(plane, controller.name()).await?;
    println!(
        "quiet after {:.1} s",
        started.elapsed().saturating_sub(quiet).as_secs_f64()
    );
    print_used(controller.used()?, Used::default());
    print_requests(plane, controller.name(), mark)?;
    Ok(())
}

/// Missing objects are created.
pub(crate) async fn enforce(plane: &Plane, controller: &Program, count: usize) -> Result<()> {
    let (mark, before) = (plane.audit()?.mark()?, controller.used()?);
    let mut observed = Observed::start(objects::policies(plane));
    let started = Instant::now();
    objects::enforce_policy(plane, count).await?;
    let last = all_compliant(&mut observed, "enforce-", count).await?;
    println!(
        "all Compliant after {:.2} s",
        (last - started).as_secs_f64()
    );
    until_quiet(plane, controller.name()).await?;
    print_used(controller.used()?, before);
    print_requests(plane, controller.name(), mark)?;
    Ok(())
}

/// Objects are changed, and it is measured how long they stay so. Each is another policy's.
pub(crate) async fn drift(
    plane: &Plane,
    controller: &Program,
    policies: usize,
    (drifts, pause): (usize, Duration),
) -> Result<()> {
    let (mark, before) = (plane.audit()?.mark()?, controller.used()?);
    let api = objects::config_maps(plane);
    let mut observed = Observed::start(api.clone());
    let mut took: Vec<Duration> = Vec::new();
    for number in 0..drifts {
        tokio::time::sleep(pause).await;
        let name = format!("enforce-{}", number % policies);
        let wrong = format!("wrong-{number}");
        let patch = Patch::Merge(json!({"data": {"key": wrong}}));
        let written = api.patch(&name, &PatchParams::default(), &patch).await?;
        let version = written.resource_version();
        let mut drifted: HashMap<&str, Instant> = HashMap::new();
        let repaired = async {
            loop {
                let seen = observed.next().await?;
                if seen.object.name_any() != name {
                    continue;
                }
                let value = seen
                    .object
                    .data
                    .pointer("/data/key")
                    .and_then(|value| value.as_str());
                // Both moments are seen through one watch, so its delay is in neither.
                if seen.object.resource_version() == version {
                    drifted.insert("at", seen.at);
                } else if let (Some("value"), Some(drifted)) = (value, drifted.get("at")) {
                    return anyhow::Ok(seen.at - *drifted);
                }
            }
        };
        let repaired = tokio::time::timeout(TIMEOUT, repaired).await;
        took.push(repaired.with_context(|| format!("{name} stays as it is"))??);
    }
    print_latencies("undone after", took);
    until_quiet(plane, controller.name()).await?;
    print_used(controller.used()?, before);
    print_requests(plane, controller.name(), mark)?;
    Ok(())
}

/// When the last of `count` policies with this prefix became Compliant.
async fn all_compliant(observed: &mut Observed, prefix: &str, count: usize) -> Result<Instant> {
    let mut compliant: HashMap<String, Instant> = HashMap::new();
    while compliant.len() < count {
        let Seen { at, object } = observed.next().await?;
        let state = object
            .data
            .pointer("/status/compliant")
            .and_then(|state| state.as_str());
        let name = object.name_any();
        if state == Some("Compliant") && name.starts_with(prefix) {
            compliant.entry(name).or_insert(at);
        }
    }
    compliant.into_values().max().context("there were none")
}
