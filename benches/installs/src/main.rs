//! What a `governance-policy-addon-controller` costs on a hub: time, requests, CPU and memory. Any program that takes the
//! same flags can be measured, so that two can be compared on one machine.

mod objects;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use kube::api::{DynamicObject, ListParams};
use reeve_benches_measuring::{Program, Used, print_requests, print_used, start, until_quiet};
use reeve_testkit::{Mark, Plane, install_addon_crds};
use serde_json::{Value, json};

/// How often the hub is asked whether it has come to that.
const PAUSE: Duration = Duration::from_millis(500);

/// Measures a governance-policy-addon-controller on a real API server.
#[derive(Parser)]
struct Args {
    /// The program. It is called by the name governance-policy-addon-controller. Absent: Reeve.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Managed clusters, each with both add-ons.
    #[arg(long, default_value_t = 500)]
    clusters: usize,
    /// How long nothing happens, in seconds.
    #[arg(long, default_value_t = 60)]
    idle: u64,
    /// Flags for the program, besides those it is always given.
    #[arg(last = true)]
    flags: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let (plane, program) = start(args.binary.as_deref()).await?;
    install_addon_crds(&plane).await?;
    let addons = 2 * args.clusters;
    println!("{} clusters, {addons} ManagedClusterAddOns", args.clusters);
    objects::fleet(&plane, args.clusters).await?;
    let mut controller = Program::new(&plane, program, "governance-policy-addon-controller")
        .args(["controller".to_owned(), "--namespace=default".to_owned()])
        .args(args.flags)
        .without_common_flags();
    let started = Instant::now();
    let mark = plane.audit()?.mark()?;
    controller.start()?;

    println!("\n# from the start to the last work");
    until(&plane, addons, |addon| {
        condition_is_true(addon, "RegistrationApplied") && has_finalizer(addon)
    })
    .await?;
    println!("{:.2} s", started.elapsed().as_secs_f64());
    end(&plane, &controller, mark, Used::default()).await?;

    println!("\n# all works are applied, to the last add-on that reports it");
    let (mark, before, started) = (plane.audit()?.mark()?, controller.used()?, Instant::now());
    objects::apply_works(&plane).await?;
    until(&plane, addons, |addon| {
        condition_is_true(addon, "ManifestApplied")
    })
    .await?;
    println!("{:.2} s", started.elapsed().as_secs_f64());
    end(&plane, &controller, mark, before).await?;

    println!(
        "\n# every add-on is looked at again: something has changed in its status that does not matter"
    );
    let (mark, before) = (plane.audit()?.mark()?, controller.used()?);
    objects::publish_available(&plane, args.clusters).await?;
    end(&plane, &controller, mark, before).await?;

    println!("\n# {} s in which nothing happens", args.idle);
    let (mark, before) = (plane.audit()?.mark()?, controller.used()?);
    tokio::time::sleep(Duration::from_secs(args.idle)).await;
    print_used(controller.used()?, before);
    print_requests(&plane, controller.name(), mark)?;

    println!("\n# a restart over all of it");
    controller.stop().await?;
    let (mark, started) = (plane.audit()?.mark()?, Instant::now());
    controller.start()?;
    let quiet = until_quiet(&plane, controller.name()).await?;
    let busy = started.elapsed().saturating_sub(quiet);
    println!("quiet after {:.1} s", busy.as_secs_f64());
    print_used(controller.used()?, Used::default());
    print_requests(&plane, controller.name(), mark)?;
    controller.stop().await
}

async fn end(plane: &Plane, program: &Program, mark: Mark, before: Used) -> Result<()> {
    until_quiet(plane, program.name()).await?;
    print_used(program.used()?, before);
    print_requests(plane, program.name(), mark)
}

/// Waits until so many add-ons are as wanted.
async fn until(plane: &Plane, count: usize, wanted: impl Fn(&DynamicObject) -> bool) -> Result<()> {
    loop {
        let listed = objects::addons(plane).list(&ListParams::default()).await?;
        if listed.items.iter().filter(|addon| wanted(addon)).count() == count {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn condition_is_true(addon: &DynamicObject, kind: &str) -> bool {
    let conditions = addon.data["status"]["conditions"].as_array();
    let is_true = |condition: &Value| condition["type"] == kind && condition["status"] == "True";
    conditions.into_iter().flatten().any(is_true)
}

fn has_finalizer(addon: &DynamicObject) -> bool {
    json!(addon.metadata.finalizers) == json!(["addon.open-cluster-management.io/addon-pre-delete"])
}
