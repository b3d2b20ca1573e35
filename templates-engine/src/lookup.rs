//! Reads from the cluster on a template's behalf.
//!
//! A render never waits for a cluster. It queries [`Reads`], a snapshot of earlier reads; a
//! read that is not there ends the render with [`LookupError::Unread`], and the caller makes the
//! read (with a watch) and renders again. [`Cluster`] decides what may be read at all, keeps the
//! list of the reads made, and records whether a secret was among them.

mod objects;
mod rules;
mod snapshot;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

pub use objects::Object;
pub use rules::{ClusterScopedRule, Restrictions};
pub use snapshot::Snapshot;

use crate::encryption::Encryption;
use reeve_go_compat::labels::Selector;
use reeve_go_compat::value::{Key, Value};

/// One read: an object by its name, or a list where the name is empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Read {
    /// Such as `v1` or `apps/v1`.
    pub api_version: String,
    /// Such as `Secret`.
    pub kind: String,
    /// Empty for cluster-scoped kinds, for lists over all namespaces, and for the object of a name in the first namespace
    /// in order that has one.
    pub namespace: String,
    /// Empty for a list.
    pub name: String,
    /// A label selector; empty for none. Only lists have one.
    pub selector: String,
}

/// The apiVersion and kind of a cluster's claims.
pub(crate) const CLAIM: (&str, &str) = (
    "cluster.open-cluster-management.io/v1alpha1",
    "ClusterClaim",
);

/// A kind as discovery describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Such as `configmaps`.
    pub plural: Arc<str>,
    /// Whether its objects are namespaced.
    pub namespaced: bool,
    /// Whether it can be watched; in watch mode a kind that cannot is refused.
    pub watchable: bool,
}

/// What a read found.
#[derive(Clone, Debug)]
pub enum Found {
    /// The object.
    Object(Object),
    /// There is no such object.
    Nothing,
    /// The objects of a list, in any order.
    List(Vec<Object>),
}

/// Why the cluster did not answer a read. The author gets this text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The kind is not installed.
    NotInstalled,
    /// The API server's text.
    Api(String),
}

/// The reads made so far. `None` means: not made yet.
pub trait Reads {
    /// A kind as discovery describes it.
    fn resource(&self, api_version: &str, kind: &str) -> Option<Result<Resource, ReadError>>;
    /// What a read found.
    fn read(&self, read: &Read) -> Option<Result<Found, ReadError>>;
}

/// A read or discovery that the caller has to make before the render can go on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Needed {
    /// Discovery of a kind.
    Resource {
        /// Such as `apps/v1`.
        api_version: String,
        /// Such as `Deployment`.
        kind: String,
    },
    /// A read.
    Read(Read),
}

/// Why a lookup failed.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// No apiVersion or no kind.
    #[error("the apiVersion and kind are required")]
    Incomplete,
    /// Another namespace than the one that may be read.
    #[error("the namespace argument is restricted to {0}")]
    RestrictedNamespace(String),
    /// An apiVersion with more than one slash.
    #[error("unexpected GroupVersion string: {0}")]
    GroupVersion(String),
    /// A label selector that cannot be parsed.
    #[error("{0}")]
    Selector(String),
    /// The kind is not installed.
    #[error("one or more API resources are not installed on the API server")]
    NotInstalled,
    /// The kind cannot be watched, and this template is evaluated by watches.
    #[error("{0}, Kind={1} cannot be watched: watch not supported on this resource")]
    Unwatchable(String, String),
    /// A cluster-scoped object that is not on the list of those allowed.
    #[error("lookup of cluster-scoped resource '{kind}/{name}' is not allowed")]
    RestrictedClusterScoped {
        /// Its kind.
        kind: String,
        /// Its name; empty for a list.
        name: String,
    },
    /// There is no such object.
    #[error("{resource} {name:?} not found")]
    NotFound {
        /// Such as `secrets` or `clusterclaims.cluster.open-cluster-management.io`.
        resource: String,
        /// Its name.
        name: String,
    },
    /// The API server's text.
    #[error("{0}")]
    Api(String),
    /// Not read yet. This ends the render, and the caller retries; no author gets this text.
    #[error("{} has not been read yet", describe(.0))]
    Unread(Needed),
    /// What the failed lookup was for.
    #[error("{what}: {source}")]
    For {
        /// Such as `failed to get the secret a from b`.
        what: String,
        /// The error of the lookup.
        source: Box<LookupError>,
    },
}

fn describe(needed: &Needed) -> String {
    match needed {
        Needed::Resource { api_version, kind } => format!("the resource of {api_version} {kind}"),
        Needed::Read(read) => format!(
            "{} {} {}/{}",
            read.api_version, read.kind, read.namespace, read.name
        ),
    }
}

impl LookupError {
    /// The failure itself, without what it was for.
    pub fn root(&self) -> &Self {
        match self {
            Self::For { source, .. } => source.root(),
            other => other,
        }
    }

    pub(crate) fn during(self, what: String) -> Self {
        Self::For {
            what,
            source: Box::new(self),
        }
    }
}

/// The result of a lookup, for a template function.
pub enum Lookup {
    /// An object.
    Object(Value),
    /// Objects, ordered by namespace and name.
    List(Vec<Value>),
}

/// The cluster of one render: its reads, what restricts them, and which were made.
pub struct Cluster {
    reads: Rc<dyn Reads>,
    restrictions: Restrictions,
    /// Local objects that are searched before the cluster.
    local: Vec<Object>,
    encryption: Option<Rc<Encryption>>,
    additional_indentation: i64,
    /// Whether kinds that cannot be watched are refused.
    watches: bool,
    /// The reads made, with their place in the order.
    made: HashMap<Read, usize>,
    found_secret: bool,
    secret_in_call: bool,
}

impl Cluster {
    /// A cluster read through `reads`, everything allowed.
    pub fn new(reads: Rc<dyn Reads>) -> Self {
        Self {
            reads,
            restrictions: Restrictions::default(),
            local: Vec::new(),
            encryption: None,
            additional_indentation: 0,
            watches: false,
            made: HashMap::new(),
            found_secret: false,
            secret_in_call: false,
        }
    }

    /// Limits what may be read.
    #[must_use]
    pub fn with_restrictions(mut self, restrictions: Restrictions) -> Self {
        self.restrictions = restrictions;
        self
    }

    /// Searches these objects before the cluster. They are returned [with all their fields](Object::with_all_fields).
    #[must_use]
    pub fn with_local(mut self, local: Vec<Object>) -> Self {
        self.local = local;
        self
    }

    /// Encrypts what is read from secrets.
    #[must_use]
    pub fn with_encryption(mut self, encryption: Rc<Encryption>) -> Self {
        self.encryption = Some(encryption);
        self
    }

    /// Spaces that `indent` adds.
    #[must_use]
    pub fn with_additional_indentation(mut self, additional: u32) -> Self {
        self.additional_indentation = additional.into();
        self
    }

    /// Refuses kinds that cannot be watched.
    #[must_use]
    pub fn in_watch_mode(mut self) -> Self {
        self.watches = true;
        self
    }

    /// Encryption of values, where it is enabled.
    pub fn encryption(&self) -> Option<Rc<Encryption>> {
        self.encryption.clone()
    }

    /// Spaces that `indent` adds.
    pub fn additional_indentation(&self) -> i64 {
        self.additional_indentation
    }

    /// The namespace that reads are limited to; empty for none.
    pub fn namespace(&self) -> &str {
        &self.restrictions.namespace
    }

    /// Whether a secret was found by any read.
    pub fn found_secret(&self) -> bool {
        self.found_secret
    }

    /// The reads made, in their order, each once.
    pub fn reads_made(&self) -> Vec<Read> {
        let mut made: Vec<(&Read, &usize)> = self.made.iter().collect();
        made.sort_unstable_by_key(|(_, place)| **place);
        made.into_iter().map(|(read, _)| read.clone()).collect()
    }

    pub(crate) fn begin_call(&mut self) {
        self.secret_in_call = false;
    }

    pub(crate) fn read_secret_in_call(&self) -> bool {
        self.secret_in_call
    }

    /// Reads an object, or lists where the name is empty.
    pub fn get_or_list(
        &mut self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
        selectors: &[String],
    ) -> Result<Lookup, LookupError> {
        let read = self.checked_read(api_version, kind, namespace, name, selectors)?;
        if let Some(found) = objects::local(&self.local, &read, namespace)? {
            return Ok(found);
        }
        let resource = self.resource(&read)?;
        let read = self.restrictions.admit(read, &resource)?;
        let found = self.reads.read(&read);
        let result = match found {
            None => Err(LookupError::Unread(Needed::Read(read.clone()))),
            Some(found) => found
                .map_err(from_read)
                .and_then(|found| self.lookup_result(found, &read, &resource)),
        };
        let place = self.made.len();
        self.made.entry(read).or_insert(place);
        result
    }

    fn checked_read(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
        selectors: &[String],
    ) -> Result<Read, LookupError> {
        if api_version.is_empty() || kind.is_empty() {
            return Err(LookupError::Incomplete);
        }
        let namespace = self.restrictions.namespace(namespace)?;
        if api_version.matches('/').count() > 1 {
            return Err(LookupError::GroupVersion(api_version.to_owned()));
        }
        let selector = Selector::join(selectors);
        Selector::parse(&selector).map_err(LookupError::Selector)?;
        Ok(Read {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace,
            name: name.to_owned(),
            selector,
        })
    }

    fn resource(&self, read: &Read) -> Result<Resource, LookupError> {
        let Some(resource) = self.reads.resource(&read.api_version, &read.kind) else {
            return Err(LookupError::Unread(Needed::Resource {
                api_version: read.api_version.clone(),
                kind: read.kind.clone(),
            }));
        };
        let resource = resource.map_err(from_read)?;
        if self.watches && !resource.watchable {
            let version = if read.api_version.contains('/') {
                read.api_version.clone()
            } else {
                format!("/{}", read.api_version)
            };
            return Err(LookupError::Unwatchable(version, read.kind.clone()));
        }
        Ok(resource)
    }

    fn lookup_result(
        &mut self,
        found: Found,
        read: &Read,
        resource: &Resource,
    ) -> Result<Lookup, LookupError> {
        let lookup = match found {
            Found::Nothing => {
                return Err(not_found(read, resource));
            }
            Found::Object(object) => Lookup::Object(object.value()),
            Found::List(list) => Lookup::List(objects::sorted_values(list)),
        };
        let any = match &lookup {
            Lookup::Object(_) => true,
            Lookup::List(items) => !items.is_empty(),
        };
        if read.kind == "Secret" && any {
            self.found_secret = true;
            self.secret_in_call = true;
        }
        Ok(lookup)
    }

    /// Takes back that the value of the running call is secret: it was encrypted.
    pub(crate) fn call_is_encrypted(&mut self) {
        self.secret_in_call = false;
    }
}

fn not_found(read: &Read, resource: &Resource) -> LookupError {
    let resource = match read.api_version.split_once('/') {
        Some((group, _)) => format!("{}.{group}", resource.plural),
        None => resource.plural.to_string(),
    };
    LookupError::NotFound {
        resource,
        name: read.name.clone(),
    }
}

fn from_read(error: ReadError) -> LookupError {
    match error {
        ReadError::NotInstalled => LookupError::NotInstalled,
        ReadError::Api(text) => LookupError::Api(text),
    }
}

impl Lookup {
    /// An object as it is, a list as a map with the key `items`.
    pub fn into_value(self) -> Value {
        match self {
            Self::Object(value) => value,
            Self::List(items) => Value::dict([("items", Value::list(items))]),
        }
    }

    /// A field of the object's map at this path.
    pub(crate) fn field(&self, path: &[&str]) -> Option<Value> {
        let Self::Object(value) = self else {
            return None;
        };
        let mut value = value.clone();
        for field in path {
            let Value::Map(map) = &value else {
                return None;
            };
            let next = map.get(&Key::from(*field))?;
            value = next;
        }
        Some(value)
    }
}
