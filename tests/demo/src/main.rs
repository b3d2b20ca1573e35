//! The first thing to run: a hub and two clusters, each a real control plane, the three components
//! as processes, and ready-made policies whose compliance is printed as it changes.

mod table;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use reeve_testkit::world::{POLICIES, decide};
use reeve_testkit::{World, WorldOptions, reeve_binary, workspace};
use serde_json::json;
use table::Table;

const POLICY: (&str, &str) = ("policy.open-cluster-management.io/v1", "Policy");
const CLUSTERS: [&str; 2] = ["east", "west"];
/// The policies of `policies/`, by the name that their files, placements and tests share.
const SAMPLES: [&str; 3] = ["namespace", "pod", "role"];
/// The longest that the policies may take to reach a state.
const TIMEOUT: Duration = Duration::from_mins(5);

/// Starts a hub and two clusters, applies sample policies and shows how they become Compliant.
#[derive(Parser)]
struct Arguments {
    /// End when the policies are Compliant instead of waiting for Ctrl-C.
    #[arg(long)]
    exit: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    println!("building the control planes and reeve (minutes the first time) ...");
    reeve_binary()?;
    let started = Instant::now();
    println!(
        "starting a hub and the clusters {} ...",
        CLUSTERS.join(" and ")
    );
    let world = World::start(WorldOptions {
        clusters: CLUSTERS.to_vec(),
        ..WorldOptions::default()
    })
    .await?;
    let kubeconfigs = copy_kubeconfigs(&world)?;
    println!(
        "everything runs after {:.1} s\n",
        started.elapsed().as_secs_f64()
    );

    for sample in SAMPLES {
        let path = workspace().join(format!("policies/{sample}.yaml"));
        let text = fs::read_to_string(&path).with_context(|| format!("no {}", path.display()))?;
        world.hub.apply(&text).await?;
        decide(
            &world.hub,
            POLICIES,
            &format!("placement-policy-{sample}"),
            &CLUSTERS,
        )
        .await?;
    }
    println!("applied policies/*.yaml, which inform only:");
    let mut table = Table::new(started);
    until_all(&world, &mut table, "NonCompliant").await?;

    for sample in SAMPLES {
        let enforce = json!({ "spec": { "remediationAction": "enforce" } });
        let name = format!("policy-{sample}");
        world
            .hub
            .patch(POLICY.0, POLICY.1, Some(POLICIES), &name, enforce)
            .await?;
    }
    println!("switched all of them to enforce:");
    until_all(&world, &mut table, "Compliant").await?;
    println!(
        "every policy is Compliant on both clusters, {:.1} s after the start",
        started.elapsed().as_secs_f64()
    );

    if !arguments.exit {
        print_next_steps(&kubeconfigs);
        tokio::signal::ctrl_c().await?;
        println!("\nstopping ...");
    }
    Ok(())
}

/// Prints the table whenever it changes, until every cell is the same.
async fn until_all(world: &World, table: &mut Table, wanted: &str) -> Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let policies = world.hub.list(POLICY.0, POLICY.1, Some(POLICIES)).await?;
        if table.update(&policies, &CLUSTERS, wanted) {
            println!();
            return Ok(());
        }
        if Instant::now() >= deadline {
            let seen = world
                .hub
                .dump(&[&[POLICIES], CLUSTERS.as_slice()].concat())
                .await;
            ensure!(
                false,
                "not all {wanted} after {} s\n{seen}",
                TIMEOUT.as_secs()
            );
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Copies the kubeconfigs to where a user finds them.
fn copy_kubeconfigs(world: &World) -> Result<Vec<PathBuf>> {
    let folder = workspace().join(".demo");
    fs::create_dir_all(&folder)?;
    let clusters = world
        .clusters
        .iter()
        .map(|cluster| (cluster.name, &cluster.plane));
    let planes = std::iter::once(("hub", &world.hub)).chain(clusters);
    planes
        .map(|(name, plane)| {
            let copy = folder.join(format!("{name}.kubeconfig"));
            fs::copy(plane.kubeconfig(), &copy)
                .with_context(|| format!("cannot write {}", copy.display()))?;
            Ok(copy)
        })
        .collect()
}

fn print_next_steps(kubeconfigs: &[PathBuf]) {
    let relative = |path: &PathBuf| {
        path.strip_prefix(workspace())
            .unwrap_or(path)
            .display()
            .to_string()
    };
    println!(
        "\nEverything keeps running until Ctrl-C. Look around from another terminal, with your own"
    );
    println!("kubectl or the one built beside the control planes:\n");
    println!("  alias kubectl='tests/controlplane/bin/controlplane kubectl'");
    for kubeconfig in kubeconfigs {
        println!(
            "  kubectl --kubeconfig {} get policies,configurationpolicies -A",
            relative(kubeconfig)
        );
    }
    println!(
        "  kubectl --kubeconfig .demo/east.kubeconfig delete namespace prod   # it comes back"
    );
}
