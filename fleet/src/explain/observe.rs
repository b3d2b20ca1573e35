//! Reads what an explanation is about.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kube::api::{Api, DynamicObject};
use kube::{Client, Resource as _, ResourceExt as _};
use reeve_api::Policy;
use reeve_api::ocm::{
    AddOnPlacementScore, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement,
    PlacementDecision,
};
use reeve_runtime::discovery::{Discovery, group_version_kind};
use reeve_runtime::object::ObjectKey;
use serde_json::Value;

use super::Servers;
use super::messages;
use crate::placement::membership::Availability;
use crate::placement::schedule::{Inputs, Placed, Scores};
use crate::results::cluster::{Evaluations, of_cluster};
use crate::results::hub::{HubView, PolicyView, list_served, view};

/// Why there is nothing to explain.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// There is no such object.
    #[error("{}", messages::not_found(.kind, .name, .known))]
    NotFound {
        /// Its kind.
        kind: &'static str,
        /// Its name as it was given.
        name: String,
        /// The objects that there are.
        known: Vec<String>,
    },
    /// Several objects have the name.
    #[error("{kind} {name} is in several namespaces: name one of {}", .known.join(", "))]
    Ambiguous {
        /// The kind.
        kind: &'static str,
        /// The name.
        name: String,
        /// The objects of this name.
        known: Vec<String>,
    },
    /// A server cannot be read.
    #[error("cannot read {what} of {server}: {}", messages::reason(.source))]
    Read {
        /// What was read.
        what: String,
        /// The name of the server.
        server: String,
        /// The error of the request.
        #[source]
        source: Box<kube::Error>,
    },
}

fn unread(what: &str, server: &str) -> impl FnOnce(kube::Error) -> ExplainError + use<> {
    let (what, server) = (what.to_owned(), server.to_owned());
    move |source| ExplainError::Read {
        what,
        server,
        source: Box::new(source),
    }
}

/// What the hub has.
pub(super) struct Observed {
    pub(super) hub: HubView,
    pub(super) decisions: Vec<PlacementDecision>,
    pub(super) clusters: BTreeMap<String, Arc<ManagedCluster>>,
    sets: BTreeMap<String, Arc<ManagedClusterSet>>,
    set_bindings: Vec<ManagedClusterSetBinding>,
    scores: Arc<Scores>,
}

fn by_name<T: kube::ResourceExt>(all: Vec<T>) -> BTreeMap<String, Arc<T>> {
    let named = all.into_iter().map(|one| (one.name_any(), Arc::new(one)));
    named.collect()
}

/// Reads the hub.
pub(super) async fn hub(hub: &Client) -> Result<Observed, ExplainError> {
    let of_hub = |what: &str| unread(what, "the hub");
    let clusters = list_served(hub, &ManagedCluster::url_path(&(), None)).await;
    let sets = list_served(hub, &ManagedClusterSet::url_path(&(), None)).await;
    let bindings = list_served(hub, &ManagedClusterSetBinding::url_path(&(), None)).await;
    let decisions = list_served(hub, &PlacementDecision::url_path(&(), None)).await;
    let scores = list_served(hub, &AddOnPlacementScore::url_path(&(), None)).await;
    let scores: Vec<AddOnPlacementScore> = scores.map_err(of_hub("AddOnPlacementScores"))?;
    let scores = scores.into_iter().map(|one| {
        let key = ObjectKey::new(one.namespace().unwrap_or_default(), one.name_any());
        (key, Arc::new(one))
    });
    Ok(Observed {
        hub: view(hub).await.map_err(of_hub("policies and placements"))?,
        decisions: decisions.map_err(of_hub("PlacementDecisions"))?,
        clusters: by_name(clusters.map_err(of_hub("ManagedClusters"))?),
        sets: by_name(sets.map_err(of_hub("ManagedClusterSets"))?),
        set_bindings: bindings.map_err(of_hub("ManagedClusterSetBindings"))?,
        scores: Arc::new(scores.collect()),
    })
}

/// The one object that a name means.
fn find<'a, T>(
    kind: &'static str,
    name: &str,
    all: &'a [T],
    key: impl Fn(&T) -> (String, String),
) -> Result<&'a T, ExplainError> {
    let full = |one: &T| {
        let (namespace, own) = key(one);
        format!("{namespace}/{own}")
    };
    let is_meant = |one: &&T| key(one).1 == name || full(one) == name;
    let meant: Vec<&T> = all.iter().filter(is_meant).collect();
    match meant.as_slice() {
        [one] => Ok(one),
        [] => Err(ExplainError::NotFound {
            kind,
            name: name.to_owned(),
            known: all.iter().map(full).collect(),
        }),
        several => Err(ExplainError::Ambiguous {
            kind,
            name: name.to_owned(),
            known: several.iter().map(|one| full(one)).collect(),
        }),
    }
}

impl Observed {
    /// The root policy that a name means.
    pub(super) fn root(&self, name: &str) -> Result<&PolicyView, ExplainError> {
        find("Policy", name, &self.hub.roots, |root| {
            (root.metadata.namespace.clone(), root.metadata.name.clone())
        })
    }

    /// The placement that a name means.
    pub(super) fn placement(&self, name: &str) -> Result<&Placement, ExplainError> {
        find("Placement", name, &self.hub.placements, |placement| {
            (
                placement.namespace().unwrap_or_default(),
                placement.name_any(),
            )
        })
    }

    /// The policy of a name and, if the name has one, the index of its template.
    pub(super) fn template(
        &self,
        name: &str,
    ) -> Result<(&PolicyView, Option<usize>), ExplainError> {
        let whole = self.root(name);
        let Some((policy, template)) = name.rsplit_once('/') else {
            return whole.map(|root| (root, None));
        };
        if let Ok(root) = whole {
            return Ok((root, None));
        }
        let root = self.root(policy)?;
        let mut names = root.spec.templates.iter();
        let names: Vec<&String> = names
            .by_ref()
            .map(|one| &one.object_definition.metadata.name)
            .collect();
        match names.iter().position(|own| *own == template) {
            Some(index) => Ok((root, Some(index))),
            None => Err(ExplainError::NotFound {
                kind: "template",
                name: name.to_owned(),
                known: names.iter().map(|own| format!("{policy}/{own}")).collect(),
            }),
        }
    }

    /// The clusters that a placement may choose.
    pub(super) fn availability(&self, placement: &Placement) -> Availability {
        let namespace = placement.namespace();
        let names = self.set_bindings.iter();
        let names: Vec<String> = names
            .filter(|binding| binding.namespace() == namespace)
            .map(kube::ResourceExt::name_any)
            .collect();
        let names = names.iter().map(String::as_str);
        Availability::of(placement, names, &self.sets, &self.clusters)
    }

    /// What the placement controller decides by.
    pub(super) fn inputs(&self, placement: &Placement, availability: &Availability) -> Inputs {
        let key = ObjectKey::new(
            placement.namespace().unwrap_or_default(),
            placement.name_any(),
        );
        Inputs {
            placement: Arc::new(placement.clone()),
            clusters: availability.clusters.clone(),
            placed: Placed::of(&key, &self.decisions),
            scores: Arc::clone(&self.scores),
            now: Timestamp::now(),
        }
    }

    /// The clusters in the decisions of a placement.
    pub(super) fn decided(&self, namespace: &str, name: &str) -> Vec<String> {
        let own = self.decisions.iter().filter(|one| {
            one.metadata.namespace.as_deref() == Some(namespace) && one.placement() == Some(name)
        });
        let mut names: Vec<String> = own
            .flat_map(|one| one.clusters().map(str::to_owned))
            .collect();
        names.sort();
        names
    }
}

/// A policy as the servers have it.
#[derive(Default)]
pub(super) struct OfPolicy {
    /// The root policy.
    pub(super) root: Value,
    /// The replicated policies, by the namespace of their clusters.
    pub(super) replicas: BTreeMap<String, Value>,
    /// What managed clusters have of it, by name.
    pub(super) on_clusters: BTreeMap<String, OnCluster>,
}

/// A policy on a managed cluster.
#[derive(Default)]
pub(super) struct OnCluster {
    /// The policy in the namespace of the cluster.
    pub(super) policy: Option<Value>,
    /// The objects of its templates, in their order.
    pub(super) objects: Vec<TemplateObject>,
    pub(super) evaluations: Evaluations,
}

/// The object of a template on a managed cluster.
pub(super) enum TemplateObject {
    Found(Box<Value>),
    Absent,
    /// The cluster does not serve its kind.
    NotServed,
}

/// The objects of templates.
pub(super) fn definitions(policy: &Value) -> impl Iterator<Item = &Value> {
    let templates = policy.pointer("/spec/policy-templates");
    let templates = templates.and_then(Value::as_array).into_iter().flatten();
    templates.map(|template| template.get("objectDefinition").unwrap_or(&Value::Null))
}

/// A text of a value; empty if there is none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default()
}

async fn get(client: &Client, path: &str) -> Result<Option<Value>, kube::Error> {
    let request = http::Request::get(path).body(Vec::new());
    let request = request.map_err(kube::Error::HttpError)?;
    match client.request_text(request).await {
        // The content may be nested more deeply than a decoder accepts; then there is nothing to explain in it.
        Ok(text) => Ok(Some(
            reeve_runtime::decode::from_str(&text).unwrap_or_default(),
        )),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a policy on the hub and on the managed clusters that can be read.
pub(super) async fn policy(
    servers: &Servers,
    observed: &Observed,
    root: &PolicyView,
) -> Result<OfPolicy, ExplainError> {
    let (namespace, name) = (&root.metadata.namespace, &root.metadata.name);
    let of_hub = || unread("the policy", "the hub");
    let path =
        |namespace: &str, name: &str| format!("{}/{name}", Policy::url_path(&(), Some(namespace)));
    let found = get(&servers.hub, &path(namespace, name)).await;
    let mut of_policy = OfPolicy {
        root: found.map_err(of_hub())?.unwrap_or_default(),
        ..OfPolicy::default()
    };
    let replica = format!("{namespace}.{name}");
    let own = observed.hub.replicas.keys();
    for (cluster, _) in own.filter(|(_, name)| *name == replica) {
        let found = get(&servers.hub, &path(cluster, &replica)).await;
        if let Some(found) = found.map_err(of_hub())? {
            of_policy.replicas.insert(cluster.clone(), found);
        }
    }
    for (cluster, client) in &servers.clusters {
        if let Some(found) = of_policy.replicas.get(cluster) {
            let on = on_cluster(client, cluster, &replica, found).await;
            let on = on.map_err(unread("the policy", cluster))?;
            of_policy.on_clusters.insert(cluster.clone(), on);
        }
    }
    Ok(of_policy)
}

async fn on_cluster(
    client: &Client,
    cluster: &str,
    name: &str,
    replica: &Value,
) -> Result<OnCluster, kube::Error> {
    let path = format!("{}/{name}", Policy::url_path(&(), Some(cluster)));
    let policy = get(client, &path).await?;
    let discovery = Discovery::new(client.clone());
    let mut objects = Vec::new();
    for definition in definitions(replica) {
        objects.push(object(client, &discovery, cluster, definition).await?);
    }
    let evaluations = match of_cluster(client, cluster).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Evaluations::default(),
        evaluations => evaluations?,
    };
    Ok(OnCluster {
        policy,
        objects,
        evaluations,
    })
}

async fn object(
    client: &Client,
    discovery: &Discovery,
    cluster: &str,
    definition: &Value,
) -> Result<TemplateObject, kube::Error> {
    let kind = group_version_kind(text(definition, "/apiVersion"), text(definition, "/kind"));
    let Ok(served) = discovery.find(&kind).await else {
        return Ok(TemplateObject::NotServed);
    };
    let api: Api<DynamicObject> = served.api(client.clone(), cluster);
    let path = format!(
        "{}/{}",
        api.resource_url(),
        text(definition, "/metadata/name")
    );
    let found = get(client, &path).await?;
    Ok(found.map_or(TemplateObject::Absent, |found| {
        TemplateObject::Found(Box::new(found))
    }))
}
