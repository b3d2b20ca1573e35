//! Evaluates a policy over objects in memory: the evaluation of the controller, without a cluster.

mod kinds;
mod offline;

use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use reeve_api::Compliance;
use reeve_api::configuration_policy::{
    ConfigurationPolicy, ConfigurationPolicyStatus, EvaluationInterval,
};
use reeve_runtime::metrics::Metrics;

use crate::error::PolicyError;
use crate::evaluate::PolicyEvaluation;
use crate::evaluate::diff::Sensitivity;
use crate::evaluate::encryption_keys::{self, KeyPair};
use crate::evaluate::evaluator::Evaluator;
use crate::evaluate::memo::ComparisonCache;
use crate::evaluate::selectors::namespaces::select_namespaces;
use crate::evaluate::spec::{self, Templating, selector};
use crate::evaluate::templates::Templates;
use crate::messages;
use crate::metrics::PolicyMetrics;
use crate::status::custom_message::LiveObjects;
use crate::status::publish::{PublishStatus, StatusBefore, publish_verdict};
use crate::status::summary::TemplateVerdict;
use crate::status::update::{ConditionChange, EvaluatedPolicy, status_update};
use reeve_template_reads::Secrets;

pub use crate::evaluate::diff::DiffLength;
pub use crate::evaluate::selectors::namespaces::TerminatingInclusion;
pub use kinds::{builtin, kind};
pub use offline::Offline;

pub(crate) use offline::block_on;

/// The interval of both states: polling mode, and no message notes that the policy is not evaluated again.
const INTERVAL: &str = "10s";

/// How policies are evaluated in memory.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether namespaces that are being deleted are selected, where the policy leaves it open.
    pub terminating: TerminatingInclusion,
    /// How much of a difference is recorded.
    pub length: DiffLength,
    /// Functions that fail in templates, besides the engine's own.
    pub denied_functions: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            terminating: TerminatingInclusion::IfMatch,
            length: DiffLength::Truncated,
            denied_functions: Vec::new(),
        }
    }
}

/// What an evaluation found.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The status that the policy would have: verdicts, related objects with their differences and the fields that
    /// differ.
    pub status: ConfigurationPolicyStatus,
    /// The compliance messages, oldest first.
    pub messages: Vec<String>,
    /// Why a controller would retry. Empty if everything could be evaluated.
    pub failures: Vec<String>,
}

impl Report {
    /// The verdict.
    pub fn compliance(&self) -> Option<Compliance> {
        self.status.compliance()
    }
}

/// Evaluates a policy over objects. Its `remediationAction` counts as inform: nothing in `objects`
/// changes, and the report has the findings.
pub fn evaluate(policy: &ConfigurationPolicy, objects: &Offline, options: &Options) -> Report {
    let mut policy = policy.clone();
    if !policy.spec.remediation_action.is_empty() {
        "inform".clone_into(&mut policy.spec.remediation_action);
    }
    policy.spec.evaluation_interval = Some(EvaluationInterval {
        compliant: Some(INTERVAL.to_owned()),
        noncompliant: Some(INTERVAL.to_owned()),
    });
    let publisher = Collected::default();
    let before = ConfigurationPolicyStatus::default();
    let evaluator = Evaluator {
        comparisons: ComparisonCache::default(),
        metrics: PolicyMetrics::new(&Metrics::default()),
    };
    if spec::templating(&policy) == Templating::On && spec::mentions_the_hub(&policy) {
        return without_hub(&policy, publisher);
    }
    let keys = encryption_keys::for_policy(&policy, |secret| {
        let secret = objects.secret(secret)?;
        Some(Arc::new(KeyPair::of(secret)))
    });
    let templates = keys.map(|keys| Templates {
        denied: options.denied_functions.clone().into(),
        keys: keys.map(Arc::new),
        ..Templates::default()
    });
    let selection = selector(&policy)
        .map(|selector| select_namespaces(selector, &objects.namespaces(), options.terminating));
    let turn = PolicyEvaluation {
        evaluator: &evaluator,
        cluster: objects,
        publisher: &publisher,
        policy: &policy,
        before: &before,
        templates,
        selection,
        sensitivity: Sensitivity::Plain,
        secrets: Secrets::default(),
        length: options.length,
    };
    let (status, failures) = match block_on(turn.run()) {
        Ok(outcome) => (outcome.status, outcome.evaluation.failures),
        // Only publishing fails, and here it does not.
        Err(error) => (before, vec![error.to_string()]),
    };
    let messages = publisher.messages.into_inner();
    Report {
        status,
        messages,
        failures,
    }
}

/// Reports that hub templates cannot be resolved without a hub.
fn without_hub(policy: &ConfigurationPolicy, publisher: Collected) -> Report {
    let reason = messages::HUB_TEMPLATES_NEED_ADDON.to_owned();
    let verdict = TemplateVerdict::violation(messages::HUB_TEMPLATE_FAILURE, reason.clone());
    let objects = LiveObjects::new();
    let evaluated = EvaluatedPolicy {
        policy,
        objects: &objects,
    };
    let before = ConfigurationPolicyStatus::default();
    let mut failures = vec![reason];
    let status = block_on(publish_verdict(&publisher, evaluated, &before, &verdict))
        .unwrap_or_else(|error| {
            // Only publishing fails, and here it does not.
            failures.push(error.to_string());
            before
        });
    Report {
        status,
        messages: publisher.messages.into_inner(),
        failures,
    }
}

/// Collects the messages that a controller would publish.
#[derive(Default)]
struct Collected {
    messages: Mutex<Vec<String>>,
}

impl Collected {
    fn collect(
        &self,
        evaluated: EvaluatedPolicy<'_>,
        before: &ConfigurationPolicyStatus,
        after: ConfigurationPolicyStatus,
        verdicts: ConditionChange,
    ) -> ConfigurationPolicyStatus {
        let update = status_update(evaluated, before, after, verdicts, Timestamp::now());
        if update.events {
            self.messages.lock().push(update.message);
        }
        update.status
    }
}

impl PublishStatus for Collected {
    async fn report_interim(
        &self,
        evaluated: EvaluatedPolicy<'_>,
        before: &ConfigurationPolicyStatus,
        after: ConfigurationPolicyStatus,
    ) -> Result<ConfigurationPolicyStatus, PolicyError> {
        Ok(self.collect(evaluated, before, after, ConditionChange::Changed))
    }

    async fn publish_status(
        &self,
        evaluated: EvaluatedPolicy<'_>,
        before: StatusBefore<'_>,
        after: ConfigurationPolicyStatus,
        verdicts: ConditionChange,
    ) -> Result<ConfigurationPolicyStatus, PolicyError> {
        Ok(self.collect(evaluated, before.latest, after, verdicts))
    }

    fn emit_policy_event(&self, _: &ConfigurationPolicy, _: &ConfigurationPolicyStatus) {}
}
