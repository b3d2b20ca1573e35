//! Where a scenario of the hub plays: a namespace for policies, and clusters of its own.

use std::ops::Deref;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::ListParams;
use reeve_testkit::{Object, Objects};
use serde_json::{Value, json};

use crate::{same, within};

/// The API of policies and bindings.
pub(crate) const V1: &str = "policy.open-cluster-management.io/v1";
/// The API of policy sets.
const V1BETA1: &str = "policy.open-cluster-management.io/v1beta1";
const CLUSTERS: &str = "cluster.open-cluster-management.io";
const RULES: &str = "apps.open-cluster-management.io";

/// A namespace for policies, and clusters whose names begin with the namespace's: `<name>-m1`. All of
/// a site's methods take and give a cluster's short name, `m1`.
pub struct Site<'a> {
    objects: &'a Objects,
    /// The namespace.
    pub name: String,
}

impl Deref for Site<'_> {
    type Target = Objects;

    fn deref(&self) -> &Objects {
        self.objects
    }
}

/// What chooses clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// A `Placement` with a `PlacementDecision`.
    Placement,
    /// A `PlacementRule`.
    Rule,
}

impl<'a> Site<'a> {
    /// Makes the namespace and the clusters among the objects of a hub.
    pub async fn open(objects: &'a Objects, name: &str, clusters: &[&str]) -> Result<Self> {
        let site = Self {
            objects,
            name: name.to_owned(),
        };
        site.namespace(name).await?;
        for cluster in clusters {
            site.register(cluster).await?;
        }
        Ok(site)
    }

    /// Makes a namespace.
    pub async fn namespace(&self, name: &str) -> Result<()> {
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        self.apply(&namespace.to_string()).await?;
        Ok(())
    }

    /// Makes a cluster and its namespace.
    pub async fn register(&self, cluster: &str) -> Result<()> {
        self.namespace(&self.cluster(cluster)).await?;
        self.manage(cluster).await
    }

    /// Makes a cluster: what has its namespace already is a cluster's from now on.
    pub async fn manage(&self, cluster: &str) -> Result<()> {
        let labels = json!({ "cloud": "auto-detect", "vendor": "auto-detect", "name": cluster });
        self.label(cluster, labels).await
    }

    /// Makes a cluster with these labels, or gives it these.
    pub async fn label(&self, cluster: &str, labels: Value) -> Result<()> {
        let cluster = json!({
            "apiVersion": format!("{CLUSTERS}/v1"), "kind": "ManagedCluster",
            "metadata": { "name": self.cluster(cluster), "labels": labels },
            "spec": { "hubAcceptsClient": true }
        });
        self.apply(&cluster.to_string()).await?;
        Ok(())
    }

    /// The name of a cluster.
    pub fn cluster(&self, short: &str) -> String {
        format!("{}-{short}", self.name)
    }

    /// Text in which the names of clusters are short.
    pub fn shortened(&self, text: &str) -> String {
        text.replace(&format!("{}-m", self.name), "m")
    }

    /// A placement or rule with a binding of the same name to a policy, and what it has chosen.
    pub async fn placed(
        &'a self,
        via: Via,
        name: &str,
        policy: &str,
        clusters: &[&str],
    ) -> Result<Choice<'a>> {
        let choice = self.choice(via, name);
        choice.make().await?;
        choice.bind(&[("Policy", policy)]).await?;
        choice.decides(clusters).await?;
        Ok(choice)
    }

    /// What chooses clusters; not there yet.
    pub fn choice(&'a self, via: Via, name: &str) -> Choice<'a> {
        Choice {
            site: self,
            via,
            name: name.to_owned(),
        }
    }

    /// Binds what chooses clusters to subjects, with more fields of a binding (an object).
    pub async fn bind(
        &self,
        name: &str,
        choice: &Choice<'_>,
        subjects: &[(&str, &str)],
        also: Value,
    ) -> Result<()> {
        let subjects: Vec<Value> = subjects
            .iter()
            .map(|(kind, name)| json!({ "apiGroup": "policy.open-cluster-management.io", "kind": kind, "name": name }))
            .collect();
        let mut binding = json!({
            "apiVersion": V1, "kind": "PlacementBinding",
            "metadata": { "name": name, "namespace": self.name },
            "placementRef": choice.reference(), "subjects": subjects
        });
        if let (Some(binding), Value::Object(also)) = (binding.as_object_mut(), also) {
            binding.extend(also);
        }
        self.apply(&binding.to_string()).await?;
        Ok(())
    }

    /// Deletes an object of this namespace.
    pub async fn remove(&self, kind: &str, name: &str) -> Result<()> {
        let api_version = match kind {
            "PolicySet" | "PolicyAutomation" => V1BETA1.to_owned(),
            "Placement" | "PlacementDecision" => format!("{CLUSTERS}/v1beta1"),
            "PlacementRule" => format!("{RULES}/v1"),
            "Policy" | "PlacementBinding" => V1.to_owned(),
            _ => "v1".to_owned(),
        };
        let object = json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": { "name": name, "namespace": self.name }
        });
        self.delete(&object.to_string()).await
    }

    /// Deletes a binding.
    pub async fn unbind(&self, name: &str) -> Result<()> {
        self.remove("PlacementBinding", name).await
    }

    /// A `PolicySet` of policies.
    pub async fn set(&self, name: &str, policies: &[&str]) -> Result<()> {
        self.set_without(name, policies, &[]).await
    }

    /// A `PolicySet` that keeps policies from clusters: policy and clusters.
    pub async fn set_without(
        &self,
        name: &str,
        policies: &[&str],
        exclusions: &[(&str, &[&str])],
    ) -> Result<()> {
        let exclusions: Vec<Value> = exclusions
            .iter()
            .map(|(policy, clusters)| {
                let clusters: Vec<String> =
                    clusters.iter().map(|short| self.cluster(short)).collect();
                json!({ "policyName": policy, "clusterNames": clusters })
            })
            .collect();
        let mut set = json!({
            "apiVersion": V1BETA1, "kind": "PolicySet",
            "metadata": { "name": name, "namespace": self.name },
            "spec": { "policies": policies }
        });
        if !exclusions.is_empty() {
            set["spec"]["exclusions"] = json!(exclusions);
        }
        self.apply(&set.to_string()).await?;
        Ok(())
    }

    /// The status of a `PolicySet`, null when there is none, with short names of clusters.
    pub async fn set_status(&self, name: &str) -> Result<Value> {
        let set = self
            .get(V1BETA1, "PolicySet", Some(&self.name), name)
            .await?;
        let set = set.with_context(|| format!("the set {name} is gone"))?;
        Ok(self.status(&set))
    }

    /// Waits until a `PolicySet` has this status.
    pub async fn set_reports(&self, name: &str, want: Value) -> Result<()> {
        within(format!("the set {name} has its status"), || async {
            same("its status", self.set_status(name).await?, want.clone())
        })
        .await
    }

    /// The status of an object, with short names of clusters.
    pub(crate) fn status(&self, object: &Object) -> Value {
        let status = object.data.get("status").cloned().unwrap_or_default();
        let text = self.shortened(&status.to_string());
        serde_json::from_str(&text).unwrap_or(status)
    }

    /// A `ConfigMap` in this namespace.
    pub async fn config_map(&self, name: &str, data: Value) -> Result<()> {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": self.name }, "data": data
        });
        self.apply(&map.to_string()).await?;
        Ok(())
    }

    /// A `Secret` in this namespace; values in Base64.
    pub async fn secret(&self, name: &str, data: Value) -> Result<()> {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": name, "namespace": self.name }, "data": data
        });
        self.apply(&secret.to_string()).await?;
        Ok(())
    }

    /// The events about an object of this namespace: type, reason and message, with short names of
    /// clusters, once for every time they were reported.
    pub async fn events(&self, kind: &str, name: &str) -> Result<Vec<(String, String, String)>> {
        let api: Api<Event> = Api::namespaced(self.client(), &self.name);
        let fields = format!("involvedObject.kind={kind},involvedObject.name={name}");
        let events = api
            .list(&ListParams::default().fields(&fields))
            .await
            .context("listing events")?;
        let mut reported = Vec::new();
        for event in events {
            let series = event.series.and_then(|series| series.count);
            let times = series.or(event.count).unwrap_or(1).max(1);
            let message = self.shortened(&event.message.unwrap_or_default());
            let line = (
                event.type_.unwrap_or_default(),
                event.reason.unwrap_or_default(),
                message,
            );
            for _ in 0..times {
                reported.push(line.clone());
            }
        }
        Ok(reported)
    }
}

/// What chooses clusters: a `PlacementRule`, or a `Placement` with its `PlacementDecision`.
pub struct Choice<'a> {
    site: &'a Site<'a>,
    /// Which of the two.
    pub via: Via,
    /// Its name.
    pub name: String,
}

impl Choice<'_> {
    fn api(&self) -> (String, &'static str) {
        match self.via {
            Via::Placement => (format!("{CLUSTERS}/v1beta1"), "Placement"),
            Via::Rule => (format!("{RULES}/v1"), "PlacementRule"),
        }
    }

    /// Makes it; it has chosen nothing yet.
    pub async fn make(&self) -> Result<()> {
        let (api_version, kind) = self.api();
        let object = json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": { "name": self.name, "namespace": self.site.name }, "spec": {}
        });
        self.site.apply(&object.to_string()).await?;
        Ok(())
    }

    /// What a binding reports of it.
    pub fn reference(&self) -> Value {
        let (group, kind) = match self.via {
            Via::Placement => (CLUSTERS, "Placement"),
            Via::Rule => (RULES, "PlacementRule"),
        };
        json!({ "apiGroup": group, "kind": kind, "name": self.name })
    }

    /// Binds it, by a binding of its own name.
    pub async fn bind(&self, subjects: &[(&str, &str)]) -> Result<()> {
        self.site.bind(&self.name, self, subjects, json!({})).await
    }

    /// It has chosen exactly these clusters.
    pub async fn decides(&self, clusters: &[&str]) -> Result<()> {
        let names = clusters.iter().map(|short| self.site.cluster(short));
        let decisions: Vec<Value> = match self.via {
            Via::Placement => names
                .map(|name| json!({ "clusterName": name, "reason": "" }))
                .collect(),
            Via::Rule => names
                .map(|name| json!({ "clusterName": name, "clusterNamespace": name }))
                .collect(),
        };
        self.decides_raw(json!(decisions)).await
    }

    /// Like [`Choice::decides`], with the decisions as they are written.
    pub async fn decides_raw(&self, decisions: Value) -> Result<()> {
        let (api_version, kind) = self.api();
        let mut object = json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": { "name": self.name, "namespace": self.site.name },
            "status": { "decisions": decisions }
        });
        if self.via == Via::Placement {
            let labels = json!({ "cluster.open-cluster-management.io/placement": self.name });
            object["kind"] = json!("PlacementDecision");
            object["metadata"]["labels"] = labels;
        } else {
            object["spec"] = json!({});
        }
        self.site.apply(&object.to_string()).await?;
        Ok(())
    }

    /// Deletes what holds the decisions: the rule, or the placement's decision.
    pub async fn forget(&self) -> Result<()> {
        let kind = match self.via {
            Via::Placement => "PlacementDecision",
            Via::Rule => "PlacementRule",
        };
        self.site.remove(kind, &self.name).await
    }

    /// Deletes the placement or rule.
    pub async fn remove(&self) -> Result<()> {
        self.site.remove(self.api().1, &self.name).await
    }

    /// An entry of `status.placement` for a binding.
    pub fn entry(&self, binding: &str) -> Value {
        let key = match self.via {
            Via::Placement => "placement",
            Via::Rule => "placementRule",
        };
        json!({ "placementBinding": binding, key: self.name })
    }

    /// An entry of `status.placement` for a binding to a set.
    pub fn entry_of_set(&self, binding: &str, set: &str) -> Value {
        let mut entry = self.entry(binding);
        entry["policySet"] = json!(set);
        entry
    }
}

/// An entry of `status.status`; an empty compliance is absent.
pub fn on(cluster: &str, compliance: &str) -> Value {
    let mut entry = json!({ "clustername": cluster, "clusternamespace": cluster });
    if !compliance.is_empty() {
        entry["compliant"] = json!(compliance);
    }
    entry
}

/// That an operation is refused with a message that contains this.
pub fn refused<T>(outcome: Result<T>, part: &str) -> Result<()> {
    let Err(error) = outcome else {
        anyhow::bail!("it was not refused");
    };
    let error = format!("{error:#}");
    ensure!(error.contains(part), "{part:?} is not in {error}");
    Ok(())
}
