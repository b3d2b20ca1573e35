//! A cluster in memory: the objects that it was made of, and nothing ever changes in it.
//!
//! Writes are answered as by an API server without defaults and admission: an update returns the
//! object that was sent. No evaluation changes the objects that a later template of the same policy reads (CFG-68).

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use k8s_openapi::api::core::v1::Secret;
use kube::core::GroupVersionKind;
use reeve_go_compat::labels::Selector;
use reeve_runtime::discovery::{DiscoveryError, ServedKind, describe, group_version_kind};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::strict::Write;
use reeve_runtime::writes::Deletion;
use serde_json::{Value, json};

use crate::evaluate::cluster::{Cluster, ReadError, ReadMode, gvk};
use crate::evaluate::cluster::{RecreateError, WriteError};
use crate::evaluate::compare::same_amount;
use crate::evaluate::selectors::namespaces::Namespace;
use crate::messages;
use crate::status::finding::Location;

/// Objects in memory; clones share them.
#[derive(Clone, Debug)]
pub struct Offline(Arc<Contents>);

#[derive(Debug)]
struct Contents {
    kinds: HashMap<GroupVersionKind, ServedKind>,
    /// By kind, then by namespace and name.
    objects: HashMap<GroupVersionKind, BTreeMap<(String, String), Arc<Value>>>,
}

/// Why an object cannot be part of an offline cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    /// It has no `apiVersion`, `kind` or name.
    #[error("the object {object} has no {field}")]
    Incomplete {
        /// What is known of it.
        object: String,
        /// The missing field.
        field: &'static str,
    },
    /// The given kinds do not include its kind.
    #[error("the kind of {object} is not known: {kind}")]
    UnknownKind {
        /// The object.
        object: String,
        /// Its kind.
        kind: String,
    },
}

impl Offline {
    /// A cluster that serves these kinds and holds these objects. Of two objects of one name the first counts. A
    /// namespaced object without a namespace is in `default`, a namespace that always exists.
    pub fn new(
        kinds: impl IntoIterator<Item = ServedKind>,
        objects: impl IntoIterator<Item = Value>,
    ) -> Result<Self, AddError> {
        let kinds = kinds.into_iter().map(|kind| (gvk(&kind), kind)).collect();
        let mut contents = Contents {
            kinds,
            objects: HashMap::new(),
        };
        for object in objects {
            contents.add(object)?;
        }
        // Namespace selectors choose it whether or not the kind is served.
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
        let namespaces = contents
            .objects
            .entry(GroupVersionKind::gvk("", "v1", "Namespace"))
            .or_default();
        namespaces
            .entry((String::new(), "default".to_owned()))
            .or_insert_with(|| Arc::new(namespace));
        Ok(Self(Arc::new(contents)))
    }

    /// The objects, of each kind by namespace and name.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        let all = self.0.objects.values().flat_map(BTreeMap::values);
        all.map(AsRef::as_ref)
    }

    /// The namespaces, for namespace selectors.
    pub fn namespaces(&self) -> Vec<Namespace> {
        let kind = GroupVersionKind::gvk("", "v1", "Namespace");
        let all = self.0.objects.get(&kind).into_iter().flatten();
        all.map(|(_, object)| Namespace::of(object)).collect()
    }

    /// A Secret, if it is among the objects and can be read as one.
    pub fn secret(&self, key: &ObjectKey) -> Option<Secret> {
        let kind = GroupVersionKind::gvk("", "v1", "Secret");
        let secrets = self.0.objects.get(&kind)?;
        let secret = secrets.get(&(key.namespace.clone(), key.name.clone()))?;
        serde_json::from_value(Value::clone(secret)).ok()
    }

    fn find(&self, kind: &ServedKind, location: &Location) -> Option<&Arc<Value>> {
        let objects = self.0.objects.get(&gvk(kind))?;
        objects.get(&(location.namespace.clone(), location.name.clone()))
    }
}

impl Contents {
    fn add(&mut self, mut object: Value) -> Result<(), AddError> {
        let text = |pointer: &str| {
            let found = object.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        let (api_version, kind_name) = (text("/apiVersion"), text("/kind"));
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let described = format!("{kind_name} {namespace}/{name}");
        for (field, value) in [
            ("apiVersion", &api_version),
            ("kind", &kind_name),
            ("metadata.name", &name),
        ] {
            if value.is_empty() {
                let object = described;
                return Err(AddError::Incomplete { object, field });
            }
        }
        let gvk = group_version_kind(&api_version, &kind_name);
        let Some(kind) = self.kinds.get(&gvk) else {
            return Err(AddError::UnknownKind {
                object: described,
                kind: describe(&gvk),
            });
        };
        let namespace = match (kind.namespaced, namespace.is_empty()) {
            (true, true) => "default".to_owned(),
            (true, false) => namespace,
            (false, _) => String::new(),
        };
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for set_by_server in ["resourceVersion", "creationTimestamp", "selfLink", "uid"] {
                metadata.remove(set_by_server);
            }
            if kind.namespaced {
                metadata.insert("namespace".to_owned(), Value::String(namespace.clone()));
            }
        }
        let of_kind = self.objects.entry(gvk).or_default();
        of_kind
            .entry((namespace, name))
            .or_insert_with(|| Arc::new(object));
        Ok(())
    }
}

impl Cluster for Offline {
    fn read_mode(&self) -> ReadMode {
        ReadMode::Polled
    }

    async fn kind(&self, kind: &GroupVersionKind) -> Result<ServedKind, DiscoveryError> {
        let found = self.0.kinds.get(kind).cloned();
        found.ok_or_else(|| DiscoveryError::UnknownKind(kind.clone()))
    }

    async fn get(
        &self,
        kind: &ServedKind,
        location: &Location,
    ) -> Result<Option<Arc<Value>>, ReadError> {
        Ok(self.find(kind, location).cloned())
    }

    async fn list(
        &self,
        kind: &ServedKind,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Arc<Value>>, ReadError> {
        let selector = Selector::parse(selector).map_err(ReadError::Failed)?;
        let all = self.0.objects.get(&gvk(kind)).into_iter().flatten();
        Ok(all
            .filter(|((at, _), _)| namespace.is_empty() || at == namespace)
            .filter(|(_, object)| selector.matches_object(object))
            .map(|(_, object)| Arc::clone(object))
            .collect())
    }

    async fn get_uncached(
        &self,
        kind: &ServedKind,
        location: &Location,
    ) -> Result<Option<Value>, ReadError> {
        Ok(self.find(kind, location).map(|object| Value::clone(object)))
    }

    async fn create(
        &self,
        _: &ServedKind,
        _: &Location,
        object: &Value,
        _: Option<&str>,
    ) -> Result<Value, WriteError> {
        Ok(object.clone())
    }

    async fn replace(
        &self,
        kind: &ServedKind,
        location: &Location,
        object: &Value,
        write: Write,
    ) -> Result<Value, WriteError> {
        match write {
            Write::DryRun => {
                let mut answer = object.clone();
                if let Some(live) = self.find(kind, location) {
                    keep_equal_amounts(&mut answer, live);
                }
                Ok(answer)
            }
            Write::Real => Err(WriteError::Other(messages::offline_write(&location.name))),
        }
    }

    async fn delete(
        &self,
        _: &ServedKind,
        location: &Location,
        _: &str,
    ) -> Result<Deletion, WriteError> {
        Err(WriteError::Other(messages::offline_write(&location.name)))
    }

    async fn recreate(
        &self,
        _: &ServedKind,
        (location, _): (&Location, &str),
        _: &Value,
        _: Option<&str>,
    ) -> Result<Value, RecreateError> {
        let refused = WriteError::Other(messages::offline_write(&location.name));
        Err(RecreateError::Create(refused))
    }

    async fn watch_namespace(&self, _: &str) {}

    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        work()
    }

    fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        block_on(answer)
    }
}

/// The longest list whose items are compared with one another.
const LONGEST_LIST: usize = 500;

/// Stores quantities in one spelling (DRY-13): `1024Mi` is stored as `1Gi` where that is the live text. Only fields of maps below the
/// top level are quantities.
fn keep_equal_amounts(sent: &mut Value, live: &Value) {
    let (Value::Object(sent), Value::Object(live)) = (sent, live) else {
        return;
    };
    for (key, sent) in sent.iter_mut().filter(|(key, _)| *key != "metadata") {
        match (sent, live.get(key)) {
            (Value::String(_), _) | (_, None) => {}
            (sent, Some(live)) => keep_amounts_below(sent, live),
        }
    }
}

fn keep_amounts_below(sent: &mut Value, live: &Value) {
    match (sent, live) {
        (Value::Object(sent), Value::Object(live)) => {
            for (key, sent) in sent {
                match (sent, live.get(key)) {
                    (Value::String(sent), Some(Value::String(live))) if same_amount(sent, live) => {
                        sent.clone_from(live);
                    }
                    (sent, Some(live)) => keep_amounts_below(sent, live),
                    (_, None) => {}
                }
            }
        }
        (Value::Array(sent), Value::Array(live)) => keep_equal_items(sent, live),
        _ => {}
    }
}

/// A list whose items are those of the live one, in another order and with other spellings of quantities, is the live one.
fn keep_equal_items(sent: &mut [Value], live: &[Value]) {
    let has_fields = live.iter().any(|item| item.is_object() || item.is_array());
    if sent.len() != live.len() || live.len() > LONGEST_LIST || !has_fields {
        return;
    }
    let mut left: Vec<&Value> = live.iter().collect();
    let mut is_equal = true;
    for item in sent.iter_mut() {
        let equal = left.iter().position(|live| {
            let mut stored = item.clone();
            keep_amounts_below(&mut stored, live);
            stored == **live
        });
        match equal {
            Some(at) => *item = left.remove(at).clone(),
            None => is_equal = false,
        }
    }
    if is_equal {
        sent.clone_from_slice(live);
    }
}

/// The result of a future that waits for nothing outside this process: those of an offline cluster.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
        std::thread::yield_now();
    }
}
