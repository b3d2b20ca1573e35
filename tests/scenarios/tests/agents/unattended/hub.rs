//! A hub with the add-on controller and OCM's addon-manager, and what work agents would say.

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_testkit::ocm::AddonManager;
use reeve_testkit::{
    Component, Object, Plane, PlaneOptions, SOON, eventually, install_addon_crds, world,
};
use serde_json::{Value, json};

pub(crate) const CONTROLLER: &str = "governance-policy-addon-controller";
pub(crate) const CONFIG_POLICY: &str = "config-policy-controller";
pub(crate) const FRAMEWORK: &str = "governance-policy-framework";
pub(crate) const STANDALONE: &str = "governance-standalone-hub-templating";
pub(crate) const HOSTED_ON: &str = "addon.open-cluster-management.io/hosting-cluster-name";
pub(crate) const ADDON: (&str, &str) = (
    "addon.open-cluster-management.io/v1alpha1",
    "ManagedClusterAddOn",
);
const WORK: (&str, &str) = ("work.open-cluster-management.io/v1", "ManifestWork");
pub(crate) const CLUSTER: (&str, &str) =
    ("cluster.open-cluster-management.io/v1", "ManagedCluster");

pub(crate) struct Hub {
    pub(crate) plane: Plane,
    controller: Component,
    manager: AddonManager,
}

impl Hub {
    pub(crate) async fn start() -> Result<Self> {
        let plane = Plane::start(PlaneOptions {
            name: "hub",
            audit: true,
            ..PlaneOptions::default()
        })
        .await?;
        plane.install_crds().await?;
        install_addon_crds(&plane).await?;
        for name in [CONFIG_POLICY, FRAMEWORK, STANDALONE] {
            let definition = json!({
                "apiVersion": ADDON.0, "kind": "ClusterManagementAddOn",
                "metadata": { "name": name },
                "spec": { "supportedConfigs": [{
                    "group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs",
                }]},
            });
            plane.apply(&definition.to_string()).await?;
        }
        let manager = AddonManager::start(&plane).await?;
        let args = ["controller", "--namespace=default"];
        let controller = Component::spawn(CONTROLLER, &args, &[plane.kubeconfig_env()])?;
        Ok(Self {
            plane,
            controller,
            manager,
        })
    }

    pub(crate) fn logs(&self) -> String {
        format!("{}\n{}", self.controller.log(), self.manager.log())
    }

    /// A cluster that has joined.
    pub(crate) async fn join(&self, name: &str) -> Result<()> {
        world::register(&self.plane, name).await
    }

    /// Whether a cluster answers, as the hub sees it.
    pub(crate) async fn answers(&self, cluster: &str, status: &str) -> Result<()> {
        let condition = json!({
            "type": "ManagedClusterConditionAvailable", "status": status, "reason": "Test", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let patch = json!({ "status": { "conditions": [condition] } });
        self.plane
            .patch_status(CLUSTER.0, CLUSTER.1, None, cluster, patch)
            .await?;
        Ok(())
    }

    /// Enables an add-on.
    pub(crate) async fn enable(&self, cluster: &str, addon: &str, more: Value) -> Result<()> {
        let mut object = json!({
            "apiVersion": ADDON.0, "kind": ADDON.1,
            "metadata": { "namespace": cluster, "name": addon, "annotations": more["annotations"] },
            "spec": { "configs": more["configs"] },
        });
        if more["configs"].is_null() {
            object["spec"] = json!({});
        }
        self.plane.apply(&object.to_string()).await?;
        Ok(())
    }

    /// Changes an annotation of an add-on; null takes it away.
    pub(crate) async fn annotate(
        &self,
        cluster: &str,
        addon: &str,
        (key, value): (&str, Value),
    ) -> Result<()> {
        let patch = json!({ "metadata": { "annotations": { key: value } } });
        self.plane
            .patch(ADDON.0, ADDON.1, Some(cluster), addon, patch)
            .await?;
        Ok(())
    }

    pub(crate) async fn disable(&self, cluster: &str, addon: &str) -> Result<()> {
        let object = json!({
            "apiVersion": ADDON.0, "kind": ADDON.1,
            "metadata": { "namespace": cluster, "name": addon },
        });
        self.plane.delete(&object.to_string()).await
    }

    pub(crate) async fn gone(&self, cluster: &str, addon: &str) -> Result<()> {
        self.plane
            .gone(ADDON.0, ADDON.1, Some(cluster), addon, SOON)
            .await
    }

    /// Waits until an add-on has a finalizer.
    pub(crate) async fn held(&self, cluster: &str, addon: &str) -> Result<()> {
        eventually("the finalizer is there", SOON, || async {
            let found = self
                .plane
                .get(ADDON.0, ADDON.1, Some(cluster), addon)
                .await?;
            let finalizers = found.and_then(|found| found.metadata.finalizers);
            ensure!(
                finalizers.is_some_and(|all| !all.is_empty()),
                "there is none"
            );
            Ok(())
        })
        .await
    }

    /// The reason of a condition of an add-on.
    pub(crate) async fn reason(&self, cluster: &str, addon: &str, kind: &str) -> Result<Value> {
        let found = self
            .plane
            .get(ADDON.0, ADDON.1, Some(cluster), addon)
            .await?;
        let conditions = found.context("the add-on is gone")?.data["status"]["conditions"].clone();
        let found = conditions
            .as_array()
            .into_iter()
            .flatten()
            .find(|found| found["type"] == kind);
        Ok(found
            .map(|condition| condition["reason"].clone())
            .unwrap_or_default())
    }

    /// Waits until a work is there.
    pub(crate) async fn work(&self, namespace: &str, name: &str) -> Result<Object> {
        eventually(
            format!("the work {namespace}/{name} is there"),
            SOON,
            || async {
                let found = self
                    .plane
                    .get(WORK.0, WORK.1, Some(namespace), name)
                    .await?;
                found.with_context(|| "it is not".to_owned())
            },
        )
        .await
    }

    /// Waits until exactly these works are in a namespace.
    pub(crate) async fn has_works(&self, namespace: &str, names: &[&str]) -> Result<()> {
        eventually(
            format!("the works of {namespace} are {names:?}"),
            SOON,
            || async {
                let listed = self.plane.list(WORK.0, WORK.1, Some(namespace)).await?;
                let mut found: Vec<String> =
                    listed.iter().map(kube::ResourceExt::name_any).collect();
                found.sort();
                ensure!(found == names, "they are {found:?}");
                Ok(())
            },
        )
        .await
    }

    /// Reports the status of a work that its agent would report once its Pod has run.
    pub(crate) async fn succeed(&self, namespace: &str, name: &str) -> Result<()> {
        let work = self.work(namespace, name).await?;
        let generation = work.metadata.generation;
        let condition = |kind: &str| {
            json!({
                "type": kind, "status": "True", "reason": "Test", "message": "", "observedGeneration": generation,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        };
        let pod = work.data["spec"]["workload"]["manifests"][0]["metadata"].clone();
        let status = json!({
            "conditions": [condition("Applied"), condition("Available")],
            "resourceStatus": { "manifests": [{
                "resourceMeta": {
                    "ordinal": 0, "group": "", "version": "v1", "kind": "Pod", "resource": "pods",
                    "namespace": pod["namespace"], "name": pod["name"],
                },
                "conditions": [],
                "statusFeedback": { "values": [{
                    "name": "PodPhase", "fieldValue": { "type": "String", "string": "Succeeded" },
                }]},
            }]},
        });
        let patch = json!({ "status": status });
        self.plane
            .patch_status(WORK.0, WORK.1, Some(namespace), name, patch)
            .await?;
        Ok(())
    }

    /// The arguments of the agent in a work.
    pub(crate) async fn args(&self, namespace: &str, name: &str) -> Result<Vec<String>> {
        let work = self.work(namespace, name).await?;
        let manifests = work.data["spec"]["workload"]["manifests"]
            .as_array()
            .cloned();
        let deployment = manifests
            .into_iter()
            .flatten()
            .find(|object| object["kind"] == "Deployment")
            .context("no Deployment in the work")?;
        let args = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
        Ok(serde_json::from_value(args.clone())?)
    }
}

/// What publishes whether a work has been touched.
pub(crate) fn version(work: &Object) -> (Option<String>, Option<i64>) {
    (work.uid(), work.metadata.generation)
}
