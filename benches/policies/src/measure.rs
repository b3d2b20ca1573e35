//! The measurements, one function each.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use reeve_testkit::{AuditEvent, Mark, Plane};
use serde_json::json;

use crate::controller::{Controller, Used};
use crate::objects;
use crate::observed::Observed;

/// How long nothing may be asked of the API server until the work counts as done.
const QUIET: Duration = Duration::from_secs(3);
/// How long one drift may stay.
const PATIENCE: Duration = Duration::from_secs(30);

/// From the start of the program to the last first status.
pub(crate) async fn first_status(
    plane: &Plane,
    controller: &mut Controller,
    policies: usize,
) -> Result<()> {
    let mark = plane.audit()?.mark()?;
    let mut observed = Observed::start(objects::policies(plane));
    let started = Instant::now();
    controller.start()?;
    let last = observed.all_compliant("look-", policies).await?;
    println!(
        "first full status after {:.2} s",
        (last - started).as_secs_f64()
    );
    until_quiet(plane).await?;
    print_used(controller.used()?, Used::default());
    print_requests(&plane.audit()?.since(mark)?);
    Ok(())
}

/// What is asked while nothing happens.
pub(crate) async fn idle(plane: &Plane, controller: &Controller, seconds: u64) -> Result<()> {
    let (mark, before) = (plane.audit()?.mark()?, controller.used()?);
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    println!("\n# {seconds} s of nothing");
    print_used(controller.used()?, before);
    print_requests(&plane.audit()?.since(mark)?);
    Ok(())
}

/// What a new process asks and writes over what an old one left.
pub(crate) async fn restart(plane: &Plane, controller: &mut Controller) -> Result<()> {
    controller.stop();
    let mark = plane.audit()?.mark()?;
    let started = Instant::now();
    controller.start()?;
    until_quiet(plane).await?;
    println!(
        "quiet after {:.1} s",
        started.elapsed().saturating_sub(QUIET).as_secs_f64()
    );
    print_used(controller.used()?, Used::default());
    print_requests(&plane.audit()?.since(mark)?);
    Ok(())
}

/// Missing objects are created.
pub(crate) async fn enforce(plane: &Plane, controller: &Controller, count: usize) -> Result<()> {
    let (mark, before) = (plane.audit()?.mark()?, controller.used()?);
    let mut observed = Observed::start(objects::policies(plane));
    let started = Instant::now();
    objects::enforcing(plane, count).await?;
    let last = observed.all_compliant("enforce-", count).await?;
    println!(
        "all Compliant after {:.2} s",
        (last - started).as_secs_f64()
    );
    until_quiet(plane).await?;
    print_used(controller.used()?, before);
    print_requests(&plane.audit()?.since(mark)?);
    Ok(())
}

/// Objects are changed, and it is measured how long they stay so. Each is another policy's.
pub(crate) async fn drift(
    plane: &Plane,
    controller: &Controller,
    policies: usize,
    drifts: usize,
) -> Result<()> {
    let (mark, before) = (plane.audit()?.mark()?, controller.used()?);
    let api = objects::config_maps(plane);
    let mut observed = Observed::start(api.clone());
    let mut took: Vec<Duration> = Vec::new();
    for number in 0..drifts {
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
        let repaired = tokio::time::timeout(PATIENCE, repaired).await;
        took.push(repaired.with_context(|| format!("{name} stays as it is"))??);
    }
    took.sort();
    let at = |part: usize| {
        let at = took.len().saturating_sub(1) * part / 100;
        took.get(at).map_or(0.0, |took| took.as_secs_f64() * 1000.0)
    };
    println!(
        "undone after p50 {:.1} ms, p90 {:.1} ms, p99 {:.1} ms, slowest {:.1} ms",
        at(50),
        at(90),
        at(99),
        at(100)
    );
    until_quiet(plane).await?;
    print_used(controller.used()?, before);
    print_requests(&plane.audit()?.since(mark)?);
    Ok(())
}

async fn until_quiet(plane: &Plane) -> Result<()> {
    loop {
        let mark: Mark = plane.audit()?.mark()?;
        tokio::time::sleep(QUIET).await;
        if table(&plane.audit()?.since(mark)?).is_empty() {
            return Ok(());
        }
    }
}

fn print_used(now: Used, before: Used) {
    println!(
        "CPU {:.2} s, peak RSS {:.1} MiB",
        (now.cpu.saturating_sub(before.cpu)).as_secs_f64(),
        // Only for people to read.
        f64::from(u32::try_from(now.peak_kib).unwrap_or(u32::MAX)) / 1024.0
    );
}

fn print_requests(events: &[AuditEvent]) {
    let table = table(events);
    let total: usize = table.values().map(|(count, _)| count).sum();
    println!("{total} requests");
    for ((verb, resource), (count, conflicts)) in table {
        let conflicts = match conflicts {
            0 => String::new(),
            some => format!(", {some} of them conflicts"),
        };
        println!("  {count:>6}  {verb} {resource}{conflicts}");
    }
}

/// Requests of the program by verb and resource, with the conflicts among them.
fn table(events: &[AuditEvent]) -> BTreeMap<(String, String), (usize, usize)> {
    let mut table: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
    let ours = events
        .iter()
        .filter(|event| event.user_agent.starts_with("config-policy-controller"));
    for event in ours {
        let is_end_of_watch = event.verb == "watch" && event.stage == "ResponseComplete";
        if is_end_of_watch && event.code == 200 {
            continue;
        }
        let key = (event.verb.clone(), event.resource.clone());
        let (count, conflicts) = table.entry(key).or_default();
        *count += 1;
        *conflicts += usize::from(event.code == 409);
    }
    table
}
