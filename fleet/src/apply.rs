//! Applies a user's files, as `kubectl apply --server-side` does.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, ResourceExt as _};
use kube::core::{GroupVersionKind, Request, TypeMeta};
use reeve_runtime::discovery::{Discovery, DiscoveryError, group_version_kind};
use reeve_runtime::object::status_message;
use serde_json::Value;

use crate::objects::POLICIES;

/// The field manager of the applied objects.
const MANAGER: &str = "reeve-up";
/// How long to wait until the API server serves the kind of an applied CRD.
const SERVED: Duration = Duration::from_secs(10);
/// How often to poll discovery for that kind.
const POLL: Duration = Duration::from_millis(20);

/// Why an object was not applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The file or folder cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// A file is not YAML.
    #[error("{path} is no YAML")]
    Yaml {
        /// The file.
        path: PathBuf,
        /// The error of the YAML reader.
        #[source]
        source: Box<serde_saphyr::Error>,
    },
    /// A document is not a Kubernetes object.
    #[error("{path}: a document without apiVersion, kind or metadata.name")]
    Object {
        /// The file with the document.
        path: PathBuf,
    },
    /// The server does not serve the kind.
    #[error("{path}: {name}: the hub knows no {kind} of {api_version}")]
    Kind {
        /// The file with the object.
        path: PathBuf,
        /// The name of the object.
        name: String,
        /// The kind.
        kind: String,
        /// Its `apiVersion`.
        api_version: String,
    },
    /// The server rejected the object.
    #[error("{path}: cannot apply {kind} {name}: {reason}")]
    Refused {
        /// The file with the object.
        path: PathBuf,
        /// The kind.
        kind: String,
        /// The name of the object.
        name: String,
        /// The server's reason.
        reason: String,
    },
    /// A CRD was applied, and the server does not serve its kind.
    #[error("{path}: the hub does not serve the kind of CustomResourceDefinition {name} after {} s", SERVED.as_secs())]
    NotServed {
        /// The file with the CRD.
        path: PathBuf,
        /// The name of the CRD.
        name: String,
    },
    /// Discovery failed.
    #[error("cannot ask the hub what kinds it knows: {0}")]
    Discovery(String),
}

/// How many objects of one path were applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The file or folder.
    pub path: PathBuf,
    /// The number of objects.
    pub count: usize,
}

/// An object to apply.
struct Document {
    path: PathBuf,
    object: DynamicObject,
    types: TypeMeta,
    name: String,
}

/// The stage in which an object is applied. Objects that others depend on go first, whatever their order in the
/// files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Namespaces,
    Definitions,
    Rest,
}

/// Applies files, and all YAML files of folders in the order of their names. Namespaces go first, then CRDs,
/// whichever file they are in. Namespaced objects without a namespace go to `policies`.
pub async fn apply(client: &Client, paths: &[PathBuf]) -> Result<Vec<Applied>, ApplyError> {
    let mut all = Vec::new();
    let mut applied = Vec::new();
    for path in paths {
        let before = all.len();
        for file in files(path)? {
            for object in documents(&file)? {
                all.push(document(&file, object)?);
            }
        }
        applied.push(Applied {
            path: path.clone(),
            count: all.len() - before,
        });
    }
    // A stable sort: within a stage the order of the files stays.
    all.sort_by_key(stage);
    // Discovery reads only the groups that the objects name: another one may be broken.
    let discovery = Discovery::new(client.clone());
    for document in &all {
        apply_one(client, &discovery, document).await?;
        if stage(document) == Stage::Definitions {
            served(&discovery, document).await?;
        }
    }
    Ok(applied)
}

fn stage(document: &Document) -> Stage {
    match (
        document.types.api_version.as_str(),
        document.types.kind.as_str(),
    ) {
        ("v1", "Namespace") => Stage::Namespaces,
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => Stage::Definitions,
        _ => Stage::Rest,
    }
}

fn document(path: &Path, object: Value) -> Result<Document, ApplyError> {
    let broken = || ApplyError::Object {
        path: path.to_owned(),
    };
    let object: DynamicObject = serde_json::from_value(object).map_err(|_| broken())?;
    Ok(Document {
        path: path.to_owned(),
        types: object.types.clone().ok_or_else(broken)?,
        name: object.metadata.name.clone().ok_or_else(broken)?,
        object,
    })
}

/// Waits until the API server serves the kind of a CRD, because its objects may come next.
async fn served(discovery: &Discovery, definition: &Document) -> Result<(), ApplyError> {
    let spec = &definition.object.data["spec"];
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
            Err(error) if !error.is_absent() => return Err(undiscovered(&error)),
            Err(_) if Instant::now() >= until => {
                return Err(ApplyError::NotServed {
                    path: definition.path.clone(),
                    name: definition.name.clone(),
                });
            }
            Err(_) => tokio::time::sleep(POLL).await,
        }
    }
}

fn undiscovered(error: &DiscoveryError) -> ApplyError {
    let why = match error {
        DiscoveryError::Unavailable { source, .. } => status_message(source),
        absent => absent.to_string(),
    };
    ApplyError::Discovery(why)
}

fn files(path: &Path) -> Result<Vec<PathBuf>, ApplyError> {
    let read = |source| ApplyError::Read {
        path: path.to_owned(),
        source,
    };
    if !std::fs::metadata(path).map_err(read)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(read)? {
        let file = entry.map_err(read)?.path();
        let is_yaml = file
            .extension()
            .is_some_and(|end| end == "yaml" || end == "yml");
        if is_yaml {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

fn documents(path: &Path) -> Result<Vec<Value>, ApplyError> {
    let text = std::fs::read_to_string(path).map_err(|source| ApplyError::Read {
        path: path.to_owned(),
        source,
    })?;
    let all: Result<Vec<Value>, _> = serde_saphyr::from_multiple(&text);
    let all = all.map_err(|source| ApplyError::Yaml {
        path: path.to_owned(),
        source: Box::new(source),
    })?;
    Ok(all
        .into_iter()
        .filter(|document| !document.is_null())
        .collect())
}

async fn apply_one(
    client: &Client,
    discovery: &Discovery,
    document: &Document,
) -> Result<(), ApplyError> {
    let Document {
        path,
        object,
        types,
        name,
    } = document;
    let kind = group_version_kind(&types.api_version, &types.kind);
    let served = match discovery.find(&kind).await {
        Ok(served) => served,
        Err(error) if !error.is_absent() => return Err(undiscovered(&error)),
        Err(_) => {
            return Err(ApplyError::Kind {
                path: path.clone(),
                name: name.clone(),
                kind: types.kind.clone(),
                api_version: types.api_version.clone(),
            });
        }
    };
    let api: Api<DynamicObject> = if served.namespaced {
        let namespace = object.namespace().unwrap_or_else(|| POLICIES.to_owned());
        Api::namespaced_with(client.clone(), &namespace, &served.resource)
    } else {
        Api::all_with(client.clone(), &served.resource)
    };
    let how = PatchParams::apply(MANAGER).force();
    let request = Request::new(api.resource_url()).patch(name, &how, &Patch::Apply(object));
    // The response may be nested more deeply than a decoder accepts, and nothing needs it.
    let applied = match request.map_err(kube::Error::BuildRequest) {
        Ok(request) => client.request_text(request).await,
        Err(error) => Err(error),
    };
    applied.map(|_| ()).map_err(|error| ApplyError::Refused {
        path: path.clone(),
        kind: types.kind.clone(),
        name: name.clone(),
        reason: status_message(&error),
    })
}
