//! A hub with managed clusters, each a real control plane, and Reeve's components as processes.

use std::time::Duration;

use anyhow::{Context, Result};
use futures::future::try_join_all;
use serde_json::json;

use crate::child::tail;
use crate::{Component, Plane, PlaneOptions, free_port};

/// How long a component may take until it is ready.
const READY: Duration = Duration::from_mins(1);

/// The user namespace for policies that every [`World`] has on its hub.
pub const POLICIES: &str = "policies";

/// What a [`World`] consists of.
#[derive(Debug, Clone, Default)]
pub struct WorldOptions {
    /// The managed clusters' names, also the names of their planes.
    pub clusters: Vec<&'static str>,
    /// Whether all planes keep an audit log.
    pub audit: bool,
    /// Whether the controllers handle `OperatorPolicy` objects.
    pub operators: bool,
}

/// A hub with the propagator, and managed clusters with the two agents. Everything ends when it is
/// dropped.
pub struct World {
    /// The hub.
    pub hub: Plane,
    /// The hub's controller.
    pub propagator: Component,
    /// The managed clusters, in the order of the options.
    pub clusters: Vec<Cluster>,
}

/// A managed cluster.
pub struct Cluster {
    /// Its name; also its namespace's name on the hub and on itself.
    pub name: &'static str,
    /// Its control plane.
    pub plane: Plane,
    /// The agent that syncs with the hub.
    pub addon: Component,
    /// The agent that evaluates configuration policies.
    pub controller: Component,
}

impl World {
    /// Starts the planes, installs the CRDs, registers the clusters and starts the components.
    /// Everything is ready when this returns.
    pub async fn start(options: WorldOptions) -> Result<Self> {
        let names = std::iter::once("hub").chain(options.clusters.iter().copied());
        let planes = names.map(|name| {
            let audit = options.audit;
            async move {
                let plane = PlaneOptions {
                    name,
                    audit,
                    ..PlaneOptions::default()
                };
                let plane = Plane::start(plane).await?;
                plane.install_crds().await?;
                anyhow::Ok(plane)
            }
        });
        let mut planes = try_join_all(planes).await?.into_iter();
        let hub = planes.next().context("the hub is the first plane")?;
        hub.apply(&namespace(POLICIES)).await?;
        let mut propagator = start_propagator(&hub)?;
        let mut clusters = Vec::new();
        let flags = [format!("--enable-operator-policy={}", options.operators)];
        for (name, plane) in options.clusters.into_iter().zip(planes) {
            clusters.push(Cluster::join(name, plane, &hub, &flags).await?);
        }
        propagator
            .component
            .healthy(&propagator.ready, READY)
            .await?;
        Ok(Self {
            hub,
            propagator: propagator.component,
            clusters,
        })
    }

    /// The ends of all components' logs, for a failed test to print.
    pub fn logs(&self) -> String {
        let of_cluster = |cluster: &Cluster| {
            let addon = (
                format!("the addon of {}", cluster.name),
                cluster.addon.log(),
            );
            [
                addon,
                (
                    format!("the controller of {}", cluster.name),
                    cluster.controller.log(),
                ),
            ]
        };
        let propagator = ("the propagator".to_owned(), self.propagator.log());
        let logs = std::iter::once(propagator).chain(self.clusters.iter().flat_map(of_cluster));
        let parts =
            logs.map(|(who, log)| format!("--- the log of {who} ends:\n{}\n", tail(&log, 60)));
        parts.collect::<Vec<_>>().concat()
    }

    /// The cluster of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn cluster(&self, name: &str) -> Result<&Cluster> {
        let found = self.clusters.iter().find(|cluster| cluster.name == name);
        found.with_context(|| format!("no cluster is called {name}"))
    }
}

impl Cluster {
    async fn join(name: &'static str, plane: Plane, hub: &Plane, flags: &[String]) -> Result<Self> {
        register(hub, name).await?;
        plane.apply(&namespace(name)).await?;
        let mut addon = start_addon(name, hub, &plane)?;
        let mut controller = start_controller(name, &plane, flags)?;
        addon.component.healthy(&addon.ready, READY).await?;
        controller
            .component
            .healthy(&controller.ready, READY)
            .await?;
        Ok(Self {
            name,
            plane,
            addon: addon.component,
            controller: controller.component,
        })
    }
}

/// Makes a cluster known to a hub: its `ManagedCluster` and its namespace.
pub async fn register(hub: &Plane, name: &str) -> Result<()> {
    let cluster = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": { "name": name, "labels": { "name": name } },
        "spec": { "hubAcceptsClient": true }
    });
    hub.apply(&format!("{}\n---\n{cluster}", namespace(name)))
        .await?;
    Ok(())
}

/// What a placement controller would write: the clusters that a placement has chosen.
pub async fn decide(
    hub: &Plane,
    namespace: &str,
    placement: &str,
    clusters: &[&str],
) -> Result<()> {
    let decisions: Vec<_> = clusters
        .iter()
        .map(|name| json!({ "clusterName": name, "reason": "" }))
        .collect();
    let decision = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "PlacementDecision",
        "metadata": {
            "name": format!("{placement}-decision-1"),
            "namespace": namespace,
            "labels": { "cluster.open-cluster-management.io/placement": placement }
        },
        "status": { "decisions": decisions }
    });
    hub.apply(&decision.to_string()).await?;
    Ok(())
}

fn namespace(name: &str) -> String {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }).to_string()
}

struct Started {
    component: Component,
    ready: String,
}

fn start(name: &str, args: &[&str], env: &[(&str, &str)]) -> Result<Started> {
    let address = format!("127.0.0.1:{}", free_port()?);
    let probes = format!("--health-probe-bind-address={address}");
    let common = [
        "--leader-elect=false",
        "--metrics-bind-address=0",
        probes.as_str(),
    ];
    let env = [env, &[("OSDK_FORCE_RUN_MODE", "local")]].concat();
    let component = Component::spawn(name, &[args, &common].concat(), &env)?;
    Ok(Started {
        component,
        ready: format!("http://{address}/readyz"),
    })
}

fn start_propagator(hub: &Plane) -> Result<Started> {
    let env = [hub.kubeconfig_env(), ("WATCH_NAMESPACE", "")];
    start(
        "governance-policy-propagator",
        &["--enable-webhooks=false"],
        &env,
    )
}

fn start_addon(cluster: &str, hub: &Plane, plane: &Plane) -> Result<Started> {
    let hub = format!("--hub-cluster-configfile={}", hub.kubeconfig().display());
    let managed = format!(
        "--managed-cluster-configfile={}",
        plane.kubeconfig().display()
    );
    let namespace = format!("--cluster-namespace={cluster}");
    let args = [namespace.as_str(), &hub, &managed];
    start("governance-policy-framework-addon", &args, &[])
}

fn start_controller(cluster: &str, plane: &Plane, flags: &[String]) -> Result<Started> {
    let name = format!("--cluster-name={cluster}");
    let mut args = vec!["controller", &name];
    args.extend(flags.iter().map(String::as_str));
    let env = [plane.kubeconfig_env(), ("WATCH_NAMESPACE", cluster)];
    start("config-policy-controller", &args, &env)
}
