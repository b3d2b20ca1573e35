//! The API server of a hub, by objects of any kind.

use std::collections::HashMap;

use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions,
};
use kube::core::GroupVersionKind;
use kube::discovery::{self, Scope};
use kube::{Api, Client, ResourceExt as _};
use reeve_runtime::object::{error_chain, status_message};
use serde_json::Value;

use crate::InstallError;
use crate::manifests::MANAGER;

/// A hub, and what it serves of the kinds that were asked for.
pub(crate) struct Hub {
    client: Client,
    kinds: HashMap<GroupVersionKind, Option<(ApiResource, Scope)>>,
}

/// An object by its kind and name.
#[derive(Clone, Debug)]
pub(crate) struct Id {
    pub(crate) gvk: GroupVersionKind,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl Id {
    pub(crate) fn of(object: &Value) -> Self {
        let text = |pointer: &str| {
            let text = object.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let api_version = text("/apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        Self {
            gvk: GroupVersionKind::gvk(group, version, &text("/kind")),
            namespace: Some(text("/metadata/namespace")).filter(|name| !name.is_empty()),
            name: text("/metadata/name"),
        }
    }

    /// `Deployment open-cluster-management/governance-policy-propagator`.
    pub(crate) fn described(&self) -> String {
        let (kind, name) = (&self.gvk.kind, &self.name);
        if name.is_empty() {
            return format!("{kind}s");
        }
        match &self.namespace {
            Some(namespace) => format!("{kind} {namespace}/{name}"),
            None => format!("{kind} {name}"),
        }
    }

    /// A request about it failed.
    pub(crate) fn failed(&self, error: &kube::Error) -> InstallError {
        let why = match error {
            kube::Error::Api(_) => status_message(error),
            other => error_chain(other),
        };
        InstallError::Request {
            object: self.described(),
            why,
        }
    }
}

impl Hub {
    pub(crate) fn new(client: &Client) -> Self {
        Self {
            client: client.clone(),
            kinds: HashMap::new(),
        }
    }

    /// The resource of a kind; nothing where the hub does not serve it.
    async fn resource(&mut self, id: &Id) -> Result<Option<(ApiResource, Scope)>, InstallError> {
        if let Some(known) = self.kinds.get(&id.gvk) {
            return Ok(known.clone());
        }
        let found = match discovery::pinned_kind(&self.client, &id.gvk).await {
            Ok((resource, capabilities)) => Some((resource, capabilities.scope)),
            Err(error) if is_not_served(&error) => None,
            Err(error) => return Err(id.failed(&error)),
        };
        self.kinds.insert(id.gvk.clone(), found.clone());
        Ok(found)
    }

    async fn api(&mut self, id: &Id) -> Result<Option<Api<DynamicObject>>, InstallError> {
        let Some((resource, scope)) = self.resource(id).await? else {
            return Ok(None);
        };
        let client = self.client.clone();
        Ok(Some(match (scope, &id.namespace) {
            (Scope::Namespaced, Some(namespace)) => {
                Api::namespaced_with(client, namespace, &resource)
            }
            _ => Api::all_with(client, &resource),
        }))
    }

    /// Whether the hub serves the kind of an object.
    pub(crate) async fn serves(&mut self, id: &Id) -> Result<bool, InstallError> {
        Ok(self.resource(id).await?.is_some())
    }

    /// An object; nothing where it, its kind or its namespace is not there.
    pub(crate) async fn get(&mut self, id: &Id) -> Result<Option<DynamicObject>, InstallError> {
        let Some(api) = self.api(id).await? else {
            return Ok(None);
        };
        api.get_opt(&id.name)
            .await
            .map_err(|error| id.failed(&error))
    }

    /// Applies an object on the server, also against other field managers.
    pub(crate) async fn apply(
        &mut self,
        id: &Id,
        object: &Value,
        is_dry_run: bool,
    ) -> Result<DynamicObject, InstallError> {
        let Some(api) = self.api(id).await? else {
            return Err(InstallError::NotServed {
                api_version: id.gvk.api_version(),
                kind: id.gvk.kind.clone(),
            });
        };
        let params = PatchParams {
            dry_run: is_dry_run,
            ..PatchParams::apply(MANAGER).force()
        };
        let applied = api.patch(&id.name, &params, &Patch::Apply(object)).await;
        applied.map_err(|error| id.failed(&error))
    }

    /// Deletes the object that was read, and no other one of its name.
    pub(crate) async fn delete(
        &mut self,
        id: &Id,
        object: &DynamicObject,
    ) -> Result<(), InstallError> {
        let Some(api) = self.api(id).await? else {
            return Ok(());
        };
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: object.uid(),
                resource_version: None,
            }),
            ..DeleteParams::background()
        };
        match api.delete(&id.name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(id.failed(&error)),
        }
    }

    /// All objects of a kind, in the namespace of `id` if it has one; none where the kind is not served.
    pub(crate) async fn list(
        &mut self,
        id: &Id,
        labels: &str,
    ) -> Result<Vec<DynamicObject>, InstallError> {
        let Some(api) = self.api(id).await? else {
            return Ok(Vec::new());
        };
        let mut params = ListParams::default().labels(labels).limit(500);
        let mut all = Vec::new();
        loop {
            let page = api.list(&params).await.map_err(|error| id.failed(&error))?;
            all.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(all),
            }
        }
    }
}

/// Whether the error of a discovery says that there is no such kind.
fn is_not_served(error: &kube::Error) -> bool {
    match error {
        kube::Error::Discovery(_) => true,
        kube::Error::Api(status) => status.code == 404,
        _ => false,
    }
}
