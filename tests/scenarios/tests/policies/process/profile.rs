//! The TLS profile of the cluster. A process finds its namespace in a file that only Pods have, so this is the
//! library's part of it.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_runtime::CancellationToken;
use reeve_runtime::client::{ClientOptions, InProcessServers, connect};
use reeve_runtime::flags::TlsArgs;
use reeve_runtime::serving::{TLS_PROFILE, tls_settings};
use reeve_runtime::supervisor::Supervisor;
use reeve_testkit::SOON;
use serde_json::json;

use crate::process::Planes;

fn profile(namespace: &str, version: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": TLS_PROFILE, "namespace": namespace },
        "data": { "minTLSVersion": version }
    })
    .to_string()
}

fn namespace(name: &str) -> String {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }).to_string()
}

pub(crate) async fn ends(planes: Arc<Planes>) -> Result<()> {
    let plane = &planes.hosting;
    plane.apply(&namespace("profiled")).await?;
    // Started, reported what to do, ended by it: with the settings of the next start.
    let start = async || {
        let mut tasks = Supervisor::new(CancellationToken::new());
        let flags = TlsArgs::default();
        let tls = tls_settings(&flags, &plane.client(), Some("profiled"), &mut tasks).await?;
        Ok::<_, anyhow::Error>((tls.tls_min_version, tasks))
    };
    let ended = async |tasks: Supervisor| {
        Ok::<_, anyhow::Error>(tokio::time::timeout(SOON, tasks.run()).await??)
    };

    let (version, tasks) = start().await?;
    ensure!(version.is_empty(), "{version}");
    plane.apply(&profile("profiled", "VersionTLS12")).await?;
    ended(tasks).await?;
    let (version, tasks) = start().await?;
    ensure!(version == "VersionTLS12", "{version}");
    plane.apply(&profile("profiled", "VersionTLS13")).await?;
    ended(tasks).await?;
    let (version, tasks) = start().await?;
    ensure!(version == "VersionTLS13", "{version}");
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    plane
        .patch("v1", "ConfigMap", Some("profiled"), TLS_PROFILE, label)
        .await?;
    plane.apply(&profile("default", "VersionTLS12")).await?;
    ensure!(!tasks.stop().is_cancelled(), "a label is no change");
    plane.delete(&profile("profiled", "")).await?;
    ended(tasks).await?;

    // Flags come first, and then nothing is watched.
    plane.apply(&profile("profiled", "VersionTLS13")).await?;
    let mut tasks = Supervisor::new(CancellationToken::new());
    let flags = TlsArgs {
        tls_min_version: "VersionTLS12".to_owned(),
        ..TlsArgs::default()
    };
    let tls = tls_settings(&flags, &plane.client(), Some("profiled"), &mut tasks).await?;
    ensure!(tls.tls_min_version == "VersionTLS12");
    Ok(())
}

pub(crate) async fn denied(planes: Arc<Planes>) -> Result<()> {
    let plane = &planes.hosting;
    plane.apply(&namespace("unprofiled")).await?;
    plane.apply(&profile("unprofiled", "VersionTLS13")).await?;
    let options = ClientOptions {
        kubeconfig: Some(plane.kubeconfig_for("nobody", None)?),
        qps: 50.0,
        burst: 50,
        user_agent: "reeve-tests",
        in_process: InProcessServers::default(),
    };
    let client = connect(&options).await?;
    let mut tasks = Supervisor::new(CancellationToken::new());
    let tls = tls_settings(&TlsArgs::default(), &client, Some("unprofiled"), &mut tasks).await?;
    ensure!(tls.tls_min_version.is_empty(), "{}", tls.tls_min_version);
    Ok(())
}
