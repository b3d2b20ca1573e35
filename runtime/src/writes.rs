//! Writes without a decoded response: the returned object is not decoded. With many small writes that is a good part
//! of their cost.

use std::fmt::Debug;

use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use kube::{Client, Resource};
use serde::Serialize;

/// A subresource.
const STATUS: &str = "status";

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
    send(&api.clone().into_client(), request).await
}

fn requests<K: Resource<DynamicType = ()>>(namespace: &str) -> Request {
    Request::new(K::url_path(&(), Some(namespace)))
}

async fn send(
    client: &Client,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<(), kube::Error> {
    let request = request.map_err(kube::Error::BuildRequest)?;
    client.request_text(request).await.map(drop)
}
