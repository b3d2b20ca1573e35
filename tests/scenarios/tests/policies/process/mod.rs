//! The process `config-policy-controller`: its flags, its clusters, its end.

mod flags;
mod hosted;
mod leases;
mod profile;
mod uninstall;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use reeve_scenarios::{SuiteRun, run_on, scenario};
use reeve_testkit::{Component, Plane, PlaneOptions, SOON, free_port};

/// Two clusters: one runs the controllers and keeps the policies, the other one may be spoken about.
pub(crate) struct Planes {
    pub(crate) hosting: Plane,
    pub(crate) target: Plane,
}

pub(crate) const NAME: &str = "config-policy-controller";
/// A controller as a process, with its pages.
pub(crate) struct Running {
    pub(crate) component: Component,
    pub(crate) health: String,
    pub(crate) metrics: String,
}

impl Running {
    /// Starts a controller for the policies of a namespace of the hosting cluster, and waits until it is ready.
    pub(crate) async fn start(hosting: &Path, namespace: &str, flags: &[&str]) -> Result<Self> {
        let (health, metrics) = (free_port()?, free_port()?);
        let health_flag = format!("--health-probe-bind-address=127.0.0.1:{health}");
        let metrics_flag = format!("--metrics-bind-address=127.0.0.1:{metrics}");
        let fixed = [
            "controller",
            "--leader-elect=false",
            "--evaluation-backoff=1",
            &health_flag,
            &metrics_flag,
        ];
        let hosting = hosting.display().to_string();
        let env = [
            ("KUBECONFIG", hosting.as_str()),
            ("WATCH_NAMESPACE", namespace),
        ];
        let mut running = Self {
            component: Component::spawn(NAME, &[&fixed[..], flags].concat(), &env)?,
            health: format!("http://127.0.0.1:{health}"),
            metrics: format!("http://127.0.0.1:{metrics}/metrics"),
        };
        let ready = format!("{}/readyz", running.health);
        running.component.healthy(&ready, SOON).await?;
        Ok(running)
    }
}

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    let start = async {
        // The library's parts that run in this process need one, as the program has.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let plane = |name| {
            Plane::start(PlaneOptions {
                name,
                ..PlaneOptions::default()
            })
        };
        let (hosting, target) = tokio::try_join!(plane("hosting"), plane("target"))?;
        hosting.install_crds().await?;
        Ok(Planes { hosting, target })
    };
    run_on(
        suite,
        start,
        vec![
            scenario("wrong_flags_and_variables_are_named", |p| {
                Box::pin(flags::wrong(p))
            }),
            scenario("a_hosted_controller_acts_on_the_other_cluster", |p| {
                Box::pin(hosted::acts_there(p))
            }),
            scenario("a_changed_kubeconfig_is_unhealthy", |p| {
                Box::pin(hosted::kubeconfig(p))
            }),
            scenario("lease_is_on_managed_cluster_or_on_hub", |p| {
                Box::pin(leases::lease_location(p))
            }),
            scenario("case48_a_change_of_the_tls_profile_ends_the_process", |p| {
                Box::pin(profile::ends(p))
            }),
            scenario("forbidden_tls_profile_is_ignored", |p| {
                Box::pin(profile::denied(p))
            }),
            scenario("cfg_26_uninstall_removes_only_own_finalizers", |p| {
                Box::pin(uninstall::finalizers_are_removed(p))
            }),
            scenario("an_uninstallation_gives_up_in_time", |p| {
                Box::pin(uninstall::gives_up(p))
            }),
            scenario("cleanup_is_required_while_crd_is_terminating", |p| {
                Box::pin(uninstall::kind_is_deleted(p))
            }),
        ],
    )
}
