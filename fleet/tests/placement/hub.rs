//! What scenarios do on a hub, and expect of it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use reeve_api::ocm::{PLACEMENT_LABEL, Placement, PlacementDecision};
use reeve_fleet::placement::debug::Debugger;
use reeve_testkit::eventually;
use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_mins(1);
const GROUP: &str = "cluster.open-cluster-management.io";

/// A client, and a name that is unique to the scenario: that of its namespace, and the prefix of its cluster-scoped
/// objects.
#[derive(Clone)]
pub struct Hub {
    /// A client with all access.
    pub client: Client,
    /// The namespace.
    pub name: String,
    /// Explains the placements of the controller, where one runs in this process.
    pub debugger: Option<Debugger>,
}

fn kind(kind: &str) -> ApiResource {
    let version = match kind {
        "ManagedCluster" => "v1",
        "ManagedClusterSet" | "ManagedClusterSetBinding" => "v1beta2",
        "AddOnPlacementScore" => "v1alpha1",
        _ => "v1beta1",
    };
    let plural = format!("{}s", kind.to_lowercase());
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, version, kind), &plural)
}

impl Hub {
    pub fn new(client: Client, name: &str, debugger: Option<Debugger>) -> Self {
        Self {
            client,
            name: name.to_owned(),
            debugger,
        }
    }

    pub async fn prepare(&self) -> Result<()> {
        self.namespace(&self.name).await
    }

    pub async fn namespace(&self, name: &str) -> Result<()> {
        let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        let api: Api<Namespace> = Api::all(self.client.clone());
        api.create(&PostParams::default(), &namespace).await?;
        Ok(())
    }

    /// The full name of a cluster-scoped object.
    pub fn full(&self, short: &str) -> String {
        format!("{}-{short}", self.name)
    }

    pub fn all(&self, of: &str) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &kind(of))
    }

    pub fn within(&self, of: &str, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &kind(of))
    }

    pub fn own(&self, of: &str) -> Api<DynamicObject> {
        self.within(of, &self.name)
    }

    /// Creates an object, and writes its status.
    pub async fn create(
        &self,
        api: &Api<DynamicObject>,
        of: &str,
        mut object: Value,
    ) -> Result<DynamicObject> {
        let resource = kind(of);
        object["apiVersion"] = resource.api_version.clone().into();
        object["kind"] = resource.kind.clone().into();
        let status = object.get("status").cloned();
        let object: DynamicObject = serde_json::from_value(object)?;
        let name = object.name_any();
        let created = api.create(&PostParams::default(), &object).await;
        let created = created.with_context(|| format!("creating {of} {name}"))?;
        let Some(status) = status else {
            return Ok(created);
        };
        let patch = Patch::Merge(json!({ "status": status }));
        let patched = api
            .patch_status(&name, &PatchParams::default(), &patch)
            .await;
        patched.with_context(|| format!("giving {of} {name} its status"))
    }

    pub async fn merge(&self, api: &Api<DynamicObject>, name: &str, patch: Value) -> Result<()> {
        let patched = api
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await;
        patched.with_context(|| format!("patching {name}"))?;
        Ok(())
    }

    pub async fn delete(&self, api: &Api<DynamicObject>, name: &str) -> Result<()> {
        let deleted = api.delete(name, &DeleteParams::default()).await;
        deleted.with_context(|| format!("deleting {name}"))?;
        Ok(())
    }

    /// Creates a set that selects by the exclusive label.
    pub async fn set(&self, short: &str) -> Result<()> {
        self.set_by(short, json!({"selectorType": "ExclusiveClusterSetLabel"}))
            .await
    }

    pub async fn set_by(&self, short: &str, selector: Value) -> Result<()> {
        let object = json!({
            "metadata": {"name": self.full(short)},
            "spec": {"clusterSelector": selector},
        });
        let api = self.all("ManagedClusterSet");
        self.create(&api, "ManagedClusterSet", object).await?;
        Ok(())
    }

    /// Creates a set that selects the scenario's clusters with a label.
    pub async fn set_by_label(&self, short: &str, key: &str, value: &str) -> Result<()> {
        let labels = json!({"matchLabels": {key: value, "scenario": self.name}});
        let selector = json!({"selectorType": "LabelSelector", "labelSelector": labels});
        self.set_by(short, selector).await
    }

    pub async fn unset(&self, short: &str) -> Result<()> {
        self.delete(&self.all("ManagedClusterSet"), &self.full(short))
            .await
    }

    pub async fn bind(&self, short: &str) -> Result<()> {
        self.bind_named(&self.full(short)).await
    }

    pub async fn bind_named(&self, set: &str) -> Result<()> {
        let object = json!({"metadata": {"name": set}, "spec": {"clusterSet": set}});
        let api = self.own("ManagedClusterSetBinding");
        self.create(&api, "ManagedClusterSetBinding", object)
            .await?;
        Ok(())
    }

    pub async fn unbind(&self, short: &str) -> Result<()> {
        self.delete(&self.own("ManagedClusterSetBinding"), &self.full(short))
            .await
    }

    /// Creates a set with a binding and `count` clusters `<set>-001`, and so on.
    pub async fn filled(&self, short: &str, count: usize) -> Result<()> {
        self.set(short).await?;
        self.bind(short).await?;
        self.fill(short, 1..=count).await
    }

    pub async fn fill(&self, short: &str, numbers: impl IntoIterator<Item = usize>) -> Result<()> {
        let clusters = numbers.into_iter().map(|number| async move {
            self.cluster(&format!("{short}-{number:03}"), json!({"set": short}))
                .await
        });
        futures::future::try_join_all(clusters).await?;
        Ok(())
    }

    /// Creates a cluster: `set` is the short name of its set, then `labels`, `claims`, `taints`, `cpu` and `memory`
    /// of 10 and 100.
    pub async fn cluster(&self, short: &str, of: Value) -> Result<()> {
        let mut labels = of.get("labels").cloned().unwrap_or(json!({}));
        labels["scenario"] = self.name.clone().into();
        if let Some(set) = of["set"].as_str() {
            labels[format!("{GROUP}/clusterset")] = self.full(set).into();
        }
        let mut status = json!({});
        if let Some(claims) = of["claims"].as_object() {
            let claims = claims.iter();
            let claims: Vec<Value> = claims
                .map(|(name, value)| json!({"name": name, "value": value}))
                .collect();
            status["clusterClaims"] = claims.into();
        }
        if of.get("cpu").is_some() {
            status["allocatable"] = json!({"cpu": of["cpu"], "memory": of["memory"]});
            status["capacity"] = json!({"cpu": "10", "memory": "100"});
        }
        let taints = of.get("taints").cloned().unwrap_or(json!([]));
        let object = json!({
            "metadata": {"name": self.full(short), "labels": labels,
                "finalizers": of.get("finalizers").cloned().unwrap_or(json!([]))},
            "spec": {"hubAcceptsClient": true, "taints": taints},
            "status": status,
        });
        self.create(&self.all("ManagedCluster"), "ManagedCluster", object)
            .await?;
        Ok(())
    }

    pub async fn drop_cluster(&self, short: &str) -> Result<()> {
        self.delete(&self.all("ManagedCluster"), &self.full(short))
            .await
    }

    /// Creates a score of a cluster in its namespace, and the namespace if need be.
    pub async fn score(&self, cluster: &str, name: &str, status: Value) -> Result<()> {
        let cluster = self.full(cluster);
        let _ = self.namespace(&cluster).await;
        let api = self.within("AddOnPlacementScore", &cluster);
        let object = json!({"metadata": {"name": name}, "status": status});
        self.create(&api, "AddOnPlacementScore", object).await?;
        Ok(())
    }

    pub async fn placement(&self, spec: Value) -> Result<()> {
        let object = json!({"metadata": {"name": "p1"}, "spec": spec});
        self.create(&self.own("Placement"), "Placement", object)
            .await?;
        Ok(())
    }

    /// Merges a patch into the placement's spec.
    pub async fn edit(&self, spec: Value) -> Result<()> {
        self.merge(&self.own("Placement"), "p1", json!({ "spec": spec }))
            .await
    }

    pub async fn read(&self) -> Result<Placement> {
        let api: Api<Placement> = Api::namespaced(self.client.clone(), &self.name);
        Ok(api.get("p1").await?)
    }

    /// The decisions of the placement, by name.
    pub async fn decisions(&self) -> Result<Vec<PlacementDecision>> {
        let api: Api<PlacementDecision> = Api::namespaced(self.client.clone(), &self.name);
        let ours = ListParams::default().labels(&format!("{PLACEMENT_LABEL}=p1"));
        Ok(api.list(&ours).await?.items)
    }

    /// The short names of the chosen clusters, once the status has the same number.
    async fn chosen(&self) -> Result<BTreeSet<String>> {
        let decisions = self.decisions().await?;
        ensure!(!decisions.is_empty(), "no decisions");
        let prefix = self.full("");
        let names = decisions.iter().flat_map(PlacementDecision::clusters);
        let names: BTreeSet<String> = names
            .map(|name| name.strip_prefix(&prefix).unwrap_or(name).to_owned())
            .collect();
        let status = self.read().await?.status.unwrap_or_default();
        let reported = usize::try_from(status.number_of_selected_clusters)?;
        ensure!(
            reported == names.len(),
            "the status has {reported} clusters, the decisions {names:?}"
        );
        ensure!(!status.conditions.is_empty(), "no conditions");
        Ok(names)
    }

    /// Waits until exactly these clusters are chosen.
    pub async fn wait_for_clusters(&self, expected: &[&str]) -> Result<()> {
        let expected: BTreeSet<String> = expected.iter().map(|name| (*name).to_owned()).collect();
        eventually(format!("{expected:?} are chosen"), DEADLINE, || async {
            let chosen = self.chosen().await?;
            ensure!(chosen == expected, "{chosen:?}");
            Ok(())
        })
        .await
    }

    /// Waits until this number of clusters is chosen.
    pub async fn wait_for_cluster_count(&self, expected: usize) -> Result<()> {
        eventually(format!("{expected} are chosen"), DEADLINE, || async {
            let chosen = self.chosen().await?;
            ensure!(chosen.len() == expected, "{chosen:?}");
            Ok(())
        })
        .await
    }

    /// Waits until a condition has this status and reason.
    pub async fn wait_for_condition(&self, kind: &str, status: &str, reason: &str) -> Result<()> {
        eventually(
            format!("{kind} is {status}, {reason}"),
            DEADLINE,
            || async {
                let conditions = self.read().await?.status.unwrap_or_default().conditions;
                let found = conditions.iter().find(|one| one.type_ == kind);
                let found = found.context("no such condition")?;
                ensure!(
                    (found.status.as_str(), found.reason.as_str()) == (status, reason),
                    "{found:?}"
                );
                Ok(())
            },
        )
        .await
    }

    pub async fn wait_until_satisfied(&self) -> Result<()> {
        self.wait_for_condition("PlacementSatisfied", "True", "AllDecisionsScheduled")
            .await
    }

    /// Waits until the status has these groups (name and number of clusters); decisions and labels must agree.
    pub async fn wait_for_groups(&self, expected: &[(&str, i32)]) -> Result<()> {
        eventually(format!("the groups are {expected:?}"), DEADLINE, || async {
            let status = self.read().await?.status.unwrap_or_default();
            let reported: Vec<(&str, i32)> = status
                .decision_groups
                .iter()
                .map(|one| (one.decision_group_name.as_str(), one.cluster_count))
                .collect();
            ensure!(reported == expected, "{reported:?}");
            let decisions = self.decisions().await?;
            let of_groups = status.decision_groups.iter().map(|one| one.decisions.len());
            ensure!(decisions.len() == of_groups.sum::<usize>(), "{decisions:?}");
            for group in &status.decision_groups {
                let named = |one: &&PlacementDecision| group.decisions.contains(&one.name_any());
                let ours: Vec<_> = decisions.iter().filter(named).collect();
                let count: usize = ours.iter().map(|one| one.clusters().count()).sum();
                ensure!(
                    i32::try_from(count)? == group.cluster_count,
                    "{group:?}: {ours:?}"
                );
                for one in ours {
                    let label = |key: &str| one.labels().get(&format!("{GROUP}/{key}")).cloned();
                    let index = group.decision_group_index.to_string();
                    ensure!(label("decision-group-index") == Some(index), "{one:?}");
                    let name = Some(group.decision_group_name.clone());
                    ensure!(label("decision-group-name") == name, "{one:?}");
                }
            }
            Ok(())
        })
        .await
    }

    /// Waits until an event of this type and reason has a note that contains `text`.
    pub async fn wait_for_event(&self, kind: &str, reason: &str, text: &str) -> Result<Event> {
        let api: Api<Event> = Api::namespaced(self.client.clone(), &self.name);
        eventually(
            format!("an event {kind} {reason}: {text}"),
            DEADLINE,
            || async {
                let events = api.list(&ListParams::default()).await?.items;
                let wanted = |one: &&Event| {
                    one.type_.as_deref() == Some(kind)
                        && one.reason.as_deref() == Some(reason)
                        && one.note.as_deref().is_some_and(|note| note.contains(text))
                };
                let found = events.iter().find(wanted).cloned();
                found.with_context(|| {
                    let notes: Vec<_> = events.iter().map(|one| (&one.reason, &one.note)).collect();
                    format!("{notes:?}")
                })
            },
        )
        .await
    }

    /// The objects of the scenario, for the report of a failure.
    pub async fn dump(&self) -> String {
        let mut text = String::from("on the hub:\n");
        for of in ["Placement", "PlacementDecision", "ManagedClusterSetBinding"] {
            if let Ok(list) = self.own(of).list(&ListParams::default()).await {
                for one in list.items {
                    let _ = writeln!(text, "{of} {}: {}", one.name_any(), one.data);
                }
            }
        }
        for of in ["ManagedClusterSet", "ManagedCluster"] {
            if let Ok(list) = self.all(of).list(&ListParams::default()).await {
                let ours = |name: &str| {
                    name.starts_with(&self.full("")) || ["default", "global"].contains(&name)
                };
                // The dump of a scenario with very many clusters leaves them out.
                for one in list
                    .items
                    .iter()
                    .filter(|one| ours(&one.name_any()))
                    .take(20)
                {
                    let _ = writeln!(text, "{of} {}: {}", one.name_any(), one.data);
                }
            }
        }
        text
    }
}
