//! One policy's turn: is it due, what does it ask for, what came of it, when is it due again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use parking_lot::Mutex;
use reeve_api::configuration_policy::{ConfigurationPolicy, ConfigurationPolicyStatus};
use reeve_runtime::dependencies::DependencyWatches;
use reeve_runtime::discovery::Discovery;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Next;
use reeve_runtime::watch::{Change, Known, Store};

use crate::batches;
use crate::error::PolicyError;
use crate::evaluate::{Evaluation, Evaluator};
use crate::messages;
use crate::metrics::Fault;
use crate::observe::{Freshness, Reads, SelectionError, selector};
use crate::publish::{Publisher, Verdicts};
use crate::schedule::{Due, Interval, due};
use crate::spec::{self, HubTemplates, Plan, Problem, parent};
use crate::status::{self, Context, keep_templates, record, record_whole};
use crate::status_text::TemplateVerdict;
use crate::throttle::{Did, Throttle, Underway};
use crate::wake::wakes;

type Selection = Result<Vec<String>, SelectionError>;

/// Everything a policy's turn needs.
pub struct Controller {
    /// The policies, one store per watched namespace.
    pub policies: Vec<Store<ConfigurationPolicy>>,
    /// Watches what evaluations read.
    pub watches: DependencyWatches<ObjectKey>,
    /// Knows the kinds.
    pub discovery: Discovery,
    /// Evaluates.
    pub evaluator: Evaluator,
    /// Writes statuses and events.
    pub publisher: Publisher,
    /// Spaces evaluations that changes of objects ask for.
    pub throttle: Arc<Throttle>,
    /// Whether a hub is there to resolve templates.
    pub hub: HubTemplates,
    /// The namespaces each policy's selector chose last.
    pub selections: Mutex<HashMap<ObjectKey, Selection>>,
}

/// What a turn came to.
struct Turn {
    status: ConfigurationPolicyStatus,
    evaluation: Evaluation,
    /// The verdict is on the policy as a whole, whatever the cluster holds: only an edit changes it.
    only_edits_matter: bool,
}

impl Controller {
    /// One turn of one policy.
    pub async fn reconcile(self: Arc<Self>, key: ObjectKey) -> Result<Next, PolicyError> {
        let mut underway = self.throttle.started(&key);
        let policy = match self.policies.iter().find_map(|policies| policies.get(&key)) {
            Some(Known::Valid(policy)) => policy,
            // The watch has logged what is wrong with it. What it says is unknown, so nothing is done or told.
            Some(Known::Invalid(_)) => {
                self.watches.forget(&key);
                return Ok(Next::Done);
            }
            None => {
                self.forget(&key);
                return Ok(Next::Done);
            }
        };
        if policy.metadata.deletion_timestamp.is_some() {
            if policy
                .metadata
                .finalizers
                .as_ref()
                .is_some_and(|finalizers| !finalizers.is_empty())
            {
                tracing::warn!(policy = %key, "{}", messages::PRUNING_UNSUPPORTED);
            }
            self.watches.forget(&key);
            return Ok(Next::Done);
        }
        self.publisher.caution(&policy);
        let before = self.publisher.latest(&policy);
        match due(&policy, &before, Timestamp::now()) {
            Due::Now => {}
            _ if self.selection_changed(&policy, &key).await => {}
            Due::In(rest) => return Ok(Next::After(rest)),
            Due::Never => return Ok(Next::Done),
        }
        self.evaluate(&policy, &key, before, &mut underway).await
    }

    async fn evaluate(
        &self,
        policy: &ConfigurationPolicy,
        key: &ObjectKey,
        before: ConfigurationPolicyStatus,
        underway: &mut Underway<'_>,
    ) -> Result<Next, PolicyError> {
        let started = Instant::now();
        let turn = self.turn(policy, key, &before, underway).await?;
        let state = status::overall(&turn.status);
        let metrics = &self.evaluator.metrics;
        metrics.evaluated(key, started.elapsed());
        metrics.state(
            key,
            policy.spec.severity.as_deref().unwrap_or_default(),
            state,
        );
        if turn.status != before {
            underway.did(Did::Tell);
        }
        let interval = Interval::of(policy.spec.evaluation_interval.as_ref(), state);
        if turn.only_edits_matter {
            self.watches.forget(key);
        } else if interval != Interval::Watch {
            self.stop_watching(policy, key).await;
        }
        if !turn.evaluation.failures.is_empty() {
            let reasons = turn.evaluation.failures.join("; ");
            return Err(PolicyError::Objects {
                policy: key.clone(),
                reasons,
            });
        }
        let again = turn
            .evaluation
            .again
            .filter(|_| interval == Interval::Watch);
        Ok(again.or(interval.next()).map_or(Next::Done, Next::After))
    }

    /// Evaluates the policy and tells what came of it.
    async fn turn(
        &self,
        policy: &ConfigurationPolicy,
        key: &ObjectKey,
        before: &ConfigurationPolicyStatus,
        underway: &mut Underway<'_>,
    ) -> Result<Turn, PolicyError> {
        let templates = match spec::read(policy, self.hub) {
            Plan::Templates(templates) => templates,
            Plan::Nothing => {
                let verdict = TemplateVerdict {
                    compliant: true,
                    reason: messages::NO_TEMPLATES_REASON.to_owned(),
                    message: messages::no_templates(&key.name),
                };
                return self.whole(policy, before, &verdict).await;
            }
            Plan::Refused(problem) => return self.refused(policy, key, before, &problem).await,
        };
        let batch = self.watches.begin(key);
        let interval = Interval::of(
            policy.spec.evaluation_interval.as_ref(),
            before.compliance(),
        );
        let reads = Reads {
            batch: &batch,
            client: &self.evaluator.client,
            discovery: &self.discovery,
            freshness: match interval {
                Interval::Watch => Freshness::Watched,
                _ => Freshness::Polled,
            },
        };
        let evaluation = self.evaluator.run(policy, before, &templates, &reads).await;
        batch.end();
        if evaluation.wrote {
            // At once: telling may fail, which undoes no write.
            underway.did(Did::Write);
        }
        if let Some(selection) = &evaluation.selection {
            self.selections
                .lock()
                .insert(key.clone(), selection.clone());
        }
        let status = self.tell(policy, before, &evaluation).await?;
        Ok(Turn {
            status,
            evaluation,
            only_edits_matter: false,
        })
    }

    /// Publishes the verdicts in the order things happened.
    async fn tell(
        &self,
        policy: &ConfigurationPolicy,
        before: &ConfigurationPolicyStatus,
        evaluation: &Evaluation,
    ) -> Result<ConfigurationPolicyStatus, PolicyError> {
        let mut published = before.clone();
        let mut status = before.clone();
        let mut verdicts = Verdicts::AsBefore;
        if keep_templates(&mut status, evaluation.templates.len()) {
            verdicts = Verdicts::Changed;
        }
        for (index, outcome) in evaluation.templates.iter().enumerate() {
            let all = batches::verdicts(outcome);
            let Some((last, earlier)) = all.split_last() else {
                continue;
            };
            let intervals = policy.spec.evaluation_interval.as_ref();
            let context = Context {
                intervals,
                now: Timestamp::now(),
            };
            let is_news = record(&mut status.clone(), index, last, context);
            if !earlier.is_empty() && !last.compliant && !is_news {
                // The same failure as before: its steps have been told.
                continue;
            }
            for verdict in earlier {
                if record(&mut status, index, verdict, context) {
                    let changed = Verdicts::Changed;
                    published = self
                        .publisher
                        .publish(policy, &published, status, changed)
                        .await?;
                    status = published.clone();
                    verdicts = Verdicts::AsBefore;
                }
            }
            if record(&mut status, index, last, context) {
                verdicts = Verdicts::Changed;
            }
        }
        let related = evaluation.related.clone();
        status.related_objects = Some(related).filter(|related| !related.is_empty());
        self.publisher
            .publish(policy, &published, status, verdicts)
            .await
    }

    async fn refused(
        &self,
        policy: &ConfigurationPolicy,
        key: &ObjectKey,
        before: &ConfigurationPolicyStatus,
        problem: &Problem,
    ) -> Result<Turn, PolicyError> {
        self.evaluator
            .metrics
            .failed(key, &parent(policy), Fault::InvalidTemplate);
        let verdict = TemplateVerdict {
            compliant: false,
            reason: messages::condition_reason(&problem.event.reason).to_owned(),
            message: problem.event.message.clone(),
        };
        self.whole(policy, before, &verdict).await
    }

    /// Publishes a verdict on the policy as a whole.
    async fn whole(
        &self,
        policy: &ConfigurationPolicy,
        before: &ConfigurationPolicyStatus,
        verdict: &TemplateVerdict,
    ) -> Result<Turn, PolicyError> {
        let intervals = policy.spec.evaluation_interval.as_ref();
        let context = Context {
            intervals,
            now: Timestamp::now(),
        };
        let mut status = before.clone();
        let changed = record_whole(&mut status, verdict, context);
        if verdict.compliant {
            status.related_objects = None;
        }
        let verdicts = if changed {
            Verdicts::Changed
        } else {
            Verdicts::AsBefore
        };
        if changed {
            self.publisher.inform(policy, &status);
        }
        let status = self
            .publisher
            .publish(policy, before, status, verdicts)
            .await?;
        Ok(Turn {
            status,
            evaluation: Evaluation::default(),
            only_edits_matter: true,
        })
    }

    /// Whether the policy's selector chooses other namespaces than at its last evaluation.
    async fn selection_changed(&self, policy: &ConfigurationPolicy, key: &ObjectKey) -> bool {
        let Some(now) = self.watch_namespaces(policy, key).await else {
            return false;
        };
        self.selections.lock().get(key) != Some(&now)
    }

    /// Stops watching objects. What the selector chooses stays watched: a new namespace is looked at whatever
    /// the interval says.
    async fn stop_watching(&self, policy: &ConfigurationPolicy, key: &ObjectKey) {
        if self.watch_namespaces(policy, key).await.is_none() {
            self.watches.forget(key);
        }
    }

    async fn watch_namespaces(
        &self,
        policy: &ConfigurationPolicy,
        key: &ObjectKey,
    ) -> Option<Selection> {
        let selector = selector(policy.spec.namespace_selector.as_ref())?;
        let batch = self.watches.begin(key);
        let reads = Reads {
            batch: &batch,
            client: &self.evaluator.client,
            discovery: &self.discovery,
            freshness: Freshness::Polled,
        };
        let selection = reads.selected(selector, self.evaluator.terminating).await;
        batch.end();
        Some(selection)
    }

    fn forget(&self, key: &ObjectKey) {
        self.watches.forget(key);
        self.evaluator.memories.forget(key);
        self.evaluator.metrics.forget(key);
        self.selections.lock().remove(key);
        self.throttle.forget(key);
    }

    /// Looks at a change of a policy: whether the policy is to be evaluated.
    pub fn noticed(&self, change: &Change<ConfigurationPolicy>) -> bool {
        if let (Some(old), None) = change.valid() {
            self.publisher
                .forget(old.metadata.uid.as_deref().unwrap_or_default());
        }
        wakes(change)
    }
}
