//! Applies what a user gives, as `kubectl apply --server-side` does.

use std::path::{Path, PathBuf};

use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, ResourceExt as _};
use kube::core::Request;
use kube::discovery::{Discovery, Scope};
use serde_json::Value;

use crate::objects::POLICIES;

/// Who is noted as the writer.
const MANAGER: &str = "reeve-up";

/// Why something was not applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The file or folder cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file is no YAML.
    #[error("{path} is no YAML")]
    Yaml {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<serde_saphyr::Error>,
    },
    /// A document is no object of Kubernetes.
    #[error("{path}: a document without apiVersion, kind or metadata.name")]
    Object {
        /// In which file.
        path: PathBuf,
    },
    /// The server does not know the kind.
    #[error("{path}: {name}: the hub knows no {kind} of {api_version}")]
    Kind {
        /// In which file.
        path: PathBuf,
        /// Of which object.
        name: String,
        /// The kind.
        kind: String,
        /// Its version.
        api_version: String,
    },
    /// The server refused.
    #[error("{path}: cannot apply {kind} {name}")]
    Refused {
        /// In which file.
        path: PathBuf,
        /// The kind.
        kind: String,
        /// Which object.
        name: String,
        /// Why.
        #[source]
        source: Box<kube::Error>,
    },
    /// The server cannot be asked what it knows.
    #[error("cannot ask the hub what kinds it knows")]
    Discovery(#[source] Box<kube::Error>),
}

/// Applies a file, or all YAML files of a folder in the order of their names. Objects that name no namespace and need
/// one go to `policies`. Answers how many there were.
pub async fn apply(client: &Client, path: &Path) -> Result<usize, ApplyError> {
    let discovery = Discovery::new(client.clone()).run().await;
    let discovery = discovery.map_err(|error| ApplyError::Discovery(Box::new(error)))?;
    let mut count = 0;
    for path in files(path)? {
        for object in documents(&path)? {
            apply_one(client, &discovery, &path, object).await?;
            count += 1;
        }
    }
    Ok(count)
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
    path: &Path,
    document: Value,
) -> Result<(), ApplyError> {
    let broken = || ApplyError::Object {
        path: path.to_owned(),
    };
    let object: DynamicObject = serde_json::from_value(document).map_err(|_| broken())?;
    let types = object.types.clone().ok_or_else(broken)?;
    let name = object.metadata.name.clone().ok_or_else(broken)?;
    let known = kube::core::GroupVersionKind::try_from(&types)
        .ok()
        .and_then(|kind| discovery.resolve_gvk(&kind));
    let (resource, capabilities) = known.ok_or_else(|| ApplyError::Kind {
        path: path.to_owned(),
        name: name.clone(),
        kind: types.kind.clone(),
        api_version: types.api_version.clone(),
    })?;
    let api: Api<DynamicObject> = match capabilities.scope {
        Scope::Cluster => Api::all_with(client.clone(), &resource),
        Scope::Namespaced => {
            let namespace = object.namespace().unwrap_or_else(|| POLICIES.to_owned());
            Api::namespaced_with(client.clone(), &namespace, &resource)
        }
    };
    let how = PatchParams::apply(MANAGER).force();
    let request = Request::new(api.resource_url()).patch(&name, &how, &Patch::Apply(&object));
    // The answer may be nested more deeply than a decoder takes, and is not needed.
    let applied = match request.map_err(kube::Error::BuildRequest) {
        Ok(request) => client.request_text(request).await,
        Err(error) => Err(error),
    };
    applied.map(|_| ()).map_err(|source| ApplyError::Refused {
        path: path.to_owned(),
        kind: types.kind,
        name,
        source: Box::new(source),
    })
}
