//! A small cluster to read from.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use reeve_go_compat::labels::Selector;
use reeve_templates_engine::ambient::Fixed;
use reeve_templates_engine::budget::processor_time;
use reeve_templates_engine::lookup::{Found, Object, Read, ReadError, Reads, Resource};
use reeve_templates_engine::resolver::{Config, Failed, Input, Options, Resolved, Resolver};
use serde_json::{Value as Json, json};

/// Runs something that may take 20 s of this thread's CPU time: what other processes take of a busy machine does not count.
pub fn in_time<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let started = processor_time();
    let result = run();
    let taken = processor_time().saturating_sub(started);
    assert!(taken < Duration::from_secs(20), "{what}: {taken:?}");
    result
}

/// Objects, answered as an API server would.
pub struct World(Vec<Arc<Json>>);

fn object(api_version: &str, kind: &str, namespace: &str, name: &str, rest: &Json) -> Arc<Json> {
    let mut object = json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "managedFields": [{"manager": "x"}], "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "{}", "kept": "yes"}},
    });
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    for (key, value) in rest.as_object().expect("an object") {
        if key == "labels" {
            object["metadata"]["labels"] = value.clone();
        } else {
            object[key] = value.clone();
        }
    }
    Arc::new(object)
}

impl World {
    /// The objects that the examples of the behaviour reference read.
    pub fn new() -> Self {
        let claims = "cluster.open-cluster-management.io/v1alpha1";
        let clusters = "cluster.open-cluster-management.io/v1";
        let node =
            |name: &str, labels: &Json| object("v1", "Node", "", name, &json!({"labels": labels}));
        Self(vec![
            object(
                "v1",
                "Secret",
                "testns",
                "testsecret",
                &json!({"data": {
                "secretkey1": "c2VjcmV0a2V5MVZhbA==", "secretkey2": "c2VjcmV0a2V5MlZhbA=="}}),
            ),
            object("v1", "Secret", "testns", "emptysecret", &json!({})),
            object(
                "v1",
                "ConfigMap",
                "testns",
                "testconfigmap",
                &json!({
                "labels": {"app": "test"},
                "data": {"cmkey1": "cmkey1Val", "cmkey2": "cmkey2Val", "ingressSources": "[10.10.10.10, 1.1.1.1]", "n": "6"}}),
            ),
            object(
                "v1",
                "ConfigMap",
                "testns",
                "testcm-envb",
                &json!({"labels": {"env": "b"}, "data": {}}),
            ),
            object(
                "v1",
                "ConfigMap",
                "testns",
                "testcm-enva",
                &json!({"labels": {"env": "a", "app": "test"}, "data": {"k": "<&>"}}),
            ),
            object(
                "v1",
                "ConfigMap",
                "zeta",
                "shared",
                &json!({"data": {"from": "zeta"}}),
            ),
            object(
                "v1",
                "ConfigMap",
                "alpha",
                "shared",
                &json!({"data": {"from": "alpha"}}),
            ),
            object(
                "v1",
                "Namespace",
                "",
                "testns",
                &json!({"labels": {"a": "b"}}),
            ),
            object(
                claims,
                "ClusterClaim",
                "",
                "env",
                &json!({"spec": {"value": "dev"}}),
            ),
            object(claims, "ClusterClaim", "", "nospec", &json!({})),
            object(claims, "ClusterClaim", "", "novalue", &json!({"spec": {}})),
            object(
                clusters,
                "ManagedCluster",
                "",
                "cluster1",
                &json!({"labels": {"region": "x"}}),
            ),
            node("node-infra1", &json!({"node-role.kubernetes.io/infra": ""})),
            node(
                "node-infra2",
                &json!({"node-role.kubernetes.io/infra": "", "node-role.kubernetes.io/worker": ""}),
            ),
            node(
                "node-both",
                &json!({"node-role.kubernetes.io/infra": "", "node-role.kubernetes.io/storage": ""}),
            ),
            node(
                "node-worker",
                &json!({"node-role.kubernetes.io/worker": ""}),
            ),
        ])
    }
}

impl Reads for World {
    fn resource(&self, api_version: &str, kind: &str) -> Option<Result<Resource, ReadError>> {
        let (plural, namespaced, watchable) = match (api_version, kind) {
            ("v1", "Secret") => ("secrets", true, true),
            ("v1", "ConfigMap") => ("configmaps", true, true),
            ("v1", "Namespace") => ("namespaces", false, true),
            ("v1", "Node") => ("nodes", false, true),
            ("v1", "ComponentStatus") => ("componentstatuses", false, false),
            (_, "ClusterClaim") => ("clusterclaims", false, true),
            (_, "ManagedCluster") => ("managedclusters", false, true),
            _ => return Some(Err(ReadError::NotInstalled)),
        };
        Some(Ok(Resource {
            plural: plural.into(),
            namespaced,
            watchable,
        }))
    }

    fn read(&self, read: &Read) -> Option<Result<Found, ReadError>> {
        let text = |object: &Json, pointer: &str| {
            let text = object.pointer(pointer).and_then(Json::as_str);
            text.unwrap_or_default().to_owned()
        };
        let of_kind = self.0.iter().filter(|object| {
            text(object, "/apiVersion") == read.api_version && text(object, "/kind") == read.kind
        });
        if !read.name.is_empty() {
            let found = of_kind.filter(|object| {
                let is_there = text(object, "/metadata/namespace") == read.namespace;
                (is_there || read.namespace.is_empty())
                    && text(object, "/metadata/name") == read.name
            });
            let first = found.min_by_key(|object| text(object, "/metadata/namespace"));
            return Some(Ok(first.map_or(Found::Nothing, |object| {
                Found::Object(Object::new(object))
            })));
        }
        let selector = Selector::parse(&read.selector).expect("checked before the read");
        Some(Ok(Found::List(
            of_kind
                .filter(|object| {
                    (read.namespace.is_empty()
                        || text(object, "/metadata/namespace") == read.namespace)
                        && selector.matches_object(object)
                })
                .map(|object| Object::new(object))
                .collect(),
        )))
    }
}

/// Resolves in the small cluster.
pub fn resolve_with(
    config: Config,
    input: Input<'_>,
    options: Options<'_>,
) -> Result<Resolved, Failed> {
    let resolver = Resolver::new(config).expect("whole delimiters");
    let mut ambient = Fixed::new(Timestamp::UNIX_EPOCH, TimeZone::UTC, 1);
    resolver.resolve(input, options, Rc::new(World::new()), &mut ambient)
}

/// The resolved JSON, or the error's text.
pub fn outcome(result: Result<Resolved, Failed>) -> Result<String, String> {
    match result {
        Ok(resolved) => Ok(String::from_utf8(resolved.json).expect("JSON is text")),
        Err(failed) => Err(failed.to_string()),
    }
}

/// Resolves a JSON document with nothing special.
pub fn resolve_json(input: &str) -> Result<String, String> {
    outcome(resolve_with(
        Config::default(),
        Input::Json(input.as_bytes()),
        Options::default(),
    ))
}

/// Resolves YAML text with nothing special.
pub fn resolve_yaml(input: &str) -> Result<String, String> {
    outcome(resolve_with(
        Config::default(),
        Input::Yaml(input),
        Options::default(),
    ))
}
