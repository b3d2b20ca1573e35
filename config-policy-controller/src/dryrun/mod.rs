//! Evaluates a policy once and changes nothing: over objects in memory, or on a cluster. It is the evaluation of the
//! controller.

mod kinds;
mod offline;

use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::core::GroupVersionKind;
use parking_lot::Mutex;
use reeve_api::Compliance;
use reeve_api::configuration_policy::{
    ConfigurationPolicy, ConfigurationPolicyStatus, EvaluationInterval,
};
use reeve_runtime::dependencies::DependencyWatches;
use reeve_runtime::discovery::Discovery;
use reeve_runtime::metrics::Metrics;
use reeve_runtime::object::{ObjectKey, error_chain};

use crate::error::PolicyError;
use crate::evaluate::PolicyEvaluation;
use crate::evaluate::cluster::{Cluster, KindLookup, Live, ReadMode};
use crate::evaluate::diff::Sensitivity;
use crate::evaluate::encryption_keys::{self, KeyPair};
use crate::evaluate::evaluator::Evaluator;
use crate::evaluate::memo::ComparisonCache;
use crate::evaluate::spec::{self, Templating, selector};
use crate::evaluate::templates::Templates;
use crate::messages;
use crate::metrics::PolicyMetrics;
use crate::status::custom_message::LiveObjects;
use crate::status::finding::Location;
use crate::status::publish::{PublishStatus, StatusBefore, publish_verdict};
use crate::status::summary::TemplateVerdict;
use crate::status::update::{ConditionChange, EvaluatedPolicy, status_update};
use reeve_runtime::secrets::Secrets;

pub use crate::evaluate::cluster::plain;
pub use crate::evaluate::diff::DiffLength;
pub use crate::evaluate::selectors::namespaces::TerminatingInclusion;
pub use crate::evaluate::selectors::namespaces::{Namespace, select_namespaces};
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
    /// What object templates say that could not be evaluated although a controller would not retry: their kind is not
    /// served, or the selector of the policy makes no sense.
    pub unevaluated: Vec<String>,
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
    let policy = informing(policy);
    let observed = Observed {
        namespaces: Ok(objects.namespaces()),
        keys: key_location(&policy).and_then(|secret| objects.secret(&secret)),
    };
    block_on(report(&policy, objects, observed, options))
}

/// Evaluates a policy on a cluster. Its `remediationAction` counts as inform: the cluster gets dry runs of updates and
/// no writes. The policy need not be there.
pub fn evaluate_on<'a>(
    policy: &'a ConfigurationPolicy,
    client: Client,
    options: &'a Options,
) -> BoxFuture<'a, Report> {
    Box::pin(async move {
        let policy = informing(policy);
        let key = ObjectKey::of(&policy);
        let watches = DependencyWatches::new(client.clone(), |_: &ObjectKey| {});
        let kinds = KindLookup::WithoutWatches(Discovery::new(client.clone()));
        let cluster = Live::new(watches.begin(&key), client, kinds, ReadMode::Polled);
        let namespaces = match selector(&policy) {
            Some(_) => namespaces(&cluster).await,
            None => Ok(Vec::new()),
        };
        let keys = match key_location(&policy) {
            Some(secret) => read_secret(&cluster, &secret).await,
            None => None,
        };
        let observed = Observed { namespaces, keys };
        report(&policy, &cluster, observed, options).await
    })
}

/// What an evaluation reads besides the objects of its templates.
struct Observed {
    /// All namespaces, or why they cannot be read.
    namespaces: Result<Vec<Namespace>, String>,
    /// The Secret with the keys for encrypted values, if the policy has some and it exists.
    keys: Option<Secret>,
}

/// The policy as it is evaluated: it changes nothing, and is evaluated once.
fn informing(policy: &ConfigurationPolicy) -> ConfigurationPolicy {
    let mut policy = policy.clone();
    if !policy.spec.remediation_action.is_empty() {
        "inform".clone_into(&mut policy.spec.remediation_action);
    }
    policy.spec.evaluation_interval = Some(EvaluationInterval {
        compliant: Some(INTERVAL.to_owned()),
        noncompliant: Some(INTERVAL.to_owned()),
    });
    policy
}

fn key_location(policy: &ConfigurationPolicy) -> Option<ObjectKey> {
    encryption_keys::initialization_vector(policy)?;
    let namespace = ObjectKey::of(policy).namespace;
    Some(ObjectKey::new(&namespace, encryption_keys::SECRET))
}

async fn namespaces(cluster: &Live) -> Result<Vec<Namespace>, String> {
    let kind = GroupVersionKind::gvk("", "v1", "Namespace");
    let kind = cluster
        .kind(&kind)
        .await
        .map_err(|error| error_chain(&error))?;
    let listed = cluster.list(&kind, "", "").await;
    let listed = listed.map_err(|error| messages::namespaces_unreadable(error.text()))?;
    Ok(listed.iter().map(|object| Namespace::of(object)).collect())
}

/// A Secret that is absent and one that cannot be read are the same to the policy: its values stay encrypted.
async fn read_secret(cluster: &Live, secret: &ObjectKey) -> Option<Secret> {
    let kind = GroupVersionKind::gvk("", "v1", "Secret");
    let kind = cluster.kind(&kind).await.ok()?;
    let location = Location::new(&secret.namespace, &secret.name);
    let found = cluster.get_uncached(&kind, &location).await.ok()??;
    serde_json::from_value(found).ok()
}

async fn report<C: Cluster>(
    policy: &ConfigurationPolicy,
    cluster: &C,
    observed: Observed,
    options: &Options,
) -> Report {
    let publisher = Collected::default();
    let before = ConfigurationPolicyStatus::default();
    let evaluator = Evaluator {
        comparisons: ComparisonCache::default(),
        metrics: PolicyMetrics::new(&Metrics::default()),
    };
    if spec::templating(policy) == Templating::On && spec::mentions_the_hub(policy) {
        return without_hub(policy, publisher).await;
    }
    let namespaces = match observed.namespaces {
        Ok(namespaces) => namespaces,
        Err(reason) => {
            return Report {
                status: before,
                messages: Vec::new(),
                failures: vec![reason],
                unevaluated: Vec::new(),
            };
        }
    };
    let secret = observed.keys;
    let keys = encryption_keys::for_policy(policy, |_| Some(Arc::new(KeyPair::of(secret?))));
    let templates = keys.map(|keys| Templates {
        denied: options.denied_functions.clone().into(),
        keys: keys.map(Arc::new),
        ..Templates::default()
    });
    let selection = selector(policy)
        .map(|selector| select_namespaces(selector, &namespaces, options.terminating));
    let turn = PolicyEvaluation {
        evaluator: &evaluator,
        cluster,
        publisher: &publisher,
        policy,
        before: &before,
        templates,
        selection,
        sensitivity: Sensitivity::Plain,
        secrets: Secrets::default(),
        length: options.length,
    };
    let (status, failures, unevaluated) = match turn.run().await {
        Ok(outcome) => {
            let evaluation = outcome.evaluation;
            (outcome.status, evaluation.failures, evaluation.unevaluated)
        }
        // Only publishing fails, and here it does not.
        Err(error) => (before, vec![error.to_string()], Vec::new()),
    };
    Report {
        status,
        messages: publisher.messages.into_inner(),
        failures,
        unevaluated,
    }
}

/// Reports that hub templates cannot be resolved without a hub.
async fn without_hub(policy: &ConfigurationPolicy, publisher: Collected) -> Report {
    let why = messages::HUB_TEMPLATES_NEED_ADDON.to_owned();
    let verdict = TemplateVerdict::violation(messages::HUB_TEMPLATE_FAILURE, why.clone());
    let objects = LiveObjects::new();
    let evaluated = EvaluatedPolicy {
        policy,
        objects: &objects,
    };
    let before = ConfigurationPolicyStatus::default();
    let mut failures = vec![why];
    let written = publish_verdict(&publisher, evaluated, &before, &verdict).await;
    let status = written.unwrap_or_else(|error| {
        // Only publishing fails, and here it does not.
        failures.push(error.to_string());
        before
    });
    Report {
        status,
        messages: publisher.messages.into_inner(),
        failures,
        unevaluated: Vec::new(),
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
