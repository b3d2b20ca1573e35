//! An `OperatorPolicy` under test.

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_testkit::{Object, Objects};
use serde_json::{Value, json};

use crate::wait::within;

const POLICY_API: &str = "policy.open-cluster-management.io/v1beta1";
const PARENT_API: &str = "policy.open-cluster-management.io/v1";
const KIND: &str = "OperatorPolicy";

/// A policy for an operator, with a parent that gets its compliance events.
pub struct OperatorSubject<'c> {
    /// The cluster with the policy.
    pub hosting: &'c Objects,
    /// The namespace of the policy.
    pub policies: String,
    /// The name of the policy.
    pub name: String,
}

impl OperatorSubject<'_> {
    /// Applies the policy, with its parent.
    pub async fn apply(&self, spec: Value) -> Result<()> {
        let parent = apply_json(
            self.hosting,
            json!({
                "apiVersion": PARENT_API, "kind": "Policy",
                "metadata": {"name": format!("{}-parent", self.name), "namespace": self.policies},
                "spec": {"disabled": false, "policy-templates": []},
            }),
        );
        let uid = parent.await?.uid().context("a parent without UID")?;
        apply_json(
            self.hosting,
            json!({
                "apiVersion": POLICY_API, "kind": KIND,
                "metadata": {
                    "name": self.name, "namespace": self.policies,
                    "ownerReferences": [{
                        "apiVersion": PARENT_API, "kind": "Policy", "uid": uid,
                        "name": format!("{}-parent", self.name),
                    }],
                },
                "spec": spec,
            }),
        )
        .await?;
        Ok(())
    }

    /// Changes the spec.
    pub async fn patch(&self, spec: Value) -> Result<()> {
        let patch = json!({ "spec": spec });
        let namespace = Some(self.policies.as_str());
        self.hosting
            .patch(POLICY_API, KIND, namespace, &self.name, patch)
            .await?;
        Ok(())
    }

    /// Changes the annotations.
    pub async fn annotate(&self, annotations: Value) -> Result<()> {
        let patch = json!({"metadata": {"annotations": annotations}});
        let namespace = Some(self.policies.as_str());
        self.hosting
            .patch(POLICY_API, KIND, namespace, &self.name, patch)
            .await?;
        Ok(())
    }

    /// Changes the status.
    pub async fn patch_status(&self, status: Value) -> Result<()> {
        let patch = json!({ "status": status });
        let namespace = Some(self.policies.as_str());
        self.hosting
            .patch_status(POLICY_API, KIND, namespace, &self.name, patch)
            .await?;
        Ok(())
    }

    /// Deletes the policy.
    pub async fn delete_policy(&self) -> Result<()> {
        let policy = json!({
            "apiVersion": POLICY_API, "kind": KIND,
            "metadata": {"name": self.name, "namespace": self.policies},
        });
        self.hosting.delete(&policy.to_string()).await
    }

    /// The policy.
    pub async fn policy(&self) -> Result<Object> {
        let namespace = Some(self.policies.as_str());
        let found = self.hosting.get(POLICY_API, KIND, namespace, &self.name);
        found.await?.context("the policy is gone")
    }

    /// The status of the policy, once its latest generation is in it.
    pub async fn status(&self) -> Result<Value> {
        let policy = self.policy().await?;
        let status = policy.data.get("status").cloned().unwrap_or_default();
        ensure!(
            status["observedGeneration"].as_i64() == policy.metadata.generation,
            "the status is {status:#}"
        );
        Ok(status)
    }

    /// Waits until a condition has a status and a reason, and returns its message.
    pub async fn condition(&self, type_: &str, status: &str, reason: &str) -> Result<String> {
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

    /// Waits until the policy has a compliance, and returns the message of it.
    pub async fn is(&self, compliance: &str) -> Result<String> {
        let status = if compliance == "Compliant" {
            "True"
        } else {
            "False"
        };
        self.condition("Compliant", status, compliance).await
    }

    /// Name, compliance and reason of the related objects of a kind.
    pub async fn related(&self, kind: &str) -> Result<Vec<(String, String, String)>> {
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
    pub async fn events(&self) -> Result<Vec<String>> {
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
}

/// Applies an object that is written as JSON.
pub async fn apply_json(objects: &Objects, object: Value) -> Result<Object> {
    let applied = objects.apply(&object.to_string()).await?;
    applied.into_iter().next().context("nothing was applied")
}
