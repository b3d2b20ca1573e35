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
use crate::registration::{GrantError, Grants};
use crate::work::Live;
use crate::work_conditions::{self, ConditionChange};

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
    memo: Mutex<HashMap<Installation, Memo>>,
}

/// The memo of an installation: enough to skip a reconcile without changes.
#[derive(Clone, Default)]
struct Memo {
    /// The desired works, and the digest of their inputs.
    wanted: Option<(Digest, Arc<Shapes>)>,
    /// The digest and the generation of each write. The API server may store it with other bytes.
    settled: HashMap<ObjectKey, (Digest, i64)>,
    /// The published event messages.
    emitted: BTreeSet<String>,
}

/// The desired works: whole, or only their shapes from the memo.
struct DesiredWorks {
    shapes: Result<Arc<Shapes>, BuildError>,
    works: Option<Works>,
}

/// One reconcile of an add-on.
struct AddOnState<'a> {
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
            memo: Mutex::default(),
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
                let is_known = self.memo.lock().contains_key(&installation);
                if is_known {
                    self.clear(&installation).await?;
                }
                self.memo.lock().remove(&installation);
                self.grants.forget(&installation);
            }
            return Ok(Action::AwaitChange);
        };
        let is_deleting = addon.metadata.deletion_timestamp.is_some();
        let Some(cluster) = self.caches.cluster(&installation.cluster) else {
            // Without its cluster no agent is left to clean up.
            if is_deleting && !self.caches.knows_cluster(&installation.cluster) {
                return self.release(&installation, &addon).await;
            }
            return Ok(Action::AwaitChange);
        };
        if !is_deleting && !observe::is_adopted(&addon) {
            tracing::info!("{}", messages::no_owner(&installation));
            return Ok(Action::AwaitChange);
        }
        let inputs = self.observer.inputs(&installation, &addon, cluster).await;
        let state = AddOnState {
            installation: &installation,
            addon: &addon,
            owner: (!Finalizers::is_foreground(addon.finalizers()))
                .then(|| observe::owner_reference(&*addon, true)),
            inputs: inputs.map_err(|error| InstallError::Identity(Box::new(error)))?,
            live: self.caches.works(&installation),
            now: Timestamp::now().as_second(),
        };
        self.reconcile_addon(&state).await
    }

    async fn reconcile_addon(&self, state: &AddOnState<'_>) -> Result<Action, InstallError> {
        let status = state.addon.status.clone().unwrap_or_default();
        let mut fields = self.registration(state);
        let granted = self.grant(state).await;
        let mut condition_changes = vec![match &granted {
            Ok(()) => {
                ConditionChange::set_true(texts::REGISTRATION_APPLIED, texts::PERMISSION_APPLIED)
            }
            Err(error) => ConditionChange::set_false(
                texts::REGISTRATION_APPLIED,
                (texts::PERMISSION_FAILED, texts::permission_failed(error)),
            ),
        }];
        // The add-on's configurations are known once its status lists the supported ones, and works that are
        // installed before that would be replaced at once.
        let is_introduced = !fields.contains_key("supportedConfigs");
        let mut outcome = Outcome::default();
        if is_introduced || state.inputs.addon.is_deleting {
            outcome = self.deploy(state, &status.conditions).await;
            condition_changes.append(&mut outcome.condition_changes);
        }
        let conditions =
            work_conditions::after(&status.conditions, &condition_changes, Timestamp::now());
        if conditions != status.conditions {
            fields.insert("conditions".to_owned(), json!(conditions));
        }
        let mut is_current = !outcome.had_conflict;
        let is_status_written = fields.is_empty()
            || act::write_status(&self.caches.client, state.addon, fields).await?;
        if let Some(error) = outcome.error {
            return Err(error.into());
        }
        // The hook that has succeeded is deleted by now: with its finalizer it would run once more. So a deletion,
        // which cannot be undone, continues whatever else has changed meanwhile.
        let is_final = state.inputs.addon.is_deleting;
        if let Some(edit) = outcome
            .plan
            .finalizers
            .filter(|_| is_current && (is_status_written || is_final))
        {
            let attempts = if is_final { FINAL_ATTEMPTS } else { 1 };
            is_current = false;
            for _ in 0..attempts {
                is_current = act::finalize(&self.caches.client, state.addon, &edit).await?;
                if is_current {
                    break;
                }
            }
        }
        is_current &= is_status_written;
        granted?;
        if is_current {
            let spread = spread(state.installation);
            let requeue_after = reapply::requeue_after(&state.inputs, &state.live, state.now);
            Ok(Action::RequeueAfter(
                requeue_after.map_or(spread, |after| after.min(spread)),
            ))
        } else {
            Ok(Action::Requeue)
        }
    }

    /// The fields of the status for the agent's registration and the hashes of its configurations.
    fn registration(&self, state: &AddOnState<'_>) -> Map<String, Value> {
        let status = state.addon.status.clone().unwrap_or_default();
        let namespace = state.inputs.namespace();
        let mut fields = registration::fields(state.installation, &status, &namespace);
        let asked = &state.addon.spec.configs;
        let observed = cma_config::observed(&self.caches, &status.config_references, asked);
        if let Some(references) = observed {
            fields.insert("configReferences".to_owned(), json!(references));
        }
        fields
    }

    async fn grant(&self, state: &AddOnState<'_>) -> Result<(), GrantError> {
        // A terminating add-on keeps its access, or its namespace accepts no new objects.
        if state.inputs.addon.is_deleting {
            return Ok(());
        }
        let owner = observe::owner_reference(state.addon, false);
        let status = state.addon.status.as_ref();
        let registered =
            status.and_then(|status| registration::token_subject(state.installation, status));
        self.grants
            .grant_access(state.installation, owner, registered)
            .await
    }

    async fn deploy(
        &self,
        state: &AddOnState<'_>,
        present: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition],
    ) -> Outcome {
        let memo = self.memo.lock().get(state.installation).cloned();
        let memo = memo.unwrap_or_default();
        let mut wanted = self.wanted(state, &memo);
        let finalizers = state.addon.metadata.finalizers.clone().unwrap_or_default();
        let is_settled = |key: &ObjectKey, shape: &Shape, live: &Live| {
            memo.settled.get(key) == Some(&(shape.digest, live.generation))
        };
        let plan = decide::decide(&View {
            inputs: &state.inputs,
            finalizers: &finalizers,
            conditions: present,
            live: &state.live,
            wanted: wanted.shapes.as_deref(),
            is_settled: &is_settled,
        });
        let mut outcome = Outcome {
            condition_changes: plan.condition_changes.clone(),
            plan,
            ..Outcome::default()
        };
        if !outcome.plan.write.is_empty() && wanted.works.is_none() {
            wanted.works = build(state).ok();
        }
        self.act(state, wanted.works.as_ref(), &mut outcome).await;
        outcome
    }

    /// The desired works. They are built anew only when one of their inputs has changed.
    fn wanted(&self, state: &AddOnState<'_>, memo: &Memo) -> DesiredWorks {
        let layouts = layouts(state);
        let config_hash = config_hash(state);
        let key = Digest::of(&(&state.inputs, &layouts, &config_hash, &state.owner));
        if let Some((known, shapes)) = &memo.wanted
            && *known == key
        {
            return DesiredWorks {
                shapes: Ok(Arc::clone(shapes)),
                works: None,
            };
        }
        match build(state) {
            Ok(works) => {
                let shapes = Arc::new(Shapes::of(&works));
                self.emit_ignored_settings(state, &works.ignored_settings);
                let mut memo = self.memo.lock();
                let memo = memo.entry(state.installation.clone()).or_default();
                memo.wanted = Some((key, Arc::clone(&shapes)));
                DesiredWorks {
                    shapes: Ok(shapes),
                    works: Some(works),
                }
            }
            Err(error) => DesiredWorks {
                shapes: Err(error),
                works: None,
            },
        }
    }

    /// Emits an event for each ignored setting, once.
    fn emit_ignored_settings(&self, state: &AddOnState<'_>, ignored_settings: &[String]) {
        let ignored_settings: BTreeSet<String> = ignored_settings.iter().cloned().collect();
        let emitted = {
            let mut memo = self.memo.lock();
            let memo = memo.entry(state.installation.clone()).or_default();
            std::mem::replace(&mut memo.emitted, ignored_settings.clone())
        };
        for ignored_setting in ignored_settings.difference(&emitted) {
            tracing::warn!(installation = %state.installation, "{ignored_setting}");
            let event = InformationalEvent {
                reason: messages::INVALID_CONFIGURATION,
                action: messages::INVALID_CONFIGURATION,
                note: ignored_setting,
                warning: true,
            };
            self.events.emit_event(&state.addon.object_ref(&()), &event);
        }
    }

    async fn act(&self, state: &AddOnState<'_>, works: Option<&Works>, outcome: &mut Outcome) {
        let client = &self.caches.client;
        for key in &outcome.plan.write {
            let Some(desired) = works.and_then(|works| works.get(key)) else {
                continue;
            };
            let live = state.live.get(key).map(|live| &**live);
            match act::write(client, desired, live).await {
                Ok(Written::Stored(generation)) => {
                    let mut memo = self.memo.lock();
                    let memo = memo.entry(state.installation.clone()).or_default();
                    let written = (desired.digest, generation);
                    memo.settled.insert(key.clone(), written);
                }
                Ok(Written::Conflict) => outcome.had_conflict = true,
                Err(error) => {
                    let is_managed = key.namespace == state.installation.cluster;
                    let kind = if is_managed {
                        texts::MANIFEST_APPLIED
                    } else {
                        texts::HOSTING_MANIFEST_APPLIED
                    };
                    let message = texts::work_refused(&error);
                    outcome.condition_changes.push(ConditionChange::set_false(
                        kind,
                        (texts::WORK_FAILED, message),
                    ));
                    outcome.error = Some(error);
                }
            }
        }
        for key in &outcome.plan.delete {
            let Some(live) = state.live.get(key) else {
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

    async fn release(
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
    condition_changes: Vec<ConditionChange>,
    had_conflict: bool,
    error: Option<ActError>,
}

fn layouts(state: &AddOnState<'_>) -> build::Layouts {
    observe::layouts(&state.inputs, &state.live, state.now)
}

fn config_hash(state: &AddOnState<'_>) -> Option<String> {
    let references = state
        .addon
        .status
        .as_ref()
        .map(|s| &s.config_references[..]);
    build::config_hash(references.unwrap_or_default())
}

fn build(state: &AddOnState<'_>) -> Result<Works, BuildError> {
    let hash = config_hash(state);
    build::build(
        &state.inputs,
        state.owner.as_ref(),
        hash.as_deref(),
        &layouts(state),
    )
}

/// When to check the access again: add-ons differ, so that not all are checked at once.
fn spread(installation: &Installation) -> Duration {
    let digest = Digest::of(&installation.to_string()).to_string();
    let seconds = u64::from_str_radix(&digest[..4], 16).unwrap_or_default() % 3600;
    Grants::recheck_interval() + Duration::from_secs(seconds)
}
