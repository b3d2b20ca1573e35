//! Proves the testkit on real control planes.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use reeve_testkit::{
    AuditQuery, Deadlines, Objects, Plane, PlaneOptions, SOON, count, eventually, tally,
};
use rustix::process::{Pid, test_kill_process};
use serde_json::json;

const SHOP: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: prices, namespace: shop}
data: {tea: '2'}
";

const EVENT: &str = "
apiVersion: v1
kind: Event
metadata: {name: kettle, namespace: shop}
involvedObject: {kind: ConfigMap, name: prices, namespace: shop}
message: the kettle sings
";

const DECISION: &str = "
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata: {name: everywhere-1}
status: {decisions: [{clusterName: east, reason: ''}]}
";

#[tokio::test(flavor = "multi_thread")]
async fn two_planes_are_independent_and_clean_up() -> Result<()> {
    let begin = Instant::now();
    let (hub, managed) = futures::try_join!(
        Plane::start(PlaneOptions {
            name: "hub",
            audit: true,
            ..PlaneOptions::default()
        }),
        Plane::start(PlaneOptions {
            name: "managed",
            ..PlaneOptions::default()
        }),
    )?;
    println!("two planes ready after {:?}", begin.elapsed());

    applies_crds_and_status(&hub).await?;
    counts_requests(&hub).await?;
    rejects_unknown_clients(&hub).await?;
    patches_lists_and_dumps(&hub).await?;
    deletes_namespaces(&hub).await?;
    ensure!(
        managed
            .get("v1", "Namespace", None, "shop")
            .await?
            .is_none(),
        "the planes are one"
    );
    ensure!(managed.audit().is_err(), "an audit log nobody asked for");

    let pids = [hub.pids(), managed.pids()].concat();
    ensure!(
        pids.iter().all(|pid| is_alive(*pid)),
        "a program ended early: {pids:?}"
    );
    drop((hub, managed));
    let left: Vec<_> = pids.into_iter().filter(|pid| is_alive(*pid)).collect();
    ensure!(left.is_empty(), "processes left: {left:?}");
    Ok(())
}

async fn applies_crds_and_status(hub: &Plane) -> Result<()> {
    let crds = hub.install_crds().await?;
    let name = "managedclusters.cluster.open-cluster-management.io";
    ensure!(
        crds.iter().any(|crd| crd == name),
        "no {name} among {crds:?}"
    );
    hub.apply(DECISION).await?;
    let group = "cluster.open-cluster-management.io/v1beta1";
    let decision = hub
        .get(group, "PlacementDecision", Some("default"), "everywhere-1")
        .await?;
    let decision = decision.context("the decision is absent")?;
    ensure!(
        decision.data["status"]["decisions"][0]["clusterName"] == "east",
        "{decision:?}"
    );
    Ok(())
}

async fn counts_requests(hub: &Plane) -> Result<()> {
    let audit = hub.audit()?;
    let before = audit.mark()?;
    hub.apply(SHOP).await?;
    let query = AuditQuery {
        verb: Some("patch"),
        resource: Some("configmaps"),
        ..AuditQuery::default()
    };
    eventually("the audit log has the apply of prices", SOON, || async {
        let events = audit.since(before)?;
        let ours: Vec<_> = events
            .into_iter()
            .filter(|event| event.name == "prices")
            .collect();
        ensure!(count(&ours, &query) == 1, "it has {:?}", tally(&ours));
        ensure!(
            ours.iter().all(|event| event.code == 201),
            "not a creation: {ours:?}"
        );
        ensure!(
            ours.iter()
                .all(|event| event.stage_timestamp >= event.request_received)
        );
        Ok(())
    })
    .await?;
    let after = audit.mark()?;
    ensure!(audit.between(before, before)?.is_empty() && !audit.between(before, after)?.is_empty());
    Ok(())
}

async fn rejects_unknown_clients(hub: &Plane) -> Result<()> {
    let kubeconfig = Kubeconfig::read_from(hub.kubeconfig_for("stranger", Some("nobodies"))?)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let unknown_client = Objects::new(Client::try_from(config)?);
    let refused = unknown_client
        .get("v1", "ConfigMap", Some("shop"), "prices")
        .await
        .err();
    let refused = refused
        .map(|error| format!("{error:#}"))
        .unwrap_or_default();
    ensure!(
        refused.contains("stranger") && refused.contains("forbidden"),
        "{refused:?}"
    );
    Ok(())
}

async fn patches_lists_and_dumps(hub: &Plane) -> Result<()> {
    let patch = json!({"data": {"tea": "3"}});
    hub.patch("v1", "ConfigMap", Some("shop"), "prices", patch)
        .await?;
    let maps = hub.list("v1", "ConfigMap", Some("shop")).await?;
    ensure!(
        maps.iter().any(|map| map.data["data"]["tea"] == "3"),
        "{maps:?}"
    );
    hub.apply(EVENT).await?;
    let dump = hub.dump(&["shop"]).await;
    ensure!(dump.contains("message: the kettle sings"), "{dump}");
    Ok(())
}

/// Only kube-controller-manager empties a namespace.
async fn deletes_namespaces(hub: &Plane) -> Result<()> {
    if !hub.has_controller_manager() {
        println!("no kube-controller-manager in KUBEBUILDER_ASSETS: namespaces are not emptied");
        return Ok(());
    }
    hub.delete("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
        .await?;
    hub.gone("v1", "Namespace", None, "shop", SOON).await?;
    ensure!(
        hub.get("v1", "ConfigMap", Some("shop"), "prices")
            .await?
            .is_none()
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn api_server_restarts_with_its_data() -> Result<()> {
    let mut plane = Plane::start(PlaneOptions::default()).await?;
    plane.apply(SHOP).await?;
    plane.kill_apiserver();
    ensure!(
        plane
            .get("v1", "ConfigMap", Some("shop"), "prices")
            .await
            .is_err(),
        "still served"
    );
    plane.restart_apiserver().await?;
    let prices = plane.get("v1", "ConfigMap", Some("shop"), "prices").await?;
    ensure!(prices.is_some(), "the data is gone");
    Ok(())
}

#[tokio::test]
async fn killed_test_leaves_no_process() -> Result<()> {
    let mut test = Command::new(env::current_exe()?)
        .args([
            "--exact",
            "planes::plane_waits_to_be_killed",
            "--ignored",
            "--nocapture",
        ])
        .stdout(Stdio::piped())
        .spawn()?;
    let output = BufReader::new(test.stdout.take().context("no output")?);
    let mut pids = None;
    for line in output.lines() {
        if let Some((_, list)) = line?.split_once("pids: ") {
            pids = Some(
                list.split(' ')
                    .map(str::parse)
                    .collect::<Result<Vec<u32>, _>>()?,
            );
            break;
        }
    }
    // `Child::kill` is SIGKILL: the test has no chance to clean up.
    test.kill()?;
    test.wait()?;
    let pids = pids.context("the plane did not start")?;
    ensure!(pids.len() >= 2, "too few programs: {pids:?}");
    eventually("its processes are gone", SOON, || async {
        let left: Vec<_> = pids.iter().filter(|pid| is_alive(**pid)).collect();
        ensure!(left.is_empty(), "left: {left:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by killed_test_leaves_no_process"]
async fn plane_waits_to_be_killed() -> Result<()> {
    let plane = Plane::start(PlaneOptions {
        name: "doomed",
        ..PlaneOptions::default()
    })
    .await?;
    let pids: Vec<_> = plane.pids().iter().map(u32::to_string).collect();
    println!("pids: {}", pids.join(" "));
    tokio::time::sleep(SOON).await;
    Ok(())
}

#[tokio::test]
async fn failed_wait_names_condition_and_error() -> Result<()> {
    let never = || async { Err::<(), _>("the kettle is cold") };
    let deadlines = Deadlines::new();
    // The first wait that fails lasts longer than its deadline, the second one does not.
    for limit in ["480ms", "120ms"] {
        let error = deadlines.eventually("tea is ready", Duration::from_millis(120), never);
        let error = error.await.err().context("tea from a cold kettle")?;
        let expected = format!("not within {limit}: tea is ready; last answer: the kettle is cold");
        ensure!(error.to_string() == expected, "{error}");
    }
    Ok(())
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid).is_ok())
}
