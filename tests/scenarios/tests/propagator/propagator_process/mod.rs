//! The process `governance-policy-propagator`: its flags, its servers, its lease, its end.

mod election;
mod flags;
mod flood;
mod leadership;
mod metrics;
mod rights;
mod scope;
mod serving;
mod serving_client;
mod tls;
mod webhooks;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use reeve_scenarios::{SuiteRun, run_on, scenario};
use reeve_testkit::{Component, Plane, PlaneOptions, SOON, free_port, reeve_binary};
use tokio::sync::Mutex;

/// Two hubs: on one of them the scenario of the election is about who writes, on the other one is a TLS profile.
pub(crate) struct Hubs {
    pub(crate) plain: Plane,
    pub(crate) openshift: Plane,
}

/// May read everything and write nothing: propagators that are here for their servers only.
const READER: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: ['*'], resources: ['*'], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: readers}]
";

/// The kubeconfig of a user of its own who may read everything.
pub(crate) fn reader(hub: &Plane, name: &str) -> Result<PathBuf> {
    hub.kubeconfig_for(name, Some("readers"))
}

/// Propagators act on whatever a hub has: of those that may write on the plain one, there is one at a time.
pub(crate) static WRITER: Mutex<()> = Mutex::const_new(());

pub(crate) const NAME: &str = "governance-policy-propagator";

/// A propagator as a process, with its pages.
pub(crate) struct Running {
    pub(crate) component: Component,
    pub(crate) health: String,
    pub(crate) metrics: u16,
}

impl Running {
    /// Starts a propagator, without a lease and webhooks unless `flags` say otherwise.
    pub(crate) fn spawn(kubeconfig: &Path, flags: &[&str], env: &[(&str, &str)]) -> Result<Self> {
        Self::spawn_program(&reeve_binary()?, kubeconfig, flags, env)
    }

    /// Like [`Self::spawn`], by a program that starts it.
    pub(crate) fn spawn_program(
        program: &Path,
        kubeconfig: &Path,
        flags: &[&str],
        env: &[(&str, &str)],
    ) -> Result<Self> {
        let (health, metrics) = (free_port()?, free_port()?);
        let health_flag = format!("--health-probe-bind-address=127.0.0.1:{health}");
        let metrics_flag = format!("--metrics-bind-address=127.0.0.1:{metrics}");
        let fixed = [
            "--leader-elect=false",
            "--enable-webhooks=false",
            &health_flag,
            &metrics_flag,
        ];
        let kubeconfig = kubeconfig.display().to_string();
        let usual = [("KUBECONFIG", kubeconfig.as_str()), ("WATCH_NAMESPACE", "")];
        Ok(Self {
            component: Component::spawn_program(
                program,
                NAME,
                &[&fixed[..], flags].concat(),
                &[&usual, env].concat(),
            )?,
            health: format!("http://127.0.0.1:{health}"),
            metrics,
        })
    }

    /// Like [`Self::spawn`], and ready when this returns.
    pub(crate) async fn start(
        kubeconfig: &Path,
        flags: &[&str],
        env: &[(&str, &str)],
    ) -> Result<Self> {
        let mut running = Self::spawn(kubeconfig, flags, env)?;
        running.ready().await?;
        Ok(running)
    }

    /// Waits until it reports that it is ready.
    pub(crate) async fn ready(&mut self) -> Result<()> {
        let ready = format!("{}/readyz", self.health);
        self.component.healthy(&ready, SOON).await
    }
}

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    let start = async {
        // The library's parts that run in this process need one, as the program has.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let plane = |name, audit| {
            Plane::start(PlaneOptions {
                name,
                audit,
                ..PlaneOptions::default()
            })
        };
        let (plain, openshift) = tokio::try_join!(plane("plain", true), plane("openshift", false))?;
        // One hub has placement rules and one has none.
        tokio::try_join!(plain.install_crds_without_rules(), openshift.install_crds())?;
        tokio::try_join!(plain.apply(READER), openshift.apply(READER))?;
        Ok(Hubs { plain, openshift })
    };
    run_on(
        suite,
        start,
        vec![
            scenario("wrong_flags_and_variables_are_named", |p| {
                Box::pin(flags::wrong(p))
            }),
            scenario("prop_11_ready_when_caches_have_synced", |p| {
                Box::pin(serving::readiness(p))
            }),
            scenario("prop_6_the_watched_namespaces_are_kept_to", |p| {
                Box::pin(scope::namespaces(p))
            }),
            scenario(
                "placement_rules_are_done_without_where_there_are_none",
                |p| Box::pin(scope::placement_rules(p)),
            ),
            scenario("the_shipped_roles_suffice", |p| {
                Box::pin(rights::suffice(p))
            }),
            scenario("the_only_leader_writes_and_another_one_takes_over", |p| {
                Box::pin(election::failover(p))
            }),
            scenario("leader_without_renewals_stops_before_another_starts", |p| {
                Box::pin(leadership::renewals_are_cut(p))
            }),
            scenario("suspended_leader_writes_nothing_when_resumed", |p| {
                Box::pin(leadership::leader_is_suspended(p))
            }),
            scenario("deleted_lease_stays_with_its_holder", |p| {
                Box::pin(leadership::lease_is_deleted(p))
            }),
            scenario("flood_of_bogus_tokens_does_not_block_scrapers", |p| {
                Box::pin(flood::starves_nobody(p))
            }),
            scenario("prop_176_rough_edges_56_and_57_metrics", |p| {
                Box::pin(metrics::compliance(p))
            }),
            scenario("prop_52_policy_webhook_rejects_invalid_policies", |p| {
                Box::pin(webhooks::policies(p))
            }),
            scenario("prop_54_policy_set_webhook_rejects_invalid_sets", |p| {
                Box::pin(webhooks::policy_sets(p))
            }),
            scenario("prop_55_further_checks_only_warn", |p| {
                Box::pin(webhooks::warnings(p))
            }),
            scenario(
                "webhooks_reject_malformed_reviews_and_reload_certificate",
                |p| Box::pin(webhooks::nonsense_and_renewal(p)),
            ),
            scenario("prop_22_sources_of_the_tls_profile", |p| {
                Box::pin(tls::sources(p))
            }),
            scenario("a_change_of_the_tls_profile_ends_the_process", |p| {
                Box::pin(tls::drift(p))
            }),
        ],
    )
}
