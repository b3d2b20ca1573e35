//! The TLS profile of an OpenShift hub.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use reeve_runtime::CancellationToken;
use reeve_runtime::client::{ClientOptions, InProcessServers, connect};
use reeve_runtime::flags::TlsArgs;
use reeve_runtime::serving::{Settled, openshift_tls_settings};
use reeve_runtime::supervisor::Supervisor;
use reeve_testkit::{Plane, SOON, eventually, free_port, workspace};
use rustls::version::{TLS12, TLS13};
use serde_json::json;
use tokio::sync::Mutex;

use crate::propagator_process::serving_client::Certificate;
use crate::propagator_process::{Hubs, Running, reader};

/// There is one profile, and two scenarios.
static TURN: Mutex<()> = Mutex::const_new(());

fn profile(kind: &str) -> String {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "APIServer", "metadata": { "name": "cluster" },
        "spec": { "tlsSecurityProfile": { "type": kind } }
    })
    .to_string()
}

/// Installs OpenShift's kind; the object is absent when this returns.
async fn install(hub: &Plane) -> Result<()> {
    hub.apply(&fs::read_to_string(
        workspace().join("tests/scenarios/crds/apiservers.yaml"),
    )?)
    .await?;
    eventually("APIServer is served", SOON, || async {
        hub.delete(&profile("Old")).await
    })
    .await
}

/// Settles as a user of the hub does. Nothing is watched any more when this returns.
async fn settled(hub: &Plane, user: &str, group: Option<&str>) -> Result<Settled> {
    let options = ClientOptions {
        kubeconfig: Some(hub.kubeconfig_for(user, group)?),
        qps: 50.0,
        burst: 50,
        user_agent: "reeve-tests",
        in_process: InProcessServers::default(),
    };
    let client = connect(&options).await?;
    let mut tasks = Supervisor::new(CancellationToken::new());
    let settled = openshift_tls_settings(&TlsArgs::default(), &client, &mut tasks).await;
    tasks.stop().cancel();
    tasks.run().await?;
    Ok(settled)
}

pub(crate) async fn sources(hubs: Arc<Hubs>) -> Result<()> {
    let _turn = TURN.lock().await;
    // PROP-22: no such kind. The other hub never has it.
    let none = settled(&hubs.plain, "tls-reader", Some("readers")).await?;
    ensure!(!none.from_profile && !none.watched, "no kind: {none:?}");
    // PROP-22: no such object.
    let hub = &hubs.openshift;
    install(hub).await?;
    let none = settled(hub, "tls-reader", Some("readers")).await?;
    ensure!(!none.from_profile && !none.watched, "no object: {none:?}");
    ensure!(none.tls.tls_min_version.is_empty(), "{none:?}");
    // PROP-21.
    hub.apply(&profile("Modern")).await?;
    let modern = settled(hub, "tls-reader", Some("readers")).await?;
    ensure!(modern.from_profile && modern.watched, "Modern: {modern:?}");
    ensure!(modern.tls.tls_min_version == "VersionTLS13", "{modern:?}");
    // PROP-22.
    let denied = settled(hub, "tls-stranger", None).await?;
    ensure!(!denied.from_profile && denied.watched, "denied: {denied:?}");
    ensure!(denied.tls.tls_min_version.is_empty(), "{denied:?}");
    hub.delete(&profile("Modern")).await
}

pub(crate) async fn drift(hubs: Arc<Hubs>) -> Result<()> {
    let _turn = TURN.lock().await;
    let hub = &hubs.openshift;
    install(hub).await?;
    hub.apply(&profile("Intermediate")).await?;
    let certificate = Certificate::new()?;
    let kubeconfig = reader(hub, "drifting")?;
    let folder = format!("--webhook-cert-dir={}", certificate.folder().display());
    let start = async |more: &[&str]| {
        let port = free_port()?;
        let port_flag = format!("--webhook-port={port}");
        let flags = ["--enable-webhooks", port_flag.as_str(), folder.as_str()];
        let running = Running::start(&kubeconfig, &[&flags[..], more].concat(), &[]).await?;
        Ok::<_, anyhow::Error>((running, port))
    };
    let (mut running, port) = start(&[]).await?;
    // Flags that cannot be read are ignored, but they are flags: the profile holds, and is not watched.
    let (mut flagged, flagged_port) = start(&["--tls-min-version=VersionTLS9"]).await?;
    let log = flagged.component.log();
    let ignored = "Invalid --tls-min-version/--tls-cipher-suites; ignoring the flags";
    ensure!(log.contains(ignored), "{log}");
    for port in [port, flagged_port] {
        certificate.handshake(port, &TLS12).await?;
        certificate.handshake(port, &TLS13).await?;
    }

    hub.apply(&profile("Modern")).await?;
    let status = running.component.wait(SOON).await?;
    let log = running.component.log();
    ensure!(status.code() == Some(0), "{status}: {log}");
    let changed =
        "The OpenShift APIServer TLS security profile changed; exiting to apply the new settings";
    ensure!(log.contains(changed), "{log}");

    let (mut running, port) = start(&[]).await?;
    certificate.handshake(port, &TLS13).await?;
    let old = certificate.handshake(port, &TLS12).await;
    ensure!(old.is_err(), "TLS 1.2 is spoken despite the profile");
    // The same profile, written again, is no change.
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    hub.patch(
        "config.openshift.io/v1",
        "APIServer",
        None,
        "cluster",
        label,
    )
    .await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    ensure!(
        running.component.status()?.is_none(),
        "a label is no change"
    );
    ensure!(flagged.component.status()?.is_none(), "flags were given");
    running.component.stop().await?;
    flagged.component.stop().await?;
    hub.delete(&profile("Modern")).await
}
