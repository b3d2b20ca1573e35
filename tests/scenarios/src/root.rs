//! A root policy under test, and its replicas.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow, ensure};
use kube::api::{ListParams, ObjectMeta};
use kube::{Api, ResourceExt as _};
use reeve_testkit::Object;
use serde_json::{Value, json};

use crate::site::V1;
use crate::{Site, same, steadily, within};

const KIND: &str = "Policy";
const ROOT: &str = "policy.open-cluster-management.io/root-policy";
const ERROR: &str = "policy.open-cluster-management.io/hub-templates-error";

/// A policy in the namespace of a [`Site`].
pub struct Root<'a> {
    site: &'a Site<'a>,
    /// Its name.
    pub name: String,
}

impl<'a> Root<'a> {
    pub(crate) fn new(site: &'a Site<'a>, name: &str) -> Self {
        Self {
            site,
            name: name.to_owned(),
        }
    }

    /// The name of its replicas.
    pub fn replica_name(&self) -> String {
        format!("{}.{}", self.site.name, self.name)
    }

    /// Applies it with a spec, whatever it was before.
    pub async fn apply(&self, spec: Value) -> Result<()> {
        self.apply_with(json!({}), json!({}), spec).await
    }

    /// Like [`Root::apply`], with labels and annotations.
    pub async fn apply_with(&self, labels: Value, annotations: Value, spec: Value) -> Result<()> {
        let policy = json!({
            "apiVersion": V1, "kind": KIND,
            "metadata": {
                "name": self.name, "namespace": self.site.name,
                "labels": labels, "annotations": annotations
            },
            "spec": spec
        });
        self.site.apply(&policy.to_string()).await?;
        Ok(())
    }

    /// Merge-patches it.
    pub async fn patch(&self, patch: Value) -> Result<()> {
        self.site
            .patch(V1, KIND, Some(&self.site.name), &self.name, patch)
            .await?;
        Ok(())
    }

    /// Sets an annotation.
    pub async fn annotate(&self, key: &str, value: &str) -> Result<()> {
        self.patch(json!({ "metadata": { "annotations": { key: value } } }))
            .await
    }

    /// Disables or enables it.
    pub async fn disable(&self, disabled: bool) -> Result<()> {
        self.patch(json!({ "spec": { "disabled": disabled } }))
            .await
    }

    /// Deletes it.
    pub async fn delete(&self) -> Result<()> {
        self.site.remove(KIND, &self.name).await
    }

    /// It as it is now.
    pub async fn read(&self) -> Result<Object> {
        let found = self
            .site
            .get(V1, KIND, Some(&self.site.name), &self.name)
            .await?;
        found.with_context(|| format!("the policy {} is gone", self.name))
    }

    /// Its status, null when there is none, with short names of clusters.
    pub async fn status(&self) -> Result<Value> {
        Ok(self.site.status(&self.read().await?))
    }

    /// Waits until this is its whole status.
    pub async fn status_is(&self, want: Value) -> Result<()> {
        within(format!("{} has its status", self.name), || async {
            same("its status", self.status().await?, want.clone())
        })
        .await
    }

    /// This is its whole status, and stays so.
    pub async fn status_stays(&self, want: Value) -> Result<()> {
        self.status_is(want.clone()).await?;
        steadily(format!("the status of {}", self.name), || async {
            same("its status", self.status().await?, want.clone())
        })
        .await
    }

    /// Waits until its own compliance is this; empty: absent.
    pub async fn is(&self, compliance: &str) -> Result<()> {
        within(format!("{} is {compliance:?}", self.name), || async {
            let status = self.status().await?;
            let now = status["compliant"].as_str().unwrap_or_default();
            ensure!(now == compliance, "its status is {status:#}");
            Ok(())
        })
        .await
    }

    /// The clusters that have a replica, in order.
    pub async fn replicas(&self) -> Result<Vec<String>> {
        let (resource, _) = self.site.kind(V1, KIND).await?;
        let api: Api<Object> = Api::all_with(self.site.client(), &resource);
        let params = ListParams::default().labels(&format!("{ROOT}={}", self.replica_name()));
        let found = api.list(&params).await.context("listing replicas")?;
        let namespaces = found.into_iter().filter_map(|replica| replica.namespace());
        let mut clusters: Vec<String> = namespaces
            .map(|namespace| self.site.shortened(&namespace))
            .collect();
        clusters.sort();
        Ok(clusters)
    }

    /// Waits until exactly these clusters have a replica.
    pub async fn replicas_are(&self, want: &[&str]) -> Result<()> {
        within(format!("{} is on {want:?}", self.name), || async {
            same("its replicas", self.replicas().await?, want.to_vec())
        })
        .await
    }

    /// Exactly these clusters have a replica, and this stays so.
    pub async fn replicas_stay(&self, want: &[&str]) -> Result<()> {
        self.replicas_are(want).await?;
        steadily(format!("{} is on {want:?}", self.name), || async {
            same("its replicas", self.replicas().await?, want.to_vec())
        })
        .await
    }

    /// The replica on a cluster as it is now.
    pub async fn replica(&self, cluster: &str) -> Result<Object> {
        let namespace = self.site.cluster(cluster);
        let found = self
            .site
            .get(V1, KIND, Some(&namespace), &self.replica_name())
            .await?;
        found.with_context(|| format!("{} is not on {cluster}", self.name))
    }

    /// Waits until the replica on a cluster passes a check.
    pub async fn until(
        &self,
        cluster: &str,
        what: &str,
        check: impl Fn(&Object) -> Result<()>,
    ) -> Result<Object> {
        within(format!("{} on {cluster}: {what}", self.name), || async {
            let replica = self.replica(cluster).await?;
            check(&replica).map_err(|error| {
                let text = reeve_testkit::render(&replica).unwrap_or_default();
                anyhow!("{error:#}\nof\n{text}")
            })?;
            Ok(replica)
        })
        .await
    }

    /// Waits until the replica on a cluster has exactly this spec.
    pub async fn spec_is(&self, cluster: &str, want: &Value) -> Result<()> {
        self.until(cluster, "its spec", |replica| {
            same("its spec", &replica.data["spec"], want)
        })
        .await?;
        Ok(())
    }

    /// Waits until the replica on a cluster has the spec that the root has.
    pub async fn spec_is_copied(&self, cluster: &str) -> Result<()> {
        let root = self.read().await?;
        self.spec_is(cluster, &root.data["spec"]).await
    }

    /// Waits until the replica on a cluster has this remediation action; empty: absent.
    pub async fn wait_for_remediation(&self, cluster: &str, action: &str) -> Result<()> {
        self.until(cluster, action, |replica| {
            let now = replica.data["spec"]["remediationAction"].as_str();
            same("its action", now.unwrap_or_default(), action)
        })
        .await?;
        Ok(())
    }

    /// The objects of the templates of the replica on a cluster, as it is now.
    pub async fn objects(&self, cluster: &str) -> Result<Vec<Value>> {
        Ok(objects(&self.replica(cluster).await?))
    }

    /// Waits until these are the objects of the templates of the replica on a cluster.
    pub async fn renders(&self, cluster: &str, want: &[Value]) -> Result<Object> {
        self.until(cluster, "its templates", |replica| {
            same("its objects", objects(replica), want.to_vec())
        })
        .await
    }

    /// Waits until each template of the replica on a cluster has this error, or none.
    pub async fn errors_are(&self, cluster: &str, want: &[Option<&str>]) -> Result<()> {
        self.until(cluster, "its errors", |replica| {
            let errors = errors(replica);
            let errors: Vec<Option<&str>> = errors.iter().map(Option::as_deref).collect();
            same("the errors", errors, want.to_vec())
        })
        .await?;
        Ok(())
    }

    /// Waits until the only template of the replica on a cluster has an error that contains this.
    pub async fn has_error(&self, cluster: &str, part: &str) -> Result<String> {
        let replica = self
            .until(cluster, part, |replica| match errors(replica).as_slice() {
                [Some(error)] => {
                    ensure!(error.contains(part), "{part:?} is not in {error}");
                    Ok(())
                }
                other => anyhow::bail!("the errors are {other:?}"),
            })
            .await?;
        let error = errors(&replica).into_iter().flatten().next();
        error.context("an error that was there")
    }

    /// Plays the addon: the replica on a cluster reports this. Waits for the replica first.
    pub async fn reports(&self, cluster: &str, compliance: &str) -> Result<()> {
        self.reports_all(cluster, json!({ "compliant": compliance }))
            .await
    }

    /// Like [`Root::reports`], with a whole status.
    pub async fn reports_all(&self, cluster: &str, status: Value) -> Result<()> {
        self.until(cluster, "it is there", |_| Ok(())).await?;
        let namespace = self.site.cluster(cluster);
        let name = self.replica_name();
        let patch = json!({ "status": status });
        self.site
            .patch_status(V1, KIND, Some(&namespace), &name, patch)
            .await?;
        Ok(())
    }

    /// Merge-patches the replica on a cluster.
    pub async fn patch_replica(&self, cluster: &str, patch: Value) -> Result<Object> {
        let namespace = self.site.cluster(cluster);
        let name = self.replica_name();
        self.site
            .patch(V1, KIND, Some(&namespace), &name, patch)
            .await
    }

    /// Deletes the replica on a cluster.
    pub async fn delete_replica(&self, cluster: &str) -> Result<()> {
        let replica = json!({
            "apiVersion": V1, "kind": KIND,
            "metadata": { "name": self.replica_name(), "namespace": self.site.cluster(cluster) }
        });
        self.site.delete(&replica.to_string()).await
    }

    /// Messages of the events about it that contain this, once for every time they were reported.
    pub async fn reported(&self, part: &str) -> Result<Vec<String>> {
        let events = self.site.events(KIND, &self.name).await?.into_iter();
        Ok(events
            .map(|(_, _, message)| message)
            .filter(|message| message.contains(part))
            .collect())
    }
}

/// The objects of the templates of a policy.
pub fn objects(policy: &Object) -> Vec<Value> {
    let templates = policy.data["spec"]["policy-templates"].as_array();
    let templates = templates.into_iter().flatten();
    templates
        .map(|template| template["objectDefinition"].clone())
        .collect()
}

/// The error of each template of a policy.
pub fn errors(policy: &Object) -> Vec<Option<String>> {
    let errors = objects(policy).into_iter().map(|object| {
        let error = object["metadata"]["annotations"][ERROR].as_str();
        error.map(str::to_owned)
    });
    errors.collect()
}

/// An annotation of an object.
pub fn annotation<'o>(object: &'o Object, key: &str) -> Option<&'o str> {
    entry(object.metadata.annotations.as_ref(), key)
}

/// A label of an object.
pub fn label<'o>(object: &'o Object, key: &str) -> Option<&'o str> {
    entry(object.metadata.labels.as_ref(), key)
}

fn entry<'o>(entries: Option<&'o BTreeMap<String, String>>, key: &str) -> Option<&'o str> {
    entries?.get(key).map(String::as_str)
}

/// What changes when an object is written.
pub fn version(object: &Object) -> (Option<String>, Option<i64>) {
    let ObjectMeta {
        resource_version,
        generation,
        ..
    } = &object.metadata;
    (resource_version.clone(), *generation)
}

/// The spec of a policy with these objects.
pub fn policy_spec(objects: &[Value]) -> Value {
    let templates: Vec<Value> = objects
        .iter()
        .map(|object| json!({ "objectDefinition": object }))
        .collect();
    json!({ "disabled": false, "remediationAction": "inform", "policy-templates": templates })
}

/// A `ConfigurationPolicy` that wants a `ConfigMap` with this data.
// By value: what is wanted is written in place.
#[allow(clippy::needless_pass_by_value)]
pub fn wants(name: &str, data: Value) -> Value {
    json!({
        "apiVersion": V1, "kind": "ConfigurationPolicy",
        "metadata": { "name": name },
        "spec": {
            "remediationAction": "inform",
            "object-templates": [{
                "complianceType": "musthave",
                "objectDefinition": {
                    "apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": { "name": name, "namespace": "default" },
                    "data": data
                }
            }]
        }
    })
}

/// The spec of a policy that wants something plain.
pub fn plain() -> Value {
    policy_spec(&[wants("plain", json!({ "key": "value" }))])
}

impl<'a> Site<'a> {
    /// A policy under test; not applied yet.
    pub fn root(&'a self, name: &str) -> Root<'a> {
        Root::new(self, name)
    }
}
