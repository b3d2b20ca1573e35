//! A hub that is itself a managed cluster, two more managed clusters, Open Cluster Management around them, and the
//! add-on controller.

use std::fmt::Write as _;
use std::path::Path;

use crate::install::addon::{ADDON, WORK};
use crate::install::cluster_locks::ClusterLocks;
use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;
use kube::config::Kubeconfig;
use reeve_testkit::ocm::{
    AddonManager, ClusterPlanes, Klusterlet, KlusterletOptions, WorkAgentKind,
};
use reeve_testkit::{
    Component, Kubelet, KubeletOptions, Mark, Object, Plane, PlaneOptions, SOON, eventually,
    fleet_crd, install_addon_crds,
};
use serde_json::json;
use tempfile::TempDir;

pub(crate) const ADDON_API: &str = "addon.open-cluster-management.io/v1alpha1";
pub(crate) const CLUSTER: (&str, &str) =
    ("cluster.open-cluster-management.io/v1", "ManagedCluster");
pub(crate) const FRAMEWORK: &str = "governance-policy-framework";
pub(crate) const CONFIG_POLICY: &str = "config-policy-controller";
pub(crate) const STANDALONE: &str = "governance-standalone-hub-templating";
pub(crate) const ON_HUB: &str = "addon.open-cluster-management.io/on-multicluster-hub";

/// The user that the hub takes the controller for.
pub(crate) const USER: &str =
    "system:serviceaccount:open-cluster-management:governance-policy-addon-controller";
const CONTROLLER: &str = "governance-policy-addon-controller";
const NAMESPACE: &str = "open-cluster-management";

/// The managed clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cluster {
    /// The hub itself.
    One,
    /// One with its own klusterlet.
    Two,
    /// One whose klusterlet runs on the hub.
    Three,
}

impl Cluster {
    pub(crate) const ALL: [Self; 3] = [Self::One, Self::Two, Self::Three];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::One => "cluster1",
            Self::Two => "cluster2",
            Self::Three => "cluster3",
        }
    }
}

/// Where the scenarios play.
pub(crate) struct Site {
    pub(crate) hub: Plane,
    pub(crate) two: Plane,
    pub(crate) three: Plane,
    pub(crate) beginning: Mark,
    controller: Component,
    manager: AddonManager,
    klusterlets: Vec<Klusterlet>,
    kubelets: Vec<Kubelet>,
    pub(crate) locks: ClusterLocks,
    _dir: TempDir,
}

impl Site {
    pub(crate) async fn start() -> Result<Self> {
        let plane = |name, audit| {
            Plane::start(PlaneOptions {
                name,
                audit,
                workloads: true,
                ..PlaneOptions::default()
            })
        };
        let (hub, two, three) = tokio::try_join!(
            plane("cluster1", true),
            plane("cluster2", false),
            plane("cluster3", false)
        )?;
        tokio::try_join!(prepare_hub(&hub), prepare(&two), prepare(&three))?;
        let beginning = hub.audit()?.mark()?;
        let dir = tempfile::tempdir()?;
        let controller = start_controller(&hub, dir.path()).await?;
        let manager = AddonManager::start(&hub).await?;
        let klusterlets = join(&hub, &two, &three).await?;
        let ports = vec![hub.port()?, two.port()?, three.port()?];
        let kubelet = |plane| {
            let options = KubeletOptions {
                reach: ports.clone(),
                ..KubeletOptions::default()
            };
            Kubelet::start(plane, options)
        };
        let kubelets = vec![
            kubelet(&hub).await?,
            kubelet(&two).await?,
            kubelet(&three).await?,
        ];
        Ok(Self {
            hub,
            two,
            three,
            beginning,
            controller,
            manager,
            klusterlets,
            kubelets,
            locks: ClusterLocks::new(),
            _dir: dir,
        })
    }

    pub(crate) fn plane(&self, cluster: Cluster) -> &Plane {
        match cluster {
            Cluster::One => &self.hub,
            Cluster::Two => &self.two,
            Cluster::Three => &self.three,
        }
    }

    /// The agents of Open Cluster Management for a cluster.
    pub(crate) fn klusterlet(&self, cluster: Cluster) -> Result<&Klusterlet> {
        let found = self
            .klusterlets
            .iter()
            .find(|it| it.name() == cluster.name());
        found.with_context(|| format!("{} has no klusterlet", cluster.name()))
    }

    /// For a failed scenario.
    pub(crate) async fn dump(&self) -> String {
        let mut text = String::new();
        for (version, kind) in [ADDON, WORK] {
            for object in self.hub.list(version, kind, None).await.unwrap_or_default() {
                let _ = writeln!(text, "--- {kind} {}", reported(&object));
            }
        }
        for (klusterlet, kubelet) in self.klusterlets.iter().zip(&self.kubelets) {
            let name = klusterlet.name();
            let _ = writeln!(text, "--- the klusterlet of {name}:\n{}", klusterlet.log());
            let _ = writeln!(text, "--- the Pods of {name}:\n{}", kubelet.dump());
        }
        let _ = writeln!(text, "--- the add-on manager:\n{}", self.manager.log());
        let _ = writeln!(text, "--- the controller:\n{}", self.controller.log());
        text
    }
}

/// What is worth knowing of an object of the hub.
fn reported(object: &Object) -> String {
    let metadata = &object.metadata;
    let conditions = object.data["status"]["conditions"].as_array();
    let conditions = conditions.into_iter().flatten();
    let conditions = conditions.map(|it| {
        format!(
            "\n  {} {} {} {}",
            it["type"], it["status"], it["reason"], it["message"]
        )
    });
    format!(
        "{:?}/{:?} deleted {:?} finalizers {:?} generation {:?}{}",
        metadata.namespace,
        metadata.name,
        metadata.deletion_timestamp,
        metadata.finalizers,
        metadata.generation,
        conditions.collect::<String>()
    )
}

async fn prepare_hub(hub: &Plane) -> Result<()> {
    // The propagator's CRDs are there before any add-on.
    hub.install_crds().await?;
    prepare(hub).await?;
    hub.apply(include_str!("rights.yaml")).await?;
    for name in [FRAMEWORK, CONFIG_POLICY, STANDALONE] {
        hub.apply(&offer(name)).await?;
    }
    let cluster = json!({
        "apiVersion": CLUSTER.0, "kind": CLUSTER.1,
        "metadata": { "name": "cluster1", "annotations": { ON_HUB: "true" } },
        "spec": {},
    });
    hub.apply(&cluster.to_string()).await?;
    Ok(())
}

/// What a managed cluster has before any add-on.
async fn prepare(plane: &Plane) -> Result<()> {
    install_addon_crds(plane).await?;
    plane.apply(include_str!("monitors.yaml")).await?;
    let claims = fleet_crd("clusterclaims");
    plane.apply(&std::fs::read_to_string(claims)?).await?;
    for (version, kind) in [
        (
            "cluster.open-cluster-management.io/v1alpha1",
            "ClusterClaim",
        ),
        ("monitoring.coreos.com/v1", "ServiceMonitor"),
    ] {
        eventually(format!("{kind} is served"), SOON, || {
            plane.kind(version, kind)
        })
        .await?;
    }
    Ok(())
}

/// A `ClusterManagementAddOn` that reports nothing.
pub(crate) fn offer(name: &str) -> String {
    json!({
        "apiVersion": ADDON_API, "kind": "ClusterManagementAddOn",
        "metadata": { "name": name }, "spec": {},
    })
    .to_string()
}

async fn join(hub: &Plane, two: &Plane, three: &Plane) -> Result<Vec<Klusterlet>> {
    let join = |cluster: Cluster, managed, agent| {
        let planes = ClusterPlanes {
            hub,
            managed,
            agent,
        };
        // What stays and what goes is up to the work agent. Cluster three keeps the stand-in with its short intervals.
        let work_agent = match cluster {
            Cluster::One | Cluster::Two => WorkAgentKind::Ocm,
            Cluster::Three => WorkAgentKind::StandIn,
        };
        let options = KlusterletOptions {
            work_agent,
            ..KlusterletOptions::named(cluster.name())
        };
        Klusterlet::join(planes, options)
    };
    Ok(vec![
        join(Cluster::One, hub, hub).await?,
        join(Cluster::Two, two, two).await?,
        join(Cluster::Three, three, hub).await?,
    ])
}

/// The image that the controller is reported to use for an agent.
pub(crate) fn image(name: &str) -> String {
    format!("quay.io/open-cluster-management/{name}:test")
}

/// As a process with the credentials of its own account.
async fn start_controller(hub: &Plane, dir: &Path) -> Result<Component> {
    let accounts: Api<ServiceAccount> = Api::namespaced(hub.client(), NAMESPACE);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(7200),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let token = accounts
        .create_token_request(CONTROLLER, &PostParams::default(), &request)
        .await?;
    let token = token.status.and_then(|status| status.token);
    let token = token.context("a request for a token without an answer")?;
    let admin = Kubeconfig::read_from(hub.kubeconfig())?;
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "clusters": admin.clusters,
        "users": [{ "name": "controller", "user": { "token": token } }],
        "contexts": [{ "name": "hub", "context": { "cluster": admin.clusters[0].name, "user": "controller" } }],
        "current-context": "hub",
    });
    let path = dir.join("kubeconfig");
    std::fs::write(&path, kubeconfig.to_string())?;
    let flag = format!("--kubeconfig={}", path.display());
    let images = [
        image("config-policy-controller"),
        image("governance-policy-framework-addon"),
    ];
    Component::spawn(
        CONTROLLER,
        &["controller", "--namespace=open-cluster-management", &flag],
        &[
            ("CONFIG_POLICY_CONTROLLER_IMAGE", images[0].as_str()),
            (
                "GOVERNANCE_POLICY_FRAMEWORK_ADDON_IMAGE",
                images[1].as_str(),
            ),
        ],
    )
}
