//! Evaluations of enforcing policies one after the other: objects and status, over a cluster in memory
//! that can be written to.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dryrun::{block_on, builtin, kind};
use crate::error::PolicyError;
use crate::evaluate::PolicyEvaluation;
use crate::evaluate::cluster::{Cluster, ReadError, ReadMode, RecreateError, WriteError};
use crate::evaluate::diff::{DiffLength, Sensitivity};
use crate::evaluate::evaluator::{Evaluation, Evaluator};
use crate::evaluate::memo::ComparisonCache;
use crate::evaluate::templates::Templates;
use crate::metrics::PolicyMetrics;
use crate::status::finding::Location;
use crate::status::publish::{PublishStatus, StatusBefore};
use crate::status::update::{ConditionChange, EvaluatedPolicy, status_update};
use jiff::Timestamp;
use kube::core::GroupVersionKind;
use parking_lot::Mutex;
use reeve_api::configuration_policy::{ConfigurationPolicy, ConfigurationPolicyStatus};
use reeve_go_compat::{json as engine_json, yaml};
use reeve_runtime::discovery::{DiscoveryError, ServedKind};
use reeve_runtime::metrics::Metrics;
use reeve_runtime::secrets::Secrets;
use reeve_runtime::strict::Write;
use reeve_runtime::writes::Deletion;
use rstest::rstest;
use serde_json::{Value, json};

/// A policy `p` in `managed`, from the fields of its spec in YAML.
fn policy_of(spec: &str) -> ConfigurationPolicy {
    let spec = yaml::decode_sigs(spec.as_bytes()).unwrap();
    let spec = engine_json::encode(&spec, engine_json::Escape::Html).unwrap();
    serde_json::from_value(json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy",
        "metadata": {"name": "p", "namespace": "managed"},
        "spec": serde_json::from_slice::<Value>(&spec).unwrap(),
    }))
    .unwrap()
}

type Key = (String, Location);

/// A cluster that can be written to. Clones share it.
#[derive(Clone, Default)]
struct Cell(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// By plural name of the kind and location: a kind's versions are views of the same objects.
    objects: BTreeMap<Key, Value>,
    writes: u64,
    /// Names of objects that nobody may create, and of objects that nobody may delete.
    refused: Vec<String>,
    /// Nothing can be watched, and the policy relies on watches.
    unwatchable: bool,
}

impl Cell {
    fn names(&self) -> Vec<String> {
        let state = self.0.lock();
        state
            .objects
            .keys()
            .map(|(_, location)| location.name.clone())
            .collect()
    }

    fn refuse(&self, names: &[&str]) {
        self.0.lock().refused = names.iter().map(|name| (*name).to_owned()).collect();
    }
}

impl State {
    fn allowed(&self, location: &Location) -> Result<(), WriteError> {
        if self.refused.contains(&location.name) {
            return Err(WriteError::Forbidden("a webhook said no".to_owned()));
        }
        Ok(())
    }

    fn store(&mut self, kind: &ServedKind, location: &Location, object: &Value) -> Value {
        self.writes += 1;
        let mut object = object.clone();
        let metadata = &mut object["metadata"];
        if metadata["uid"].is_null() {
            metadata["uid"] = json!(format!("uid-{}", self.writes));
        }
        metadata["resourceVersion"] = json!(self.writes.to_string());
        self.objects.insert(key(kind, location), object.clone());
        object
    }
}

fn key(kind: &ServedKind, location: &Location) -> Key {
    (kind.resource.plural.clone(), location.clone())
}

impl Cluster for Cell {
    fn read_mode(&self) -> ReadMode {
        ReadMode::Watched
    }

    async fn kind(&self, wanted: &GroupVersionKind) -> Result<ServedKind, DiscoveryError> {
        let mut kinds = builtin();
        kinds.push(kind("config.example.com/v1", "Widget", "widgets", true));
        kinds.push(kind(
            "config.example.com/v1beta1",
            "Widget",
            "widgets",
            true,
        ));
        let serves = |kind: &ServedKind| {
            let resource = &kind.resource;
            (&resource.group, &resource.version, &resource.kind)
                == (&wanted.group, &wanted.version, &wanted.kind)
        };
        let found = kinds.into_iter().find(serves);
        found.ok_or_else(|| DiscoveryError::UnknownKind(wanted.clone()))
    }

    async fn get(
        &self,
        kind: &ServedKind,
        location: &Location,
    ) -> Result<Option<Arc<Value>>, ReadError> {
        if self.0.lock().unwatchable {
            return Err(ReadError::Unwatchable("it cannot be watched".to_owned()));
        }
        Ok(self.get_uncached(kind, location).await?.map(Arc::new))
    }

    async fn list(&self, _: &ServedKind, _: &str, _: &str) -> Result<Vec<Arc<Value>>, ReadError> {
        Err(ReadError::Unwatchable("it cannot be watched".to_owned()))
    }

    async fn get_uncached(
        &self,
        kind: &ServedKind,
        location: &Location,
    ) -> Result<Option<Value>, ReadError> {
        let mut found = self.0.lock().objects.get(&key(kind, location)).cloned();
        if let Some(object) = &mut found {
            object["apiVersion"] = json!(kind.resource.api_version);
        }
        Ok(found)
    }

    async fn create(
        &self,
        kind: &ServedKind,
        location: &Location,
        object: &Value,
        _: Option<&str>,
    ) -> Result<Value, WriteError> {
        let mut state = self.0.lock();
        state.allowed(location)?;
        if state.objects.contains_key(&key(kind, location)) {
            return Err(WriteError::Conflict("it exists".to_owned()));
        }
        Ok(state.store(kind, location, object))
    }

    async fn replace(
        &self,
        kind: &ServedKind,
        location: &Location,
        object: &Value,
        write: Write,
    ) -> Result<Value, WriteError> {
        match write {
            Write::DryRun => Ok(object.clone()),
            Write::Real => Ok(self.0.lock().store(kind, location, object)),
        }
    }

    async fn delete(
        &self,
        kind: &ServedKind,
        location: &Location,
        _: &str,
    ) -> Result<Deletion, WriteError> {
        let mut state = self.0.lock();
        state.allowed(location)?;
        state.objects.remove(&key(kind, location));
        Ok(Deletion::Complete)
    }

    async fn recreate(
        &self,
        kind: &ServedKind,
        (location, _): (&Location, &str),
        object: &Value,
        _: Option<&str>,
    ) -> Result<Value, RecreateError> {
        Ok(self.0.lock().store(kind, location, object))
    }

    async fn watch_namespace(&self, _: &str) {}

    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        work()
    }

    fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        block_on(answer)
    }
}

/// Statuses as they are written, one after the other.
#[derive(Default)]
struct Written(Mutex<Vec<ConfigurationPolicyStatus>>);

impl PublishStatus for Written {
    async fn report_interim(
        &self,
        evaluated: EvaluatedPolicy<'_>,
        before: &ConfigurationPolicyStatus,
        after: ConfigurationPolicyStatus,
    ) -> Result<ConfigurationPolicyStatus, PolicyError> {
        let (change, now) = (ConditionChange::Changed, Timestamp::now());
        Ok(status_update(evaluated, before, after, change, now).status)
    }

    async fn publish_status(
        &self,
        evaluated: EvaluatedPolicy<'_>,
        before: StatusBefore<'_>,
        after: ConfigurationPolicyStatus,
        verdicts: ConditionChange,
    ) -> Result<ConfigurationPolicyStatus, PolicyError> {
        let now = Timestamp::now();
        let update = status_update(evaluated, before.latest, after, verdicts, now);
        if update.write || before.has_unwritten() {
            self.0.lock().push(update.status.clone());
        }
        Ok(update.status)
    }

    fn emit_policy_event(&self, _: &ConfigurationPolicy, _: &ConfigurationPolicyStatus) {}
}

/// A policy in enforce mode and its status between evaluations.
struct Enforced {
    cell: Cell,
    evaluator: Evaluator,
    status: ConfigurationPolicyStatus,
    written: Written,
}

impl Enforced {
    fn new() -> Self {
        Self {
            cell: Cell::default(),
            evaluator: Evaluator {
                comparisons: ComparisonCache::default(),
                metrics: PolicyMetrics::new(&Metrics::default()),
            },
            status: ConfigurationPolicyStatus::default(),
            written: Written::default(),
        }
    }

    /// Evaluates the policy with these fields.
    fn turn(&mut self, prune: &str, definitions: &[&str]) -> Evaluation {
        let templates = definitions.iter().map(|definition| {
            format!("- complianceType: musthave\n  objectDefinition: {definition}\n")
        });
        let templates: String = templates.collect();
        self.evaluate_spec(&format!(
            "pruneObjectBehavior: {prune}\nobject-templates:\n{templates}"
        ))
    }

    fn evaluate_spec(&mut self, spec: &str) -> Evaluation {
        self.evaluate_with(spec, Secrets::default())
    }

    /// Evaluates the policy, whose hub templates read these secrets.
    fn evaluate_with(&mut self, spec: &str, secrets: Secrets) -> Evaluation {
        let mut policy = policy_of(&format!("remediationAction: enforce\n{spec}"));
        policy.metadata.uid = Some("policy".to_owned());
        let turn = PolicyEvaluation {
            evaluator: &self.evaluator,
            cluster: &self.cell,
            publisher: &self.written,
            policy: &policy,
            before: &self.status,
            templates: Ok(Templates::default()),
            selection: None,
            sensitivity: Sensitivity::Plain,
            secrets,
            length: DiffLength::Truncated,
        };
        let outcome = block_on(turn.run()).unwrap();
        self.status = outcome.status;
        outcome.evaluation
    }

    /// The related objects: name, and whether the policy created it.
    fn related(&self) -> Vec<(String, Option<bool>)> {
        let entries = self.status.related_objects.iter().flatten();
        let one = |entry: &reeve_api::configuration_policy::RelatedObject| {
            let metadata = entry.object.as_ref()?.metadata.as_ref()?;
            let properties = entry.properties.as_ref();
            let created = properties.and_then(|properties| properties.created_by_policy);
            Some((metadata.name.clone()?, created))
        };
        entries.filter_map(one).collect()
    }
}

const A: &str =
    "{apiVersion: config.example.com/v1, kind: Widget, metadata: {name: a, namespace: shop}}";
const B: &str =
    "{apiVersion: config.example.com/v1, kind: Widget, metadata: {name: b, namespace: shop}}";

fn entry(name: &str, created: bool) -> (String, Option<bool>) {
    (name.to_owned(), Some(created))
}

#[test]
fn object_is_pruned_when_policy_no_longer_names_it() {
    let mut policy = Enforced::new();
    policy.turn("DeleteIfCreated", &[A, B]);
    assert_eq!(policy.cell.names(), ["a", "b"]);
    policy.turn("DeleteIfCreated", &[A]);
    assert_eq!(policy.cell.names(), ["a"]);
    assert_eq!(policy.related(), [entry("a", true)]);
}

#[test]
fn unwatchable_object_is_not_pruned() {
    for prune in ["DeleteIfCreated", "DeleteAll"] {
        let mut policy = Enforced::new();
        policy.turn(prune, &[A]);
        policy.cell.0.lock().unwatchable = true;
        let evaluation = policy.turn(prune, &[A]);
        assert!(evaluation.failures.is_empty(), "{evaluation:?}");
        assert_eq!(policy.cell.names(), ["a"], "{prune}");
        assert_eq!(policy.related(), [entry("a", true)], "{prune}");
    }
}

#[test]
fn nothing_is_pruned_when_unnamed_template_cannot_be_listed() {
    let mut policy = Enforced::new();
    policy.turn("DeleteAll", &[A]);
    let unnamed = "{apiVersion: config.example.com/v1, kind: Widget, metadata: {namespace: shop}}";
    policy.turn("DeleteAll", &[unnamed]);
    assert_eq!(policy.cell.names(), ["a"]);
}

#[test]
fn related_object_is_kept_while_another_one_fails() {
    let mut policy = Enforced::new();
    policy.turn("DeleteIfCreated", &[A]);
    policy.cell.refuse(&["b"]);
    let evaluation = policy.turn("DeleteIfCreated", &[B]);
    assert!(!evaluation.failures.is_empty());
    policy.cell.refuse(&[]);
    policy.turn("DeleteIfCreated", &[B]);
    assert_eq!(policy.cell.names(), ["b"]);
    assert_eq!(policy.related(), [entry("b", true)]);
}

#[test]
fn related_object_is_kept_while_its_template_is_invalid() {
    let mut policy = Enforced::new();
    policy.turn("DeleteIfCreated", &[A, B]);
    let broken = B.replace("name: b", r#"name: '{{ fail "no" }}'"#);
    policy.turn("DeleteIfCreated", &[A, &broken]);
    assert_eq!(policy.cell.names(), ["a", "b"]);
    policy.turn("DeleteIfCreated", &[A]);
    assert_eq!(policy.cell.names(), ["a"]);
}

#[test]
fn object_is_kept_when_template_changes_its_api_version() {
    for prune in ["DeleteIfCreated", "DeleteAll"] {
        let mut policy = Enforced::new();
        let beta = A.replace("v1,", "v1beta1,");
        policy.turn(prune, &[&beta]);
        policy.turn(prune, &[A]);
        assert_eq!(policy.cell.names(), ["a"], "{prune}");
        assert_eq!(policy.related(), [entry("a", true)], "{prune}");
        policy.turn(prune, &[B]);
        assert_eq!(policy.cell.names(), ["b"], "{prune}");
    }
}

#[test]
fn created_by_policy_is_kept_when_two_templates_name_one_object() {
    let mut policy = Enforced::new();
    let labelled = A.replace("namespace: shop", "namespace: shop, labels: {l: x}");
    policy.turn("DeleteIfCreated", &[A, &labelled]);
    assert_eq!(policy.related(), [entry("a", true)]);
    policy.turn("DeleteIfCreated", &[A, &labelled]);
    assert_eq!(policy.related(), [entry("a", true)]);
    policy.turn("DeleteIfCreated", &[B]);
    assert_eq!(policy.cell.names(), ["b"]);
}

#[test]
fn failed_deletion_is_retried() {
    let mut policy = Enforced::new();
    policy.turn("DeleteIfCreated", &[A, B]);
    policy.cell.refuse(&["b"]);
    let evaluation = policy.turn("DeleteIfCreated", &[A]);
    assert!(evaluation.again.is_some(), "{evaluation:?}");
    assert_eq!(policy.related(), [entry("a", true), entry("b", true)]);
    policy.cell.refuse(&[]);
    let evaluation = policy.turn("DeleteIfCreated", &[A]);
    assert!(evaluation.again.is_none(), "{evaluation:?}");
    assert_eq!(policy.cell.names(), ["a"]);
}

#[test]
fn enforcement_that_succeeds_at_once_is_one_status_with_both_history_entries() {
    for interval in ["never", "2h", "watch"] {
        let mut policy = Enforced::new();
        let spec = format!(
            "evaluationInterval: {{noncompliant: {interval}}}\nobject-templates:\n- complianceType: musthave\n  objectDefinition: {A}\n"
        );
        policy.evaluate_spec(&spec);
        let written = policy.written.0.lock();
        let [status] = &written[..] else {
            panic!("{interval}: {written:?}");
        };
        assert_eq!(status.compliant.as_deref(), Some("Compliant"));
        let history = status.history.iter().flatten();
        let messages: Vec<_> = history
            .filter_map(|entry| entry.message.as_deref())
            .collect();
        assert!(
            matches!(messages[..], [now, before] if now.starts_with("Compliant;") && before.starts_with("NonCompliant;")),
            "{interval}: {messages:?}"
        );
    }
}

#[rstest]
#[case::an_error_that_quotes_the_template(
    r#"object-templates:
- complianceType: musthave
  objectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {a: hunter2, b: '{{ fail "no" }}'}}
"#
)]
#[case::an_error_that_quotes_a_raw_template(
    r#"object-templates-raw: |
  - complianceType: musthave
    objectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {a: hunter2, b: '{{ fail "hunter2" }}'}}
"#
)]
#[case::a_raw_text_that_is_no_list(
    "object-templates-raw: |
  - complianceType: musthave
    recordDiff: [hunter2]
    objectDefinition: *hunter2
"
)]
#[case::a_compliance_type(
    "object-templates-raw: |
  - complianceType: hunter2
    objectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}
"
)]
fn no_error_quotes_what_hub_templates_read(#[case] spec: &str) {
    let mut policy = Enforced::new();
    let secrets: Secrets = [String::from("hunter2")].into_iter().collect();
    let evaluation = policy.evaluate_with(spec, secrets);
    let text = serde_json::to_string(&policy.status).unwrap();
    assert!(text.contains("violation"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    // They go into the log.
    let failures = evaluation.failures.join("; ");
    assert!(!failures.contains("hunter2"), "{failures}");
}
