//! One evaluation of a policy over objects in memory: the engine of the controller, without a cluster.

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
use crate::evaluate::Turn;
use crate::evaluate::diff::Origin;
use crate::evaluate::encryption_keys::{self, KeyPair};
use crate::evaluate::evaluator::Evaluator;
use crate::evaluate::memo::Memories;
use crate::evaluate::selectors::namespaces::select;
use crate::evaluate::spec::{self, Templating, selector};
use crate::evaluate::templates::Templates;
use crate::messages;
use crate::metrics::PolicyMetrics;
use crate::status::custom_message::Objects;
use crate::status::publish::{Sink, tell_whole};
use crate::status::summary::TemplateVerdict;
use crate::status::update::{Telling, Verdicts, decide};
use reeve_template_reads::Secrets;

pub use crate::evaluate::diff::Length;
pub use crate::evaluate::selectors::namespaces::Terminating;
pub use kinds::{builtin, kind};
pub use offline::Offline;

pub(crate) use offline::now;

/// The interval of both states: nothing is watched, and no message says that it is the last.
const INTERVAL: &str = "10s";

/// How policies are evaluated in memory.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether namespaces that are being deleted are selected, where the policy leaves it open.
    pub terminating: Terminating,
    /// How much of a difference is recorded.
    pub length: Length,
    /// Functions that fail in templates, besides the engine's own.
    pub denied_functions: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            terminating: Terminating::IfMatch,
            length: Length::Truncated,
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
    /// Why a controller would try again. Empty if everything could be judged.
    pub failures: Vec<String>,
}

impl Report {
    /// The verdict.
    pub fn compliance(&self) -> Option<Compliance> {
        self.status.compliance()
    }
}

/// Evaluates a policy over objects. It only looks, whatever its `remediationAction` says: nothing in `objects`
/// changes, and the report says what would be found.
pub fn evaluate(policy: &ConfigurationPolicy, objects: &Offline, options: &Options) -> Report {
    let mut policy = policy.clone();
    if !policy.spec.remediation_action.is_empty() {
        "inform".clone_into(&mut policy.spec.remediation_action);
    }
    policy.spec.evaluation_interval = Some(EvaluationInterval {
        compliant: Some(INTERVAL.to_owned()),
        noncompliant: Some(INTERVAL.to_owned()),
    });
    let sink = Collected::default();
    let before = ConfigurationPolicyStatus::default();
    let evaluator = Evaluator {
        memories: Memories::default(),
        metrics: PolicyMetrics::new(&Metrics::default()),
    };
    if spec::templating(&policy) == Templating::On && spec::mentions_the_hub(&policy) {
        return without_hub(&policy, sink);
    }
    let keys = encryption_keys::of_policy(&policy, |secret| {
        let secret = objects.secret(secret)?;
        Some(Arc::new(KeyPair::of(secret)))
    });
    let templates = keys.map(|keys| Templates {
        denied: options.denied_functions.clone().into(),
        keys: keys.map(Arc::new),
        ..Templates::default()
    });
    let selection = selector(&policy)
        .map(|selector| select(selector, &objects.namespaces(), options.terminating));
    let turn = Turn {
        evaluator: &evaluator,
        cluster: objects,
        sink: &sink,
        policy: &policy,
        before: &before,
        templates,
        selection,
        origin: Origin::Plain,
        secrets: Secrets::default(),
        length: options.length,
    };
    let (status, failures) = match now(turn.run()) {
        Ok(outcome) => (outcome.status, outcome.evaluation.failures),
        // Only publishing fails, and here it does not.
        Err(error) => (before, vec![error.to_string()]),
    };
    let messages = sink.messages.into_inner();
    Report {
        status,
        messages,
        failures,
    }
}

/// There is no hub to ask.
fn without_hub(policy: &ConfigurationPolicy, sink: Collected) -> Report {
    let reason = messages::HUB_TEMPLATES_NEED_ADDON.to_owned();
    let verdict = TemplateVerdict::violation(messages::HUB_TEMPLATE_FAILURE, reason.clone());
    let objects = Objects::new();
    let telling = Telling {
        policy,
        objects: &objects,
    };
    let before = ConfigurationPolicyStatus::default();
    let mut failures = vec![reason];
    let status = now(tell_whole(&sink, telling, &before, &verdict)).unwrap_or_else(|error| {
        // Only publishing fails, and here it does not.
        failures.push(error.to_string());
        before
    });
    Report {
        status,
        messages: sink.messages.into_inner(),
        failures,
    }
}

/// Keeps what a controller would tell.
#[derive(Default)]
struct Collected {
    messages: Mutex<Vec<String>>,
}

impl Sink for Collected {
    async fn publish(
        &self,
        telling: Telling<'_>,
        before: &ConfigurationPolicyStatus,
        after: ConfigurationPolicyStatus,
        verdicts: Verdicts,
    ) -> Result<ConfigurationPolicyStatus, PolicyError> {
        let publication = decide(telling, before, after, verdicts, Timestamp::now());
        if publication.events {
            self.messages.lock().push(publication.message);
        }
        Ok(publication.status)
    }

    fn inform(&self, _: &ConfigurationPolicy, _: &ConfigurationPolicyStatus) {}
}
