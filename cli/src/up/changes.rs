//! `--watch`: applies inputs again when their files change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use kube::api::{Api, DeleteParams, DynamicObject};
use reeve_fleet::Target;
use reeve_manifests::Object;
use reeve_runtime::discovery::{Discovery, group_version_kind};

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

/// Deletes the objects that inputs no longer have. Returns how many were deleted.
pub(super) async fn delete_gone(target: &Target, before: &[Object], after: &[Object]) -> usize {
    let key = |object: &Object| {
        (
            object.api_version.clone(),
            object.kind.clone(),
            object.namespace.clone(),
            object.name.clone(),
        )
    };
    let kept: BTreeSet<_> = after.iter().map(key).collect();
    let discovery = Discovery::new(target.client.clone());
    let mut deleted = 0;
    for object in before.iter().filter(|object| !kept.contains(&key(object))) {
        let kind = group_version_kind(&object.api_version, &object.kind);
        let Ok(served) = discovery.find(&kind).await else {
            continue;
        };
        let api: Api<DynamicObject> = if served.namespaced {
            let namespace = object.namespace.as_ref().unwrap_or(&target.namespace);
            Api::namespaced_with(target.client.clone(), namespace, &served.resource)
        } else {
            Api::all_with(target.client.clone(), &served.resource)
        };
        if api
            .delete(&object.name, &DeleteParams::default())
            .await
            .is_ok()
        {
            deleted += 1;
        }
    }
    deleted
}

/// The paths of kustomizations and files that can change. Standard input cannot.
pub(crate) fn watched(policies: &[PathBuf], kustomizations: &[PathBuf]) -> Vec<PathBuf> {
    let files = policies
        .iter()
        .filter(|path| path.as_path() != Path::new(reeve_manifests::STDIN));
    files.chain(kustomizations).cloned().collect()
}
