//! The registration controllers on a real API server, and on the in-memory one. Admission does not run here.

mod clusters;
// Scenarios of placement use the other functions of it.
#[allow(dead_code)]
#[path = "../placement/harness.rs"]
mod harness;
#[allow(dead_code)]
#[path = "../placement/hub.rs"]
mod hub;
mod sets;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kube::Client;
use reeve_fleet::placement;
use reeve_fleet::registration::controller;
use reeve_runtime::CancellationToken;
use reeve_runtime::metrics::ControllerMetrics;
use reeve_testkit::eventually;

use harness::{Scenario, scenarios};
use hub::Hub;

fn list() -> Vec<Scenario> {
    scenarios![
        "plc_85_sets_follow_labels", "r66", sets::by_labels;
        "plc_85_exclusive_sets_follow_moves", "r67", sets::exclusive;
        "plc_85_the_set_of_all_follows", "r69", sets::of_all;
        "plc_87_default_set_is_recreated", "r70", sets::default;
        "plc_87_to_r75_global_is_restored", "r72", sets::global;
        "plc_88_to_r39_e4_bindings_follow_their_set", "r35", sets::bindings;
        "plc_89_taints_follow_the_condition", "r76", clusters::taints;
        "plc_92_a_steady_lease", "r77", clusters::steady;
        "plc_92_a_lease_stops_and_recovers", "r78", clusters::recovered;
        "plc_92_a_cluster_is_restored", "r79", clusters::restored;
        "plc_1_the_placement_controller_starts_and_stops", "p176", start_and_stop;
        "plc_92_terminating_cluster_is_unknown", "r46", clusters::terminating;
    ]
}

fn main() -> ExitCode {
    harness::main(
        "registration",
        &list(),
        |client: Client, stop: CancellationToken| {
            tokio::spawn(controller::run(client, ControllerMetrics::default(), stop));
            None
        },
    )
}

/// Here, because beside the controller of the placement scenarios it would compete for their objects.
async fn start_and_stop(hub: Hub) -> Result<()> {
    let deps = placement::controller::Deps::of(hub.client.clone());
    let index = deps.index.clone();
    let stop = CancellationToken::new();
    let running = tokio::spawn(placement::controller::run(deps, stop.clone()));
    eventually("it knows the hub", Duration::from_secs(30), || async {
        ensure!(index.read().is_synced(), "not yet");
        Ok(())
    })
    .await?;
    ensure!(!running.is_finished(), "it ended by itself");
    stop.cancel();
    let ended = tokio::time::timeout(Duration::from_mins(5), running).await;
    ended.context("it does not stop")???;
    Ok(())
}
