//! What can be done with objects.

pub(crate) mod body;
mod create;
mod delete;
mod list;
mod patch;
mod prepare;
mod read;
mod scale;
mod update;
mod watch;

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

pub(crate) use list::Listed;
pub(crate) use watch::Lines;

use crate::admission::{Action, Attributes, Policies};
use crate::auth::Identity;
use crate::failure::Failure;
use crate::kinds::{Kind, api_version};
use crate::request::accept::Form;
use crate::request::query::Query;
use crate::server::Inner;
use crate::store::{Key, Stored};

/// A request about objects of one kind.
pub(crate) struct Call {
    pub(crate) server: Arc<Inner>,
    pub(crate) kind: Arc<Kind>,
    /// The namespace of the path.
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    pub(crate) query: Query,
    pub(crate) form: Form,
    pub(crate) user: Identity,
    /// What the client calls itself.
    pub(crate) agent: String,
    pub(crate) content_type: String,
    /// What is said beside the answer.
    pub(crate) warnings: Vec<String>,
    pub(crate) origin: Origin,
}

/// Where the object comes from that is to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was sent.
    #[default]
    Body,
    /// It was made by a patch.
    Patch,
    /// It was made by an apply, which has noted who wrote what.
    Apply,
}

/// What is answered.
pub(crate) enum Reply {
    /// An object, as it is sent: the status code and the object.
    Object(u16, Value),
    /// Objects as they are kept, with the list's metadata.
    List(Listed),
    /// Changes as they happen.
    Lines(Lines),
}

impl Call {
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

    fn current(&self) -> Result<Arc<Stored>, Failure> {
        let key = self.key();
        let found = self.server.store.get(&self.kind.table, &key);
        found.ok_or_else(|| Failure::not_found(&self.kind.about(), &key.name))
    }

    /// An object in the version that was asked for.
    pub(crate) fn presented(&self, mut object: Value) -> Value {
        crate::convert::from_kept(&self.kind, &mut object);
        crate::meta::put_type(&mut object, &self.kind.api_version(), &self.kind.kind);
        object
    }

    /// Lets those look at a write who may change or refuse it.
    fn admit(
        &self,
        action: Action,
        name: &str,
        new: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), Failure> {
        if self.server.options.admission.is_empty() {
            return Ok(());
        }
        let allowed = self.allowed();
        let of = self.attributes(action, name, &allowed);
        for admission in &self.server.options.admission {
            admission.admit(&of, new, old)?;
        }
        Ok(())
    }

    /// Lets the cluster's admission policies judge a write. `new` is null of a deletion.
    fn judge(
        &mut self,
        action: Action,
        name: &str,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), Failure> {
        let server = Arc::clone(&self.server);
        if !Policies::are_bound(&server) {
            return Ok(());
        }
        let shown = |object: &Value| match object {
            Value::Null => Value::Null,
            object => self.presented(object.clone()),
        };
        let (new, old) = (shown(new), old.map(shown).unwrap_or_default());
        let outcome = {
            let allowed = self.allowed();
            let of = self.attributes(action, name, &allowed);
            server.policies.judge(&server, &of, (&new, &old))
        };
        self.warnings.extend(outcome.warnings);
        outcome.refusal.map_or(Ok(()), Err)
    }

    fn allowed(&self) -> impl Fn(&str, &str, &str, &str) -> bool {
        |verb, group, resource, name| self.server.allows(&self.user, verb, group, resource, name)
    }

    fn attributes<'a>(
        &'a self,
        action: Action,
        name: &'a str,
        allowed: &'a dyn Fn(&str, &str, &str, &str) -> bool,
    ) -> Attributes<'a> {
        Attributes {
            action,
            kind: &self.kind,
            subresource: self.subresource.as_deref(),
            namespace: self.namespace(),
            name,
            user: &self.user,
            allowed,
        }
    }

    /// The version of the kind that its objects are kept in, which has the schema.
    fn kept_kind(&self) -> Arc<Kind> {
        let kept = &self.kind.kept_as;
        if *kept == self.kind.api_version() {
            return Arc::clone(&self.kind);
        }
        let kinds = self.server.kinds();
        let found = kinds.of_object(kept, &self.kind.kind);
        found.map_or_else(|| Arc::clone(&self.kind), Arc::clone)
    }
}

/// Puts what says the kind before an object that is kept without it.
pub(crate) fn with_type(api_version: &str, kind: &str, object: &Bytes) -> Bytes {
    let rest = object.get(1..).unwrap_or_default();
    let comma = if rest.len() > 1 { "," } else { "" };
    let head = format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\"{comma}");
    let mut whole = Vec::with_capacity(head.len() + rest.len());
    whole.extend_from_slice(head.as_bytes());
    whole.extend_from_slice(rest);
    Bytes::from(whole)
}

/// A kept object as it is sent in a version.
pub(crate) fn sent(kind: &Kind, stored: &Stored) -> Bytes {
    if crate::convert::is_needed(kind) {
        let mut object = stored.value();
        crate::convert::from_kept(kind, &mut object);
        return with_type(
            &kind.api_version(),
            &kind.kind,
            &Bytes::from(object.to_string()),
        );
    }
    with_type(
        &api_version(&kind.group, &kind.version),
        &kind.kind,
        &stored.bytes,
    )
}
