//! One policy's turn: is it due, what does it ask for, what came of it, when is it due again.

pub mod finalizer;
pub mod hub_templates;
pub mod namespace_selections;
pub mod schedule;
pub mod throttle;
mod triggers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::Client;
use reeve_api::configuration_policy::{ConfigurationPolicy, ConfigurationPolicyStatus};
use reeve_runtime::dependencies::DependencyWatches;
use reeve_runtime::kinds::Kinds;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Next;
use reeve_runtime::watch::{Change, Known, Store};
use reeve_templates_engine::resolver::Resolver;

use crate::error::PolicyError;
use crate::evaluate::Turn;
use crate::evaluate::cluster::{Freshness, KnownKinds, Live};
use crate::evaluate::diff::{Length, Origin};
use crate::evaluate::encryption_keys::{self, KeyPair};
use crate::evaluate::evaluator::Evaluator;
use crate::evaluate::prune::{self, Behavior};
use crate::evaluate::selectors::namespaces::Selection;
use crate::evaluate::spec::{Problem, selector};
use crate::evaluate::templates::Templates;
use crate::messages;
use crate::status::custom_message::Objects;
use crate::status::interval::Interval;
use crate::status::publish::{tell_changed, tell_whole};
use crate::status::publisher::Publisher;
use crate::status::summary::TemplateVerdict;
use crate::status::update::{self, Context, Telling, record_terminating};
use crate::uninstall::Cleanup;
use hub_templates::{HubTemplates, Resolved};
use namespace_selections::Selections;
use reeve_template_reads::Secrets;
use schedule::{Due, due};
use throttle::{Did, Throttle, Underway};
use triggers::wakes;

/// The shortest time between two evaluations that nothing asked for, whatever flags and intervals say.
const SHORTEST: Duration = Duration::from_millis(100);

/// Everything a policy's turn needs.
pub struct Controller {
    /// The policies, one store per watched namespace.
    pub policies: Vec<Store<ConfigurationPolicy>>,
    /// The keys for encrypted values, one store per watched namespace.
    pub keys: Vec<Store<KeyPair>>,
    /// The cluster with the policies.
    pub hosting: Client,
    /// The cluster that they speak about.
    pub target: Client,
    /// Watches what evaluations read there.
    pub watches: DependencyWatches<ObjectKey>,
    /// Knows its kinds.
    pub kinds: Kinds<ObjectKey>,
    /// Knows which of its namespaces are selected.
    pub selections: Selections,
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
    /// Spaces evaluations that changes of objects ask for.
    pub throttle: Arc<Throttle>,
    /// The shortest time between evaluations that nothing asked for.
    pub backoff: Duration,
    /// Whether the policies are to let go of the cluster.
    pub cleanup: Cleanup,
}

impl Controller {
    /// One turn of one policy.
    pub async fn reconcile(self: Arc<Self>, key: ObjectKey) -> Result<Next, PolicyError> {
        let mut underway = self.throttle.started(&key);
        let read = || self.policies.iter().find_map(|policies| policies.get(&key));
        let (policy, before) = match self.publisher.latest(read) {
            Some((Known::Valid(policy), before)) => (policy, before),
            // The watch has logged what is wrong with it. What it says is unknown, so nothing is done or told.
            Some((Known::Invalid(_), _)) => {
                self.watches.forget(&key);
                return Ok(Next::Done);
            }
            None => {
                self.forget(&key);
                return Ok(Next::Done);
            }
        };
        if self.cleanup.is_due() {
            finalizer::remove(&self.hosting, &policy).await?;
            return Ok(Next::Done);
        }
        let resolved = match self.hub.resolve(&policy).await {
            Ok(resolved) => resolved,
            // A policy that is to go does not have to wait for the hub.
            Err(_) if policy.metadata.deletion_timestamp.is_some() => Resolved {
                policy: Arc::clone(&policy),
                origin: Origin::Plain,
                secrets: Secrets::default(),
                again: None,
            },
            Err(error) => return self.hub_failed(&policy, &before, error).await,
        };
        let policy = Arc::clone(&resolved.policy);
        if policy.metadata.deletion_timestamp.is_some() {
            return self.delete(&policy, &before).await;
        }
        match Behavior::of(&policy) {
            Behavior::None => finalizer::remove(&self.hosting, &policy).await?,
            _ => finalizer::add(&self.hosting, &policy).await?,
        }
        let due = due(&policy, &before, Timestamp::now());
        let next = match due {
            Due::In(rest) if !self.selection_has_news(&policy, &key) => Next::After(rest),
            Due::Never if !self.selection_has_news(&policy, &key) => Next::Done,
            _ => self.evaluate(&resolved, before, &mut underway).await?,
        };
        Ok(match resolved.again {
            Some(again) => next.sooner(again),
            None => next,
        })
    }

    async fn evaluate(
        &self,
        resolved: &Resolved,
        before: ConfigurationPolicyStatus,
        underway: &mut Underway<'_>,
    ) -> Result<Next, PolicyError> {
        let policy = resolved.policy.as_ref();
        let key = &ObjectKey::of(policy);
        let started = Instant::now();
        let intervals = policy.spec.evaluation_interval.as_ref();
        let freshness = match Interval::of(intervals, before.compliance()) {
            Interval::Watch => Freshness::Watched,
            _ => Freshness::Polled,
        };
        let cluster = self.cluster(key, freshness);
        let turn = Turn {
            evaluator: &self.evaluator,
            cluster: &cluster,
            sink: &self.publisher,
            policy,
            before: &before,
            templates: self.templates(policy),
            selection: self.selection(policy, key),
            origin: resolved.origin,
            secrets: resolved.secrets.clone(),
            length: Length::Truncated,
        };
        let outcome = turn.run().await;
        cluster.end();
        underway.did(Did::Look);
        let outcome = outcome?;
        if outcome.evaluation.wrote {
            underway.did(Did::Write);
        }
        if outcome.status != before {
            underway.did(Did::Tell);
        }
        let state = update::overall(&outcome.status);
        let severity = policy.spec.severity.as_deref().unwrap_or_default();
        let metrics = &self.evaluator.metrics;
        metrics.evaluated(key, started.elapsed());
        metrics.state(key, severity, state);
        let interval = Interval::of(intervals, state);
        if outcome.only_edits_matter || interval != Interval::Watch {
            self.watches.forget(key);
        }
        if !outcome.evaluation.failures.is_empty() {
            let reasons = outcome.evaluation.failures.join("; ");
            let policy = key.clone();
            return Err(PolicyError::Objects { policy, reasons });
        }
        if outcome.only_edits_matter {
            return Ok(Next::Done);
        }
        if interval == Interval::Watch && freshness == Freshness::Polled {
            // Nothing was watched by this evaluation, and nothing else would look at the policy again.
            return Ok(Next::After(Duration::ZERO));
        }
        let again = outcome
            .evaluation
            .again
            .filter(|_| interval == Interval::Watch);
        // An interval shorter than the backoff is one of the backoff.
        let next = interval
            .next()
            .map(|next| next.max(self.backoff).max(SHORTEST));
        Ok(again.or(next).map_or(Next::Done, Next::After))
    }

    /// The policy is being deleted: its objects go first, as far as they are to go.
    async fn delete(
        &self,
        policy: &ConfigurationPolicy,
        before: &ConfigurationPolicyStatus,
    ) -> Result<Next, PolicyError> {
        let key = ObjectKey::of(policy);
        if !finalizer::is_set(policy) {
            self.watches.forget(&key);
            return Ok(Next::Done);
        }
        let related = before.related_objects.as_deref().unwrap_or_default();
        let mut objects = prune::candidates(policy, related, &[]);
        if !objects.is_empty() && self.kind_goes(&key).await? {
            objects.clear();
        }
        let cluster = self.cluster(&key, Freshness::Watched);
        let left = prune::prune(&cluster, policy, &objects).await;
        cluster.end();
        if left.is_empty() {
            finalizer::remove(&self.hosting, policy).await?;
            self.watches.forget(&key);
            return Ok(Next::Done);
        }
        let described: Vec<&str> = left.iter().map(|left| left.described.as_str()).collect();
        let objects = described.join(", ");
        let mut status = before.clone();
        let context = Context {
            intervals: None,
            now: Timestamp::now(),
        };
        let message = messages::cannot_prune(&objects);
        let changed = record_terminating(&mut status, message, context);
        let none = Objects::new();
        let telling = Telling {
            policy,
            objects: &none,
        };
        tell_changed(&self.publisher, telling, before, (status, changed)).await?;
        Err(PolicyError::Prune { objects })
    }

    async fn kind_goes(&self, policy: &ObjectKey) -> Result<bool, PolicyError> {
        let asked = self.cleanup.kind_goes().await;
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
    ) -> Result<Next, PolicyError> {
        let verdict = TemplateVerdict::violation(messages::HUB_TEMPLATE_FAILURE, reason.clone());
        let none = Objects::new();
        let telling = Telling {
            policy,
            objects: &none,
        };
        tell_whole(&self.publisher, telling, before, &verdict).await?;
        let policy = ObjectKey::of(policy);
        Err(PolicyError::Hub { policy, reason })
    }

    fn cluster(&self, key: &ObjectKey, freshness: Freshness) -> Live {
        Live::new(
            self.watches.begin(key),
            self.target.clone(),
            KnownKinds::Watched(self.kinds.clone(), key.clone()),
            freshness,
        )
    }

    fn templates(&self, policy: &ConfigurationPolicy) -> Result<Templates, Problem> {
        let keys = encryption_keys::of_policy(policy, |secret| {
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

    fn selection(&self, policy: &ConfigurationPolicy, key: &ObjectKey) -> Option<Selection> {
        let Some(selector) = selector(policy) else {
            self.selections.forget(key);
            return None;
        };
        Some(self.selections.choose(key, selector))
    }

    fn selection_has_news(&self, policy: &ConfigurationPolicy, key: &ObjectKey) -> bool {
        selector(policy).is_some_and(|selector| self.selections.has_news(key, selector))
    }

    fn forget(&self, key: &ObjectKey) {
        self.watches.forget(key);
        self.kinds.forget(key);
        self.evaluator.memories.forget(key);
        self.evaluator.metrics.forget(key);
        self.selections.forget(key);
        self.throttle.forget(key);
    }

    /// Looks at a change of a policy: whether the policy is to be evaluated.
    pub fn noticed(&self, change: &Change<ConfigurationPolicy>) -> bool {
        if let (_, Some(new)) = change.valid() {
            self.publisher.caught_up(new);
        }
        if let (Some(old), None) = change.valid() {
            let uid = old.metadata.uid.as_deref().unwrap_or_default();
            self.publisher.forget(uid);
            self.hub.forget(&change.key, uid);
        }
        wakes(change)
    }

    /// The policies in a namespace that have encrypted values: those that new keys concern.
    pub fn encrypted_in(&self, namespace: &str) -> Vec<ObjectKey> {
        let in_store = |store: &Store<ConfigurationPolicy>| {
            store.collect(|key, policy| {
                let concerned =
                    key.namespace == namespace && encryption_keys::vector(policy).is_some();
                concerned.then(|| key.clone())
            })
        };
        self.policies.iter().flat_map(in_store).collect()
    }
}
