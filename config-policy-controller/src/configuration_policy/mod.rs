//! Reconciles `ConfigurationPolicy` objects: finalizer, hub templates, schedule, evaluation, deletion.

pub mod finalizer;
pub mod namespace_selections;
pub mod schedule;
mod triggers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::Client;
use reeve_api::configuration_policy::{ConfigurationPolicy, ConfigurationPolicyStatus};
use reeve_runtime::dependencies::DependencyWatches;
use reeve_runtime::kinds::Kinds;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Action;
use reeve_runtime::watch::{Cached, Change, Store};
use reeve_templates_engine::resolver::Resolver;

use crate::error::PolicyError;
use crate::evaluate::PolicyEvaluation;
use crate::evaluate::cluster::{KindLookup, Live, ReadMode};
use crate::evaluate::diff::{DiffLength, Sensitivity};
use crate::evaluate::encryption_keys::{self, KeyPair};
use crate::evaluate::evaluator::Evaluator;
use crate::evaluate::prune::{self, PruneBehavior};
use crate::evaluate::selectors::namespaces::SelectedNamespaces;
use crate::evaluate::spec::{EvaluationError, selector};
use crate::evaluate::templates::Templates;
use crate::hub_templates::{HubTemplates, ResolvedPolicy};
use crate::messages;
use crate::metrics::{PolicyKind, PolicyRef};
use crate::status::custom_message::LiveObjects;
use crate::status::interval::Interval;
use crate::status::publish::{publish_changed, publish_verdict};
use crate::status::publisher::Publisher;
use crate::status::summary::TemplateVerdict;
use crate::status::update::{self, EvaluatedPolicy, RecordContext, record_terminating};
use crate::throttle::{Effect, RunningEvaluation, Throttle};
use crate::uninstall::UninstallWatch;
use namespace_selections::NamespaceSelections;
use reeve_runtime::secrets::Secrets;
use schedule::{Due, due};
use triggers::triggers_evaluation;

/// The shortest interval, whatever flags and policies set.
const SHORTEST: Duration = Duration::from_millis(100);

/// What reconciling a policy needs.
pub struct Reconciler {
    /// The policies, one store per watched namespace.
    pub policies: Vec<Store<ConfigurationPolicy>>,
    /// The keys for encrypted values, one store per watched namespace.
    pub keys: Vec<Store<KeyPair>>,
    /// The cluster with the policies.
    pub hosting: Client,
    /// The cluster whose objects they evaluate.
    pub target: Client,
    /// Watches what evaluations read there.
    pub watches: DependencyWatches<ObjectKey>,
    /// Knows its kinds.
    pub kinds: Kinds<PolicyRef>,
    /// Knows which of its namespaces are selected.
    pub selections: NamespaceSelections,
    /// Evaluates object templates against the cluster.
    pub evaluator: Evaluator,
    /// Resolves templates.
    pub resolver: Arc<Resolver>,
    /// Functions that fail in templates.
    pub denied: Arc<[String]>,
    /// Resolves templates about the hub.
    pub hub: HubTemplates,
    /// Writes statuses and events.
    pub publisher: Publisher,
    /// Delays evaluations that changes of objects trigger.
    pub throttle: Arc<Throttle>,
    /// The shortest interval, from the flag.
    pub backoff: Duration,
    /// Whether policies lose their finalizers without pruning, because of an uninstallation.
    pub uninstall_watch: UninstallWatch,
}

impl Reconciler {
    /// Reconciles one policy.
    pub async fn reconcile(self: Arc<Self>, key: ObjectKey) -> Result<Action, PolicyError> {
        let mut running = self.throttle.start(&key);
        let read = || self.policies.iter().find_map(|policies| policies.get(&key));
        let (policy, before) = match self.publisher.reports.latest(read) {
            Some((Cached::Valid(policy), before)) => (policy, before),
            // The watch has logged the decode error. The spec is unknown, so nothing is done or published.
            Some((Cached::Invalid(_), _)) => {
                self.watches.unwatch(&key);
                return Ok(Action::AwaitChange);
            }
            None => {
                self.forget(&key);
                return Ok(Action::AwaitChange);
            }
        };
        if self.uninstall_watch.is_uninstalling() {
            finalizer::remove(&self.hosting, &policy).await?;
            return Ok(Action::AwaitChange);
        }
        let resolved = match self.hub.resolve(&policy).await {
            Ok(resolved) => resolved,
            // The deletion of a policy does not wait for the hub.
            Err(_) if policy.metadata.deletion_timestamp.is_some() => ResolvedPolicy {
                policy: Arc::clone(&policy),
                sensitivity: Sensitivity::Plain,
                secrets: Secrets::default(),
                retry_after: None,
            },
            Err(error) => return self.hub_failed(&policy, &before, error).await,
        };
        let policy = Arc::clone(&resolved.policy);
        if policy.metadata.deletion_timestamp.is_some() {
            return self.delete(&policy, &before).await;
        }
        match PruneBehavior::of(&policy) {
            PruneBehavior::None => finalizer::remove(&self.hosting, &policy).await?,
            _ => finalizer::add(&self.hosting, &policy).await?,
        }
        let due = due(&policy, &before, Timestamp::now());
        let next = match due {
            Due::In(rest) if !self.selection_has_changed(&policy, &key) => {
                Action::RequeueAfter(rest)
            }
            Due::Never if !self.selection_has_changed(&policy, &key) => Action::AwaitChange,
            _ => self.evaluate(&resolved, before, &mut running).await?,
        };
        Ok(match resolved.retry_after {
            Some(again) => next.within(again),
            None => next,
        })
    }

    async fn evaluate(
        &self,
        resolved: &ResolvedPolicy<ConfigurationPolicy>,
        before: ConfigurationPolicyStatus,
        running: &mut RunningEvaluation<'_>,
    ) -> Result<Action, PolicyError> {
        let policy = resolved.policy.as_ref();
        let key = &ObjectKey::of(policy);
        let started = Instant::now();
        let intervals = policy.spec.evaluation_interval.as_ref();
        let read_mode = match Interval::of(intervals, before.compliance()) {
            Interval::Watch => ReadMode::Watched,
            _ => ReadMode::Polled,
        };
        let cluster = self.cluster(key, read_mode);
        let turn = PolicyEvaluation {
            evaluator: &self.evaluator,
            cluster: &cluster,
            publisher: &self.publisher,
            policy,
            before: &before,
            templates: self.templates(policy),
            selection: self.selection(policy, key),
            sensitivity: resolved.sensitivity,
            secrets: resolved.secrets.clone(),
            length: DiffLength::Truncated,
        };
        let outcome = turn.run().await;
        cluster.end();
        running.record(Effect::Read);
        let outcome = outcome?;
        if outcome.evaluation.wrote {
            running.record(Effect::Write);
        }
        if outcome.status != before {
            running.record(Effect::Status);
        }
        let state = update::overall(&outcome.status);
        let severity = policy.spec.severity.as_deref().unwrap_or_default();
        let metrics = &self.evaluator.metrics;
        metrics.evaluated(key, started.elapsed());
        metrics.state((PolicyKind::Configuration, key), severity, state);
        let interval = Interval::of(intervals, state);
        if outcome.only_edits_matter || interval != Interval::Watch {
            self.watches.unwatch(key);
        }
        if !outcome.evaluation.failures.is_empty() {
            let reasons = outcome.evaluation.failures.join("; ");
            let policy = key.clone();
            return Err(PolicyError::Objects { policy, reasons });
        }
        if outcome.only_edits_matter {
            return Ok(Action::AwaitChange);
        }
        if interval == Interval::Watch && read_mode == ReadMode::Polled {
            // This evaluation watched nothing, so no event would enqueue the policy.
            return Ok(Action::RequeueAfter(Duration::ZERO));
        }
        let again = outcome
            .evaluation
            .again
            .filter(|_| interval == Interval::Watch);
        // An interval shorter than the backoff is one of the backoff.
        let next = interval
            .next()
            .map(|next| next.max(self.backoff).max(SHORTEST));
        Ok(again
            .or(next)
            .map_or(Action::AwaitChange, Action::RequeueAfter))
    }

    /// Deletes the objects of a policy that is being deleted, then removes its finalizer.
    async fn delete(
        &self,
        policy: &ConfigurationPolicy,
        before: &ConfigurationPolicyStatus,
    ) -> Result<Action, PolicyError> {
        let key = ObjectKey::of(policy);
        if !finalizer::is_set(policy) {
            self.watches.unwatch(&key);
            return Ok(Action::AwaitChange);
        }
        let related = before.related_objects.as_deref().unwrap_or_default();
        let mut objects = prune::candidates(policy, related, &[]);
        if !objects.is_empty() && self.crd_is_terminating(&key).await? {
            objects.clear();
        }
        let cluster = self.cluster(&key, ReadMode::Watched);
        let remaining = prune::prune(&cluster, policy, &objects).await;
        cluster.end();
        if remaining.is_empty() {
            finalizer::remove(&self.hosting, policy).await?;
            self.watches.unwatch(&key);
            return Ok(Action::AwaitChange);
        }
        let described: Vec<&str> = remaining
            .iter()
            .map(|object| object.described.as_str())
            .collect();
        let objects = described.join(", ");
        let mut status = before.clone();
        let context = RecordContext {
            intervals: None,
            now: Timestamp::now(),
        };
        let message = messages::cannot_prune(&objects);
        let changed = record_terminating(&mut status, message, context);
        let none = LiveObjects::new();
        let evaluated = EvaluatedPolicy {
            policy,
            objects: &none,
        };
        publish_changed(&self.publisher, evaluated, before, (status, changed)).await?;
        Err(PolicyError::Prune { objects })
    }

    async fn crd_is_terminating(&self, policy: &ObjectKey) -> Result<bool, PolicyError> {
        let asked = self.uninstall_watch.crd_is_terminating().await;
        asked.map_err(|source| PolicyError::Definition {
            policy: policy.clone(),
            source,
        })
    }

    async fn hub_failed(
        &self,
        policy: &ConfigurationPolicy,
        before: &ConfigurationPolicyStatus,
        reason: String,
    ) -> Result<Action, PolicyError> {
        let verdict = TemplateVerdict::violation(messages::HUB_TEMPLATE_FAILURE, reason.clone());
        let none = LiveObjects::new();
        let evaluated = EvaluatedPolicy {
            policy,
            objects: &none,
        };
        publish_verdict(&self.publisher, evaluated, before, &verdict).await?;
        let policy = ObjectKey::of(policy);
        Err(PolicyError::Hub { policy, reason })
    }

    fn cluster(&self, key: &ObjectKey, read_mode: ReadMode) -> Live {
        Live::new(
            self.watches.begin(key),
            self.target.clone(),
            KindLookup::Watched(self.kinds.clone(), (PolicyKind::Configuration, key.clone())),
            read_mode,
        )
    }

    fn templates(&self, policy: &ConfigurationPolicy) -> Result<Templates, EvaluationError> {
        let keys = encryption_keys::for_policy(policy, |secret| {
            self.keys
                .iter()
                .find_map(|secrets| secrets.get_valid(secret))
        })?;
        Ok(Templates {
            resolver: Arc::clone(&self.resolver),
            denied: Arc::clone(&self.denied),
            keys: keys.map(Arc::new),
        })
    }

    fn selection(
        &self,
        policy: &ConfigurationPolicy,
        key: &ObjectKey,
    ) -> Option<SelectedNamespaces> {
        let Some(selector) = selector(policy) else {
            self.selections.forget(key);
            return None;
        };
        Some(self.selections.select(key, selector))
    }

    fn selection_has_changed(&self, policy: &ConfigurationPolicy, key: &ObjectKey) -> bool {
        selector(policy).is_some_and(|selector| self.selections.has_changed(key, selector))
    }

    fn forget(&self, key: &ObjectKey) {
        self.watches.unwatch(key);
        self.kinds
            .unwatch(&(PolicyKind::Configuration, key.clone()));
        self.evaluator.comparisons.forget(key);
        self.evaluator.metrics.forget(key);
        self.selections.forget(key);
        self.throttle.forget(key);
    }

    /// Handles a change of a policy. Whether the policy is to be enqueued.
    pub fn policy_changed(&self, change: &Change<ConfigurationPolicy>) -> bool {
        if let (_, Some(new)) = change.valid() {
            self.publisher.reports.caught_up(new.as_ref());
        }
        if let (Some(old), None) = change.valid() {
            let uid = old.metadata.uid.as_deref().unwrap_or_default();
            self.publisher.reports.forget(uid);
            self.hub.forget(&change.key, uid);
        }
        triggers_evaluation(change)
    }
}
