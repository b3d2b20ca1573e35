//! The cluster, and an operator with its policy on it.

use std::ops::{Deref, DerefMut};

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{Controller, OperatorSubject, apply_json, merge, namespace, serve, within};
use reeve_testkit::{Object, Objects, Plane, PlaneOptions};
use serde_json::{Value, json};

pub(crate) const OLM: &str = "operators.coreos.com/v1alpha1";
const POLICY_API: &str = "policy.open-cluster-management.io/v1beta1";
const KIND: &str = "OperatorPolicy";
/// Where policies live.
const POLICIES: &str = "managed";
/// The last transition of everything that a scenario writes as OLM.
pub(crate) const SINCE: &str = "2026-01-01T00:00:00Z";

/// A cluster with OLM's kinds and the controller, and another one with OLM's kinds.
pub(crate) struct Cluster {
    controller: Controller,
    plane: Plane,
    pub(crate) other: Plane,
}

impl Deref for Cluster {
    type Target = Objects;

    fn deref(&self) -> &Objects {
        self.plane.objects()
    }
}

impl Cluster {
    pub(crate) async fn start() -> Result<Self> {
        let (plane, other) = futures::try_join!(with_olm("operators"), with_olm("other"))?;
        namespace(&plane, POLICIES).await?;
        let args = [
            "--enable-operator-policy=true",
            "--template-function-denylist=sha512sum",
        ];
        let controller = Controller::start(&plane, POLICIES, &args).await?;
        Ok(Self {
            controller,
            plane,
            other,
        })
    }

    pub(crate) fn plane(&self) -> &Plane {
        &self.plane
    }

    /// The conditions of all policies, and the end of the log. Which ones a scenario has is not in its name.
    pub(crate) async fn dump(&self, _: &str) -> String {
        let policies = self.list(POLICY_API, KIND, None).await;
        let conditions = policies.unwrap_or_default().into_iter().map(|policy| {
            let conditions = policy.data["status"]["conditions"].as_array();
            let lines = conditions.into_iter().flatten().map(Value::to_string);
            let lines: Vec<String> = lines.collect();
            format!("--- {}:\n{}\n", policy.name_any(), lines.join("\n"))
        });
        let text: String = conditions.collect();
        let log = self.controller.log();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(60)..].join("\n");
        format!("{text}--- the log ends:\n{last}\n")
    }
}

/// A plane with the CRDs of policies and of OLM.
pub(crate) async fn with_olm(name: &'static str) -> Result<Plane> {
    let options = PlaneOptions {
        name,
        ..PlaneOptions::default()
    };
    let plane = Plane::start(options).await?;
    plane.install_crds().await?;
    serve(&plane, include_str!("olm.yaml")).await?;
    namespace(&plane, "olm").await?;
    namespace(&plane, "default").await?;
    Ok(plane)
}

/// An operator, named after its package, and the policy of that name.
pub(crate) struct Operator<'c> {
    subject: OperatorSubject<'c>,
    /// Where the operator is.
    pub(crate) cluster: &'c Objects,
    /// The operator's namespace.
    pub(crate) namespace: String,
}

impl<'c> Deref for Operator<'c> {
    type Target = OperatorSubject<'c>;

    fn deref(&self) -> &OperatorSubject<'c> {
        &self.subject
    }
}

impl DerefMut for Operator<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.subject
    }
}

impl<'c> Operator<'c> {
    /// An operator whose package has a manifest, a catalog of its own, and a namespace.
    pub(crate) async fn new(cluster: &'c Objects, name: &str) -> Result<Self> {
        let operator = Self::without_namespace(cluster, name).await?;
        namespace(cluster, &operator.namespace).await?;
        Ok(operator)
    }

    /// An operator whose namespace does not exist.
    pub(crate) async fn without_namespace(cluster: &'c Objects, name: &str) -> Result<Self> {
        let operator = Self {
            subject: OperatorSubject {
                hosting: cluster,
                policies: POLICIES.to_owned(),
                name: name.to_owned(),
            },
            cluster,
            namespace: format!("{name}-system"),
        };
        operator.offer().await?;
        Ok(operator)
    }

    /// The same operator in another policy's namespace.
    pub(crate) fn beside(&self, name: &str) -> Self {
        Self {
            subject: OperatorSubject {
                policies: self.policies.clone(),
                name: name.to_owned(),
                ..self.subject
            },
            namespace: self.namespace.clone(),
            ..*self
        }
    }

    fn catalog(&self) -> String {
        format!("{}-catalog", self.name)
    }

    /// Creates the catalog and the package manifest.
    pub(crate) async fn offer(&self) -> Result<()> {
        apply_json(
            self.cluster,
            json!({
                "apiVersion": OLM, "kind": "CatalogSource",
                "metadata": {"name": self.catalog(), "namespace": "olm"}, "spec": {},
            }),
        )
        .await?;
        self.catalog_is("READY").await?;
        let suggested = json!({"operatorframework.io/suggested-namespace": self.namespace});
        apply_json(
            self.cluster,
            json!({
                "apiVersion": "packages.operators.coreos.com/v1", "kind": "PackageManifest",
                "metadata": {"name": self.name, "namespace": "default"},
                "status": {
                    "packageName": self.name, "catalogSource": self.catalog(),
                    "catalogSourceNamespace": "olm", "defaultChannel": "stable",
                    "channels": [{
                        "name": "stable", "entries": [{"name": self.csv()}],
                        "currentCSVDesc": {"annotations": suggested},
                    }],
                },
            }),
        )
        .await?;
        Ok(())
    }

    pub(crate) async fn catalog_is(&self, state: &str) -> Result<()> {
        let status = json!({"status": {"connectionState": {"lastObservedState": state}}});
        let name = self.catalog();
        self.cluster
            .patch_status(OLM, "CatalogSource", Some("olm"), &name, status)
            .await?;
        Ok(())
    }

    /// The version that OLM installs.
    pub(crate) fn csv(&self) -> String {
        format!("{}.v1", self.name)
    }

    /// An enforced musthave policy that leaves everything to defaults.
    pub(crate) fn enforced(&self) -> Value {
        json!({
            "remediationAction": "enforce", "complianceType": "musthave",
            "upgradeApproval": "Automatic", "subscription": {"name": self.name},
        })
    }

    pub(crate) async fn get(&self, kind: &str, name: &str) -> Result<Option<Object>> {
        let api_version = match kind {
            "OperatorGroup" => "operators.coreos.com/v1",
            _ => OLM,
        };
        let namespace = Some(self.namespace.as_str());
        self.cluster.get(api_version, kind, namespace, name).await
    }

    pub(crate) async fn groups(&self) -> Result<Vec<Object>> {
        let api_version = "operators.coreos.com/v1";
        let namespace = Some(self.namespace.as_str());
        self.cluster
            .list(api_version, "OperatorGroup", namespace)
            .await
    }

    /// Waits for the Subscription.
    pub(crate) async fn subscribed(&self) -> Result<Object> {
        within(format!("{} is subscribed", self.name), || async {
            let found = self.get("Subscription", &self.name).await?;
            found.context("there is no Subscription")
        })
        .await
    }

    /// Creates an object in the operator's namespace.
    pub(crate) async fn create(&self, kind: &str, name: &str, more: Value) -> Result<Object> {
        let mut object = json!({
            "apiVersion": if kind == "OperatorGroup" { "operators.coreos.com/v1" } else { OLM },
            "kind": kind, "metadata": {"name": name, "namespace": self.namespace}, "spec": {},
        });
        merge(&mut object, more);
        apply_json(self.cluster, object).await
    }

    pub(crate) async fn set_status(&self, kind: &str, name: &str, status: Value) -> Result<()> {
        let patch = json!({ "status": status });
        let namespace = Some(self.namespace.as_str());
        self.cluster
            .patch_status(OLM, kind, namespace, name, patch)
            .await?;
        Ok(())
    }

    /// Writes the versions of the Subscription.
    pub(crate) async fn versions(&self, current: &str, installed: &str) -> Result<()> {
        let status =
            json!({"currentCSV": current, "installedCSV": installed, "lastUpdated": SINCE});
        self.set_status("Subscription", &self.name, status).await
    }

    /// Makes a version, as OLM labels it.
    pub(crate) async fn make_csv(&self, name: &str, metadata: Value) -> Result<()> {
        let label = format!("operators.coreos.com/{}.{}", self.name, self.namespace);
        let mut object = json!({
            "metadata": {"labels": {label: ""}},
            "spec": {"install": {"spec": {"deployments": [{"name": self.name}]}}},
        });
        merge(&mut object["metadata"], metadata);
        self.create("ClusterServiceVersion", name, object).await?;
        let status = json!({
            "phase": "Succeeded", "reason": "InstallSucceeded",
            "message": "install strategy completed with no errors",
        });
        self.set_status("ClusterServiceVersion", name, status).await
    }

    /// Makes an install plan.
    pub(crate) async fn plan(&self, name: &str, versions: &[&str], phase: &str) -> Result<()> {
        let spec = json!({
            "approved": false, "approval": "Manual", "generation": 1,
            "clusterServiceVersionNames": versions,
        });
        self.create("InstallPlan", name, json!({ "spec": spec }))
            .await?;
        self.set_status("InstallPlan", name, json!({"phase": phase}))
            .await
    }

    /// Waits until an install plan is approved.
    pub(crate) async fn approved(&self, name: &str) -> Result<()> {
        within(format!("{name} is approved"), || async {
            let plan = self.get("InstallPlan", name).await?.context("no plan")?;
            ensure!(plan.data["spec"]["approved"] == true, "{:#}", plan.data);
            Ok(())
        })
        .await
    }

    /// Plays OLM until the operator is installed.
    pub(crate) async fn install(&self) -> Result<()> {
        self.subscribed().await?;
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {
                "replicas": 0, "selector": {"matchLabels": {"a": "b"}},
                "template": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            },
        });
        apply_json(self.cluster, deployment).await?;
        self.make_csv(&self.csv(), json!({})).await?;
        self.versions(&self.csv(), &self.csv()).await
    }
}
