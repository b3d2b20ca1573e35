//! Carries out what a step does.

use std::path::{Path, PathBuf};

use kube::api::DeleteParams;
use reeve_manifests::{Input, Object, Position};
use reeve_runtime::object::status_message;
use reeve_runtime::writes;
use serde_json::{Map, Value, json};

use crate::spec::{Patch, Reference, Step};
use crate::world::World;

/// The path of clusters on the hub.
const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";

/// Reads the objects of files and folders, and those that are written in the suite. Whatever cannot be read is an
/// error.
pub(crate) fn objects(
    folder: &Path,
    files: &[String],
    inline: &[Map<String, Value>],
    position: &Position,
) -> (Vec<Object>, Vec<String>) {
    let inputs: Vec<Input> = files
        .iter()
        .map(|file| Input::Path(join(folder, file)))
        .collect();
    let read = reeve_manifests::read(&inputs);
    let mut errors: Vec<String> = read.errors.iter().map(ToString::to_string).collect();
    let mut objects = read.objects;
    for (index, object) in inline.iter().enumerate() {
        match Object::new(position.clone(), Value::Object(object.clone())) {
            Ok(object) => objects.push(object),
            Err(error) => errors.push(format!("objects[{index}]: {error}")),
        }
    }
    (objects, errors)
}

/// A path relative to the folder of the suite.
pub(crate) fn join(folder: &Path, path: &str) -> PathBuf {
    folder.join(path)
}

/// Carries out a step. The errors say what was not possible; all of it is tried.
pub(crate) async fn run(
    world: &mut World<'_>,
    step: &Step,
    folder: &Path,
    position: &Position,
) -> Vec<String> {
    let mut errors = Vec::new();
    for one in &step.apply {
        let (objects, unread) = objects(folder, &one.files, &one.objects, position);
        errors.extend(unread);
        match world.apply(one.cluster.as_deref(), &objects).await {
            Ok(refused) => errors.extend(refused.iter().map(ToString::to_string)),
            Err(error) => errors.push(error),
        }
    }
    for one in &step.patch {
        if let Err(error) = patch(world, one).await {
            errors.push(format!("patch of {} {}: {error}", one.kind, one.name));
        }
    }
    for one in &step.delete {
        if let Err(error) = delete(world, one).await {
            errors.push(format!("deletion of {} {}: {error}", one.kind, one.name));
        }
    }
    for one in &step.label {
        let path = format!("{CLUSTERS}/{}", one.cluster);
        let labels = json!({ "metadata": { "labels": one.labels } });
        if let Err(error) = world.merge(None, &path, &labels).await {
            errors.push(format!("labels of {}: {error}", one.cluster));
        }
    }
    errors
}

async fn patch(world: &World<'_>, one: &Patch) -> Result<(), String> {
    let cluster = one.cluster.as_deref();
    let namespace = one.namespace.as_deref();
    let api = world
        .api(cluster, &one.api_version, &one.kind, namespace)
        .await?;
    let path = format!("{}/{}", api.resource_url(), one.name);
    let mut change = one.change.clone();
    let status = change.remove("status");
    if status.is_none() || !change.is_empty() {
        world.merge(cluster, &path, &Value::Object(change)).await?;
    }
    let Some(status) = status else {
        return Ok(());
    };
    let status = json!({ "status": status });
    if world
        .merge(cluster, &format!("{path}/status"), &status)
        .await
        .is_ok()
    {
        return Ok(());
    }
    // A kind without the subresource has its status with the rest.
    world.merge(cluster, &path, &status).await
}

async fn delete(world: &World<'_>, one: &Reference) -> Result<(), String> {
    let namespace = one.namespace.as_deref();
    let cluster = one.cluster.as_deref();
    let api = world
        .api(cluster, &one.api_version, &one.kind, namespace)
        .await?;
    let deleted = writes::delete(&api, &one.name, &DeleteParams::default()).await;
    deleted.map(drop).map_err(|error| status_message(&error))
}
