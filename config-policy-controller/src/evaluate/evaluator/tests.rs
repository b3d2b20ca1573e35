//! How many requests an evaluation sends.

use std::sync::atomic::{AtomicUsize, Ordering};

use kube::core::GroupVersionKind;
use reeve_runtime::discovery::DiscoveryError;
use reeve_runtime::metrics::Metrics;
use reeve_runtime::writes::Deletion;
use serde_json::json;

use super::*;
use crate::dryrun::{Offline, block_on, builtin};
use crate::evaluate::cluster::RecreateError;
use crate::evaluate::templates::Templates;

/// A cluster that counts updates and dry runs, and answers updates with `update`.
#[derive(Clone)]
struct Counting {
    objects: Offline,
    /// Whether the watch has delivered the objects.
    is_delivered: bool,
    dry_runs: Arc<AtomicUsize>,
    updates: Arc<AtomicUsize>,
    update: fn(&Value) -> Result<Value, WriteError>,
}

impl Counting {
    fn new(objects: Vec<Value>, update: fn(&Value) -> Result<Value, WriteError>) -> Self {
        Self {
            objects: Offline::new(builtin(), objects).unwrap(),
            is_delivered: true,
            dry_runs: Arc::default(),
            updates: Arc::default(),
            update,
        }
    }

    fn counts(&self) -> (usize, usize) {
        let read = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        (read(&self.dry_runs), read(&self.updates))
    }
}

/// The object with the marks of an API server.
fn stored(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["uid"] = json!("u");
    object["metadata"]["resourceVersion"] = json!("1");
    object
}

impl Cluster for Counting {
    fn read_mode(&self) -> ReadMode {
        ReadMode::Watched
    }

    async fn kind(&self, kind: &GroupVersionKind) -> Result<ServedKind, DiscoveryError> {
        self.objects.kind(kind).await
    }

    async fn get(
        &self,
        kind: &ServedKind,
        location: &Location,
    ) -> Result<Option<Arc<Value>>, ReadError> {
        let found = self.objects.get(kind, location).await?;
        let found = found.filter(|_| self.is_delivered);
        Ok(found.map(|object| Arc::new(stored(&object))))
    }

    async fn list(
        &self,
        kind: &ServedKind,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Arc<Value>>, ReadError> {
        self.objects.list(kind, namespace, selector).await
    }

    async fn get_uncached(
        &self,
        kind: &ServedKind,
        location: &Location,
    ) -> Result<Option<Value>, ReadError> {
        let found = self.objects.get_uncached(kind, location).await?;
        Ok(found.map(|object| stored(&object)))
    }

    async fn create(
        &self,
        kind: &ServedKind,
        location: &Location,
        object: &Value,
        _: Option<&str>,
    ) -> Result<Value, WriteError> {
        match self.objects.get(kind, location).await {
            Ok(None) => Ok(object.clone()),
            _ => Err(WriteError::BadRequest("unknown field".to_owned())),
        }
    }

    async fn replace(
        &self,
        _: &ServedKind,
        _: &Location,
        object: &Value,
        write: Write,
    ) -> Result<Value, WriteError> {
        match write {
            Write::DryRun => {
                self.dry_runs.fetch_add(1, Ordering::Relaxed);
                Ok(object.clone())
            }
            Write::Real => {
                self.updates.fetch_add(1, Ordering::Relaxed);
                (self.update)(object)
            }
        }
    }

    async fn delete(&self, _: &ServedKind, _: &Location, _: &str) -> Result<Deletion, WriteError> {
        Ok(Deletion::Complete)
    }

    async fn recreate(
        &self,
        _: &ServedKind,
        _: (&Location, &str),
        _: &Value,
        _: Option<&str>,
    ) -> Result<Value, RecreateError> {
        Err(RecreateError::StillThere)
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

fn policy(action: &str, value: &str) -> ConfigurationPolicy {
    serde_json::from_value(json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy",
        "metadata": {"name": "p", "namespace": "managed", "uid": "p", "generation": 1},
        "spec": {"remediationAction": action, "object-templates": [{
            "complianceType": "musthave",
            "objectDefinition": {
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "c", "namespace": "default"}, "data": {"a": value},
            },
        }]},
    }))
    .unwrap()
}

fn live() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "default"}, "data": {"a": "found", "b": "x"},
    })
}

fn evaluate(evaluator: &Evaluator, policy: &ConfigurationPolicy, cluster: &Counting) -> Evaluation {
    let work = EvaluationInput {
        policy,
        templates: policy.spec.object_templates.as_deref().unwrap(),
        templating: Templating::On,
        sensitivity: Sensitivity::Plain,
        secrets: &Secrets::default(),
        before: &[],
        length: DiffLength::Truncated,
    };
    let deps = Deps {
        cluster,
        templates: &Templates::default(),
        selection: None,
        policy: "p",
    };
    block_on(evaluator.run(&work, &deps))
}

fn evaluator() -> Evaluator {
    Evaluator {
        comparisons: ComparisonCache::default(),
        metrics: PolicyMetrics::new(&Metrics::default()),
    }
}

#[test]
fn cfg_104_evaluation_ends_after_repeated_conflicts() {
    let cluster = Counting::new(vec![live()], |_| {
        Err(WriteError::Conflict("changed".to_owned()))
    });
    let evaluation = evaluate(&evaluator(), &policy("enforce", "wanted"), &cluster);
    assert_eq!(cluster.counts(), (0, 4));
    assert_eq!(
        evaluation.failures,
        ["configmaps [c] in namespace default failed to update with the error `changed`"]
    );
}

#[test]
fn invalid_object_that_the_watch_has_not_delivered_is_updated() {
    let mut cluster = Counting::new(vec![live()], |_| {
        Err(WriteError::BadRequest("unknown field".to_owned()))
    });
    cluster.is_delivered = false;
    let evaluation = evaluate(&evaluator(), &policy("enforce", "wanted"), &cluster);
    assert_eq!(cluster.counts(), (0, 1));
    assert!(
        evaluation.failures.is_empty(),
        "that holds until the object or the policy changes"
    );
}

#[test]
fn cfg_99_unchanged_object_is_compared_once() {
    let cluster = Counting::new(vec![live()], |object| Ok(object.clone()));
    let evaluator = evaluator();
    let policy = policy("inform", r#"{{ fromConfigMap "default" "c" "b" }}"#);
    for _ in 0..3 {
        let evaluation = evaluate(&evaluator, &policy, &cluster);
        assert_eq!(
            evaluation.related[0].compliant.as_deref(),
            Some("NonCompliant")
        );
    }
    assert_eq!(cluster.counts(), (1, 0));
}
