//! Enabling an add-on on a cluster, looking at what comes of it, and disabling it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use reeve_testkit::ocm::is_current;
use reeve_testkit::{Object, Plane, SOON, eventually};
use serde_json::{Value, json};

use crate::install::site::{ADDON_API, Cluster, Site};

pub(crate) const AGENTS: &str = "open-cluster-management-agent-addon";
pub(crate) const ADDON: (&str, &str) = (ADDON_API, "ManagedClusterAddOn");
pub(crate) const CONFIG: (&str, &str) = (ADDON_API, "AddOnDeploymentConfig");
pub(crate) const WORK: (&str, &str) = ("work.open-cluster-management.io/v1", "ManifestWork");
pub(crate) const CRD: (&str, &str) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
/// The CRD that the framework add-on brings.
pub(crate) const POLICIES_CRD: &str = "policies.policy.open-cluster-management.io";
pub(crate) const DEPLOYMENT: (&str, &str) = ("apps/v1", "Deployment");
pub(crate) const HOSTED_ON: &str = "addon.open-cluster-management.io/hosting-cluster-name";
const REQUEST: (&str, &str) = ("certificates.k8s.io/v1", "CertificateSigningRequest");

/// How long an agent may take to run, or to be removed.
const LATE: Duration = Duration::from_mins(3);

/// An add-on on a cluster, enabled or not.
#[derive(Clone)]
pub(crate) struct AddOn<'a> {
    pub(crate) site: &'a Site,
    pub(crate) name: &'static str,
    pub(crate) cluster: Cluster,
    /// Where its agent is to run.
    pub(crate) plane: &'a Plane,
    pub(crate) namespace: String,
}

impl<'a> AddOn<'a> {
    pub(crate) fn new(site: &'a Site, name: &'static str, cluster: Cluster) -> Self {
        Self {
            site,
            name,
            cluster,
            plane: site.plane(cluster),
            namespace: AGENTS.to_owned(),
        }
    }

    /// With its agent in another namespace.
    pub(crate) fn inside(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }

    /// With its agent on the hub.
    pub(crate) fn hosted(mut self) -> Self {
        self.plane = &self.site.hub;
        self.namespace = format!("klusterlet-{}", self.cluster.name());
        self
    }

    /// Enables it. What an earlier, failed scenario has left is removed first.
    pub(crate) async fn enable(&self, annotations: Value, configs: &[&str]) -> Result<()> {
        if self.find().await?.is_some() {
            self.delete().await?;
        }
        let configs: Vec<_> = configs
            .iter()
            .map(|name| {
                json!({ "group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs",
                    "namespace": self.cluster.name(), "name": name })
            })
            .collect();
        let addon = json!({
            "apiVersion": ADDON.0, "kind": ADDON.1,
            "metadata": { "name": self.name, "namespace": self.cluster.name(), "annotations": annotations },
            "spec": { "installNamespace": AGENTS, "configs": configs },
        });
        self.site.hub.apply(&addon.to_string()).await?;
        Ok(())
    }

    /// Adds annotations, or removes those that are null.
    pub(crate) async fn annotate(&self, annotations: Value) -> Result<()> {
        let patch = json!({ "metadata": { "annotations": annotations } });
        let namespace = Some(self.cluster.name());
        self.site
            .hub
            .patch(ADDON.0, ADDON.1, namespace, self.name, patch)
            .await?;
        Ok(())
    }

    pub(crate) async fn find(&self) -> Result<Option<Object>> {
        let namespace = Some(self.cluster.name());
        self.site
            .hub
            .get(ADDON.0, ADDON.1, namespace, self.name)
            .await
    }

    /// Disables it: it and its Deployment and Pods go, and what the next scenario would trip over.
    pub(crate) async fn disable(&self) -> Result<()> {
        self.delete().await?;
        self.plane
            .gone(
                DEPLOYMENT.0,
                DEPLOYMENT.1,
                Some(&self.namespace),
                self.name,
                SOON,
            )
            .await?;
        eventually(
            format!("the Pods of {} are gone", self.name),
            LATE,
            || async {
                let pods = self.pods().await?;
                ensure!(pods.is_empty(), "there are {}", pods.len());
                Ok(())
            },
        )
        .await?;
        for request in self.site.hub.list(REQUEST.0, REQUEST.1, None).await? {
            if label(&request, "addon-name") == Some(self.name)
                && label(&request, "cluster-name") == Some(self.cluster.name())
            {
                let object = json!({ "apiVersion": REQUEST.0, "kind": REQUEST.1,
                    "metadata": { "name": request.name_any() } });
                self.site.hub.delete(&object.to_string()).await?;
            }
        }
        Ok(())
    }

    async fn delete(&self) -> Result<()> {
        let object = json!({ "apiVersion": ADDON.0, "kind": ADDON.1,
            "metadata": { "name": self.name, "namespace": self.cluster.name() } });
        self.site.hub.delete(&object.to_string()).await?;
        let namespace = Some(self.cluster.name());
        self.site
            .hub
            .gone(ADDON.0, ADDON.1, namespace, self.name, LATE)
            .await?;
        // The works go after it; the next scenario's must not be mistaken for them.
        let what = format!(
            "the works of {} on {} are gone",
            self.name,
            self.cluster.name()
        );
        eventually(what, LATE, || async {
            let left = self.works().await?;
            let names: Vec<_> = left.iter().map(ResourceExt::name_any).collect();
            ensure!(names.is_empty(), "there are {names:?}");
            Ok(())
        })
        .await
    }

    /// All works of this add-on for this cluster.
    pub(crate) async fn works(&self) -> Result<Vec<Object>> {
        let mut works = self.site.hub.list(WORK.0, WORK.1, None).await?;
        works.retain(|work| {
            let of = label(work, "addon-namespace").or(work.metadata.namespace.as_deref());
            label(work, "addon-name") == Some(self.name) && of == Some(self.cluster.name())
        });
        Ok(works)
    }

    pub(crate) async fn deployment(&self) -> Result<Object> {
        let namespace = Some(self.namespace.as_str());
        let deployment = self
            .plane
            .get(DEPLOYMENT.0, DEPLOYMENT.1, namespace, self.name)
            .await?;
        deployment.with_context(|| format!("no Deployment {}/{}", self.namespace, self.name))
    }

    async fn pods(&self) -> Result<Vec<Object>> {
        let mut pods = self.plane.list("v1", "Pod", Some(&self.namespace)).await?;
        pods.retain(|pod| pod.labels().get("app").is_some_and(|app| app == self.name));
        Ok(pods)
    }

    /// The running check: an available Deployment, one running Pod, an available add-on.
    pub(crate) async fn runs(&self) -> Result<()> {
        let who = format!("{} on {}", self.name, self.cluster.name());
        eventually(
            format!("the Deployment of {who} is available"),
            LATE,
            || async {
                let status = self.deployment().await?.data["status"].clone();
                let replicas = &status["replicas"];
                ensure!(
                    replicas.is_i64() && status["availableReplicas"] == *replicas,
                    "{status}"
                );
                Ok(())
            },
        )
        .await?;
        eventually(format!("one Pod of {who} runs"), SOON, || async {
            let phases: Vec<_> = self
                .pods()
                .await?
                .iter()
                .map(|pod| pod.data["status"]["phase"].clone())
                .collect();
            ensure!(phases == ["Running"], "{phases:?}");
            Ok(())
        })
        .await?;
        self.reports("Available", "True", "ManagedClusterAddOnLeaseUpdated")
            .await
    }

    /// Waits for a condition of the add-on.
    pub(crate) async fn reports(&self, kind: &str, status: &str, reason: &str) -> Result<()> {
        let who = format!("{} on {}", self.name, self.cluster.name());
        eventually(
            format!("{who} is {kind} {status} {reason}"),
            LATE,
            || async {
                let addon = self.find().await?.context("absent")?;
                let conditions = addon.data["status"]["conditions"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                let found = conditions
                    .iter()
                    .find(|condition| condition["type"] == kind);
                let found = found.with_context(|| format!("only {conditions:?}"))?;
                ensure!(
                    found["status"] == status && found["reason"] == reason,
                    "{found}"
                );
                Ok(())
            },
        )
        .await
    }

    /// Waits until the agent's container has all of these arguments.
    pub(crate) async fn args(&self, wanted: &[&str]) -> Result<()> {
        self.container(&format!("{wanted:?}"), |container| {
            let args = args_of(container);
            wanted.iter().all(|arg| args.contains(arg))
        })
        .await?;
        Ok(())
    }

    /// Waits until the agent's container is as wanted. Returns it.
    pub(crate) async fn container(
        &self,
        what: &str,
        check: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let who = format!("{} on {}", self.name, self.cluster.name());
        eventually(
            format!("the container of {who} has {what}"),
            SOON,
            || async {
                let deployment = self.deployment().await?;
                let containers = &deployment.data["spec"]["template"]["spec"]["containers"];
                ensure!(
                    containers.as_array().is_some_and(|all| all.len() == 1),
                    "{containers}"
                );
                ensure!(check(&containers[0]), "{}", containers[0]);
                Ok(containers[0].clone())
            },
        )
        .await
    }

    /// Makes a configuration that this add-on may refer to, or changes it.
    pub(crate) async fn configure(&self, name: &str, spec: Value) -> Result<()> {
        let config = json!({ "apiVersion": CONFIG.0, "kind": CONFIG.1,
            "metadata": { "name": name, "namespace": self.cluster.name() }, "spec": spec });
        self.site.hub.apply(&config.to_string()).await?;
        Ok(())
    }

    /// The work that brings the agent, when it is applied as it is now.
    pub(crate) async fn deploy_work(&self) -> Result<Object> {
        let name = format!("addon-{}-deploy-0", self.name);
        let namespace = Some(self.cluster.name());
        eventually(format!("the work {name} is applied"), SOON, || async {
            let work = self.site.hub.get(WORK.0, WORK.1, namespace, &name).await?;
            let work = work.context("absent")?;
            let conditions = &work.data["status"]["conditions"];
            ensure!(is_current(&work, "Applied"), "{conditions}");
            Ok(work)
        })
        .await
    }
}

fn label<'o>(object: &'o Object, key: &str) -> Option<&'o str> {
    let labels = object.labels();
    labels
        .get(&format!("open-cluster-management.io/{key}"))
        .map(String::as_str)
}

pub(crate) fn args_of(container: &Value) -> Vec<&str> {
    let args = container["args"].as_array().into_iter().flatten();
    args.filter_map(Value::as_str).collect()
}

/// Variables of a configuration.
pub(crate) fn variables(pairs: &[(&str, &str)]) -> Value {
    let variables: Vec<_> = pairs
        .iter()
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    json!({ "customizedVariables": variables })
}

/// Whether a namespace is there and stays.
pub(crate) async fn has_namespace(plane: &Plane, name: &str) -> Result<()> {
    let namespace = plane.get("v1", "Namespace", None, name).await?;
    let namespace = namespace.with_context(|| format!("no namespace {name}"))?;
    ensure!(
        namespace.metadata.deletion_timestamp.is_none(),
        "the namespace {name} is going"
    );
    Ok(())
}

/// The CRD of policies on a plane.
pub(crate) async fn policies_crd(plane: &Plane) -> Result<Object> {
    let crd = plane.get(CRD.0, CRD.1, None, POLICIES_CRD).await?;
    crd.context("there is no CRD of policies")
}
