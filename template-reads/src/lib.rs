//! Reads objects for templates through a cluster's watches.
//!
//! The engine computes and never waits. This crate reads when a template needs an object, those with constant
//! arguments all at once, and caches the results for the rest of the render. A render may take long and its values
//! stay on one thread, so it has [its own thread](run_blocking).

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use futures::future::join_all;
use kube::core::GroupVersionKind;
use reeve_runtime::discovery::{DiscoveryError, ServedKind, group_version_kind};
use reeve_runtime::object::error_chain;
use reeve_runtime::secrets::{self, Secrets};
use reeve_templates_engine::ambient::System;
use reeve_templates_engine::lookup::{
    Found, Needed, Object, Read, ReadError, Reads, Resource, Snapshot,
};
use reeve_templates_engine::resolver::{Failed, Prepared, Resolved};
use serde_json::Value;

/// A cluster that templates read.
pub trait Lookups {
    /// The resource that serves a kind.
    fn kind(
        &self,
        kind: &GroupVersionKind,
    ) -> impl Future<Output = Result<ServedKind, DiscoveryError>>;

    /// One object, `None` if it does not exist. The namespace of a cluster-scoped object is empty. With an empty
    /// namespace, a namespaced object is the one with that name in the first namespace in order that has one. The
    /// error is the text for the author.
    fn get(
        &self,
        kind: &ServedKind,
        namespace: &str,
        name: &str,
    ) -> impl Future<Output = Result<Option<Arc<Value>>, String>>;

    /// The objects of a kind in a namespace (everywhere if it is empty) that match a label selector (all if it is
    /// empty).
    fn list(
        &self,
        kind: &ServedKind,
        namespace: &str,
        selector: &str,
    ) -> impl Future<Output = Result<Vec<Arc<Value>>, String>>;

    /// Blocks the thread on a future.
    fn wait<T>(&self, answer: impl Future<Output = T>) -> T;
}

/// Runs work that computes for long or that blocks in [`Lookups::wait`], on a thread for blocking work.
pub async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        // The work panicked: the caller panics, too. A runtime that is shutting down drops this future.
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => std::future::pending().await,
        },
    }
}

/// The reads of some templates, which are made on demand and cached.
pub struct ReadCache<L> {
    lookups: L,
    cache: RefCell<Snapshot>,
    secrets: RefCell<Vec<String>>,
    /// The names of all fields of the Secrets that were read, those in their data included.
    field_names: RefCell<HashSet<String>>,
}

impl<L: Lookups + 'static> ReadCache<L> {
    /// An empty cache in front of a cluster.
    pub fn new(lookups: L) -> Self {
        Self {
            lookups,
            cache: RefCell::default(),
            secrets: RefCell::default(),
            field_names: RefCell::default(),
        }
    }

    /// The cluster that is read.
    pub fn lookups(&self) -> &L {
        &self.lookups
    }

    /// The values of the Secrets that were read so far.
    pub fn secrets(&self) -> Secrets {
        self.secrets.borrow().iter().cloned().collect()
    }

    /// Whether a Secret that was read has this name, or a field with this name, in its data or elsewhere.
    pub fn is_secret_field(&self, name: &str) -> bool {
        self.field_names.borrow().contains(name)
    }

    /// Resolves a document; its constant reads are made at once.
    pub fn resolve(self: &Rc<Self>, prepared: &Prepared) -> Result<Resolved, Failed> {
        self.fetch(prepared.constant_reads());
        prepared.resolve(Rc::clone(self) as Rc<dyn Reads>, &mut System)
    }

    fn prepare_object(&self, kind: &ServedKind, object: &Value) -> Object {
        if kind.resource.api_version == "v1" && kind.resource.kind == "Secret" {
            self.secrets.borrow_mut().extend(secrets::of_object(object));
            let mut names = self.field_names.borrow_mut();
            names.extend(secrets::field_names(object));
            names.extend(secrets::own_names(object));
        }
        Object::new(object)
    }

    /// Makes several reads at once, because each may wait for a watch.
    fn fetch(&self, needed: Vec<Needed>) {
        let missing: Vec<Needed> = needed
            .into_iter()
            .filter(|needed| !self.cache.borrow().contains(needed))
            .collect();
        if missing.is_empty() {
            return;
        }
        let answers = self
            .lookups
            .wait(join_all(missing.iter().map(|needed| async {
                match needed {
                    Needed::Resource { api_version, kind } => {
                        Answer::Resource(self.read_resource(api_version, kind).await)
                    }
                    Needed::Read(read) => self.read_cluster(read).await,
                }
            })));
        let mut cache = self.cache.borrow_mut();
        for (needed, answer) in missing.into_iter().zip(answers) {
            match (needed, answer) {
                (Needed::Resource { api_version, kind }, Answer::Resource(resource)) => {
                    cache.insert_resource(api_version, kind, resource);
                }
                (_, Answer::Read(read, found)) => cache.insert(read, found),
                _ => {}
            }
        }
    }

    async fn served(&self, api_version: &str, kind: &str) -> Result<ServedKind, ReadError> {
        let kind = group_version_kind(api_version, kind);
        self.lookups.kind(&kind).await.map_err(|error| {
            if error.is_absent() {
                ReadError::NotInstalled
            } else {
                ReadError::Api(error_chain(&error))
            }
        })
    }

    async fn read_resource(&self, api_version: &str, kind: &str) -> Result<Resource, ReadError> {
        let served = self.served(api_version, kind).await?;
        Ok(Resource {
            plural: served.resource.plural.as_str().into(),
            namespaced: served.namespaced,
            watchable: served.watchable,
        })
    }

    async fn read_cluster(&self, read: &Read) -> Answer {
        let mut read = read.clone();
        let served = match self.served(&read.api_version, &read.kind).await {
            Ok(served) => served,
            Err(error) => return Answer::Read(read, Err(error)),
        };
        if !served.namespaced {
            // The namespace that a template passes for a cluster-scoped kind is ignored.
            read.namespace.clear();
        }
        let found = if read.name.is_empty() {
            let listed = self.lookups.list(&served, &read.namespace, &read.selector);
            let prepared = |object: &Arc<Value>| self.prepare_object(&served, object);
            listed
                .await
                .map(|all| Found::List(all.iter().map(prepared).collect()))
        } else {
            let found = self.lookups.get(&served, &read.namespace, &read.name).await;
            found.map(|object| {
                object.map_or(Found::Nothing, |object| {
                    Found::Object(self.prepare_object(&served, &object))
                })
            })
        };
        Answer::Read(read, found.map_err(ReadError::Api))
    }
}

enum Answer {
    Resource(Result<Resource, ReadError>),
    Read(Read, Result<Found, ReadError>),
}

impl<L: Lookups + 'static> Reads for ReadCache<L> {
    fn resource(&self, api_version: &str, kind: &str) -> Option<Result<Resource, ReadError>> {
        self.fetch(vec![Needed::Resource {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        }]);
        self.cache.borrow().resource(api_version, kind)
    }

    fn read(&self, read: &Read) -> Option<Result<Found, ReadError>> {
        self.fetch(vec![Needed::Read(read.clone())]);
        self.cache.borrow().read(read)
    }
}
