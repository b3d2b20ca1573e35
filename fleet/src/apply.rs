//! Applies a user's objects, as `kubectl apply --server-side` does.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{GroupVersionKind, Request};
use reeve_manifests::{Object, Position};
use reeve_runtime::discovery::{Discovery, DiscoveryError, ServedKind, group_version_kind};
use reeve_runtime::object::status_message;
use serde_json::{Value, json};

use crate::objects::{self, POLICIES};

/// The field manager of the applied objects.
const MANAGER: &str = "reeve-up";
/// How long to wait until the API server serves the kind of an applied CRD, or has the service account of a namespace.
const SERVED: Duration = Duration::from_secs(10);
/// How often to ask for either.
const POLL: Duration = Duration::from_millis(20);

/// Why an object was not applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The server does not serve the kind.
    #[error(
        "{position}: {object}: no matches for kind \"{kind}\" in version \"{api_version}\" on {server}: ensure CRDs are installed first (--crds)"
    )]
    Kind {
        /// Where the object was read.
        position: Position,
        /// The kind and the name of the object.
        object: String,
        /// The kind.
        kind: String,
        /// Its `apiVersion`.
        api_version: String,
        /// The name of the server.
        server: String,
    },
    /// The server rejected the object.
    #[error("{position}: {object}: {reason}")]
    Refused {
        /// Where the object was read.
        position: Position,
        /// The kind and the name of the object.
        object: String,
        /// The server's reason.
        reason: String,
    },
    /// A CRD was applied, and the server does not serve its kind.
    #[error("{position}: {object}: {server} does not serve its kind after {} s", SERVED.as_secs())]
    NotServed {
        /// Where the CRD was read.
        position: Position,
        /// The kind and the name of the CRD.
        object: String,
        /// The name of the server.
        server: String,
    },
    /// Discovery failed.
    #[error("cannot ask {server} what kinds it serves: {reason}")]
    Discovery {
        /// The name of the server.
        server: String,
        /// The error of the request.
        reason: String,
    },
}

/// The server that gets objects.
#[derive(Clone)]
pub struct Target {
    /// Its name in errors.
    pub name: String,
    /// Its client.
    pub client: Client,
    /// The namespace of objects that name none.
    pub namespace: String,
}

impl Target {
    /// The hub: objects without a namespace go where placements may choose all clusters.
    pub fn hub(client: Client) -> Self {
        Self {
            name: "the hub".to_owned(),
            client,
            namespace: POLICIES.to_owned(),
        }
    }

    /// A managed cluster: objects without a namespace go to `default`.
    pub fn cluster(name: &str, client: Client) -> Self {
        Self {
            name: name.to_owned(),
            client,
            namespace: "default".to_owned(),
        }
    }

    /// The objects of a kind, of a namespaced one those in a namespace: absent, the one of objects that name none.
    pub fn api(&self, kind: &ServedKind, namespace: Option<&str>) -> Api<DynamicObject> {
        kind.api(self.client.clone(), namespace.unwrap_or(&self.namespace))
    }
}

/// What became of objects.
#[derive(Debug, Default)]
pub struct Applied {
    /// How many were applied.
    pub count: usize,
    /// The namespaces that the objects needed and that were made.
    pub namespaces: Vec<String>,
    /// What was not applied, and why.
    pub errors: Vec<ApplyError>,
}

/// The stage in which an object is applied. Objects that others depend on go first, whatever their order in the
/// files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Namespaces,
    Definitions,
    Rest,
}

/// Applies objects: namespaces first, then CRDs, then the rest in their order. A namespace that is missing is made. An
/// object that is refused does not keep the others from being applied.
pub fn apply<'a>(target: &'a Target, all: &'a [Object]) -> BoxFuture<'a, Applied> {
    Box::pin(async move {
        let mut all: Vec<&Object> = all.iter().collect();
        // A stable sort: within a stage the order of the files stays.
        all.sort_by_key(|object| stage(object));
        // Discovery reads only the groups that the objects name: another one may be broken.
        let discovery = Discovery::new(target.client.clone());
        let mut applied = Applied::default();
        let mut known = BTreeSet::new();
        for object in all {
            match apply_one(target, &discovery, object, &mut known).await {
                Ok(made) => {
                    applied.count += 1;
                    applied.namespaces.extend(made);
                }
                Err(error) => applied.errors.push(error),
            }
        }
        applied
    })
}

fn stage(object: &Object) -> Stage {
    if object.is("", "Namespace") {
        Stage::Namespaces
    } else if object.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        Stage::Definitions
    } else {
        Stage::Rest
    }
}

/// Waits until the API server serves the kind of a CRD, because its objects may come next.
async fn served(
    target: &Target,
    discovery: &Discovery,
    definition: &Object,
) -> Result<(), ApplyError> {
    let spec = &definition.value["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut versions = spec["versions"].as_array().into_iter().flatten();
    let Some(version) = versions.find(|version| version["served"] == true) else {
        return Ok(());
    };
    let (group, kind) = (text(&spec["group"]), text(&spec["names"]["kind"]));
    let kind = GroupVersionKind::gvk(&group, &text(&version["name"]), &kind);
    let until = Instant::now() + SERVED;
    loop {
        match discovery.find(&kind).await {
            Ok(_) => return Ok(()),
            Err(error) if !error.is_absent() => return Err(undiscovered(target, &error)),
            Err(_) if Instant::now() >= until => {
                return Err(ApplyError::NotServed {
                    position: definition.position.clone(),
                    object: definition.describe(),
                    server: target.name.clone(),
                });
            }
            Err(_) => tokio::time::sleep(POLL).await,
        }
    }
}

fn undiscovered(target: &Target, error: &DiscoveryError) -> ApplyError {
    ApplyError::Discovery {
        server: target.name.clone(),
        reason: match error {
            DiscoveryError::Unavailable { source, .. } => status_message(source),
            absent => absent.to_string(),
        },
    }
}

/// The served kind of an object.
pub async fn served_kind(
    target: &Target,
    discovery: &Discovery,
    object: &Object,
) -> Result<ServedKind, ApplyError> {
    let kind = group_version_kind(&object.api_version, &object.kind);
    match discovery.find(&kind).await {
        Ok(served) => Ok(served),
        Err(error) if !error.is_absent() => Err(undiscovered(target, &error)),
        Err(_) => Err(ApplyError::Kind {
            position: object.position.clone(),
            object: object.describe(),
            kind: object.kind.clone(),
            api_version: object.api_version.clone(),
            server: target.name.clone(),
        }),
    }
}

/// Applies an object, and returns the namespace that was made for it.
async fn apply_one(
    target: &Target,
    discovery: &Discovery,
    object: &Object,
    known: &mut BTreeSet<String>,
) -> Result<Option<String>, ApplyError> {
    let served_kind = served_kind(target, discovery, object).await?;
    let mut made = None;
    if served_kind.namespaced {
        let namespace = object.namespace.as_ref().unwrap_or(&target.namespace);
        if known.insert(namespace.clone()) && make_namespace(target, namespace).await {
            made = Some(namespace.clone());
        }
        if object.is("", "Pod") {
            wait_for_service_account(target, namespace).await;
        }
    }
    let api = target.api(&served_kind, object.namespace.as_deref());
    let mut value = object.value.clone();
    clean(&mut value, served_kind.namespaced);
    let how = PatchParams::apply(MANAGER).force();
    let request = Request::new(api.resource_url());
    let request = request.patch(&object.name, &how, &Patch::Apply(&value));
    // The response may be nested more deeply than a decoder accepts, and nothing needs it.
    let applied = match request.map_err(kube::Error::BuildRequest) {
        Ok(request) => target.client.request_text(request).await,
        Err(error) => Err(error),
    };
    applied.map_err(|error| ApplyError::Refused {
        position: object.position.clone(),
        object: object.describe(),
        reason: status_message(&error),
    })?;
    if value.get("status").is_some() {
        put_status(target, &api, object).await?;
    }
    if stage(object) == Stage::Definitions {
        served(target, discovery, object).await?;
    }
    Ok(made)
}

/// Initial objects of a cluster may come from one that runs: what a server sets is not for another.
fn clean(value: &mut Value, namespaced: bool) {
    let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    for field in ["managedFields", "resourceVersion", "uid"] {
        metadata.remove(field);
    }
    if !namespaced {
        metadata.remove("namespace");
    }
}

/// Writes the status that an object was read with, where its kind has a status of its own. Objects without that have
/// it already.
async fn put_status(
    target: &Target,
    api: &Api<DynamicObject>,
    object: &Object,
) -> Result<(), ApplyError> {
    let path = format!("{}/{}/status", api.resource_url(), object.name);
    let status = json!({ "status": object.value["status"] });
    match crate::start::merge(&target.client, &path, &status).await {
        Ok(()) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 || status.code == 405 => Ok(()),
        Err(error) => Err(ApplyError::Refused {
            position: object.position.clone(),
            object: object.describe(),
            reason: format!("status: {}", status_message(&error)),
        }),
    }
}

/// Waits until a namespace has the service account `default`, which a controller creates after the namespace: without it a Pod is
/// refused. When it does not come, the refusal of the Pod says so.
async fn wait_for_service_account(target: &Target, namespace: &str) {
    let api: Api<ServiceAccount> = Api::namespaced(target.client.clone(), namespace);
    let until = Instant::now() + SERVED;
    while matches!(api.get_opt("default").await, Ok(None)) && Instant::now() < until {
        tokio::time::sleep(POLL).await;
    }
}

/// Makes a namespace if there is none. An error shows when the object is applied.
async fn make_namespace(target: &Target, name: &str) -> bool {
    let api: Api<Namespace> = Api::all(target.client.clone());
    if !matches!(api.get_opt(name).await, Ok(None)) {
        return false;
    }
    let Ok(namespace) = serde_json::from_value(objects::namespace(name)) else {
        return false;
    };
    api.create(&kube::api::PostParams::default(), &namespace)
        .await
        .is_ok()
}
