//! What the registration agent publishes of its cluster: its lease, its version and its claims.

use anyhow::{Context, Result};
use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::agents::Agents;
use super::condition::{Condition, list};
use super::mirror::{ChangeTrigger, Mirror, Step};
use super::names::{CLAIM, CLUSTER, CLUSTER_LEASE, LEASE};
use super::write;

pub(super) struct Membership {
    agents: Agents,
    claims: Mirror,
}

impl Membership {
    pub(super) async fn start(agents: Agents, trigger: &ChangeTrigger) -> Result<Self> {
        let claims = Mirror::start(&agents.managed, CLAIM, None, trigger).await?;
        Ok(Self { agents, claims })
    }

    async fn renew(&self) -> Result<()> {
        let namespace = Some(self.agents.cluster.as_str());
        let (api, _) = self
            .agents
            .hub
            .api(LEASE.api_version, LEASE.kind, namespace)
            .await?;
        let now = Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
            .to_string();
        let spec = json!({ "holderIdentity": CLUSTER_LEASE, "leaseDurationSeconds": 60, "renewTime": now });
        let patch = Patch::Merge(json!({ "spec": spec }));
        match api
            .patch(CLUSTER_LEASE, &PatchParams::default(), &patch)
            .await
        {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            outcome => {
                outcome.context("renewing the lease of the cluster")?;
                return Ok(());
            }
        }
        let lease = serde_json::from_value(json!({
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": { "name": CLUSTER_LEASE },
            "spec": spec,
        }))?;
        let created = api.create(&PostParams::default(), &lease).await;
        created.context("creating the lease of the cluster")?;
        Ok(())
    }

    async fn publish_status(&self) -> Result<()> {
        let name = &self.agents.cluster;
        let hub = &self.agents.hub;
        let cluster = hub
            .get(CLUSTER.api_version, CLUSTER.kind, None, name)
            .await?;
        let Some(cluster) = cluster else {
            return Ok(());
        };
        let version = self.agents.managed.client().apiserver_version().await;
        let version = version.context("asking the managed cluster for its version")?;
        let mut conditions = list(&cluster.data["status"]);
        let joined = "Managed cluster joined";
        Condition::new(
            "ManagedClusterJoined",
            "True",
            "ManagedClusterJoined",
            joined,
        )
        .put(&mut conditions);
        let available = "Managed cluster is available";
        Condition::new(
            "ManagedClusterConditionAvailable",
            "True",
            "ManagedClusterAvailable",
            available,
        )
        .put(&mut conditions);
        let patch = json!({
            "conditions": conditions,
            "clusterClaims": self.claims(),
            "version": { "kubernetes": version.git_version },
        });
        write::status(hub, CLUSTER, &cluster, &patch).await
    }

    fn claims(&self) -> Vec<Value> {
        let claims = self.claims.all();
        let claims = claims
            .iter()
            .map(|claim| json!({ "name": claim.name_any(), "value": claim.data["spec"]["value"] }));
        claims.collect()
    }
}

impl Step for Membership {
    async fn step(&mut self) -> Result<()> {
        self.renew().await?;
        self.publish_status().await
    }
}
