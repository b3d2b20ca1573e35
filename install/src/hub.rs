//! The API server of a hub, by objects of any kind.

use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt as _};
use reeve_runtime::discovery::{Discovery, DiscoveryError, ServedKind, group_version_kind};
use reeve_runtime::object::{error_chain, status_message};
use serde_json::Value;

use crate::InstallError;
use crate::manifests::MANAGER;

/// A hub, and the kinds that it serves.
pub(crate) struct Hub {
    client: Client,
    discovery: Discovery,
}

/// An object by its kind and name.
#[derive(Clone, Debug)]
pub(crate) struct Id {
    pub(crate) gvk: GroupVersionKind,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl Id {
    /// That of an object of any kind.
    pub(crate) fn from_object(object: &Value) -> Self {
        let text = |pointer: &str| {
            let text = object.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        Self {
            gvk: group_version_kind(&text("/apiVersion"), &text("/kind")),
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
            discovery: Discovery::new(client.clone()),
        }
    }

    /// The served kind of an object; nothing where the hub does not serve it.
    async fn kind(&self, id: &Id) -> Result<Option<ServedKind>, InstallError> {
        match self.discovery.find(&id.gvk).await {
            Ok(served) => Ok(Some(served)),
            Err(DiscoveryError::UnknownVersion(_) | DiscoveryError::UnknownKind(_)) => Ok(None),
            Err(DiscoveryError::Unavailable { source, .. }) => Err(id.failed(&source)),
        }
    }

    async fn api(&self, id: &Id) -> Result<Option<Api<DynamicObject>>, InstallError> {
        let served = self.kind(id).await?;
        let namespace = id.namespace.as_deref().unwrap_or_default();
        Ok(served.map(|served| served.api(self.client.clone(), namespace)))
    }

    /// Whether the hub serves the kind of an object.
    pub(crate) async fn serves(&self, id: &Id) -> Result<bool, InstallError> {
        Ok(self.kind(id).await?.is_some())
    }

    /// An object; nothing where it, its kind or its namespace is not there.
    pub(crate) async fn get(&self, id: &Id) -> Result<Option<DynamicObject>, InstallError> {
        let Some(api) = self.api(id).await? else {
            return Ok(None);
        };
        api.get_opt(&id.name)
            .await
            .map_err(|error| id.failed(&error))
    }

    /// Applies an object on the server, also against other field managers.
    pub(crate) async fn apply(
        &self,
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
    pub(crate) async fn delete(&self, id: &Id, object: &DynamicObject) -> Result<(), InstallError> {
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
        &self,
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
