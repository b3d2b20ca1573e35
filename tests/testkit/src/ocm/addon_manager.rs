//! The hub's add-on manager: owners, configurations and progress of add-ons.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::condition::list;
use super::configuration::{self, Reference};
use super::journal::Journal;
use super::mirror::{ChangeTrigger, Mirror, Pace, Step, Task, run};
use super::names::{ADDON, ADDON_API, ADDON_DEFINITION, CONFIG, LIFECYCLE, WORK};
use super::{progress, write};
use crate::Objects;

/// Everything is watched; this is for what a watch has missed.
const TICK: Duration = Duration::from_secs(10);

/// The stand-in for OCM's add-on manager. It makes `ManagedClusterAddOn`s the property of their
/// `ClusterManagementAddOn`, publishes which configurations apply to them, and the progress of these.
/// It ends when it is dropped.
pub struct AddonManager {
    journal: Journal,
    _open: watch::Sender<bool>,
    _task: Task,
}

impl AddonManager {
    /// Starts on a hub that has the CRDs of [`crate::install_addon_crds`].
    pub async fn start(hub: &Objects) -> Result<Self> {
        let trigger = ChangeTrigger::default();
        let (open, open_receiver) = watch::channel(true);
        let journal = Journal::default();
        let state = State {
            hub: hub.clone(),
            definitions: Mirror::start(hub, ADDON_DEFINITION, None, &trigger).await?,
            addons: Mirror::start(hub, ADDON, None, &trigger).await?,
            configs: Mirror::start(hub, CONFIG, None, &trigger).await?,
            works: Mirror::start(hub, WORK, None, &trigger).await?,
        };
        let pace = Pace {
            trigger,
            tick: TICK,
            open: open_receiver,
            journal: journal.clone(),
        };
        Ok(Self {
            journal,
            _open: open,
            _task: run("the add-on manager".to_owned(), state, pace),
        })
    }

    /// What it could not do, for a failed test to print.
    pub fn log(&self) -> String {
        self.journal.text()
    }
}

struct State {
    hub: Objects,
    definitions: Mirror,
    addons: Mirror,
    configs: Mirror,
    works: Mirror,
}

impl Step for State {
    async fn step(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        for definition in self.definitions.all() {
            outcome = outcome.and(self.publish_defaults(&definition).await);
        }
        for addon in self.addons.all() {
            outcome = outcome.and(self.reconcile(&addon).await);
        }
        outcome
    }
}

impl State {
    /// The hashes are left to the add-on's own controller, as OCM leaves them.
    async fn publish_defaults(&self, definition: &DynamicObject) -> Result<()> {
        if !managed(definition) {
            return Ok(());
        }
        let old = &definition.data["status"]["defaultconfigReferences"];
        let new = configuration::defaults(&definition.data["spec"], old);
        if old.is_null() && new.is_empty() {
            return Ok(());
        }
        let patch = json!({ "defaultconfigReferences": new });
        write::status(&self.hub, ADDON_DEFINITION, definition, &patch).await
    }

    async fn reconcile(&self, addon: &Arc<DynamicObject>) -> Result<()> {
        let Some(definition) = self.definitions.named(&addon.name_any()) else {
            return Ok(());
        };
        if addon.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        if let Some(owners) = owners(addon, &definition) {
            let patch = json!({ "ownerReferences": owners });
            // The next round sees the add-on with its owner.
            write::metadata(&self.hub, ADDON, addon, patch).await?;
            return Ok(());
        }
        if !managed(&definition) {
            return Ok(());
        }
        let references = configuration::references(addon, &definition, &self.configs)?;
        self.publish_status(addon, references).await
    }

    async fn publish_status(
        &self,
        addon: &DynamicObject,
        references: Vec<Reference>,
    ) -> Result<()> {
        let works = progress::works_of(addon, &self.works);
        let state = progress::of(&works, &references);
        let applied = matches!(state, progress::State::Completed);
        let old = &addon.data["status"]["configReferences"];
        let mut conditions = list(&addon.data["status"]);
        configuration::configured(&references).put(&mut conditions);
        state.condition().put(&mut conditions);
        let references: Vec<Value> = references
            .iter()
            .map(|reference| reference.to_json(old, applied))
            .collect();
        let patch = if old.is_null() && references.is_empty() {
            json!({ "conditions": conditions })
        } else {
            json!({ "conditions": conditions, "configReferences": references })
        };
        write::status(&self.hub, ADDON, addon, &patch).await
    }
}

/// Whether the add-on manager has to do with the add-ons of this offer, beyond owning them.
fn managed(definition: &DynamicObject) -> bool {
    definition
        .annotations()
        .get(LIFECYCLE)
        .is_none_or(|lifecycle| lifecycle == "addon-manager")
}

/// The owners that the add-on should have, when it has others.
fn owners(addon: &DynamicObject, definition: &DynamicObject) -> Option<Value> {
    let old = addon.owner_references();
    let uid = definition.metadata.uid.clone().unwrap_or_default();
    if old.iter().any(|owner| owner.uid == uid) {
        return None;
    }
    let mut owners: Vec<Value> = old
        .iter()
        // The offer may have been created anew.
        .filter(|owner| owner.kind != ADDON_DEFINITION.kind)
        .map(|owner| json!(owner))
        .collect();
    owners.push(json!({
        "apiVersion": ADDON_API,
        "kind": ADDON_DEFINITION.kind,
        "name": definition.name_any(),
        "uid": uid,
        "controller": true,
        "blockOwnerDeletion": true,
    }));
    Some(owners.into())
}
