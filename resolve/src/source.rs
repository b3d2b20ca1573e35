//! What templates read: local objects first, then a cluster.

use std::path::Path;
use std::sync::Arc;

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use parking_lot::Mutex;
use reeve_config_policy_controller::dryrun;
use reeve_go_compat::labels::Selector;
use reeve_manifests::documents;
use reeve_runtime::client::connect_unlimited;
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::discovery::{Discovery, DiscoveryError, ServedKind};
use reeve_runtime::object::{error_chain, not_found_as_none, status_message};
use reeve_runtime::path::{name_selector, segment};
use reeve_template_reads::Lookups;
use serde_json::Value;

use crate::error::Error;
use crate::kinds::{LocalKinds, at};
use crate::saved::{Origin, Used};
use crate::{messages, yaml};

/// A cluster and the local objects in front of it. Clones share what was read.
#[derive(Clone)]
pub(crate) struct Source {
    cluster: Option<(Client, Discovery)>,
    objects: Arc<[Arc<Value>]>,
    kinds: Arc<LocalKinds>,
    used: Arc<Mutex<Used>>,
}

impl Source {
    /// Reads the local objects of a file.
    pub(crate) fn new(client: Option<Client>, file: Option<&Path>) -> Result<Self, Error> {
        let text = match file {
            Some(path) => std::fs::read_to_string(path)
                .map_err(|error| Error::File(messages::unreadable(path, &error)))?,
            None => String::new(),
        };
        let objects = objects(&text).map_err(Error::File)?;
        let kinds = LocalKinds::of(&text, &objects);
        Ok(Self {
            cluster: client.map(|client| (client.clone(), Discovery::new(client))),
            objects: objects.into(),
            kinds: Arc::new(kinds),
            used: Arc::default(),
        })
    }

    /// What was read so far.
    pub(crate) fn used(&self) -> parking_lot::MutexGuard<'_, Used> {
        self.used.lock()
    }

    fn local<'s>(
        &'s self,
        kind: &'s ServedKind,
        namespace: &'s str,
    ) -> impl Iterator<Item = &'s Arc<Value>> {
        self.objects.iter().filter(move |object| {
            let own = at(object, "/metadata/namespace");
            at(object, "/apiVersion") == kind.resource.api_version
                && at(object, "/kind") == kind.resource.kind
                && (!kind.namespaced || namespace.is_empty() || own == namespace)
        })
    }

    async fn get_remote(
        &self,
        kind: &ServedKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, kube::Error> {
        let Some((client, _)) = &self.cluster else {
            self.used().missed_cluster = true;
            return Ok(None);
        };
        let api: Api<AnyDepth<DynamicObject>> = kind.api(client.clone(), namespace);
        if kind.namespaced && namespace.is_empty() {
            let named = ListParams::default().fields(&name_selector(name));
            let listed = api.list(&named).await?.items.into_iter();
            let mut listed: Vec<Value> = listed
                .map(|AnyDepth(object)| plain(&object, kind))
                .collect();
            listed.retain(|object| at(object, "/metadata/name") == name);
            listed.sort_by(|a, b| at(a, "/metadata/namespace").cmp(at(b, "/metadata/namespace")));
            return Ok(listed.into_iter().next());
        }
        let found = not_found_as_none(api.get(&segment(name)).await)?;
        Ok(found.map(|AnyDepth(object)| plain(&object, kind)))
    }

    async fn list_remote(
        &self,
        kind: &ServedKind,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Value>, kube::Error> {
        let Some((client, _)) = &self.cluster else {
            self.used().missed_cluster = true;
            return Ok(Vec::new());
        };
        let parameters = ListParams::default().labels(selector);
        let api: Api<AnyDepth<DynamicObject>> = kind.api(client.clone(), namespace);
        let listed = api.list(&parameters).await?.items.into_iter();
        Ok(listed
            .map(|AnyDepth(object)| plain(&object, kind))
            .collect())
    }
}

impl Lookups for Source {
    async fn kind(&self, kind: &GroupVersionKind) -> Result<ServedKind, DiscoveryError> {
        let local = self.kinds.find(kind);
        let found = match (&self.cluster, local) {
            (Some((_, discovery)), local) => match discovery.find(kind).await {
                Ok(served) => served,
                // Of a kind that the cluster does not have there may be local objects.
                Err(error) => {
                    let has_objects = local.filter(|kind| self.local(kind, "").next().is_some());
                    has_objects.ok_or(error)?
                }
            },
            (None, Some(local)) => local,
            (None, None) => return Err(DiscoveryError::UnknownKind(kind.clone())),
        };
        self.used().add_kind(&found);
        Ok(found)
    }

    async fn get(
        &self,
        kind: &ServedKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Value>>, String> {
        let named = self.local(kind, namespace);
        let named = named.filter(|object| at(object, "/metadata/name") == name);
        let local = named.min_by_key(|object| at(object, "/metadata/namespace"));
        if let Some(object) = local {
            self.used().add(object, Origin::Local);
            return Ok(Some(Arc::clone(object)));
        }
        let found = self.get_remote(kind, namespace, name).await;
        let found = found.map_err(|error| status_message(&error))?.map(Arc::new);
        if let Some(object) = &found {
            self.used().add(object, Origin::Cluster);
        }
        Ok(found)
    }

    async fn list(
        &self,
        kind: &ServedKind,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Arc<Value>>, String> {
        let matcher = Selector::parse(selector)?;
        let local = self.local(kind, namespace);
        let local = local.filter(|object| matcher.matches_object(object));
        let local: Vec<Arc<Value>> = local.cloned().collect();
        let (all, origin) = if local.is_empty() {
            let listed = self.list_remote(kind, namespace, selector).await;
            let listed = listed.map_err(|error| status_message(&error))?;
            (listed.into_iter().map(Arc::new).collect(), Origin::Cluster)
        } else {
            (local, Origin::Local)
        };
        let mut used = self.used();
        for object in &all {
            used.add(object, origin);
        }
        drop(used);
        Ok(all)
    }

    fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        tokio::runtime::Handle::current().block_on(answer)
    }
}

/// The object as plain JSON, without what only appliers read.
fn plain(object: &DynamicObject, kind: &ServedKind) -> Value {
    const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let mut value = dryrun::plain(object, kind);
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        let annotations = metadata.get_mut("annotations");
        if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
            annotations.remove(APPLIED);
        }
    }
    value
}

fn objects(text: &str) -> Result<Vec<Arc<Value>>, String> {
    let mut all = Vec::new();
    for document in documents(text)
        .iter()
        .filter(|document| !document.is_empty())
    {
        let value = yaml::read(document.text);
        let value =
            value.map_err(|error| messages::in_document(document.number, document.line, &error))?;
        if value.is_null() {
            continue;
        }
        add(value, &mut all)
            .map_err(|why| messages::in_document(document.number, document.line, why))?;
    }
    Ok(all)
}

/// Adds an object, or those of a list.
fn add(value: Value, all: &mut Vec<Arc<Value>>) -> Result<(), &'static str> {
    if !value.is_object() {
        return Err(messages::NOT_AN_OBJECT);
    }
    let kind = at(&value, "/kind");
    if at(&value, "/apiVersion").is_empty() || kind.is_empty() {
        return Err(messages::NO_TYPE);
    }
    let Some(of_items) = kind.strip_suffix("List") else {
        all.push(Arc::new(value));
        return Ok(());
    };
    match value.get("items") {
        Some(Value::Array(items)) => {
            for item in items {
                add(typed(item, of_items, at(&value, "/apiVersion")), all)?;
            }
        }
        _ => all.push(Arc::new(value)),
    }
    Ok(())
}

/// An item of a list of one kind, which may leave out what the list says.
fn typed(item: &Value, kind: &str, api_version: &str) -> Value {
    let mut item = item.clone();
    if let (Value::Object(fields), false) = (&mut item, kind.is_empty()) {
        for (key, value) in [("apiVersion", api_version), ("kind", kind)] {
            fields.entry(key).or_insert_with(|| value.into());
        }
    }
    item
}

/// A client of the cluster of a kubeconfig.
pub(crate) async fn client(kubeconfig: Option<&Path>) -> Result<Client, Error> {
    let connected = connect_unlimited(kubeconfig, crate::PROGRAM).await;
    connected.map_err(|error| Error::Kubeconfig(error_chain(&error)))
}
