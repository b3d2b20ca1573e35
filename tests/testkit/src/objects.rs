//! Reading and writing objects of any kind by `apiVersion` and `kind`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiCapabilities, ApiResource, Scope, oneshot};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::{eventually, yaml};

/// The field manager of everything a test applies.
pub const FIELD_MANAGER: &str = "reeve-tests";

/// Objects of any kind behind one client. Clones share what discovery has answered, so that a
/// kind costs one discovery request.
#[derive(Clone)]
pub struct Objects {
    client: Client,
    kinds: Arc<Mutex<HashMap<GroupVersionKind, (ApiResource, ApiCapabilities)>>>,
}

impl Objects {
    /// Objects as `client` sees them.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            kinds: Arc::default(),
        }
    }

    /// The client behind.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Server-side applies every document of `text`, in order, with force. The `status` of a kind
    /// that has a status subresource is applied too (kubectl would ignore it): tests play the part
    /// of the controllers that are not there. A namespaced object without a namespace goes to
    /// `default`. Returns the objects as the server has them.
    pub async fn apply(&self, text: &str) -> Result<Vec<DynamicObject>> {
        let mut applied = Vec::new();
        for object in yaml::parse(text)? {
            applied.push(self.apply_object(&object).await?);
        }
        Ok(applied)
    }

    /// Like [`Objects::apply`], for one object.
    pub async fn apply_object(&self, object: &DynamicObject) -> Result<DynamicObject> {
        let what = describe(object);
        let name = object.name_any();
        let (api, capabilities) = self.api_of(object).await?;
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let answer = api.patch(&name, &params, &Patch::Apply(object)).await;
        let answer = answer.with_context(|| format!("applying {what}"))?;
        let Some(status) = object.data.get("status") else {
            return Ok(answer);
        };
        if !capabilities
            .subresources
            .iter()
            .any(|(resource, _)| resource.plural == "status")
        {
            return Ok(answer);
        }
        let mut body = DynamicObject {
            data: json!({ "status": status }),
            ..object.clone()
        };
        body.metadata.labels = None;
        body.metadata.annotations = None;
        let answer = api.patch_status(&name, &params, &Patch::Apply(&body)).await;
        answer.with_context(|| format!("applying the status of {what}"))
    }

    /// Deletes every object of `text`, last one first; an absent one is fine. Does not wait for
    /// finalizers: see [`Objects::gone`].
    pub async fn delete(&self, text: &str) -> Result<()> {
        for object in yaml::parse(text)?.iter().rev() {
            let (api, _) = self.api_of(object).await?;
            match api
                .delete(&object.name_any(), &DeleteParams::default())
                .await
            {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("deleting {}", describe(object)));
                }
            }
        }
        Ok(())
    }

    /// One object, or `None` when it is absent. `namespace` is for namespaced kinds.
    pub async fn get(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<DynamicObject>> {
        let (api, _) = self.api(api_version, kind, namespace).await?;
        api.get_opt(name)
            .await
            .with_context(|| format!("reading {kind} {name}"))
    }

    /// Every object of a kind, of one namespace or (with `None`) of all.
    pub async fn list(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Result<Vec<DynamicObject>> {
        let (resource, _) = self.kind(api_version, kind).await?;
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(self.client(), namespace, &resource),
            None => Api::all_with(self.client(), &resource),
        };
        let list = api.list(&ListParams::default()).await;
        Ok(list.with_context(|| format!("listing {kind}"))?.items)
    }

    /// Merge-patches an object.
    pub async fn patch(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
        patch: Value,
    ) -> Result<DynamicObject> {
        let (api, _) = self.api(api_version, kind, namespace).await?;
        let answer = api
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await;
        answer.with_context(|| format!("patching {kind} {name}"))
    }

    /// Merge-patches the status subresource; `patch` has the `status` key.
    pub async fn patch_status(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
        patch: Value,
    ) -> Result<DynamicObject> {
        let (api, _) = self.api(api_version, kind, namespace).await?;
        let answer = api
            .patch_status(name, &PatchParams::default(), &Patch::Merge(patch))
            .await;
        answer.with_context(|| format!("patching the status of {kind} {name}"))
    }

    /// Waits until the object is absent, if with its kind.
    pub async fn gone(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
        deadline: Duration,
    ) -> Result<()> {
        eventually(format!("{kind} {name} is gone"), deadline, || async {
            match self.get(api_version, kind, namespace, name).await {
                Ok(None) => Ok(()),
                Ok(Some(object)) => bail!("still there: {}", yaml::render(&object)?),
                Err(error) if is_of_no_kind(&error) => Ok(()),
                Err(error) => Err(error),
            }
        })
        .await
    }

    /// The discovery entry of a kind.
    pub async fn kind(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<(ApiResource, ApiCapabilities)> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let known = self
            .kinds
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&gvk)
            .cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let found = oneshot::pinned_kind(&self.client, &gvk).await;
        let found = found.with_context(|| format!("the server knows no {kind} ({api_version})"))?;
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.insert(gvk, found.clone());
        Ok(found)
    }

    async fn api_of(
        &self,
        object: &DynamicObject,
    ) -> Result<(Api<DynamicObject>, ApiCapabilities)> {
        let types = object
            .types
            .as_ref()
            .context("an object needs apiVersion and kind")?;
        self.api(
            &types.api_version,
            &types.kind,
            object.metadata.namespace.as_deref(),
        )
        .await
    }

    /// The API of a kind, in a namespace when the kind has some.
    pub(crate) async fn api(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Result<(Api<DynamicObject>, ApiCapabilities)> {
        let (resource, capabilities) = self.kind(api_version, kind).await?;
        let api = match capabilities.scope {
            Scope::Cluster => Api::all_with(self.client(), &resource),
            Scope::Namespaced => {
                Api::namespaced_with(self.client(), namespace.unwrap_or("default"), &resource)
            }
        };
        Ok((api, capabilities))
    }
}

/// Whether not even the kind is there any more: no page, or nothing in discovery.
fn is_of_no_kind(error: &anyhow::Error) -> bool {
    use kube::error::DiscoveryError::{MissingApiGroup, MissingKind, MissingResource};
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<kube::Error>())
        .any(|cause| match cause {
            kube::Error::Api(status) => status.code == 404,
            kube::Error::Discovery(missing) => matches!(
                missing,
                MissingApiGroup(_) | MissingKind(_) | MissingResource(_)
            ),
            _ => false,
        })
}

fn describe(object: &DynamicObject) -> String {
    let kind = object
        .types
        .as_ref()
        .map_or("object", |types| types.kind.as_str());
    match &object.metadata.namespace {
        Some(namespace) => format!("{kind} {namespace}/{}", object.name_any()),
        None => format!("{kind} {}", object.name_any()),
    }
}
