//! The process `governance-policy-framework-addon`: its flags, its pages, its rights, its end.

mod flags;
mod kills;
mod leases;
mod outage;
mod probes;
mod rights;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use reeve_scenarios::{Addon, SuiteRun, run_on, scenario};
use reeve_testkit::{Plane, PlaneOptions};

/// A hub and a managed cluster; scenarios run their own add-ons, each in namespaces of its own.
pub(crate) struct Planes {
    pub(crate) hub: Plane,
    pub(crate) managed: Plane,
}

/// An add-on for a namespace that exists on both clusters by now.
pub(crate) struct Setup {
    flags: Vec<String>,
}

impl Planes {
    /// Makes the namespaces, and reports which flags an add-on for them has.
    pub(crate) async fn setup(&self, namespace: &str) -> Result<Setup> {
        reeve_scenarios::make_namespace(&self.hub, namespace).await?;
        reeve_scenarios::make_namespace(&self.managed, namespace).await?;
        let setup = Setup {
            flags: vec![format!("--cluster-namespace={namespace}")],
        };
        Ok(setup
            .hub(self.hub.kubeconfig())
            .managed(self.managed.kubeconfig()))
    }
}

impl Setup {
    /// With this kubeconfig of the hub.
    pub(crate) fn hub(self, kubeconfig: &Path) -> Self {
        self.with(&format!(
            "--hub-cluster-configfile={}",
            kubeconfig.display()
        ))
    }

    /// With this kubeconfig of the managed cluster.
    pub(crate) fn managed(self, kubeconfig: &Path) -> Self {
        self.with(&format!(
            "--managed-cluster-configfile={}",
            kubeconfig.display()
        ))
    }

    /// With another flag; the last one of a name counts.
    pub(crate) fn with(mut self, flag: &str) -> Self {
        self.flags.push(flag.to_owned());
        self
    }

    /// Starts the add-on, and does not wait.
    pub(crate) fn spawn(&self, env: &[(&str, &str)]) -> Result<Addon> {
        let flags: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        Addon::start(&flags, env)
    }

    /// Starts the add-on, and waits until it is ready.
    pub(crate) async fn start(&self) -> Result<Addon> {
        self.spawn(&[])?.ready().await
    }
}

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    let start = async {
        let plane = |name| {
            Plane::start(PlaneOptions {
                name,
                audit: true,
                ..PlaneOptions::default()
            })
        };
        let (hub, managed) = tokio::try_join!(plane("hub"), plane("managed"))?;
        tokio::try_join!(hub.install_crds(), managed.install_crds())?;
        Ok(Planes { hub, managed })
    };
    run_on(
        suite,
        start,
        vec![
            scenario("wrong_flags_are_named", |p| Box::pin(flags::wrong(p))),
            scenario("fwk_12_a_taken_port_is_an_error", |p| {
                Box::pin(flags::taken(p))
            }),
            scenario("flags_of_manifests_are_accepted", |p| {
                Box::pin(flags::accepted(p))
            }),
            scenario("clusters_are_named_by_the_environment", |p| {
                Box::pin(flags::environment(p))
            }),
            scenario("fwk_9_a_hub_needs_no_kubeconfig_of_itself", |p| {
                Box::pin(flags::on_hub(p))
            }),
            scenario("a_changed_hub_kubeconfig_is_unhealthy_for_good", |p| {
                Box::pin(probes::kubeconfig(p))
            }),
            scenario("a_changed_client_certificate_is_unhealthy_for_good", |p| {
                Box::pin(probes::certificate(p))
            }),
            scenario("templates_are_kept_while_hub_is_unreachable", |p| {
                Box::pin(outage::at_start(p))
            }),
            scenario("killed_add_on_repeats_no_report", |p| {
                Box::pin(kills::no_repeated_report(p))
            }),
            scenario("fwk_17_only_synced_process_renews_the_lease", |p| {
                Box::pin(leases::only_the_synced(p))
            }),
            scenario("rights_of_combined_manifest_suffice", |p| {
                Box::pin(rights::all_in_one(p))
            }),
            scenario("the_shipped_rights_suffice", |p| {
                Box::pin(rights::shipped(p))
            }),
        ],
    )
}
