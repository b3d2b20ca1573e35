//! What a `governance-policy-propagator` promises whatever happens: what is encrypted can be decrypted at every moment,
//! no secret is reported, tokens are renewed, and it may be killed at any moment. Every scenario has a hub of its own.

mod accounts;
mod chaos;
mod ended;
mod fair;
mod large;
mod model;
mod rotation;
mod secrets;
mod shards;
mod takeover;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use reeve_scenarios::{SuiteRun, run_on, scenario};
use reeve_testkit::{Component, Plane, PlaneOptions, free_port};

pub(crate) const V1: &str = "policy.open-cluster-management.io/v1";
/// The annotation with the initialization vector of what is encrypted.
pub(crate) const IV: &str = "policy.open-cluster-management.io/encryption-iv";
/// The Secret with the keys of a cluster.
pub(crate) const KEYS: &str = "policy-encryption-key";
pub(crate) const ROTATED: &str = "policy.open-cluster-management.io/last-rotated";
const READY: Duration = Duration::from_mins(1);

/// An action of a hub template.
pub(crate) fn hub(action: &str) -> String {
    format!("{{{{hub {action} hub}}}}")
}

/// A hub with the CRDs, without a propagator.
pub(crate) async fn plane(name: &'static str) -> Result<Plane> {
    let plane = Plane::start(PlaneOptions {
        name,
        audit: true,
        ..PlaneOptions::default()
    })
    .await?;
    plane.install_crds().await?;
    Ok(plane)
}

/// A propagator as a process.
pub(crate) struct Propagator {
    pub(crate) component: Component,
    health: String,
    pub(crate) metrics: String,
}

impl Propagator {
    /// Starts one, without a lease unless `flags` say otherwise; it may not be ready yet.
    pub(crate) fn spawn(plane: &Plane, flags: &[&str], env: &[(&str, &str)]) -> Result<Self> {
        let (health, metrics) = (free_port()?, free_port()?);
        let health_flag = format!("--health-probe-bind-address=127.0.0.1:{health}");
        let metrics_flag = format!("--metrics-bind-address=127.0.0.1:{metrics}");
        let fixed = [
            "--leader-elect=false",
            "--enable-webhooks=false",
            &health_flag,
            &metrics_flag,
        ];
        let usual = [
            plane.kubeconfig_env(),
            ("WATCH_NAMESPACE", ""),
            ("CONTROLLER_CONFIG_QPS", "500"),
            ("CONTROLLER_CONFIG_BURST", "1000"),
        ];
        Ok(Self {
            component: Component::spawn(
                "governance-policy-propagator",
                &[&fixed[..], flags].concat(),
                &[&usual, env].concat(),
            )?,
            health: format!("http://127.0.0.1:{health}/readyz"),
            metrics: format!("http://127.0.0.1:{metrics}/metrics"),
        })
    }

    /// Starts one; it is ready when this returns.
    pub(crate) async fn start(plane: &Plane, flags: &[&str], env: &[(&str, &str)]) -> Result<Self> {
        let mut propagator = Self::spawn(plane, flags, env)?;
        propagator.ready().await?;
        Ok(propagator)
    }

    pub(crate) async fn ready(&mut self) -> Result<()> {
        self.component.healthy(&self.health, READY).await
    }

    /// Adds the end of its log to what went wrong.
    pub(crate) fn with_log<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.with_context(|| {
            let log = self.component.log();
            let lines: Vec<&str> = log.lines().collect();
            let last = lines[lines.len().saturating_sub(60)..].join("\n");
            format!("--- the propagator's log ends:\n{last}\n---")
        })
    }
}

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    let start = async {
        // The library's parts that run in this process need one, as the program has.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(())
    };
    run_on(
        suite,
        start,
        vec![
            scenario("chaos_hub_converges_after_kills", |_| {
                Box::pin(chaos::chaos())
            }),
            scenario(
                "takeover_with_a_late_watch_of_roots_deletes_no_replica",
                |_| Box::pin(takeover::with(takeover::Lag::Roots)),
            ),
            scenario(
                "takeover_with_a_late_watch_of_placement_deletes_no_replica",
                |_| Box::pin(takeover::with(takeover::Lag::Placement)),
            ),
            scenario("prop_58_greedy_policy_delays_no_other", |_| {
                Box::pin(fair::greedy_policy_delays_no_other())
            }),
            scenario("prop_193_status_larger_than_etcd_takes_is_cut", |_| {
                Box::pin(large::omitted())
            }),
            scenario("shards_of_killed_propagator_are_taken_over", |_| {
                Box::pin(shards::killed())
            }),
            scenario(
                "prop_109_tokens_are_renewed_until_account_is_deleted",
                |_| Box::pin(accounts::renewed()),
            ),
            scenario("keys_of_a_hundred_clusters_change_under_load", |_| {
                Box::pin(rotation::under_load())
            }),
            scenario("secrets_no_output_has_a_plaintext", |_| {
                Box::pin(secrets::nowhere())
            }),
            scenario("secrets_names_from_secrets_are_in_no_output", |_| {
                Box::pin(secrets::nowhere_as_names())
            }),
        ],
    )
}
