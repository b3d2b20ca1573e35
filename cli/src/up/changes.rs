//! `--watch`: applies inputs again when their files change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use kube::api::DeleteParams;
use reeve_fleet::Target;
use reeve_manifests::Object;
use reeve_runtime::discovery::{Discovery, group_version_kind};
use reeve_runtime::object::{error_chain, not_found_as_none, status_message};
use reeve_runtime::writes;

use super::messages;

/// The files of inputs with their times.
pub(crate) type Stamps = BTreeSet<(PathBuf, Option<SystemTime>, u64)>;

/// The times and sizes of all files below some paths. One that vanishes while it is looked at is left out.
pub(crate) fn stamps(paths: &[PathBuf]) -> Stamps {
    let mut stamps = Stamps::new();
    for path in paths {
        let (files, _, _) = reeve_manifests::files(path);
        for file in files {
            if let Ok(metadata) = std::fs::metadata(&file) {
                stamps.insert((file, metadata.modified().ok(), metadata.len()));
            }
        }
    }
    stamps
}

/// The objects that inputs no longer have.
pub(super) fn gone(before: &[Object], after: &[Object]) -> Vec<Object> {
    let kept: BTreeSet<_> = after.iter().map(key).collect();
    let gone = before.iter().filter(|object| !kept.contains(&key(object)));
    gone.cloned().collect()
}

fn key(object: &Object) -> (&str, &str, Option<&str>, &str) {
    (
        &object.api_version,
        &object.kind,
        object.namespace.as_deref(),
        &object.name,
    )
}

/// What became of objects that inputs no longer have.
#[derive(Default)]
pub(super) struct Deletions {
    /// How many were deleted.
    pub(super) deleted: usize,
    /// Those that are still to be deleted.
    pub(super) left: Vec<Object>,
    /// Why the deletions failed, a line each.
    pub(super) errors: Vec<String>,
}

/// Deletes objects. One that is no longer there, or whose kind is not, needs no deletion.
pub(super) async fn delete(target: &Target, objects: Vec<Object>) -> Deletions {
    let discovery = Discovery::new(target.client.clone());
    let mut deletions = Deletions::default();
    for object in objects {
        match delete_one(target, &discovery, &object).await {
            Ok(is_deleted) => deletions.deleted += usize::from(is_deleted),
            Err(why) => {
                let why = messages::not_deleted(&object.kind, &object.name, &why);
                deletions.errors.push(why);
                deletions.left.push(object);
            }
        }
    }
    deletions
}

async fn delete_one(
    target: &Target,
    discovery: &Discovery,
    object: &Object,
) -> Result<bool, String> {
    let kind = group_version_kind(&object.api_version, &object.kind);
    let served = match discovery.find(&kind).await {
        Ok(served) => served,
        Err(error) if error.is_absent() => return Ok(false),
        Err(error) => return Err(error_chain(&error)),
    };
    let api = target.api(&served, object.namespace.as_deref());
    let deleted = writes::delete(&api, &object.name, &DeleteParams::default()).await;
    let deleted = not_found_as_none(deleted).map_err(|error| status_message(&error))?;
    Ok(deleted.is_some())
}

/// The paths of kustomizations and files that can change. Standard input cannot.
pub(crate) fn watched(policies: &[PathBuf], kustomizations: &[PathBuf]) -> Vec<PathBuf> {
    let files = policies
        .iter()
        .filter(|path| path.as_path() != Path::new(reeve_manifests::STDIN));
    files.chain(kustomizations).cloned().collect()
}
