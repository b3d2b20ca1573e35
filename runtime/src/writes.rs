//! Writes without a decoded response: the API server answers with the object's metadata, which is not decoded. With many small
//! writes, and with large objects, that is a good part of their cost on both sides.

use std::fmt::Debug;

use http::HeaderValue;
use http::header::{ACCEPT, CONTENT_TYPE};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use kube::{Client, Resource};
use serde::{Deserialize, Serialize};

use crate::path::segment;

/// A subresource.
const STATUS: &str = "status";

/// The response to a write: metadata, or the whole object from an API server that has no such form.
const METADATA: HeaderValue = HeaderValue::from_static(
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
);
/// The same for several objects: an API server refuses the form of one object for a list.
const METADATA_LIST: HeaderValue = HeaderValue::from_static(
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
);
/// The media type of a JSON patch.
const JSON_PATCH: HeaderValue = HeaderValue::from_static("application/json-patch+json");

/// Creates an object in a namespace.
pub async fn create<K>(client: &Client, namespace: &str, object: &K) -> Result<(), kube::Error>
where
    K: Resource<DynamicType = ()> + Serialize,
{
    let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
    let request = requests::<K>(namespace).create(&PostParams::default(), body);
    send(client, request).await
}

/// Patches an object.
pub async fn patch<K: Resource<DynamicType = ()>>(
    client: &Client,
    (namespace, name): (&str, &str),
    patch: &Patch<impl Serialize + Debug>,
) -> Result<(), kube::Error> {
    let request = requests::<K>(namespace).patch(name, &PatchParams::default(), patch);
    send(client, request).await
}

/// Patches the status of an object.
pub async fn patch_status<K: Resource<DynamicType = ()>>(
    client: &Client,
    (namespace, name): (&str, &str),
    patch: &Patch<impl Serialize + Debug>,
) -> Result<(), kube::Error> {
    let requests = requests::<K>(namespace);
    let request = requests.patch_subresource(STATUS, name, &PatchParams::default(), patch);
    send(client, request).await
}

/// Patches the status of an object by the operations of a JSON patch, which are serialized as they are: kube's
/// [`Patch::Json`] needs each value as a tree, which for long lists is most of the work.
pub async fn json_patch_status<K: Resource<DynamicType = ()>>(
    client: &Client,
    (namespace, name): (&str, &str),
    operations: &(impl Serialize + Debug),
) -> Result<(), kube::Error> {
    let requests = requests::<K>(namespace);
    let body = Patch::Merge(operations);
    let mut request =
        requests.patch_subresource(STATUS, &segment(name), &PatchParams::default(), &body);
    if let Ok(request) = &mut request {
        request.headers_mut().insert(CONTENT_TYPE, JSON_PATCH);
    }
    send(client, request).await
}

/// Patches an object of any kind.
pub async fn patch_with<K: Resource + Clone>(
    api: &Api<K>,
    name: &str,
    patch: &Patch<impl Serialize + Debug>,
) -> Result<(), kube::Error> {
    let requests = Request::new(api.resource_url());
    let request = requests.patch(&segment(name), &PatchParams::default(), patch);
    send(&api.clone().into_client(), request).await
}

/// How far a deletion has come when the API server responds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// The object is gone.
    Complete,
    /// The object exists until its finalizers are removed or its grace period ends.
    Pending,
}

impl Deletion {
    /// Reads the response to a deletion: a `Status`, or the object or its metadata, however deeply it is nested.
    fn of_response(text: &str) -> Self {
        #[derive(Deserialize, Default)]
        #[serde(default, rename_all = "camelCase")]
        struct Metadata {
            deletion_timestamp: Option<String>,
            deletion_grace_period_seconds: Option<i64>,
            finalizers: Option<Vec<String>>,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Response {
            kind: String,
            metadata: Metadata,
        }
        let Response { kind, metadata } = serde_json::from_str(text).unwrap_or_default();
        // An object without a grace period is returned as it was when it was removed.
        let is_removed = metadata.deletion_grace_period_seconds == Some(0)
            && metadata.finalizers.unwrap_or_default().is_empty();
        if kind == "Status" || metadata.deletion_timestamp.is_none() || is_removed {
            Self::Complete
        } else {
            Self::Pending
        }
    }
}

/// Deletes an object of any kind.
pub async fn delete<K: Resource + Clone>(
    api: &Api<K>,
    name: &str,
    parameters: &DeleteParams,
) -> Result<Deletion, kube::Error> {
    let request = Request::new(api.resource_url()).delete(&segment(name), parameters);
    let response = send_for(METADATA, &api.clone().into_client(), request).await?;
    Ok(Deletion::of_response(&response))
}

/// Deletes all objects of a kind and namespace.
pub async fn delete_collection<K: Resource + Clone>(api: &Api<K>) -> Result<(), kube::Error> {
    let requests = Request::new(api.resource_url());
    let request = requests.delete_collection(&DeleteParams::default(), &ListParams::default());
    let sent = send_for(METADATA_LIST, &api.clone().into_client(), request).await;
    sent.map(drop)
}

fn requests<K: Resource<DynamicType = ()>>(namespace: &str) -> Request {
    Request::new(K::url_path(&(), Some(namespace)))
}

async fn send(
    client: &Client,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<(), kube::Error> {
    send_for(METADATA, client, request).await.map(drop)
}

/// Sends a request, of whose response this form is accepted. Returns the response.
async fn send_for(
    form: HeaderValue,
    client: &Client,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<String, kube::Error> {
    let mut request = request.map_err(kube::Error::BuildRequest)?;
    request.headers_mut().insert(ACCEPT, form);
    client.request_text(request).await
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::status(json!({"kind": "Status", "status": "Success"}), Deletion::Complete)]
    #[case::of_an_object_that_is_gone(json!({"kind": "Pod", "metadata": {"name": "a"}}), Deletion::Complete)]
    #[case::without_grace_period(
        json!({"kind": "Pod", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}}),
        Deletion::Complete
    )]
    #[case::with_grace_period(
        json!({"kind": "Pod", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}}),
        Deletion::Pending
    )]
    #[case::with_finalizers(
        json!({"kind": "PartialObjectMetadata", "metadata": {
            "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0, "finalizers": ["a/b"]
        }}),
        Deletion::Pending
    )]
    #[case::namespace(
        json!({"kind": "Namespace", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
        Deletion::Pending
    )]
    fn deletion_is_pending_while_the_object_exists(
        #[case] response: Value,
        #[case] expected: Deletion,
    ) {
        assert_eq!(Deletion::of_response(&response.to_string()), expected);
    }
}
