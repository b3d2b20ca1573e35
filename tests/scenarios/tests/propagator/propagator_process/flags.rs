//! What the command line and the environment must not say.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_testkit::{Component, SOON, free_port};

use crate::propagator_process::{Hubs, NAME};

/// Runs the program, which must fail with this code, and reports what it wrote.
async fn failure(hubs: &Hubs, code: i32, args: &[&str], env: &[(&str, &str)]) -> Result<String> {
    let env = [&[hubs.plain.kubeconfig_env()], env].concat();
    let fixed = ["--leader-elect=false", "--metrics-bind-address=0"];
    let mut program = Component::spawn(NAME, &[&fixed[..], args].concat(), &env)?;
    let status = program.wait(SOON).await?;
    let log = program.log();
    ensure!(status.code() == Some(code), "{args:?}: {status}: {log}");
    Ok(log)
}

pub(crate) async fn wrong(hubs: Arc<Hubs>) -> Result<()> {
    let watched = [("WATCH_NAMESPACE", "")];
    let no_probes = "--health-probe-bind-address=0";
    let cases = [
        (
            "--encryption-key-rotation=0",
            &watched[..],
            "the encryption-key-rotation flag must be greater than 0",
        ),
        (
            "--key-rotation-max-concurrency=0",
            &watched[..],
            "the key-rotation-max-concurrency flag must be greater than 0",
        ),
        ("--log-level=info", &[], "WATCH_NAMESPACE must be set"),
        (
            "--webhook-cert-dir=/nonexistent",
            &watched[..],
            "cannot serve webhooks over TLS: cannot read /nonexistent/tls.crt: ",
        ),
        (
            "--kubeconfig=/nonexistent/kubeconfig",
            &watched[..],
            "cannot use the kubeconfig /nonexistent/kubeconfig",
        ),
        (
            "--leader-elect",
            &[("WATCH_NAMESPACE", ""), ("OSDK_FORCE_RUN_MODE", "local")],
            "leader election needs a namespace for its lease",
        ),
    ];
    for (flag, env, want) in cases {
        let webhooks = format!("--enable-webhooks={}", flag.starts_with("--webhook"));
        let log = failure(&hubs, 1, &[no_probes, &webhooks, flag], env).await?;
        ensure!(log.contains(want), "{flag}: {log}");
    }
    // Flags that are not there are the business of the flag library, which has a code of its own.
    let log = failure(&hubs, 2, &["--no-such-flag"], &watched).await?;
    ensure!(log.contains("--no-such-flag"), "{log}");
    let taken = std::net::TcpListener::bind(("127.0.0.1", free_port()?))?;
    let flag = format!("--health-probe-bind-address={}", taken.local_addr()?);
    let args = ["--enable-webhooks=false", &flag];
    let log = failure(&hubs, 1, &args, &watched).await?;
    ensure!(log.contains("cannot listen on 127.0.0.1:"), "{log}");
    Ok(())
}
