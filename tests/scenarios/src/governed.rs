//! A policy under test, with its binding and placement, and what is observed of it where.

use anyhow::{Context, Result, bail, ensure};
use kube::api::DynamicObject;
use reeve_testkit::world::{POLICIES, decide};
use reeve_testkit::{Plane, SOON, World, eventually};
use serde_json::{Value, json};

const POLICY: (&str, &str) = ("policy.open-cluster-management.io/v1", "Policy");
const CONFIGURATION: (&str, &str) = (
    "policy.open-cluster-management.io/v1",
    "ConfigurationPolicy",
);

/// A policy in the world's namespace for policies, with a binding and a placement of its name.
pub struct Governed<'a> {
    world: &'a World,
    name: String,
}

impl<'a> Governed<'a> {
    /// Applies the policy, its binding and its placement. It is not on any cluster yet.
    pub async fn apply(
        world: &'a World,
        name: &str,
        remediation: &str,
        templates: Vec<Value>,
    ) -> Result<Self> {
        let templates: Vec<Value> = templates
            .into_iter()
            .map(|template| json!({ "objectDefinition": template }))
            .collect();
        let policy = json!({
            "apiVersion": POLICY.0, "kind": POLICY.1,
            "metadata": { "name": name, "namespace": POLICIES },
            "spec": {
                "disabled": false, "remediationAction": remediation, "policy-templates": templates
            }
        });
        let binding = json!({
            "apiVersion": POLICY.0, "kind": "PlacementBinding",
            "metadata": { "name": name, "namespace": POLICIES },
            "placementRef": {
                "apiGroup": "cluster.open-cluster-management.io", "kind": "Placement", "name": name
            },
            "subjects": [
                { "apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": name }
            ]
        });
        let placement = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": { "name": name, "namespace": POLICIES }, "spec": {}
        });
        world
            .hub
            .apply(&format!("{placement}\n---\n{binding}\n---\n{policy}"))
            .await?;
        Ok(Self {
            world,
            name: name.to_owned(),
        })
    }

    /// Applies a ready-made policy from `policies/`, whose binding and placement are in the file.
    pub async fn ready_made(world: &'a World, file: &str, name: &str) -> Result<Self> {
        let path = reeve_testkit::workspace().join("policies").join(file);
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        world.hub.apply(&text).await?;
        Ok(Self {
            world,
            name: name.to_owned(),
        })
    }

    /// A policy that has been applied before.
    pub fn known(world: &'a World, name: &str) -> Self {
        Self {
            world,
            name: name.to_owned(),
        }
    }

    /// A `ConfigurationPolicy` template of one object.
    pub fn template(name: &str, compliance_type: &str, object: &Value) -> Value {
        json!({
            "apiVersion": CONFIGURATION.0, "kind": CONFIGURATION.1,
            "metadata": { "name": name },
            "spec": {
                "remediationAction": "inform", "severity": "low",
                "object-templates": [
                    { "complianceType": compliance_type, "objectDefinition": object }
                ]
            }
        })
    }

    /// The policy's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the policy's replicas.
    pub fn replica(&self) -> String {
        format!("{POLICIES}.{}", self.name)
    }

    /// Chooses the clusters of the placement of the policy's own name.
    pub async fn place(&self, clusters: &[&str]) -> Result<()> {
        decide(&self.world.hub, POLICIES, &self.name, clusters).await
    }

    /// Changes the policy's remediation action.
    pub async fn remediate(&self, action: &str) -> Result<()> {
        self.patch(json!({ "spec": { "remediationAction": action } }))
            .await
    }

    /// Waits until a cluster evaluates a template under this remediation action.
    pub async fn wait_for_remediation(
        &self,
        cluster: &str,
        template: &str,
        action: &str,
    ) -> Result<()> {
        let plane = &self.world.cluster(cluster)?.plane;
        eventually(
            format!("{template} on {cluster} is under {action}"),
            SOON,
            || async {
                let (api, kind) = CONFIGURATION;
                let found = plane
                    .get(api, kind, Some(cluster), template)
                    .await?
                    .context("absent")?;
                let generation = found.metadata.generation;
                let evaluated = found.data["status"]["lastEvaluatedGeneration"].as_i64();
                let now = &found.data["spec"]["remediationAction"];
                ensure!(
                    now == action && evaluated == generation,
                    "it is under {now}, {evaluated:?}"
                );
                Ok(())
            },
        )
        .await
    }

    /// Changes the root policy.
    pub async fn patch(&self, patch: Value) -> Result<()> {
        let hub = &self.world.hub;
        hub.patch(POLICY.0, POLICY.1, Some(POLICIES), &self.name, patch)
            .await?;
        Ok(())
    }

    /// The root policy's status.
    pub async fn status(&self) -> Result<Value> {
        let hub = &self.world.hub;
        let policy = hub
            .get(POLICY.0, POLICY.1, Some(POLICIES), &self.name)
            .await?;
        let policy = policy.with_context(|| format!("the policy {} is gone", self.name))?;
        Ok(policy.data.get("status").cloned().unwrap_or(Value::Null))
    }

    /// Waits until the root policy's status satisfies a condition.
    pub async fn root(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Result<Value> {
        eventually(
            format!("the root policy {}: {what}", self.name),
            SOON,
            || async {
                let status = self.status().await?;
                ensure!(holds(&status), "its status is {status}");
                Ok(status)
            },
        )
        .await
    }

    /// Waits until the root policy has this compliance.
    pub async fn root_is(&self, compliance: &str) -> Result<Value> {
        self.root(compliance, |status| status["compliant"] == compliance)
            .await
    }

    /// Waits until the newest message of a template, as the hub has it for a cluster, is this one.
    pub async fn reports(&self, cluster: &str, template: &str, message: &str) -> Result<()> {
        let what = format!("{}/{template} on {cluster} reports {message:?}", self.name);
        eventually(what, SOON, || async {
            let history = self.history(cluster, template).await?;
            ensure!(
                history.first().is_some_and(|found| found == message),
                "the history is {history:#?}"
            );
            Ok(())
        })
        .await
    }

    /// Waits until the history of a template contains this message.
    pub async fn observed(&self, cluster: &str, template: &str, message: &str) -> Result<()> {
        let what = format!(
            "{}/{template} on {cluster} has reported {message:?}",
            self.name
        );
        eventually(what, SOON, || async {
            let history = self.history(cluster, template).await?;
            ensure!(
                history.iter().any(|found| found == message),
                "the history is {history:#?}"
            );
            Ok(())
        })
        .await
    }

    /// The messages of a template, newest first, as the hub has them for a cluster.
    pub async fn history(&self, cluster: &str, template: &str) -> Result<Vec<String>> {
        let replica = self
            .world
            .hub
            .get(POLICY.0, POLICY.1, Some(cluster), &self.replica())
            .await?;
        let replica = replica.with_context(|| format!("no replica in {cluster}"))?;
        Ok(history(&replica, template))
    }

    /// Waits until nothing of the policy is left for a cluster: no replica on the hub, and no
    /// policy and no template object on the cluster itself.
    pub async fn gone_from(&self, cluster: &str, templates: &[&str]) -> Result<()> {
        let replica = self.replica();
        let namespace = Some(cluster);
        self.world
            .hub
            .gone(POLICY.0, POLICY.1, namespace, &replica, SOON)
            .await?;
        let plane = &self.world.cluster(cluster)?.plane;
        plane
            .gone(POLICY.0, POLICY.1, namespace, &replica, SOON)
            .await?;
        for template in templates {
            plane
                .gone(CONFIGURATION.0, CONFIGURATION.1, namespace, template, SOON)
                .await?;
        }
        Ok(())
    }

    /// Deletes the policy, its binding, its placement and its decision.
    pub async fn remove(&self) -> Result<()> {
        let object = |api_version: &str, kind: &str, name: &str| {
            json!({
                "apiVersion": api_version, "kind": kind,
                "metadata": { "name": name, "namespace": POLICIES }
            })
        };
        let cluster = "cluster.open-cluster-management.io/v1beta1";
        let decision = format!("{}-decision-1", self.name);
        let all = [
            object(POLICY.0, POLICY.1, &self.name),
            object(POLICY.0, "PlacementBinding", &self.name),
            object(cluster, "Placement", &self.name),
            object(cluster, "PlacementDecision", &decision),
        ];
        let all: Vec<String> = all.iter().map(Value::to_string).collect();
        self.world.hub.delete(&all.join("\n---\n")).await
    }

    /// Waits until an object exists on a cluster, and returns it.
    pub async fn exists(
        &self,
        cluster: &str,
        (api_version, kind): (&str, &str),
        namespace: Option<&str>,
        name: &str,
    ) -> Result<DynamicObject> {
        let plane: &Plane = &self.world.cluster(cluster)?.plane;
        eventually(
            format!("{kind} {name} exists on {cluster}"),
            SOON,
            || async {
                match plane.get(api_version, kind, namespace, name).await? {
                    Some(object) => Ok(object),
                    None => bail!("it does not"),
                }
            },
        )
        .await
    }
}

/// The messages of a template in the status of a replicated policy, newest first.
pub fn history(policy: &DynamicObject, template: &str) -> Vec<String> {
    let details = policy
        .data
        .pointer("/status/details")
        .and_then(Value::as_array);
    let details = details.into_iter().flatten();
    let of_template = details.filter(|entry| entry["templateMeta"]["name"] == template);
    let entries = of_template
        .filter_map(|entry| entry["history"].as_array())
        .flatten();
    entries
        .filter_map(|entry| entry["message"].as_str())
        .map(str::to_owned)
        .collect()
}
