//! Replacing.

use std::sync::Arc;

use serde_json::Value;

use super::prepare::{Part, asks_for_else, is_same, keep_all_but_status, keep_status};
use super::{Call, Origin, Reply};
use crate::admission::Action;
use crate::builtin;
use crate::certificates::REQUESTS;
use crate::failure::{Cause, Failure, FieldError};
use crate::meta;
use crate::request::query::WriteOptions;
use crate::store::{Stale, Stored};
use crate::tracking;

/// What the server says when somebody else was faster.
pub(crate) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";
/// How often a change that names no state is made anew when somebody else was faster.
const ATTEMPTS: usize = 100;

impl Call {
    pub(crate) fn update(mut self, body: &[u8]) -> Result<(Self, Reply), Failure> {
        let options = WriteOptions::of(&self.query, "UpdateOptions")?;
        let body = super::body::parse(&self.content_type, body, &self.kind.kind)?;
        let mut object = self.decoded(body, options.field_validation)?;
        let given = meta::text(&object, "name");
        let name = self.name.clone().unwrap_or_default();
        if given.is_empty() {
            return Err(Failure::bad_request(format!(
                "the name of the object ({name} based on URL) was undeterminable: name must be provided"
            )));
        }
        if given != name {
            return Err(Failure::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({name})"
            )));
        }
        self.place(&mut object)?;
        if self.part() == Part::Main
            && builtin::creates_on_update(&self.kind)
            && self
                .server
                .store
                .get(&self.kind.table, &self.key())
                .is_none()
        {
            self.check_may_create()?;
            let reply = self.create_object(object, &options)?;
            return Ok((self, Reply::Object(201, reply)));
        }
        for _ in 0..ATTEMPTS {
            let current = self.current()?;
            if let Some(reply) = self.replace(object.clone(), &current, &options)? {
                return Ok((self, Reply::Object(200, reply)));
            }
        }
        Err(Failure::conflict(&self.kind.about(), &name, MODIFIED))
    }

    /// Replaces an object by a decoded one. Answers nothing if somebody else was faster and the new object names no
    /// state that it was made from.
    pub(crate) fn replace(
        &mut self,
        mut new: Value,
        current: &Arc<Stored>,
        options: &WriteOptions,
    ) -> Result<Option<Value>, Failure> {
        let old = current.value();
        let name = meta::text(&old, "name").to_owned();
        let version = meta::text(&new, "resourceVersion").to_owned();
        self.check_preconditions(&new, &old, &name, &version)?;
        let kept = self.kept_kind();
        self.refuse_claims(&new, &old, &name)?;
        meta::carry(&mut new, &old);
        match self.part() {
            Part::Main if kept.has_status() && builtin::drops_status(&kept) => {
                keep_status(&mut new, &old);
            }
            Part::Status => keep_all_but_status(&kept, &mut new, &old),
            _ => {}
        }
        Self::filled(&kept, &mut new);
        // What is noted is what was asked for: not what the kind and others add.
        if self.origin != Origin::Apply {
            let writer = self.writer(options);
            tracking::track(&kept, Some(&old), &mut new, &writer);
        }
        match self.part() {
            Part::Main => builtin::prepare_update(&kept, &mut new, &old),
            Part::Other => {
                let part = self.subresource.as_deref().unwrap_or_default();
                builtin::prepare_part(&kept, part, &mut new, &old);
            }
            Part::Status if *kept.table == *REQUESTS => builtin::date(&mut new),
            Part::Status => {}
        }
        self.admit(Action::Update, &name, &mut new, Some(&old))?;
        self.server
            .check_escalation(&self.user, &kept, &new, Some(&old))?;
        let part = self.subresource.as_deref();
        self.server
            .check_signer(&self.user, &kept, part, &new, Some(&old))?;
        if meta::counts_changes(&kept)
            && self.part() != Part::Status
            && asks_for_else(&kept, &new, &old)
        {
            meta::count_change(&mut new);
        }
        let mut errors = Self::wrong(&kept, &new, Some(&old));
        if *kept.table == *REQUESTS {
            builtin::check_part(self.subresource.as_deref(), &new, &old, &mut errors);
        }
        self.refuse_wrong(&name, &errors)?;
        self.judge(Action::Update, &name, &new, Some(&old))?;
        self.warnings.extend(builtin::warnings(&new));
        if is_same(&new, &old) {
            return Ok(Some(self.presented(old)));
        }
        self.put(&kept, new, &old, current, options, !version.is_empty())
    }

    fn put(
        &mut self,
        kept: &crate::kinds::Kind,
        new: Value,
        old: &Value,
        current: &Arc<Stored>,
        options: &WriteOptions,
        names_state: bool,
    ) -> Result<Option<Value>, Failure> {
        if options.dry_run {
            return Ok(Some(self.presented(new)));
        }
        let kept = self
            .server
            .keep(kept, &self.key(), current.revision, new, old);
        match kept {
            Ok(object) => Ok(Some(self.presented(object))),
            Err(Stale::Unwritten) => Err(Failure::unwritten()),
            Err(_) if names_state => {
                let name = meta::text(old, "name");
                Err(Failure::conflict(&self.kind.about(), name, MODIFIED))
            }
            Err(_) => Ok(None),
        }
    }

    /// Nobody but the server says who an object is, and when it goes.
    fn refuse_claims(&self, new: &Value, old: &Value, name: &str) -> Result<(), Failure> {
        let mut errors = Vec::new();
        for field in ["uid", "deletionTimestamp"] {
            let claimed = meta::text(new, field);
            if !claimed.is_empty() && claimed != meta::text(old, field) {
                let path = format!("metadata.{field}");
                let error = FieldError::of_value(
                    Cause::Invalid,
                    path,
                    &claimed.into(),
                    "field is immutable",
                );
                // Of built-in kinds this is looked at twice, and told twice.
                if self.kind.custom.is_none() {
                    errors.push(error.clone());
                }
                errors.push(error);
            }
        }
        self.refuse_wrong(name, &errors)
    }

    /// Where a server with an etcd would keep the object.
    fn storage_key(&self) -> String {
        let group = match &self.kind.custom {
            Some(_) => format!("{}/", self.kind.group),
            None => String::new(),
        };
        let key = self.key();
        let namespace = if key.namespace.is_empty() {
            String::new()
        } else {
            format!("{}/", key.namespace)
        };
        format!(
            "/registry/{group}{}/{namespace}{}",
            self.kind.resource, key.name
        )
    }

    fn check_preconditions(
        &self,
        new: &Value,
        old: &Value,
        name: &str,
        version: &str,
    ) -> Result<(), Failure> {
        if version.is_empty() && self.kind.custom.is_some() && self.origin == Origin::Body {
            let error = FieldError {
                cause: Cause::Invalid,
                field: "metadata.resourceVersion".to_owned(),
                message: "Invalid value: 0: must be specified for an update".to_owned(),
            };
            return Err(Failure::invalid(&self.kind.about(), name, &[error]));
        }
        if !version.is_empty() && version != meta::text(old, "resourceVersion") {
            return Err(Failure::conflict(&self.kind.about(), name, MODIFIED));
        }
        let (given, real) = (meta::text(new, "uid"), meta::text(old, "uid"));
        if !given.is_empty() && given != real && self.origin == Origin::Body {
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
                 failed: UID in precondition: {given}, UID in object meta: {real}",
                self.storage_key()
            );
            return Err(Failure::conflict(&self.kind.about(), name, &why));
        }
        Ok(())
    }
}
