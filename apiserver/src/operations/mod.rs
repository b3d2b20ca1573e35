//! The requests for objects.

mod admission;
mod allocate;
mod bind;
mod body;
mod create;
mod delete;
mod dispatch;
mod list;
mod patch;
mod prepare;
mod read;
mod reviews;
mod scale;
mod update;
mod watch;

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};

pub(crate) use admission::AdmissionRequest;
pub(crate) use watch::Lines;

use crate::encode::ObjectList;
use crate::identity::Identity;
use crate::kinds::Kind;
use crate::request::Transport;
use crate::request::accept::Form;
use crate::request::query::Query;
use crate::state::State;
use crate::status_error::StatusError;
use crate::store::{Key, Stored};

/// The attempts of a change without a resource version that conflicts with others.
const ATTEMPTS: usize = 100;

/// A request about objects of one kind.
pub(crate) struct ObjectRequest {
    pub(crate) state: Arc<State>,
    pub(crate) kind: Arc<Kind>,
    /// The namespace of the path.
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    pub(crate) query: Query,
    pub(crate) form: Form,
    pub(crate) user: Identity,
    pub(crate) transport: Transport,
    /// The user agent.
    pub(crate) agent: String,
    pub(crate) content_type: String,
    /// The warnings of the answer.
    pub(crate) warnings: Vec<String>,
    /// The warnings of a refusal.
    pub(crate) refused_with: Arc<Mutex<Vec<String>>>,
    pub(crate) origin: Origin,
    /// The sent object of a subresource of another kind.
    pub(crate) sent_part: Option<Value>,
    /// The sent delete options.
    pub(crate) deletion: Map<String, Value>,
}

/// The origin of the object that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The body of the request.
    #[default]
    Body,
    /// The result of a patch.
    Patch,
    /// The result of an apply, which has set the managed fields.
    Apply,
}

/// The answer of a request.
pub(crate) enum Reply {
    /// An object, as it is sent: the status code and the object.
    Object(u16, Value),
    /// Objects as they are kept, with the list's metadata.
    List(ObjectList),
    /// Changes as they happen.
    Lines(Lines),
}

impl ObjectRequest {
    /// The key of the object that the path names.
    pub(crate) fn key(&self) -> Key {
        let namespace = if self.kind.namespaced {
            self.namespace()
        } else {
            ""
        };
        Key::new(namespace, self.name.as_deref().unwrap_or_default())
    }

    pub(crate) fn namespace(&self) -> &str {
        match &self.namespace {
            Some(namespace) if self.kind.namespaced => namespace,
            _ => "",
        }
    }

    fn current(&self) -> Result<Arc<Stored>, StatusError> {
        let key = self.key();
        let found = self.state.store.get(&self.kind.table, &key);
        found.ok_or_else(|| StatusError::not_found(&self.kind.group_resource(), &key.name))
    }

    /// What webhooks see at the path: the object itself, or its scale.
    pub(crate) fn shown(&self, object: &Value) -> Result<Value, StatusError> {
        if self.subresource.as_deref() == Some("scale") {
            return self.scale_of(object);
        }
        Ok(self.for_admission(object.clone()))
    }

    /// An object in the version that was asked for.
    pub(crate) fn in_request_version(&self, mut object: Value) -> Value {
        crate::conversion::for_reader(&self.kind, &mut object);
        crate::meta::put_type(&mut object, &self.kind.api_version(), &self.kind.kind);
        object
    }

    /// A written object as webhooks see it, with the fields that the schema of a custom resource does not know.
    pub(crate) fn for_admission(&self, mut object: Value) -> Value {
        crate::conversion::from_storage(&self.kind, &mut object);
        crate::meta::put_type(&mut object, &self.kind.api_version(), &self.kind.kind);
        object
    }

    /// The version whose schema a written object has to follow: of a custom resource the requested one, of a built-in kind the one in
    /// which objects are stored.
    fn written_kind(&self) -> Arc<Kind> {
        if self.kind.custom.is_some() {
            return Arc::clone(&self.kind);
        }
        self.storage_kind()
    }

    /// Sets the defaults of the stored version of a custom resource that was written in another version, which a kube-apiserver does
    /// when it reads the object.
    fn fill_stored_defaults(&self, object: &mut Value) {
        if crate::conversion::is_other_version(&self.kind) {
            crate::decode::fill_defaults(&self.storage_kind(), object);
        }
    }

    /// The version of the kind that its objects are stored in.
    fn storage_kind(&self) -> Arc<Kind> {
        let kept = &self.kind.storage_version;
        if *kept == self.kind.api_version() {
            return Arc::clone(&self.kind);
        }
        let kinds = self.state.kinds();
        let found = kinds.of_object(kept, &self.kind.kind);
        found.map_or_else(|| Arc::clone(&self.kind), Arc::clone)
    }
}
