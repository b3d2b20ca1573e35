//! Fixtures for the tests of several modules.

use std::collections::BTreeMap;
use std::sync::Arc;

use reeve_api::addon::DeploymentSettings;
use serde_json::{Value, json};

use crate::addon::{Addon, Installation};
use crate::facts::{AddOnFacts, ClusterFacts, Config, Environment, Hosting, Inputs, Siblings};

/// A managed cluster with these labels, annotations and claims.
pub fn cluster(fields: &Value) -> Arc<ClusterFacts> {
    let claims: Vec<Value> = fields["claims"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    let cluster = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {
            "name": "c1", "labels": fields["labels"], "annotations": fields["annotations"],
        },
        "spec": {},
        "status": {
            "clusterClaims": claims,
            "version": { "kubernetes": fields["version"].as_str().unwrap_or("v1.36.1") },
        },
    });
    Arc::new(ClusterFacts::of(&serde_json::from_value(cluster).unwrap()))
}

/// The same cluster, available or not.
pub fn available(cluster: &ClusterFacts, is_available: bool) -> Arc<ClusterFacts> {
    let mut cluster = cluster.clone();
    cluster.is_available = Some(is_available);
    Arc::new(cluster)
}

/// The inputs of an add-on without settings on the cluster `c1`.
pub fn inputs(addon: Addon) -> Inputs {
    Inputs {
        installation: Installation::new("c1", addon),
        addon: AddOnFacts::default(),
        cluster: cluster(&json!({})),
        hosting: None,
        config: Config::None,
        siblings: Siblings::default(),
        hub_id: None,
        environment: Arc::new(Environment {
            network_policies: true,
            ..Environment::default()
        }),
    }
}

/// The same with annotations.
pub fn annotated(addon: Addon, annotations: &[(&str, &str)]) -> Inputs {
    let pairs = annotations.iter();
    let annotations: BTreeMap<String, String> = pairs
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let mut inputs = inputs(addon);
    inputs.addon.annotations = annotations;
    inputs
}

/// The same with a configuration.
pub fn configured(addon: Addon, settings: Value) -> Inputs {
    let settings: DeploymentSettings = serde_json::from_value(settings).unwrap();
    let mut inputs = inputs(addon);
    inputs.config = Config::Some(Arc::new(settings));
    inputs
}

/// The same with its agent on another cluster.
pub fn hosted(addon: Addon) -> Inputs {
    let mut inputs = annotated(addon, &[(crate::facts::HOSTING_ANNOTATION, "host")]);
    inputs.hosting = Some(Hosting {
        name: "host".to_owned(),
        facts: Some(cluster(&json!({}))),
    });
    inputs
}
