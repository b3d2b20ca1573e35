//! Valid and invalid values of flags and environment variables.

use std::net::TcpListener;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{ADDON, POLICY};
use reeve_testkit::{Component, SOON, eventually, free_port};
use serde_json::json;

use crate::addon_process::Planes;

const LOCAL: (&str, &str) = ("OSDK_FORCE_RUN_MODE", "local");

/// Runs the program, which must end with this code, and reports what it wrote.
async fn failure(code: i32, args: &[&str], env: &[(&str, &str)]) -> Result<String> {
    let mut program = Component::spawn(ADDON, args, env)?;
    let status = program.wait(SOON).await;
    let status = status.with_context(|| format!("{args:?}"))?;
    let log = program.log();
    ensure!(status.code() == Some(code), "{args:?}: {status}: {log}");
    Ok(log)
}

pub(crate) async fn wrong(planes: Arc<Planes>) -> Result<()> {
    let hub = format!(
        "--hub-cluster-configfile={}",
        planes.hub.kubeconfig().display()
    );
    let namespace = "--cluster-namespace=flags";
    let env = [LOCAL, planes.managed.kubeconfig_env()];
    let fixed = [
        "--leader-elect=false",
        "--health-probe-bind-address=0",
        "--metrics-bind-address=0",
    ];
    let missing = "/nonexistent/kubeconfig";
    let no_hub = format!("--hub-cluster-configfile={missing}");
    let no_managed = format!("--managed-cluster-configfile={missing}");
    for (args, want) in [
        (
            &[hub.as_str()][..],
            "the --cluster-namespace flag must be provided",
        ),
        (
            &[hub.as_str(), "--cluster-namespace="],
            "the --cluster-namespace flag must be provided",
        ),
        (&[namespace, &no_hub], missing),
        (&[namespace, &hub, &no_managed], missing),
        (&[namespace], "HUB_CONFIG"),
        (&[namespace, &hub, "--log-level=loud"], "--log-level"),
    ] {
        let log = failure(1, &[&fixed[..], args].concat(), &env).await?;
        ensure!(log.contains(want), "{args:?}: {log}");
    }
    for (flag, want) in [
        ("--no-such-flag", "--no-such-flag"),
        ("--evaluation-concurrency=256", "--evaluation-concurrency"),
        ("--client-burst=-1", "--client-burst"),
        ("--enable-lease=perhaps", "--enable-lease"),
    ] {
        let log = failure(2, &[namespace, &hub, flag], &env).await?;
        ensure!(log.contains(want), "{flag}: {log}");
    }
    Ok(())
}

/// FWK-12.
pub(crate) async fn taken(planes: Arc<Planes>) -> Result<()> {
    let setup = planes.setup("taken").await?;
    let taken = TcpListener::bind(("127.0.0.1", free_port()?))?;
    let address = taken.local_addr()?;
    for flag in ["health-probe", "metrics"] {
        let flag = format!("--{flag}-bind-address={address}");
        let setup = planes.setup("taken").await?.with(&flag);
        let mut addon = setup.spawn(&[])?;
        let status = addon.component().wait(SOON).await?;
        let log = addon.log();
        ensure!(status.code() == Some(1), "{flag}: {status}: {log}");
        ensure!(log.contains(&address.to_string()), "{flag}: {log}");
    }
    // Certificates for the metrics are not there.
    let mut addon = setup.with("--secure-metrics").spawn(&[])?;
    let status = addon.component().wait(SOON).await?;
    let log = addon.log();
    ensure!(status.code() == Some(1), "{status}: {log}");
    ensure!(log.contains("/var/run/metrics-cert"), "{log}");
    Ok(())
}

pub(crate) async fn accepted(planes: Arc<Planes>) -> Result<()> {
    let mut setup = planes.setup("accepted").await?;
    for flag in [
        "--enable-lease=true",
        "--disable-gatekeeper-sync",
        "--evaluation-concurrency=5",
        "--log-level=2",
        "--log-encoder=json",
        "--v=4",
        "-v",
        "0",
        "--logtostderr=true",
        "--alsologtostderr",
        "--stderrthreshold=2",
        "--vmodule=a=1",
        "--tls-min-version=VersionTLS12",
        "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256",
        "--kubeconfig=",
    ] {
        setup = setup.with(flag);
    }
    let mut addon = setup.start().await?;
    ensure!(addon.probe("healthz").await? == (200, "ok".to_owned()));
    ensure!(addon.probe("readyz").await? == (200, "ok".to_owned()));
    let status = addon.component().stop().await?;
    let log = addon.log();
    ensure!(status.code() == Some(0), "{status}: {log}");
    let line = log.lines().next().context("nothing was logged")?;
    serde_json::from_str::<serde_json::Value>(line).with_context(|| line.to_owned())?;
    ensure!(log.contains("lease is not renewed"), "{log}");
    Ok(())
}

/// Applies a policy on the hub, and waits for its copy.
pub(crate) async fn copies(planes: &Planes, namespace: &str, name: &str) -> Result<()> {
    let policy = json!({
        "apiVersion": POLICY.0, "kind": POLICY.1,
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "disabled": false, "policy-templates": [] }
    });
    planes.hub.apply(&policy.to_string()).await?;
    eventually(format!("{name} is copied"), SOON, || async {
        let copy = planes
            .managed
            .get(POLICY.0, POLICY.1, Some(namespace), name)
            .await?;
        copy.map(|_| ()).context("absent")
    })
    .await
}

pub(crate) async fn environment(planes: Arc<Planes>) -> Result<()> {
    planes.setup("environment").await?;
    let (_, hub) = planes.hub.kubeconfig_env();
    let (_, managed) = planes.managed.kubeconfig_env();
    let flags = ["--cluster-namespace=environment"];
    for (number, env) in [
        [("HUB_CONFIG", hub), ("MANAGED_CONFIG", managed)],
        [("HUB_CONFIG", hub), ("KUBECONFIG", managed)],
    ]
    .iter()
    .enumerate()
    {
        let mut addon = reeve_scenarios::Addon::start(&flags, env)?.ready().await?;
        copies(&planes, "environment", &format!("by-environment-{number}")).await?;
        addon.component().stop().await?;
    }
    let kubeconfig = format!("--kubeconfig={managed}");
    let flags = [flags[0], &kubeconfig, "--hub-cluster-configfile="];
    let env = [("HUB_CONFIG", hub)];
    let addon = reeve_scenarios::Addon::start(&flags, &env)?.ready().await?;
    copies(&planes, "environment", "by-flag").await?;
    drop(addon);
    Ok(())
}

/// FWK-9.
pub(crate) async fn on_hub(planes: Arc<Planes>) -> Result<()> {
    let (_, managed) = planes.managed.kubeconfig_env();
    let namespace = "--cluster-namespace=on-hub";
    for (flag, env) in [
        ("--on-multicluster-hub", &[][..]),
        ("--disable-spec-sync=true", &[]),
        ("--log-level=info", &[("ON_MULTICLUSTERHUB", "true")]),
    ] {
        let env = [env, &[("MANAGED_CONFIG", managed)]].concat();
        let addon = reeve_scenarios::Addon::start(&[namespace, flag], &env)?;
        let addon = addon.ready().await?;
        ensure!(addon.probe("healthz").await?.0 == 200);
        let deprecated = addon.log().contains("--disable-spec-sync is deprecated");
        ensure!(
            deprecated == flag.starts_with("--disable"),
            "{}",
            addon.log()
        );
    }
    Ok(())
}
