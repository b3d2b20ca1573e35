//! Writes without a decoded response: the API server answers with the object's metadata, which is not decoded. With many small
//! writes, and with large objects, that is a good part of their cost on both sides.

use std::fmt::Debug;

use http::HeaderValue;
use http::header::{ACCEPT, CONTENT_TYPE};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use kube::{Client, Resource};
use serde::Serialize;

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
    let mut request = requests.patch_subresource(STATUS, name, &PatchParams::default(), &body);
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
    let request = Request::new(api.resource_url()).patch(name, &PatchParams::default(), patch);
    send(&api.clone().into_client(), request).await
}

/// Deletes an object of any kind. The response may be the object with finalizers, however deeply it is nested.
pub async fn delete<K: Resource + Clone>(
    api: &Api<K>,
    name: &str,
    parameters: &DeleteParams,
) -> Result<(), kube::Error> {
    let request = Request::new(api.resource_url()).delete(name, parameters);
    send(&api.clone().into_client(), request).await
}

/// Deletes all objects of a kind and namespace.
pub async fn delete_collection<K: Resource + Clone>(api: &Api<K>) -> Result<(), kube::Error> {
    let requests = Request::new(api.resource_url());
    let request = requests.delete_collection(&DeleteParams::default(), &ListParams::default());
    send_for(METADATA_LIST, &api.clone().into_client(), request).await
}

fn requests<K: Resource<DynamicType = ()>>(namespace: &str) -> Request {
    Request::new(K::url_path(&(), Some(namespace)))
}

async fn send(
    client: &Client,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<(), kube::Error> {
    send_for(METADATA, client, request).await
}

/// Sends a request, of whose response this form is accepted.
async fn send_for(
    form: HeaderValue,
    client: &Client,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<(), kube::Error> {
    let mut request = request.map_err(kube::Error::BuildRequest)?;
    request.headers_mut().insert(ACCEPT, form);
    client.request_text(request).await.map(drop)
}
