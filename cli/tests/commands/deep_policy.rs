//! A policy of the greatest depth that an API server stores does not end a fleet.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

const POLICIES: &str = "/apis/policy.open-cluster-management.io/v1/namespaces/policies/policies";

/// How long the fleet may take to print a line.
const LINE_TIMEOUT: Duration = Duration::from_mins(5);

/// A fleet that is killed on drop, and the lines that it prints.
struct Running(Child, Receiver<String>);

impl Running {
    fn start(folder: &Path) -> Result<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_reeve"))
            .current_dir(folder)
            .args(["up", "--log-level=error", "--clusters=1"])
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().context("no output")?;
        let (printed, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _ = printed.send(line);
            }
        });
        Ok(Self(child, lines))
    }

    /// Waits for a line with a text. Fails when the fleet ends.
    fn wait_for_line(&self, text: &str) -> Result<()> {
        let begun = Instant::now();
        loop {
            let left = LINE_TIMEOUT.saturating_sub(begun.elapsed());
            let line = self.1.recv_timeout(left);
            if line
                .with_context(|| format!("waiting for {text}"))?
                .contains(text)
            {
                return Ok(());
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A policy with this many levels in its desired object.
fn policy(levels: usize) -> String {
    let deep = format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    let wanted = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m","namespace":"default"}},"x":{deep}}}"#
    );
    let template = format!(
        r#"{{"apiVersion":"policy.open-cluster-management.io/v1","kind":"ConfigurationPolicy","metadata":{{"name":"p{levels}"}},
        "spec":{{"severity":"low","object-templates":[{{"complianceType":"musthave","objectDefinition":{wanted}}}]}}}}"#
    );
    format!(
        r#"{{"apiVersion":"policy.open-cluster-management.io/v1","kind":"Policy","metadata":{{"name":"p{levels}"}},
        "spec":{{"disabled":false,"policy-templates":[{{"objectDefinition":{template}}}]}}}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_policy_does_not_end_a_fleet() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir()?;
    let fleet = Running::start(folder.path())?;
    fleet.wait_for_line("fleet ready")?;
    let config = Kubeconfig::read_from(folder.path().join("reeve.kubeconfig"))?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    for levels in [200, 9_000, 1] {
        let request = http::Request::post(POLICIES)
            .header("content-type", "application/json")
            .body(policy(levels).into_bytes())?;
        client.request_text(request).await?;
        // Each table has all earlier policies, too.
        fleet.wait_for_line(&format!("policies/p{levels} "))?;
    }
    Ok(())
}
