//! Reconciles `OperatorPolicy` objects: one operator of the Operator Lifecycle Manager (OLM) each.
//!
//! `observe` resolves the spec and reads OLM's objects, the pure `decide` makes ordered steps of them, `act` performs
//! these, `status` makes the new status of their states, and `publish` writes it after the compliance events.
//! [`claims`] is what policies know of each other.

mod act;
mod claims;
mod decide;
mod observe;
mod publish;
mod status;
mod triggers;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use reeve_api::RemediationAction;
use reeve_api::operator_policy::{OperatorPolicy, OperatorPolicyStatus};
use reeve_runtime::dependencies::DependencyWatches;
use reeve_runtime::events::EventRecorder;
use reeve_runtime::kinds::Kinds;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::{Action, Queue};
use reeve_runtime::secrets::Secrets;
use reeve_runtime::watch::{Cached, Change, Store};
use reeve_templates_engine::resolver::Resolver;

use crate::error::PolicyError;
use crate::evaluate::cluster::{KindLookup, Live, ReadMode};
use crate::evaluate::encryption_keys::{self, KeyPair};
use crate::evaluate::spec::{Templating, templating};
use crate::evaluate::templates::Templates;
use crate::hub_templates::HubTemplates;
use crate::messages::operator as messages;
use crate::metrics::{PolicyKind, PolicyMetrics, PolicyRef};
use crate::status::update::seconds;
use crate::throttle::{Effect, RunningEvaluation, Throttle};
use crate::uninstall::UninstallWatch;
use act::{Acted, act};
use claims::{Claim, Claims, PolicyCluster};
use decide::spec::{Desired, Presence, names, remediation};
use decide::{Context, Mode, decide as plan, grants, validity};
use observe::kept;
use observe::package_manifests::{PackageManifests, TTL};
use observe::{ObservedPolicy, Reads, ResolvedSpec, SpecReads, UnresolvedSpec, observe, resolve};
use publish::Publisher;
use status::StatusBuilder;
use triggers::triggers_reconcile;

/// After the time of an intervention, so that it has passed for sure.
const MARGIN: Duration = Duration::from_secs(1);

/// What reconciling a policy needs.
pub struct Reconciler {
    /// The policies, one store per watched namespace.
    pub policies: Vec<Store<OperatorPolicy>>,
    /// The keys for encrypted values, one store per watched namespace.
    pub keys: Vec<Store<KeyPair>>,
    /// The cluster with OLM.
    pub target: Client,
    /// Watches what templates read there.
    pub template_watches: DependencyWatches<ObjectKey>,
    /// Watches what reconciles read there besides, and keeps no more of it than they need.
    pub object_watches: DependencyWatches<ObjectKey>,
    /// Knows its kinds.
    pub kinds: Kinds<PolicyRef>,
    /// Resolves templates.
    pub resolver: Arc<Resolver>,
    /// Functions that fail in templates.
    pub denied: Arc<[String]>,
    /// Resolves templates about the hub.
    pub hub: HubTemplates,
    pub metrics: PolicyMetrics,
    /// Delays reconciles that changes of objects trigger.
    pub throttle: Arc<Throttle>,
    /// Enqueues policies whose claims concern each other.
    pub queue: Queue<ObjectKey>,
    /// During an uninstallation operators are left as they are.
    pub uninstall_watch: UninstallWatch,
    pub state: ReconcilerState,
}

/// The watches of what reconciles read besides templates.
pub fn object_watches(
    target: Client,
    enqueue: impl Fn(&ObjectKey) + Send + Sync + 'static,
) -> DependencyWatches<ObjectKey> {
    DependencyWatches::new(target, enqueue)
        .keeping(kept::keep)
        .with_narrow_watches(kept::is_narrow)
}

/// The settings of the reconciler.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The namespace of operators whose policy names none; may be empty.
    pub default_namespace: String,
    /// How many reports a status keeps.
    pub history_length: usize,
}

/// What the reconciler keeps from one reconcile to the next.
pub struct ReconcilerState {
    packages: PackageManifests,
    /// Writes statuses and events.
    publisher: Publisher,
    claims: Claims,
    default_namespace: String,
}

impl Settings {
    /// The state at the start. The clients are those of the cluster with OLM and of the one with the policies.
    pub fn state(self, target: Client, hosting: Client, events: EventRecorder) -> ReconcilerState {
        ReconcilerState {
            packages: PackageManifests::new(target),
            publisher: Publisher::new(hosting, events, self.history_length),
            claims: Claims::default(),
            default_namespace: self.default_namespace,
        }
    }
}

/// What came of a reconcile.
#[derive(Default)]
struct Outcome {
    acted: Acted,
    /// The next reconcile without a change.
    requeue: Option<Duration>,
}

impl Reconciler {
    /// Reconciles one policy.
    pub async fn reconcile(self: Arc<Self>, key: ObjectKey) -> Result<Action, PolicyError> {
        let mut running = self.throttle.start(&key);
        let read = || self.policies.iter().find_map(|policies| policies.get(&key));
        let (policy, before) = match self.state.publisher.reports.latest(read) {
            Some((Cached::Valid(policy), before)) => (policy, before),
            // The watch has logged the decode error. The spec is unknown, so nothing is done or published.
            Some((Cached::Invalid(_), _)) => {
                self.unwatch(&key);
                return Ok(Action::AwaitChange);
            }
            None => {
                self.forget(&key);
                return Ok(Action::AwaitChange);
            }
        };
        if self.uninstall_watch.is_uninstalling() {
            self.unwatch(&key);
            return Ok(Action::AwaitChange);
        }
        let resolved = match self.hub.resolve(&policy).await {
            Ok(resolved) => resolved,
            Err(reason) => {
                let desired = Desired::invalid(reason.clone());
                self.publish_validity(&policy, &before, &desired).await?;
                let policy = key.clone();
                return Err(PolicyError::Hub { policy, reason });
            }
        };
        let templates = self.cluster(&self.template_watches, &key);
        let objects = self.cluster(&self.object_watches, &key);
        let reads = Reads {
            templates: &templates,
            objects: &objects,
        };
        let outcome = self
            .run(&reads, &resolved.policy, &before, &resolved.secrets)
            .await;
        templates.end();
        objects.end();
        let outcome = outcome?;
        record_effect(&mut running, &outcome.acted);
        if !outcome.acted.errors.is_empty() {
            let reasons = outcome.acted.errors.join("; ");
            return Err(PolicyError::Objects {
                policy: key,
                reasons,
            });
        }
        if outcome.acted.conflict {
            return Ok(Action::Requeue);
        }
        let next = outcome
            .requeue
            .map_or(Action::AwaitChange, Action::RequeueAfter);
        Ok(match resolved.retry_after {
            Some(again) => next.within(again),
            None => next,
        })
    }

    /// Observes, decides, acts and publishes.
    async fn run(
        &self,
        reads: &Reads<'_, Live>,
        policy: &OperatorPolicy,
        before: &OperatorPolicyStatus,
        hub_secrets: &Secrets,
    ) -> Result<Outcome, PolicyError> {
        let key = ObjectKey::of(policy);
        let mut spec = match self.resolve(reads, (policy, hub_secrets), before).await {
            Ok(spec) => spec,
            Err(UnresolvedSpec::Unknown(error)) => return Ok(failed(error)),
            Err(UnresolvedSpec::Invalid { message, error }) => {
                let message = hub_secrets.redact(&message);
                self.publish_validity(policy, before, &Desired::invalid(message))
                    .await?;
                return Ok(failed(hub_secrets.redact(&error)));
            }
        };
        let overlapping = self.claim(policy, &mut spec.desired);
        let mode = mode(policy, &spec.desired);
        let presence = Presence::of(&policy.spec);
        let package = spec.package.take().unwrap_or(Ok(None));
        let of = ObservedPolicy {
            policy,
            presence,
            mode,
            desired: &spec.desired,
            grants_of: |policy: &ObjectKey| self.state.claims.grants(policy),
        };
        let observed = observe(reads, &of, package).await;
        let now = Timestamp::now();
        let plan = plan(&Context {
            policy,
            status: before,
            presence,
            mode,
            desired: &spec.desired,
            observed: &observed,
            now,
        });
        let intervention = plan.intervention;
        let mut status = StatusBuilder::new(policy, before, now);
        let acted = act(reads.objects, (mode, &spec.secrets), plan, &mut status).await;
        status.edit(|status| {
            status.subscription_intervention_time = intervention.map(seconds);
            status.resolved_subscription_label = overlapping.label;
            status.overlapping_policies = overlapping.policies;
        });
        self.publish(&key, policy, before, status).await?;
        let requeue = until(intervention, now).into_iter();
        Ok(Outcome {
            acted,
            requeue: requeue.chain(spec.recheck.then_some(TTL)).min(),
        })
    }

    async fn resolve(
        &self,
        reads: &Reads<'_, Live>,
        (policy, hub_secrets): (&OperatorPolicy, &Secrets),
        before: &OperatorPolicyStatus,
    ) -> Result<ResolvedSpec, UnresolvedSpec> {
        let templates = match templating(policy) {
            Templating::Off => None,
            Templating::On => match self.templates(policy) {
                Ok(templates) => Some(templates),
                Err(message) => {
                    return Ok(ResolvedSpec {
                        desired: Desired::invalid(message),
                        ..ResolvedSpec::default()
                    });
                }
            },
        };
        let with = SpecReads {
            templates: templates.as_ref(),
            packages: &self.state.packages,
            hub_secrets,
            default_namespace: &self.state.default_namespace,
        };
        resolve(reads, &with, policy, before).await
    }

    fn templates(&self, policy: &OperatorPolicy) -> Result<Templates, String> {
        let keys = encryption_keys::for_policy(policy, |secret| {
            let mut stores = self.keys.iter();
            stores.find_map(|secrets| secrets.get_valid(secret))
        });
        let keys = keys.map_err(|error| error.event.message)?;
        Ok(Templates {
            resolver: Arc::clone(&self.resolver),
            denied: Arc::clone(&self.denied),
            keys: keys.map(Arc::new),
        })
    }

    /// Claims the operator. If other enforced policies claim it too, none of them may change it.
    fn claim(&self, policy: &OperatorPolicy, desired: &mut Desired) -> Overlap {
        let key = ObjectKey::of(policy);
        let is_complete = desired.operator_group.is_some();
        let subscription = desired.subscription.as_ref().filter(|_| is_complete);
        let Some(subscription) = subscription else {
            self.enqueue(self.state.claims.claim(&key, None));
            return Overlap::default();
        };
        let claim = Claim::of(policy, subscription);
        let label = names::olm_label(&claim.name, &claim.namespace);
        self.enqueue(self.state.claims.claim(&key, Some(&claim)));
        let mut overlapping = Vec::new();
        if claim.enforces {
            let by_status = self.enforced_with_label(&claim.cluster, &label);
            overlapping = self.state.claims.overlapping(&key, &claim, by_status);
        }
        let mut overlap = Overlap {
            label: Some(label),
            policies: None,
        };
        if !overlapping.is_empty() {
            overlapping.push(key.clone());
            let name = |key: ObjectKey| format!("{}.{}", key.name, key.namespace);
            let mut policies: Vec<String> = overlapping.into_iter().map(name).collect();
            policies.sort();
            *desired = Desired::invalid(messages::overlapping(&policies));
            overlap.policies = Some(policies);
        }
        let may_approve = claim.enforces
            && desired.subscription.is_some()
            && Presence::of(&policy.spec) == Presence::MustHave;
        let grants = may_approve.then(|| grants(&policy.spec, desired));
        self.enqueue(self.state.claims.grant(&key, grants.as_ref()));
        overlap
    }

    /// The enforced policies for a cluster whose status has this label.
    fn enforced_with_label(&self, cluster: &PolicyCluster, label: &str) -> Vec<ObjectKey> {
        let with_label = |policy: &OperatorPolicy| {
            let status = policy.status.as_ref();
            status.and_then(|status| status.resolved_subscription_label.as_deref()) == Some(label)
        };
        let in_store = |store: &Store<OperatorPolicy>| {
            store.collect(|key, policy| {
                let is_one = with_label(policy)
                    && remediation(policy) == RemediationAction::Enforce
                    && PolicyCluster::of(policy) == *cluster;
                is_one.then(|| key.clone())
            })
        };
        self.policies.iter().flat_map(in_store).collect()
    }

    fn enqueue(&self, policies: Vec<ObjectKey>) {
        for policy in policies {
            self.queue.add(policy);
        }
    }

    /// Publishes that the spec is invalid, and keeps everything else.
    async fn publish_validity(
        &self,
        policy: &OperatorPolicy,
        before: &OperatorPolicyStatus,
        desired: &Desired,
    ) -> Result<(), PolicyError> {
        let key = ObjectKey::of(policy);
        self.enqueue(self.state.claims.grant(&key, None));
        let mut status = StatusBuilder::new(policy, before, Timestamp::now());
        status.set(&validity(desired));
        status.edit(|status| status.resolved_subscription_label = None);
        self.publish(&key, policy, before, status).await
    }

    async fn publish(
        &self,
        key: &ObjectKey,
        policy: &OperatorPolicy,
        before: &OperatorPolicyStatus,
        status: StatusBuilder<'_>,
    ) -> Result<(), PolicyError> {
        let (status, reports) = status.finish();
        let severity = policy.spec.severity.as_deref().unwrap_or_default();
        let compliance = status.compliance();
        let published = self
            .state
            .publisher
            .publish(policy, before, (status, reports))
            .await;
        self.metrics
            .state((PolicyKind::Operator, key), severity, compliance);
        published
    }

    fn cluster(&self, watches: &DependencyWatches<ObjectKey>, key: &ObjectKey) -> Live {
        Live::new(
            watches.begin(key),
            self.target.clone(),
            KindLookup::Watched(self.kinds.clone(), (PolicyKind::Operator, key.clone())),
            ReadMode::Watched,
        )
    }

    fn unwatch(&self, key: &ObjectKey) {
        self.template_watches.unwatch(key);
        self.object_watches.unwatch(key);
    }

    fn forget(&self, key: &ObjectKey) {
        self.unwatch(key);
        self.kinds.unwatch(&(PolicyKind::Operator, key.clone()));
        self.metrics.forget_operator_policy(key);
        self.throttle.forget(key);
        self.enqueue(self.state.claims.forget(key));
    }

    /// Adds policies that existed before this process worked, by UID.
    pub fn inherit(&self, policies: impl IntoIterator<Item = String>) {
        self.state.publisher.reports.inherit(policies);
    }

    /// Handles a change of a policy. Whether the policy is to be enqueued.
    pub fn policy_changed(&self, change: &Change<OperatorPolicy>) -> bool {
        if let (_, Some(new)) = change.valid() {
            self.state.publisher.reports.caught_up(new.as_ref());
        }
        if let (Some(old), None) = change.valid() {
            let uid = old.metadata.uid.as_deref().unwrap_or_default();
            self.state.publisher.reports.forget(uid);
            self.hub.forget(&change.key, uid);
        }
        triggers_reconcile(change)
    }
}

/// What other policies have to do with a policy.
#[derive(Default)]
struct Overlap {
    /// OLM's label of the operator, if that is known.
    label: Option<String>,
    /// The policies about the same operator, if there are others.
    policies: Option<Vec<String>>,
}

/// An invalid policy changes nothing, except that an enforced one creates the namespace that it lacks.
fn mode(policy: &OperatorPolicy, desired: &Desired) -> Mode {
    let is_valid = desired.invalid.is_none() || desired.lacks_namespace;
    match remediation(policy) {
        RemediationAction::Enforce if is_valid => Mode::Enforce,
        _ => Mode::Inform,
    }
}

/// The time until an intervention that is due in the future. One that is overdue waits for a change.
fn until(intervention: Option<Timestamp>, now: Timestamp) -> Option<Duration> {
    let rest = Duration::try_from(intervention?.duration_since(now)).ok()?;
    (!rest.is_zero()).then(|| rest + MARGIN)
}

fn failed(error: String) -> Outcome {
    Outcome {
        acted: Acted {
            errors: vec![error],
            ..Acted::default()
        },
        requeue: None,
    }
}

fn record_effect(running: &mut RunningEvaluation<'_>, acted: &Acted) {
    running.record(if acted.wrote {
        Effect::Write
    } else {
        Effect::Read
    });
}
