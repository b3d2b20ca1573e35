//! The hub's part in a managed cluster's membership: its acceptance, its agents' rights, and noticing
//! when it is away.

use std::time::Duration;

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::agents::make_namespace;
use super::condition::{Condition, find, list};
use super::mirror::{ChangeTrigger, Mirror, Step};
use super::names::{ADDON, CLUSTER, CLUSTER_LEASE, LEASE};
use super::write;
use crate::Objects;

const AVAILABLE: &str = "ManagedClusterConditionAvailable";
const STOPPED: &str = "ManagedClusterLeaseUpdateStopped";
const STOPPED_MESSAGE: &str = "Registration agent stopped updating its lease.";
const FEATURE: &str = "feature.open-cluster-management.io/addon-";

/// Accepts a cluster: its `ManagedCluster`, its namespace, its agents' rights.
pub(super) async fn accept(hub: &Objects, cluster: &str) -> Result<()> {
    let there = hub
        .get(CLUSTER.api_version, CLUSTER.kind, None, cluster)
        .await?;
    if there.is_none() {
        let object = json!({
            "apiVersion": CLUSTER.api_version,
            "kind": CLUSTER.kind,
            "metadata": { "name": cluster, "labels": { "name": cluster } },
            "spec": {},
        });
        hub.apply(&object.to_string()).await?;
    }
    let spec = json!({ "spec": { "hubAcceptsClient": true } });
    hub.patch(CLUSTER.api_version, CLUSTER.kind, None, cluster, spec)
        .await?;
    make_namespace(hub, cluster).await?;
    hub.apply(&rights(cluster)).await?;
    Ok(())
}

/// What the agents of one cluster may do on the hub, and no more.
fn rights(cluster: &str) -> String {
    format!(
        "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: 'open-cluster-management:managedcluster:{cluster}'}}
rules:
- {{apiGroups: [cluster.open-cluster-management.io], resources: [managedclusters], resourceNames: [{cluster}], verbs: [get, list, update, watch]}}
- {{apiGroups: [cluster.open-cluster-management.io], resources: [managedclusters/status], resourceNames: [{cluster}], verbs: [patch, update]}}
- {{apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests], verbs: [create, get, list, watch]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: 'open-cluster-management:managedcluster:{cluster}'}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'open-cluster-management:managedcluster:{cluster}'}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:open-cluster-management:{cluster}'}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: 'open-cluster-management:managedcluster:{cluster}', namespace: {cluster}}}
rules:
- {{apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [{CLUSTER_LEASE}], verbs: [get, patch, update]}}
- {{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}}
- {{apiGroups: [addon.open-cluster-management.io], resources: [managedclusteraddons], verbs: [get, list, watch]}}
- {{apiGroups: [addon.open-cluster-management.io], resources: [managedclusteraddons/status], verbs: [patch, update]}}
- {{apiGroups: [work.open-cluster-management.io], resources: [manifestworks], verbs: [get, list, patch, update, watch]}}
- {{apiGroups: [work.open-cluster-management.io], resources: [manifestworks/status], verbs: [patch, update]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: 'open-cluster-management:managedcluster:{cluster}', namespace: {cluster}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: 'open-cluster-management:managedcluster:{cluster}'}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:open-cluster-management:{cluster}'}}]
"
    )
}

/// Watches over one cluster, with the hub's own rights.
pub(super) struct HubSide {
    hub: Objects,
    cluster: String,
    grace: Duration,
    addons: Mirror,
    // Held so that it never stops.
    _always: watch::Sender<bool>,
}

impl HubSide {
    pub(super) async fn start(
        hub: &Objects,
        cluster: &str,
        grace: Duration,
        trigger: &ChangeTrigger,
        always: watch::Sender<bool>,
    ) -> Result<Self> {
        Ok(Self {
            hub: hub.clone(),
            cluster: cluster.to_owned(),
            grace,
            addons: Mirror::start(hub, ADDON, Some(cluster), trigger).await?,
            _always: always,
        })
    }
}

impl Step for HubSide {
    async fn step(&mut self) -> Result<()> {
        let cluster = self
            .hub
            .get(CLUSTER.api_version, CLUSTER.kind, None, &self.cluster)
            .await?;
        let Some(cluster) = cluster else {
            return Ok(());
        };
        let lost = self.lost().await?;
        self.publish_cluster_status(&cluster, lost).await?;
        if lost {
            self.publish_addon_status().await?;
        }
        self.label(&cluster).await
    }
}

impl HubSide {
    /// Whether the cluster has once been there and is no longer.
    async fn lost(&self) -> Result<bool> {
        let namespace = Some(self.cluster.as_str());
        let lease = self
            .hub
            .get(LEASE.api_version, LEASE.kind, namespace, CLUSTER_LEASE)
            .await?;
        Ok(lease.is_some_and(|lease| older(&lease, self.grace)))
    }

    async fn publish_cluster_status(&self, cluster: &DynamicObject, lost: bool) -> Result<()> {
        let mut conditions = list(&cluster.data["status"]);
        Condition::new(
            "HubAcceptedManagedCluster",
            "True",
            "HubClusterAdminAccepted",
            "Accepted by hub cluster admin",
        )
        .put(&mut conditions);
        if lost {
            Condition::new(AVAILABLE, "Unknown", STOPPED, STOPPED_MESSAGE).put(&mut conditions);
        }
        let patch = json!({ "conditions": conditions });
        write::status(&self.hub, CLUSTER, cluster, &patch).await
    }

    async fn publish_addon_status(&self) -> Result<()> {
        for addon in self.addons.all() {
            let mut conditions = list(&addon.data["status"]);
            Condition::new("Available", "Unknown", STOPPED, STOPPED_MESSAGE).put(&mut conditions);
            let patch = json!({ "conditions": conditions });
            write::status(&self.hub, ADDON, &addon, &patch).await?;
        }
        Ok(())
    }

    /// A label on the cluster for each add-on.
    async fn label(&self, cluster: &DynamicObject) -> Result<()> {
        let mut changes = serde_json::Map::new();
        let addons = self.addons.all();
        for addon in &addons {
            let key = format!("{FEATURE}{}", addon.name_any());
            let conditions = &addon.data["status"]["conditions"];
            let status = find(conditions, "Available")
                .map_or("", |it| it["status"].as_str().unwrap_or_default());
            let value = match status {
                "True" => "available",
                "False" => "unhealthy",
                _ => "unreachable",
            };
            if cluster.labels().get(&key).is_none_or(|old| old != value) {
                changes.insert(key, value.into());
            }
        }
        for key in cluster.labels().keys() {
            let name = key.strip_prefix(FEATURE);
            let stale =
                name.is_some_and(|name| !addons.iter().any(|addon| addon.name_any() == name));
            if stale {
                changes.insert(key.clone(), Value::Null);
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        // Without a precondition: no other client writes these.
        let patch = json!({ "metadata": { "labels": changes } });
        self.hub
            .patch(
                CLUSTER.api_version,
                CLUSTER.kind,
                None,
                &self.cluster,
                patch,
            )
            .await?;
        Ok(())
    }
}

/// Whether a lease was renewed longer ago than that. One that was never renewed is.
pub(super) fn older(lease: &DynamicObject, than: Duration) -> bool {
    let renewed = lease.data["spec"]["renewTime"].as_str();
    let renewed = renewed.and_then(|time| time.parse::<Timestamp>().ok());
    let than = SignedDuration::try_from(than).unwrap_or(SignedDuration::MAX);
    renewed.is_none_or(|renewed| Timestamp::now().duration_since(renewed) > than)
}
