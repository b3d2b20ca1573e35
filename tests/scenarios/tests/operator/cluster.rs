//! The cluster, and an operator with its policy on it.

use std::ops::Deref;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{Controller, merge, namespace, serve, within};
use reeve_testkit::{Object, Objects, Plane, PlaneOptions};
use serde_json::{Value, json};

pub(crate) const OLM: &str = "operators.coreos.com/v1alpha1";
const POLICY_API: &str = "policy.open-cluster-management.io/v1beta1";
const PARENT_API: &str = "policy.open-cluster-management.io/v1";
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
        let args = ["--enable-operator-policy=true"];
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

async fn with_olm(name: &'static str) -> Result<Plane> {
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
    /// Where the policy is.
    pub(crate) hosting: &'c Objects,
    /// Where the operator is.
    pub(crate) cluster: &'c Objects,
    pub(crate) policies: String,
    pub(crate) name: String,
    /// The operator's namespace.
    pub(crate) namespace: String,
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
            hosting: cluster,
            cluster,
            policies: POLICIES.to_owned(),
            name: name.to_owned(),
            namespace: format!("{name}-system"),
        };
        operator.offer().await?;
        Ok(operator)
    }

    /// The same operator in another policy's namespace.
    pub(crate) fn beside(&self, name: &str) -> Self {
        Self {
            policies: self.policies.clone(),
            name: name.to_owned(),
            namespace: self.namespace.clone(),
            ..*self
        }
    }

    fn catalog(&self) -> String {
        format!("{}-catalog", self.name)
    }

    /// Creates the catalog and the package manifest.
    pub(crate) async fn offer(&self) -> Result<()> {
        self.cluster
            .apply_json(json!({
                "apiVersion": OLM, "kind": "CatalogSource",
                "metadata": {"name": self.catalog(), "namespace": "olm"}, "spec": {},
            }))
            .await?;
        self.catalog_is("READY").await?;
        let suggested = json!({"operatorframework.io/suggested-namespace": self.namespace});
        self.cluster
            .apply_json(json!({
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
            }))
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

    /// Applies the policy, with its parent.
    pub(crate) async fn apply(&self, spec: Value) -> Result<()> {
        let parent = self.hosting.apply_json(json!({
            "apiVersion": PARENT_API, "kind": "Policy",
            "metadata": {"name": format!("{}-parent", self.name), "namespace": self.policies},
            "spec": {"disabled": false, "policy-templates": []},
        }));
        let uid = parent.await?.uid().context("a parent without UID")?;
        self.hosting
            .apply_json(json!({
                "apiVersion": POLICY_API, "kind": KIND,
                "metadata": {
                    "name": self.name, "namespace": self.policies,
                    "ownerReferences": [{
                        "apiVersion": PARENT_API, "kind": "Policy", "uid": uid,
                        "name": format!("{}-parent", self.name),
                    }],
                },
                "spec": spec,
            }))
            .await?;
        Ok(())
    }

    pub(crate) async fn patch(&self, spec: Value) -> Result<()> {
        let patch = json!({ "spec": spec });
        let namespace = Some(self.policies.as_str());
        self.hosting
            .patch(POLICY_API, KIND, namespace, &self.name, patch)
            .await?;
        Ok(())
    }

    pub(crate) async fn annotate(&self, annotations: Value) -> Result<()> {
        let patch = json!({"metadata": {"annotations": annotations}});
        let namespace = Some(self.policies.as_str());
        self.hosting
            .patch(POLICY_API, KIND, namespace, &self.name, patch)
            .await?;
        Ok(())
    }

    pub(crate) async fn patch_status(&self, status: Value) -> Result<()> {
        let patch = json!({ "status": status });
        let namespace = Some(self.policies.as_str());
        self.hosting
            .patch_status(POLICY_API, KIND, namespace, &self.name, patch)
            .await?;
        Ok(())
    }

    pub(crate) async fn delete_policy(&self) -> Result<()> {
        let policy = json!({
            "apiVersion": POLICY_API, "kind": KIND,
            "metadata": {"name": self.name, "namespace": self.policies},
        });
        self.hosting.delete(&policy.to_string()).await
    }

    pub(crate) async fn policy(&self) -> Result<Object> {
        let namespace = Some(self.policies.as_str());
        let found = self.hosting.get(POLICY_API, KIND, namespace, &self.name);
        found.await?.context("the policy is gone")
    }

    /// The status of the policy, once its latest generation is in it.
    pub(crate) async fn status(&self) -> Result<Value> {
        let policy = self.policy().await?;
        let status = policy.data.get("status").cloned().unwrap_or_default();
        ensure!(
            status["observedGeneration"].as_i64() == policy.metadata.generation,
            "the status is {status:#}"
        );
        Ok(status)
    }

    /// Waits until a condition has a status and a reason, and returns its message.
    pub(crate) async fn condition(
        &self,
        type_: &str,
        status: &str,
        reason: &str,
    ) -> Result<String> {
        let what = format!("{}: {type_} is {status} for {reason}", self.name);
        within(what, || async {
            let found = self.status().await?;
            let mut conditions = found["conditions"].as_array().into_iter().flatten();
            let condition = conditions.find(|condition| condition["type"] == type_);
            let condition = condition.with_context(|| format!("the status is {found:#}"))?;
            ensure!(
                condition["status"] == status && condition["reason"] == reason,
                "the conditions are {:#}",
                found["conditions"]
            );
            let message = condition["message"].as_str().unwrap_or_default();
            Ok(message.to_owned())
        })
        .await
    }

    pub(crate) async fn is(&self, compliance: &str) -> Result<String> {
        let status = if compliance == "Compliant" {
            "True"
        } else {
            "False"
        };
        self.condition("Compliant", status, compliance).await
    }

    /// Name, compliance and reason of the related objects of a kind.
    pub(crate) async fn related(&self, kind: &str) -> Result<Vec<(String, String, String)>> {
        let status = self.status().await?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let related = status["relatedObjects"].as_array().into_iter().flatten();
        let of_kind = related.filter(|related| related["object"]["kind"] == kind);
        let parts = of_kind.map(|related| {
            let name = text(&related["object"]["metadata"]["name"]);
            (name, text(&related["compliant"]), text(&related["reason"]))
        });
        Ok(parts.collect())
    }

    /// The messages of the compliance events, oldest first.
    pub(crate) async fn events(&self) -> Result<Vec<String>> {
        let reason = format!("policy: {}/{}", self.policies, self.name);
        let events = self
            .hosting
            .list("v1", "Event", Some(&self.policies))
            .await?;
        let own = events
            .iter()
            .filter(|event| event.data["reason"] == reason.as_str());
        let mut own: Vec<(String, String)> = own
            .map(|event| {
                let message = event.data["message"].as_str().unwrap_or_default();
                let time = event.name_any();
                let time = time.rsplit('.').next().unwrap_or_default().to_owned();
                (time, message.to_owned())
            })
            .collect();
        own.sort();
        Ok(own.into_iter().map(|(_, message)| message).collect())
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
        self.cluster.apply_json(object).await
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
        self.cluster.apply_json(deployment).await?;
        self.make_csv(&self.csv(), json!({})).await?;
        self.versions(&self.csv(), &self.csv()).await
    }
}

/// Applying an object that is written as JSON.
pub(crate) trait ApplyJson {
    async fn apply_json(&self, object: Value) -> Result<Object>;
}

impl ApplyJson for Objects {
    async fn apply_json(&self, object: Value) -> Result<Object> {
        let applied = self.apply(&object.to_string()).await?;
        applied.into_iter().next().context("nothing was applied")
    }
}
