//! A hub and clusters with Open Cluster Management around them and nothing of ours on them.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use reeve_testkit::ocm::{AddonManager, ClusterPlanes, Klusterlet, KlusterletOptions};
use reeve_testkit::{
    Kubelet, KubeletOptions, Objects, Plane, PlaneOptions, SOON, eventually, fleet_crd,
    install_addon_crds, parse, workspace,
};
use serde_json::{Value, json};

/// The add-ons that govern a cluster.
pub(crate) const ADDONS: [&str; 2] = ["governance-policy-framework", "config-policy-controller"];
/// Where the hub's own components are.
pub(crate) const NAMESPACE: &str = "open-cluster-management";
/// Where the agents are.
pub(crate) const AGENTS: &str = "open-cluster-management-agent-addon";

/// The kind of an add-on on a cluster.
pub(crate) const ADDON: (&str, &str) = (
    "addon.open-cluster-management.io/v1alpha1",
    "ManagedClusterAddOn",
);
const LATER: Duration = Duration::from_mins(3);

/// A managed cluster.
pub(crate) struct Managed {
    pub(crate) name: &'static str,
    pub(crate) plane: Plane,
    pub(crate) klusterlet: Klusterlet,
    pub(crate) kubelet: Kubelet,
}

/// A hub and its clusters.
pub(crate) struct Fleet {
    pub(crate) hub: Plane,
    pub(crate) clusters: Vec<Managed>,
    kubelet: Kubelet,
    manager: AddonManager,
}

impl Fleet {
    /// Starts everything that is there before an add-on is: the clusters have joined the hub.
    pub(crate) async fn start(names: &[&'static str]) -> Result<Self> {
        let planes = ["hub"].iter().chain(names).map(|name| {
            Plane::start(PlaneOptions {
                name,
                workloads: true,
                ..PlaneOptions::default()
            })
        });
        let mut planes = try_join_all(planes).await?.into_iter();
        let hub = planes.next().context("the hub is the first plane")?;
        let planes: Vec<Plane> = planes.collect();
        prepare(&hub).await?;
        try_join_all(planes.iter().map(|plane| prepare(plane.objects()))).await?;
        let mut ports = vec![hub.port()?];
        for plane in &planes {
            ports.push(plane.port()?);
        }
        let pods = KubeletOptions {
            reach: ports,
            ..KubeletOptions::default()
        };
        let mut clusters = Vec::new();
        for (name, plane) in names.iter().zip(planes) {
            let namespace =
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": AGENTS } });
            plane.apply(&namespace.to_string()).await?;
            let planes = ClusterPlanes {
                hub: &hub,
                managed: &plane,
                agent: &plane,
            };
            let klusterlet = Klusterlet::join(planes, KlusterletOptions::named(name)).await?;
            let kubelet = Kubelet::start(&plane, pods.clone()).await?;
            clusters.push(Managed {
                name,
                plane,
                klusterlet,
                kubelet,
            });
        }
        Ok(Self {
            kubelet: Kubelet::start(&hub, pods).await?,
            manager: AddonManager::start(&hub).await?,
            hub,
            clusters,
        })
    }

    /// What `clusteradm install hub-addon` does, and waits until both Deployments are available.
    pub(crate) async fn install(&self) -> Result<()> {
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
        self.hub.apply(&namespace.to_string()).await?;
        for objects in shipped()? {
            self.hub.apply(&objects).await?;
        }
        for name in [
            "governance-policy-addon-controller",
            "governance-policy-propagator",
        ] {
            available(&self.hub, NAMESPACE, name).await?;
        }
        Ok(())
    }

    /// What `clusteradm uninstall hub-addon` does: the CRDs stay.
    pub(crate) async fn uninstall(&self) -> Result<()> {
        let [_, dependencies, deployments] = shipped()?;
        self.hub.delete(&dependencies).await?;
        self.hub.delete(&deployments).await?;
        Ok(())
    }

    /// What `clusteradm addon enable` does.
    pub(crate) async fn enable(&self) -> Result<()> {
        for cluster in &self.clusters {
            for addon in ADDONS {
                let object = json!({
                    "apiVersion": ADDON.0, "kind": ADDON.1,
                    "metadata": { "namespace": cluster.name, "name": addon },
                    "spec": { "installNamespace": AGENTS },
                });
                self.hub.apply(&object.to_string()).await?;
            }
        }
        for cluster in &self.clusters {
            for addon in ADDONS {
                self.observed(cluster.name, addon, "Available").await?;
                self.observed(cluster.name, addon, "ManifestApplied")
                    .await?;
                available(&cluster.plane, AGENTS, addon).await?;
            }
        }
        Ok(())
    }

    /// What `clusteradm addon disable` does, and waits until the add-ons are gone.
    pub(crate) async fn disable(&self) -> Result<()> {
        for cluster in &self.clusters {
            for addon in ADDONS {
                let object = json!({
                    "apiVersion": ADDON.0, "kind": ADDON.1,
                    "metadata": { "namespace": cluster.name, "name": addon },
                });
                self.hub.delete(&object.to_string()).await?;
            }
        }
        for cluster in &self.clusters {
            for addon in ADDONS {
                let (version, kind) = ADDON;
                self.hub
                    .gone(version, kind, Some(cluster.name), addon, LATER)
                    .await?;
            }
            eventually("the works are gone", LATER, || async {
                let works = "work.open-cluster-management.io/v1";
                let left = self
                    .hub
                    .list(works, "ManifestWork", Some(cluster.name))
                    .await?;
                ensure!(left.is_empty(), "{} are left", left.len());
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    /// Waits until an add-on reports that something is so.
    pub(crate) async fn observed(&self, cluster: &str, addon: &str, kind: &str) -> Result<()> {
        eventually(format!("{cluster}/{addon} is {kind}"), LATER, || async {
            let (version, of) = ADDON;
            let object = self.hub.get(version, of, Some(cluster), addon).await?;
            let object = object.context("it is not there")?;
            let conditions = object.data["status"]["conditions"].clone();
            let is_so = conditions.as_array().into_iter().flatten();
            let is_so = is_so
                .into_iter()
                .any(|found| found["type"] == kind && found["status"] == "True");
            ensure!(is_so, "{conditions}");
            Ok(())
        })
        .await
    }

    /// For a failed scenario.
    pub(crate) async fn dump(&self) -> String {
        let mut text = String::new();
        let names: Vec<&str> = self.clusters.iter().map(|cluster| cluster.name).collect();
        let _ = writeln!(
            text,
            "--- the hub:\n{}",
            self.hub.dump(&[&names[..], &[NAMESPACE]].concat()).await
        );
        let _ = writeln!(text, "--- the hub's Pods:\n{}", self.kubelet.dump());
        let _ = writeln!(text, "--- the add-on manager:\n{}", self.manager.log());
        for cluster in &self.clusters {
            let dump = cluster.plane.dump(&[cluster.name, AGENTS]).await;
            let _ = writeln!(text, "--- {}:\n{dump}", cluster.name);
            let _ = writeln!(text, "--- its klusterlet:\n{}", cluster.klusterlet.log());
            let _ = writeln!(text, "--- its Pods:\n{}", cluster.kubelet.dump());
        }
        text
    }
}

/// What the hub and the clusters have before anything of ours: the kinds of Open Cluster Management.
async fn prepare(objects: &Objects) -> Result<()> {
    install_addon_crds(objects).await?;
    let folder = workspace().join("tests/testkit/crds");
    let mut kinds = Vec::new();
    let mut files = vec![fleet_crd("clusterclaims")];
    for entry in fs::read_dir(&folder)? {
        files.push(entry?.path());
    }
    for path in files {
        // PlacementRules are among what is installed.
        let is_ours = path.ends_with("placementrules.yaml");
        if is_ours || path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        for crd in parse(&text)? {
            let spec = &crd.data["spec"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let version = text(&spec["versions"][0]["name"]);
            kinds.push((
                format!("{}/{version}", text(&spec["group"])),
                text(&spec["names"]["kind"]),
            ));
        }
        objects.apply(&text).await?;
    }
    for (version, kind) in &kinds {
        eventually(format!("{kind} is served"), SOON, || {
            objects.kind(version, kind)
        })
        .await?;
    }
    Ok(())
}

/// The objects that `clusteradm` applies, in its three batches: 5 CRDs, 12 dependencies, 2 Deployments.
pub(crate) fn shipped() -> Result<[String; 3]> {
    let deploy = workspace().join("deploy");
    let read = |path: &str| {
        let path = deploy.join(path);
        fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
    };
    let policy = |name: &str| {
        read(&format!(
            "crds/policy.open-cluster-management.io_{name}.yaml"
        ))
    };
    let crds = [
        policy("placementbindings")?,
        policy("policies")?,
        policy("policyautomations")?,
        policy("policysets")?,
        read("hub/crds/apps.open-cluster-management.io_placementrules.yaml")?,
    ];
    let dependencies = [read("hub/rbac.yaml")?, read("hub/addons.yaml")?];
    let deployments = [
        read("hub/governance-policy-addon-controller.yaml")?,
        read("hub/governance-policy-propagator.yaml")?,
    ];
    let batches = [
        crds.join("\n---\n"),
        dependencies.join("\n---\n"),
        deployments.join("\n---\n"),
    ];
    let counts: Vec<usize> = batches
        .iter()
        .map(|batch| parse(batch).map(|objects| objects.len()))
        .collect::<Result<_>>()?;
    ensure!(
        counts == [5, 12, 2],
        "clusteradm applies 5, 12 and 2 objects, not {counts:?}"
    );
    Ok(batches)
}

/// Waits until a Deployment has all of its Pods.
pub(crate) async fn available(plane: &Plane, namespace: &str, name: &str) -> Result<()> {
    eventually(format!("Deployment {name} is available"), LATER, || async {
        let found = plane
            .get("apps/v1", "Deployment", Some(namespace), name)
            .await?;
        let found = found.context("it is not there")?;
        let status = &found.data["status"];
        ensure!(
            status["availableReplicas"] == found.data["spec"]["replicas"],
            "{status}"
        );
        Ok(())
    })
    .await
}
