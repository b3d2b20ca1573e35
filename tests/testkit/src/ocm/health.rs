//! Whether add-ons are there: by the leases that their agents renew.

use anyhow::Result;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::json;

use super::agents::Agents;
use super::condition::{Condition, list};
use super::hub_side::older;
use super::mirror::{ChangeTrigger, Mirror, Step};
use super::names::{ADDON, LEASE};
use super::secret::{Place, place_of};
use super::write;

pub(super) struct Health {
    agents: Agents,
    addons: Mirror,
}

impl Health {
    pub(super) async fn start(agents: Agents, _bell: &ChangeTrigger) -> Result<Self> {
        // With a trigger of its own: OCM checks leases at an interval, whatever changes.
        let addons = Mirror::start(
            &agents.hub,
            ADDON,
            Some(&agents.cluster),
            &ChangeTrigger::default(),
        )
        .await?;
        Ok(Self { agents, addons })
    }

    async fn publish_status(&self, addon: &DynamicObject) -> Result<()> {
        if addon.data["status"]["healthCheck"]["mode"] == "Customized" {
            return Ok(());
        }
        let name = addon.name_any();
        let place = place_of(addon);
        let lease = place
            .objects(&self.agents)
            .get(LEASE.api_version, LEASE.kind, Some(&place.namespace), &name)
            .await?;
        let condition = match lease {
            None => Condition::new(
                "Available",
                "Unknown",
                "ManagedClusterAddOnLeaseNotFound",
                &unknown(&name, &place),
            ),
            Some(lease) if older(&lease, self.agents.options.lease_grace) => Condition::new(
                "Available",
                "False",
                "ManagedClusterAddOnLeaseUpdateStopped",
                &format!("{name} add-on is not available."),
            ),
            Some(_) => Condition::new(
                "Available",
                "True",
                "ManagedClusterAddOnLeaseUpdated",
                &format!("{name} add-on is available."),
            ),
        };
        let mut conditions = list(&addon.data["status"]);
        condition.put(&mut conditions);
        let patch = json!({ "conditions": conditions });
        write::status(&self.agents.hub, ADDON, addon, &patch).await
    }
}

fn unknown(name: &str, place: &Place) -> String {
    let hint = place.host.as_ref().map(|host| {
        format!(
            " No lease found on hosting cluster \"{host}\"; verify it matches the cluster where this \
             managed cluster's klusterlet actually runs."
        )
    });
    format!(
        "The status of {name} add-on is unknown.{}",
        hint.unwrap_or_default()
    )
}

impl Step for Health {
    async fn step(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        for addon in self.addons.all() {
            outcome = outcome.and(self.publish_status(&addon).await);
        }
        outcome
    }
}
