//! Adds and removes a finalizer of an object, and keeps those of other controllers.

use std::fmt::Debug;

use kube::Resource;
use kube::api::{Api, Patch};
use kube::core::ObjectMeta;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::object::StatusReason;
use crate::writes;

/// How often a change is tried while other clients change the object.
const TRIES: u32 = 3;

/// Whether the object has the finalizer.
pub fn has(object: &ObjectMeta, finalizer: &str) -> bool {
    let mut names = object.finalizers.iter().flatten();
    names.any(|name| name == finalizer)
}

/// Adds a finalizer to the object that was read, unless it is there. `false`: the object no longer exists.
pub async fn add<K>(api: &Api<K>, object: &ObjectMeta, finalizer: &str) -> kube::Result<bool>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    change(api, object, |present| {
        let is_there = present.iter().any(|name| name == finalizer);
        (!is_there).then(|| [present, &[finalizer.to_owned()]].concat())
    })
    .await
}

/// Removes a finalizer from the object that was read, if it is there. `false`: the object no longer exists.
pub async fn remove<K>(api: &Api<K>, object: &ObjectMeta, finalizer: &str) -> kube::Result<bool>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    change(api, object, |present| {
        let mut names = present.to_vec();
        names.retain(|name| name != finalizer);
        (names.len() < present.len()).then_some(names)
    })
    .await
}

/// Replaces the finalizers of exactly the version that the change was made for; reads a newer one after a conflict.
async fn change<K>(
    api: &Api<K>,
    object: &ObjectMeta,
    change: impl Fn(&[String]) -> Option<Vec<String>>,
) -> kube::Result<bool>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let name = object.name.as_deref().unwrap_or_default();
    let mut meta = object.clone();
    for tries in 1.. {
        let Some(finalizers) = change(meta.finalizers.as_deref().unwrap_or_default()) else {
            break;
        };
        let version = &meta.resource_version;
        let metadata = json!({"resourceVersion": version, "finalizers": finalizers});
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let Err(error) = writes::patch_with(api, name, &patch).await else {
            break;
        };
        match StatusReason::of(&error) {
            StatusReason::NotFound => return Ok(false),
            StatusReason::Conflict if tries < TRIES => match api.get_metadata_opt(name).await? {
                Some(found) if found.metadata.uid == object.uid => meta = found.metadata,
                _ => return Ok(false),
            },
            _ => return Err(error),
        }
    }
    Ok(true)
}
