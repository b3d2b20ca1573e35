//! Proves that a component can be watched, stopped, killed and started again, on a shell in its place.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use reeve_testkit::{Component, SOON, eventually, free_port};

/// Prints the name by which it was called, and exits with 3 on SIGTERM.
const LONG_RUNNING: &str =
    r#"trap "exit 3" TERM; echo "$GREETING from ${0##*/}"; while :; do sleep 0.05; done"#;

fn long_running() -> Result<Component> {
    let args = ["-c", LONG_RUNNING, "propagator"];
    Component::spawn_program(Path::new("/bin/sh"), "sh", &args, &[("GREETING", "hello")])
}

async fn wait_for_greetings(component: &Component, times: usize) -> Result<()> {
    eventually("the greeting is in the log", SOON, || async {
        let log = component.log();
        ensure!(
            log.matches("hello from propagator").count() == times,
            "the log is {log:?}"
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn component_stops_and_keeps_exit_code() -> Result<()> {
    let mut component = long_running()?;
    wait_for_greetings(&component, 1).await?;
    ensure!(component.stop().await?.code() == Some(3));
    ensure!(
        component.stop().await?.code() == Some(3),
        "stopping twice is one stop"
    );
    Ok(())
}

#[tokio::test]
async fn component_restarts_after_kill() -> Result<()> {
    let mut component = long_running()?;
    wait_for_greetings(&component, 1).await?;
    let first = component.pid();
    component.kill().await;
    ensure!(component.status()?.and_then(|status| status.signal()) == Some(9));
    component.restart()?;
    wait_for_greetings(&component, 2).await?;
    ensure!(component.pid() != first);
    Ok(())
}

#[tokio::test]
async fn health_wait_fails_at_once_for_dead_process() -> Result<()> {
    let args = ["-c", "echo no such flag; exit 2"];
    let mut component = Component::spawn_program(Path::new("/bin/sh"), "sh", &args, &[])?;
    let url = format!("http://127.0.0.1:{}/healthz", free_port()?);
    let error = component.healthy(&url, Duration::from_mins(1)).await.err();
    let error = error.map(|error| format!("{error:#}")).unwrap_or_default();
    ensure!(
        error.contains("exit status: 2") && error.contains("no such flag"),
        "{error}"
    );
    Ok(())
}
