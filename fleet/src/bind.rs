//! Binds policies that nothing binds to all clusters, so that a policy can be tried without a placement.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::{Api, ListParams};
use kube::{Client, Resource as _};
use reeve_api::placement_binding::PlacementBinding;
use reeve_api::policy_set::PolicySet;
use reeve_api::{Policy, names};
use reeve_manifests::{Object, Position};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::apply::{ApplyError, Target, apply};

/// The name of the placement and the binding that are made.
const NAME: &str = "reeve-all-clusters";

/// The policies that were bound, as `namespace/name`.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    /// The policies.
    pub(crate) policies: Vec<String>,
    /// What was not applied.
    pub(crate) errors: Vec<ApplyError>,
}

/// The fields of a policy that count here.
#[derive(Deserialize)]
struct Named {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    namespace: String,
}

#[derive(Deserialize)]
struct List {
    items: Vec<Named>,
}

/// Binds each root policy of the hub that no binding names, by itself or by a policy set, to all clusters.
pub(crate) async fn bind_unbound(hub: &Client) -> Result<Bound, kube::Error> {
    let mut by_namespace: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (namespace, name) in unbound(hub).await? {
        by_namespace.entry(namespace).or_default().push(name);
    }
    let mut bound = Bound::default();
    let target = Target::hub(hub.clone());
    for (namespace, mut policies) in by_namespace {
        let own = earlier(hub, &namespace).await?;
        let names = policies.iter().map(|name| format!("{namespace}/{name}"));
        bound.policies.extend(names);
        policies.extend(own);
        let objects: Vec<Object> = objects(&namespace, &policies)
            .into_iter()
            .filter_map(|object| Object::new(Position::default(), object).ok())
            .collect();
        bound.errors.extend(apply(&target, &objects).await.errors);
    }
    Ok(bound)
}

/// The policies that an earlier call bound in a namespace, if they are still there.
async fn earlier(hub: &Client, namespace: &str) -> Result<Vec<String>, kube::Error> {
    let bindings: Api<PlacementBinding> = Api::namespaced(hub.clone(), namespace);
    let binding = bindings.get_opt(NAME).await?;
    let subjects = binding
        .into_iter()
        .flat_map(|binding| binding.spec.subjects);
    Ok(subjects.map(|subject| subject.name).collect())
}

async fn unbound(hub: &Client) -> Result<Vec<(String, String)>, kube::Error> {
    let all = ListParams::default();
    let bindings = Api::<PlacementBinding>::all(hub.clone()).list(&all).await?;
    let sets = Api::<PolicySet>::all(hub.clone()).list(&all).await?;
    let mut taken = BTreeSet::new();
    for binding in bindings {
        let namespace = binding.metadata.namespace.unwrap_or_default();
        for subject in binding.spec.subjects {
            taken.insert((namespace.clone(), subject.kind, subject.name));
        }
    }
    for set in sets {
        let namespace = set.metadata.namespace.unwrap_or_default();
        let name = set.metadata.name.unwrap_or_default();
        if taken.contains(&(namespace.clone(), "PolicySet".to_owned(), name)) {
            for policy in set.spec.policies {
                taken.insert((namespace.clone(), "Policy".to_owned(), policy));
            }
        }
    }
    let roots = ListParams::default().labels(&format!("!{}", names::ROOT_POLICY_LABEL));
    let request = kube::core::Request::new(Policy::url_path(&(), None)).list(&roots);
    let request = request.map_err(kube::Error::BuildRequest)?;
    let found: List = hub.request(request).await?;
    let all = found.items.into_iter().map(|policy| policy.metadata);
    let unbound = all.filter(|policy| {
        let key = (
            policy.namespace.clone(),
            "Policy".to_owned(),
            policy.name.clone(),
        );
        !taken.contains(&key)
    });
    Ok(unbound
        .map(|policy| (policy.namespace, policy.name))
        .collect())
}

/// A placement that chooses every cluster, also a tainted one, and what it needs.
fn objects(namespace: &str, policies: &[String]) -> [Value; 3] {
    let subjects = policies
        .iter()
        .map(|name| json!({ "apiGroup": names::GROUP, "kind": "Policy", "name": name }));
    let subjects: Vec<Value> = subjects.collect();
    [
        crate::objects::binding(namespace, "global"),
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": { "name": NAME, "namespace": namespace },
            "spec": { "clusterSets": ["global"], "tolerations": [{ "operator": "Exists" }] },
        }),
        json!({
            "apiVersion": format!("{}/v1", names::GROUP), "kind": "PlacementBinding",
            "metadata": { "name": NAME, "namespace": namespace },
            "placementRef": {
                "apiGroup": "cluster.open-cluster-management.io", "kind": "Placement", "name": NAME,
            },
            "subjects": subjects,
        }),
    ]
}
