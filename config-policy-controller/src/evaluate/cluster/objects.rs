//! Reading and writing objects of the cluster.

use std::time::Duration;

use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, PostParams, Preconditions};
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::discovery::ServedKind;
use reeve_runtime::object::{StatusReason, is_about_namespace, not_found_as_none, status_message};
use reeve_runtime::path::{name_selector, segment};
use reeve_runtime::strict::{self, Write};
use reeve_runtime::writes::{self, Deletion};
use serde_json::Value;

use super::error::{RecreateError, WriteError};
use crate::status::finding::Location;

/// How often a deleted object is waited for before it is created again.
const RECREATE_TRIES: u32 = 3;
/// The pause between two of these tries.
const RECREATE_PAUSE: Duration = Duration::from_secs(1);

/// One kind of object in one namespace.
pub struct ObjectApi<'a> {
    client: &'a Client,
    kind: &'a ServedKind,
    api: Api<AnyDepth<DynamicObject>>,
}

impl<'a> ObjectApi<'a> {
    /// The objects of a kind at a location; everywhere if that has no namespace.
    pub fn at(client: &'a Client, kind: &'a ServedKind, location: &Location) -> Self {
        let api = kind.api(client.clone(), &location.namespace);
        Self { client, kind, api }
    }

    /// The object, from the API server and not from a cache; `None` if it does not exist.
    pub async fn get(&self, name: &str) -> Result<Option<Value>, kube::Error> {
        let found = not_found_as_none(self.api.get(&segment(name)).await)?;
        Ok(found.map(|AnyDepth(object)| plain(&object, self.kind)))
    }

    /// The objects there that match a label selector, from the API server and not from a cache.
    pub async fn list(&self, selector: &str) -> Result<Vec<Value>, kube::Error> {
        self.listed(&ListParams::default().labels(selector)).await
    }

    /// The object of this name in the first namespace in order that has one, from the API server and not from a cache.
    pub async fn named(&self, name: &str) -> Result<Option<Value>, kube::Error> {
        let text = |object: &Value, pointer: &str| {
            let text = object.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let of_name = ListParams::default().fields(&name_selector(name));
        let listed = self.listed(&of_name).await?.into_iter();
        // Servers that aggregate other APIs need not know this selector.
        let named = listed.filter(|object| text(object, "/metadata/name") == name);
        Ok(named.min_by_key(|object| text(object, "/metadata/namespace")))
    }

    async fn listed(&self, parameters: &ListParams) -> Result<Vec<Value>, kube::Error> {
        let listed = self.api.list(parameters).await?;
        Ok(listed
            .items
            .iter()
            .map(|AnyDepth(object)| plain(object, self.kind))
            .collect())
    }

    /// Creates an object under `field_manager`. An unknown field is an error.
    pub async fn create(
        &self,
        object: &Value,
        field_manager: Option<&str>,
    ) -> Result<Value, WriteError> {
        let object = typed(object)?;
        let url = self.api.resource_url();
        let created = strict::create_as(self.client, url, &object, field_manager).await;
        created
            .map(|object| plain(&object, self.kind))
            .map_err(|error| refused(&error))
    }

    /// Replaces an object, or sends a dry run of it.
    pub async fn replace(
        &self,
        name: &str,
        object: &Value,
        write: Write,
    ) -> Result<Value, WriteError> {
        let object = typed(object)?;
        let url = self.api.resource_url();
        let updated = strict::replace(self.client, url, name, &object, write).await;
        updated
            .map(|object| plain(&object, self.kind))
            .map_err(|error| refused(&error))
    }

    /// Replaces the status of an object.
    pub async fn replace_status(&self, name: &str, object: &Value) -> Result<Value, WriteError> {
        let object = AnyDepth(typed(object)?);
        let params = PostParams::default();
        let updated = self
            .api
            .replace_status(&segment(name), &params, &object)
            .await;
        updated
            .map(|AnyDepth(object)| plain(&object, self.kind))
            .map_err(|error| refused(&error))
    }

    /// Deletes the object with this UID. Another object of that name is not deleted: that is a conflict.
    pub async fn delete(&self, name: &str, uid: &str) -> Result<Deletion, WriteError> {
        let deleted = writes::delete(&self.api, name, &only_this_one(uid)).await;
        deleted.map_err(|error| refused(&error))
    }

    /// Deletes the object with this UID and creates another in its place under `field_manager`.
    pub async fn recreate(
        &self,
        (name, uid): (&str, &str),
        object: &Value,
        field_manager: Option<&str>,
    ) -> Result<Value, RecreateError> {
        match self.delete(name, uid).await {
            Ok(_) | Err(WriteError::NotFound(_)) => {}
            Err(refused) => return Err(RecreateError::Delete(refused)),
        }
        let object = AnyDepth(typed(object).map_err(RecreateError::Create)?);
        for tries in 1..=RECREATE_TRIES {
            let params = PostParams {
                field_manager: field_manager.map(str::to_owned),
                ..PostParams::default()
            };
            match self.api.create(&params, &object).await {
                Ok(AnyDepth(created)) => return Ok(plain(&created, self.kind)),
                Err(error) if StatusReason::of(&error) != StatusReason::AlreadyExists => {
                    return Err(RecreateError::Create(refused(&error)));
                }
                Err(_) if tries < RECREATE_TRIES => tokio::time::sleep(RECREATE_PAUSE).await,
                Err(_) => {}
            }
        }
        Err(RecreateError::StillThere)
    }
}

/// The condition that the object is the one that was read.
fn only_this_one(uid: &str) -> DeleteParams {
    DeleteParams::default().preconditions(Preconditions {
        uid: Some(uid.to_owned()).filter(|uid| !uid.is_empty()),
        resource_version: None,
    })
}

/// The object as plain JSON. Items of a list carry no kind, so it is put back.
pub fn plain(object: &DynamicObject, kind: &ServedKind) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        let resource = &kind.resource;
        fields.insert(
            "apiVersion".to_owned(),
            Value::String(resource.api_version.clone()),
        );
        fields.insert("kind".to_owned(), Value::String(resource.kind.clone()));
    }
    value
}

fn typed(object: &Value) -> Result<DynamicObject, WriteError> {
    serde_json::from_value(object.clone()).map_err(|error| WriteError::Other(error.to_string()))
}

fn refused(error: &kube::Error) -> WriteError {
    let text = status_message(error);
    if is_about_namespace(error) {
        return WriteError::NoNamespace(text);
    }
    match (StatusReason::of(error), error) {
        (StatusReason::NotFound, _) => WriteError::NotFound(text),
        (StatusReason::Conflict | StatusReason::AlreadyExists, _) => WriteError::Conflict(text),
        (StatusReason::Invalid, _) => WriteError::Invalid(text),
        (StatusReason::Forbidden, _) => WriteError::Forbidden(text),
        (_, kube::Error::Api(status)) if status.code == 400 => WriteError::BadRequest(text),
        _ => WriteError::Other(text),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::ApiResource;

    use super::*;

    #[tokio::test]
    async fn objects_without_a_namespace_are_those_of_all_namespaces() {
        let client = reeve_runtime::client::unavailable("there is no cluster");
        let kind = ServedKind {
            resource: ApiResource {
                group: "metrics.k8s.io".to_owned(),
                version: "v1beta1".to_owned(),
                api_version: "metrics.k8s.io/v1beta1".to_owned(),
                kind: "PodMetrics".to_owned(),
                plural: "pods".to_owned(),
            },
            namespaced: true,
            watchable: false,
        };
        for (namespace, url) in [
            ("", "/apis/metrics.k8s.io/v1beta1/pods"),
            ("a", "/apis/metrics.k8s.io/v1beta1/namespaces/a/pods"),
        ] {
            let objects = ObjectApi::at(&client, &kind, &Location::new(namespace, ""));
            assert_eq!(objects.api.resource_url(), url);
        }
    }
}
