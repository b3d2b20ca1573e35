//! Reconciles one add-on on one cluster: observe, decide, act, publish.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};
use parking_lot::Mutex;
use reeve_api::addon::ManagedClusterAddOn;
use reeve_runtime::events::{EventRecorder, InformationalEvent};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Action;
use serde_json::{Map, Value, json};

use super::act::{self, ActError, Written};
use super::build::{self, BuildError, Works};
use super::decide::{self, Plan, View};
use super::finalizers::Finalizers;
use super::observe::{self, Observer};
use super::reapply;
use super::shapes::{Shape, Shapes};
use crate::addon::Installation;
use crate::caches::Caches;
use crate::cma_config;
use crate::digest::Digest;
use crate::facts::{Environment, Inputs};
use crate::messages::{self, conditions as texts};
use crate::registration::decide as registration;
use crate::registration::{GrantError, Grants, Owners};
use crate::work::Live;
use crate::work_conditions::{self, Say};

/// How often to try to remove the finalizers of a terminating add-on before the next reconcile.
const FINAL_ATTEMPTS: usize = 5;

/// Why a reconcile failed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// An API call failed.
    #[error(transparent)]
    Act(#[from] ActError),
    /// The agent's access could not be granted.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// The hub's identity could not be read.
    #[error("cannot read the ClusterClaim id.k8s.io of the hub")]
    Identity(#[source] Box<kube::Error>),
}

/// Installs add-ons.
pub struct Installer {
    caches: Caches,
    observer: Observer,
    grants: Grants,
    events: EventRecorder,
    memory: Mutex<HashMap<Installation, Memory>>,
}

/// The memo of an installation: enough to skip a reconcile without changes.
#[derive(Clone, Default)]
struct Memory {
    /// The desired works, and the digest of their inputs.
    wanted: Option<(Digest, Arc<Shapes>)>,
    /// The digest and the generation of each write. The API server may store it with other bytes.
    settled: HashMap<ObjectKey, (Digest, i64)>,
    /// The published event messages.
    told: BTreeSet<String>,
}

/// The desired works: whole, or only their shapes from the memo.
struct Wanted {
    shapes: Result<Arc<Shapes>, BuildError>,
    works: Option<Works>,
}

/// One reconcile of an add-on.
struct Look<'a> {
    installation: &'a Installation,
    addon: &'a ManagedClusterAddOn,
    /// The owner of the works. `None` while the garbage collector deletes the add-on's dependents before the hook can
    /// run.
    owner: Option<OwnerReference>,
    inputs: Inputs,
    live: BTreeMap<ObjectKey, Arc<Live>>,
    /// In seconds of the Unix epoch.
    now: i64,
}

impl Installer {
    /// An installer without memos.
    pub fn new(
        caches: Caches,
        environment: Environment,
        grants: Grants,
        events: EventRecorder,
    ) -> Arc<Self> {
        Arc::new(Self {
            observer: Observer::new(caches.clone(), environment),
            caches,
            grants,
            events,
            memory: Mutex::default(),
        })
    }

    /// Reconciles one add-on.
    pub async fn reconcile(
        self: Arc<Self>,
        installation: Installation,
    ) -> Result<Action, InstallError> {
        let Some(addon) = self.caches.addon(&installation) else {
            if !self.caches.has_addon(&installation) {
                // On a restored hub, works of an add-on that this process has never seen may exist.
                let was_there = self.memory.lock().contains_key(&installation);
                if was_there {
                    self.clear(&installation).await?;
                }
                self.memory.lock().remove(&installation);
                self.grants.forget(&installation);
            }
            return Ok(Action::AwaitChange);
        };
        let is_deleting = addon.metadata.deletion_timestamp.is_some();
        let Some(cluster) = self.caches.cluster(&installation.cluster) else {
            // Without its cluster no agent is left to clean up.
            if is_deleting && !self.caches.knows_cluster(&installation.cluster) {
                return self.let_go(&installation, &addon).await;
            }
            return Ok(Action::AwaitChange);
        };
        if !is_deleting && !observe::is_adopted(&addon) {
            tracing::info!("{}", messages::no_owner(&installation));
            return Ok(Action::AwaitChange);
        }
        let inputs = self.observer.inputs(&installation, &addon, cluster).await;
        let look = Look {
            installation: &installation,
            addon: &addon,
            owner: (!Finalizers::is_foreground(addon.finalizers()))
                .then(|| observe::owner_reference(&*addon, true)),
            inputs: inputs.map_err(|error| InstallError::Identity(Box::new(error)))?,
            live: self.caches.works(&installation),
            now: Timestamp::now().as_second(),
        };
        self.look(&look).await
    }

    async fn look(&self, look: &Look<'_>) -> Result<Action, InstallError> {
        let status = look.addon.status.clone().unwrap_or_default();
        let mut fields = self.registration(look);
        let granted = self.grant(look).await;
        let mut said = vec![match &granted {
            Ok(()) => Say::yes(texts::REGISTRATION_APPLIED, texts::PERMISSION_APPLIED),
            Err(error) => Say::no(
                texts::REGISTRATION_APPLIED,
                (texts::PERMISSION_FAILED, texts::permission_failed(error)),
            ),
        }];
        // The add-on's configurations are known once its status lists the supported ones, and works that are
        // installed before that would be replaced at once.
        let is_introduced = !fields.contains_key("supportedConfigs");
        let mut outcome = Outcome::default();
        if is_introduced || look.inputs.addon.is_deleting {
            outcome = self.deploy(look, &status.conditions).await;
            said.append(&mut outcome.said);
        }
        let conditions = work_conditions::after(&status.conditions, &said, Timestamp::now());
        if conditions != status.conditions {
            fields.insert("conditions".to_owned(), json!(conditions));
        }
        let mut is_current = !outcome.was_overtaken;
        let is_told =
            fields.is_empty() || act::tell(&self.caches.client, look.addon, fields).await?;
        if let Some(error) = outcome.error {
            return Err(error.into());
        }
        // The hook that has succeeded is deleted by now: with its finalizer it would run once more. So a deletion,
        // which cannot be undone, continues whatever else has changed meanwhile.
        let is_final = look.inputs.addon.is_deleting;
        if let Some(edit) = outcome
            .plan
            .finalizers
            .filter(|_| is_current && (is_told || is_final))
        {
            let attempts = if is_final { FINAL_ATTEMPTS } else { 1 };
            is_current = false;
            for _ in 0..attempts {
                is_current = act::finalize(&self.caches.client, look.addon, &edit).await?;
                if is_current {
                    break;
                }
            }
        }
        is_current &= is_told;
        granted?;
        if is_current {
            let spread = spread(look.installation);
            let requeue_after = reapply::requeue_after(&look.inputs, &look.live, look.now);
            Ok(Action::RequeueAfter(
                requeue_after.map_or(spread, |after| after.min(spread)),
            ))
        } else {
            Ok(Action::Requeue)
        }
    }

    /// The fields of the status for the agent's registration and the hashes of its configurations.
    fn registration(&self, look: &Look<'_>) -> Map<String, Value> {
        let status = look.addon.status.clone().unwrap_or_default();
        let namespace = look.inputs.namespace();
        let mut fields = registration::fields(look.installation, &status, &namespace);
        let asked = &look.addon.spec.configs;
        let observed = cma_config::observed(&self.caches, &status.config_references, asked);
        if let Some(references) = observed {
            fields.insert("configReferences".to_owned(), json!(references));
        }
        fields
    }

    async fn grant(&self, look: &Look<'_>) -> Result<(), GrantError> {
        // A terminating add-on keeps its access, or its namespace accepts no new objects.
        if look.inputs.addon.is_deleting {
            return Ok(());
        }
        let definition = self.observer.definition(look.installation.addon);
        let owners = Owners {
            addon: observe::owner_reference(look.addon, false),
            definition: definition.map(|found| observe::owner_reference(&*found, false)),
        };
        let status = look.addon.status.as_ref();
        let registered =
            status.and_then(|status| registration::token_subject(look.installation, status));
        self.grants
            .give(look.installation, &owners, registered)
            .await
    }

    async fn deploy(
        &self,
        look: &Look<'_>,
        present: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition],
    ) -> Outcome {
        let memory = self.memory.lock().get(look.installation).cloned();
        let memory = memory.unwrap_or_default();
        let mut wanted = self.wanted(look, &memory);
        let finalizers = look.addon.metadata.finalizers.clone().unwrap_or_default();
        let is_settled = |key: &ObjectKey, shape: &Shape, live: &Live| {
            memory.settled.get(key) == Some(&(shape.digest, live.generation))
        };
        let plan = decide::decide(&View {
            inputs: &look.inputs,
            finalizers: &finalizers,
            conditions: present,
            live: &look.live,
            wanted: wanted.shapes.as_deref(),
            is_settled: &is_settled,
        });
        let mut outcome = Outcome {
            said: plan.say.clone(),
            plan,
            ..Outcome::default()
        };
        if !outcome.plan.write.is_empty() && wanted.works.is_none() {
            wanted.works = build(look).ok();
        }
        self.act(look, wanted.works.as_ref(), &mut outcome).await;
        outcome
    }

    /// The desired works. They are built anew only when one of their inputs has changed.
    fn wanted(&self, look: &Look<'_>, memory: &Memory) -> Wanted {
        let layouts = layouts(look);
        let config_hash = config_hash(look);
        let key = Digest::of(&(&look.inputs, &layouts, &config_hash, &look.owner));
        if let Some((known, shapes)) = &memory.wanted
            && *known == key
        {
            return Wanted {
                shapes: Ok(Arc::clone(shapes)),
                works: None,
            };
        }
        match build(look) {
            Ok(works) => {
                let shapes = Arc::new(Shapes::of(&works));
                self.complain(look, &works.complaints);
                let mut memory = self.memory.lock();
                let memory = memory.entry(look.installation.clone()).or_default();
                memory.wanted = Some((key, Arc::clone(&shapes)));
                Wanted {
                    shapes: Ok(shapes),
                    works: Some(works),
                }
            }
            Err(error) => Wanted {
                shapes: Err(error),
                works: None,
            },
        }
    }

    /// Emits an event for each ignored setting, once.
    fn complain(&self, look: &Look<'_>, complaints: &[String]) {
        let complaints: BTreeSet<String> = complaints.iter().cloned().collect();
        let told = {
            let mut memory = self.memory.lock();
            let memory = memory.entry(look.installation.clone()).or_default();
            std::mem::replace(&mut memory.told, complaints.clone())
        };
        for complaint in complaints.difference(&told) {
            tracing::warn!(installation = %look.installation, "{complaint}");
            let event = InformationalEvent {
                reason: messages::NOT_HEEDED,
                action: messages::NOT_HEEDED,
                note: complaint,
                warning: true,
            };
            self.events.emit_event(&look.addon.object_ref(&()), &event);
        }
    }

    async fn act(&self, look: &Look<'_>, works: Option<&Works>, outcome: &mut Outcome) {
        let client = &self.caches.client;
        for key in &outcome.plan.write {
            let Some(desired) = works.and_then(|works| works.get(key)) else {
                continue;
            };
            let live = look.live.get(key).map(|live| &**live);
            match act::write(client, desired, live).await {
                Ok(Written::Stored(generation)) => {
                    let mut memory = self.memory.lock();
                    let memory = memory.entry(look.installation.clone()).or_default();
                    let written = (desired.digest, generation);
                    memory.settled.insert(key.clone(), written);
                }
                Ok(Written::Overtaken) => outcome.was_overtaken = true,
                Err(error) => {
                    let is_managed = key.namespace == look.installation.cluster;
                    let kind = if is_managed {
                        texts::MANIFEST_APPLIED
                    } else {
                        texts::HOSTING_MANIFEST_APPLIED
                    };
                    let message = texts::work_refused(&error);
                    outcome
                        .said
                        .push(Say::no(kind, (texts::WORK_FAILED, message)));
                    outcome.error = Some(error);
                }
            }
        }
        for key in &outcome.plan.delete {
            let Some(live) = look.live.get(key) else {
                continue;
            };
            if let Err(error) = act::delete(client, key, live).await {
                outcome.error = Some(error);
            }
        }
    }

    /// Deletes the works of a deleted add-on that the garbage collector does not.
    async fn clear(&self, installation: &Installation) -> Result<(), ActError> {
        let live = self.caches.works(installation);
        for key in decide::leftovers(installation, &live) {
            if let Some(work) = live.get(&key).filter(|work| !work.is_deleting) {
                act::delete(&self.caches.client, &key, work).await?;
            }
        }
        Ok(())
    }

    async fn let_go(
        &self,
        installation: &Installation,
        addon: &ManagedClusterAddOn,
    ) -> Result<Action, InstallError> {
        self.clear(installation).await?;
        let present = addon.metadata.finalizers.clone().unwrap_or_default();
        let mut finalizers = Finalizers::new(&present, true);
        finalizers.drop_all();
        if let Some(edit) = finalizers.change()
            && !act::finalize(&self.caches.client, addon, &edit).await?
        {
            return Ok(Action::Requeue);
        }
        Ok(Action::AwaitChange)
    }
}

/// The results of a plan.
#[derive(Default)]
struct Outcome {
    plan: Plan,
    said: Vec<Say>,
    was_overtaken: bool,
    error: Option<ActError>,
}

fn layouts(look: &Look<'_>) -> build::Layouts {
    observe::layouts(&look.inputs, &look.live, look.now)
}

fn config_hash(look: &Look<'_>) -> Option<String> {
    let references = look.addon.status.as_ref().map(|s| &s.config_references[..]);
    build::config_hash(references.unwrap_or_default())
}

fn build(look: &Look<'_>) -> Result<Works, BuildError> {
    let hash = config_hash(look);
    build::build(
        &look.inputs,
        look.owner.as_ref(),
        hash.as_deref(),
        &layouts(look),
    )
}

/// When to check the access again: add-ons differ, so that not all are checked at once.
fn spread(installation: &Installation) -> Duration {
    let digest = Digest::of(&installation.to_string()).to_string();
    let seconds = u64::from_str_radix(&digest[..4], 16).unwrap_or_default() % 3600;
    Grants::look_again() + Duration::from_secs(seconds)
}
