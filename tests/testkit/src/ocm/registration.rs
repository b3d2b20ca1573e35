//! Credentials of add-ons for the hub.

use std::collections::HashMap;

use anyhow::{Context, Result};
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::agents::Agents;
use super::condition::{Condition, list};
use super::csr::{self, Request, RequestState, SIGNER};
use super::mirror::{ChangeTrigger, Mirror, Step};
use super::names::{ADDON, REQUEST};
use super::secret::{self, Place, place_of};
use super::write;

/// The registration agent's part in add-ons.
pub(super) struct Registration {
    agents: Agents,
    addons: Mirror,
    // Rings when a request has been answered.
    _requests: Mirror,
    known: HashMap<String, Known>,
}

/// An add-on with credentials, or on the way to them.
#[derive(Debug)]
struct Known {
    place: Place,
    subject: Value,
    progress: Progress,
}

#[derive(Debug)]
enum Progress {
    Nothing,
    Requested(Request),
    /// The certificate and its key, in PEM.
    Issued(String, String),
}

impl Registration {
    pub(super) async fn start(agents: Agents, trigger: &ChangeTrigger) -> Result<Self> {
        let addons = Mirror::start(&agents.hub, ADDON, Some(&agents.cluster), trigger).await?;
        let requests = Mirror::start(&agents.hub, REQUEST, None, trigger).await?;
        Ok(Self {
            agents,
            addons,
            _requests: requests,
            known: HashMap::new(),
        })
    }

    /// The credentials of add-ons that are gone go too; those of deleted ones stay until then.
    async fn forget(&mut self, addons: &[std::sync::Arc<DynamicObject>]) -> Result<()> {
        let gone: Vec<String> = self
            .known
            .keys()
            .filter(|name| !addons.iter().any(|addon| addon.name_any() == **name))
            .cloned()
            .collect();
        for name in gone {
            if let Some(known) = self.known.get(&name) {
                secret::remove(&self.agents, &name, &known.place).await?;
            }
            self.known.remove(&name);
        }
        Ok(())
    }

    async fn reconcile(&mut self, addon: &DynamicObject) -> Result<()> {
        if addon.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        let registrations = addon.data["status"]["registrations"].as_array();
        let wanted = registrations
            .into_iter()
            .flatten()
            .find(|registration| registration["signerName"] == SIGNER);
        let Some(wanted) = wanted else {
            return Ok(());
        };
        if addon.data["status"]["kubeClientDriver"] != "csr" {
            // The next round sees the add-on with its driver.
            let patch = json!({ "kubeClientDriver": "csr" });
            return write::status(&self.agents.hub, ADDON, addon, &patch).await;
        }
        let name = addon.name_any();
        let place = place_of(addon);
        let subject = &wanted["subject"];
        let current = self.known.get(&name);
        if current.is_none_or(|old| old.place != place || old.subject != *subject) {
            self.begin(&name, place, subject).await?;
        }
        let Some(known) = self.known.get_mut(&name) else {
            return Ok(());
        };
        if known.advance(&self.agents, &name).await? {
            rotated(&self.agents, addon).await?;
        }
        Ok(())
    }

    async fn begin(&mut self, name: &str, place: Place, subject: &Value) -> Result<()> {
        if let Some(old) = self.known.get(name) {
            secret::remove(&self.agents, name, &old.place).await?;
        }
        let known = Known {
            place,
            subject: subject.clone(),
            progress: Progress::Nothing,
        };
        self.known.insert(name.to_owned(), known);
        Ok(())
    }
}

impl Known {
    /// Makes as much progress as possible; returns whether the secret exists.
    async fn advance(&mut self, agents: &Agents, addon: &str) -> Result<bool> {
        if let Progress::Requested(request) = &self.progress {
            match csr::request_state(agents, request).await? {
                RequestState::Waiting => return Ok(false),
                RequestState::Lost => self.progress = Progress::Nothing,
                RequestState::Issued(certificate) => {
                    self.progress = Progress::Issued(certificate, request.key.clone());
                }
            }
        }
        let Progress::Issued(certificate, key) = &self.progress else {
            self.progress = Progress::Requested(csr::make(agents, addon, &self.subject).await?);
            return Ok(false);
        };
        if !secret::present(agents, addon, &self.place).await? {
            // Fails until there is a namespace for it: tried again until then.
            let written = secret::write(agents, addon, &self.place, (certificate, key)).await;
            written.with_context(|| format!("writing the credentials of {addon}"))?;
        }
        Ok(true)
    }
}

async fn rotated(agents: &Agents, addon: &DynamicObject) -> Result<()> {
    let mut conditions = list(&addon.data["status"]);
    Condition::new(
        "ClusterCertificateRotated",
        "True",
        "ClientCertificateUpdated",
        "the client certificate was issued and stored",
    )
    .put(&mut conditions);
    let patch = json!({ "conditions": conditions });
    write::status(&agents.hub, ADDON, addon, &patch).await
}

impl Step for Registration {
    async fn step(&mut self) -> Result<()> {
        let addons = self.addons.all();
        self.forget(&addons).await?;
        let mut outcome = Ok(());
        for addon in &addons {
            outcome = outcome.and(self.reconcile(addon).await);
        }
        outcome
    }
}
