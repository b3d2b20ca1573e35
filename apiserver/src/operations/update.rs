//! Handles requests that replace an object.

use std::sync::Arc;

use serde_json::Value;

use super::prepare::{Part, asks_for_else, is_same, keep_all_but_status, keep_status};
use super::{ATTEMPTS, AdmissionRequest, ObjectRequest, Origin, Reply};
use crate::admission::Operation;
use crate::apply;
use crate::builtin;
use crate::controllers;
use crate::kinds::Kind;
use crate::meta;
use crate::pki::csr::REQUESTS;
use crate::request::query::WriteOptions;
use crate::status_error::{Cause, FieldError, StatusError};
use crate::store::{Stored, WriteError};

/// The message of a conflict.
pub(crate) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

impl ObjectRequest {
    pub(crate) async fn update(mut self, body: &[u8]) -> Result<(Self, Reply), StatusError> {
        let options = WriteOptions::of(&self.query, "UpdateOptions")?;
        let body = crate::decode::parse(&self.content_type, body, &self.kind.kind)?;
        let mut object = self.decoded(body, options.field_validation)?;
        let given = meta::text(&object, "name");
        let name = self.name.clone().unwrap_or_default();
        if given.is_empty() {
            return Err(StatusError::bad_request(format!(
                "the name of the object ({name} based on URL) was undeterminable: name must be provided"
            )));
        }
        if given != name {
            return Err(StatusError::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({name})"
            )));
        }
        self.place(&mut object)?;
        if self.part() == Part::Main
            && builtin::creates_on_update(&self.kind)
            && self
                .state
                .store
                .get(&self.kind.table, &self.key())
                .is_none()
        {
            self.check_may_create()?;
            let reply = self.create_object(object, &options).await?;
            return Ok((self, Reply::Object(201, reply)));
        }
        let warning_count = self.warnings.len();
        for _ in 0..ATTEMPTS {
            // Webhooks that are called again return their warnings again.
            self.warnings.truncate(warning_count);
            let current = self.current()?;
            if let Some(reply) = self.replace(object.clone(), &current, &options).await? {
                return Ok((self, Reply::Object(200, reply)));
            }
        }
        Err(StatusError::conflict(
            &self.kind.group_resource(),
            &name,
            MODIFIED,
        ))
    }

    /// Replaces an object by a decoded one. Returns nothing after a conflict if the new object names no
    /// state that it was made from.
    pub(crate) async fn replace(
        &mut self,
        mut new: Value,
        current: &Arc<Stored>,
        options: &WriteOptions,
    ) -> Result<Option<Value>, StatusError> {
        let old = current.value();
        let name = meta::text(&old, "name").to_owned();
        let version = meta::text(&new, "resourceVersion").to_owned();
        self.check_preconditions(&new, &old, &name, &version)?;
        self.warnings.extend(builtin::name_owners_once(&mut new));
        let kept = self.written_kind();
        let sent = self.has_mutating_admission().then(|| new.clone());
        self.shape(&kept, &mut new, &old)?;
        // What is noted is what was asked for: not what the kind and others add.
        if self.origin != Origin::Apply {
            let writer = self.writer(options);
            apply::track_kind(&kept, Some(&old), &mut new, &writer);
        }
        if let Some(sent) = sent {
            let sent = self.changed_as_sent(&kept, sent, &new, &old);
            let request = AdmissionRequest {
                operation: Operation::Update,
                name: &name,
                new: &sent,
                old: &self.shown(&old)?,
                dry_run: options.dry_run,
            };
            if let Some(mutated) = self.mutate(&request).await? {
                new = self.merged(mutated, new)?;
                self.shape(&kept, &mut new, &old)?;
            }
        }
        self.fill_stored_defaults(&mut new);
        self.finish(&kept, &name, &mut new, &old)?;
        if self.has_validating_admission() {
            let request = AdmissionRequest {
                operation: Operation::Update,
                name: &name,
                new: &self.shown(&new)?,
                old: &self.shown(&old)?,
                dry_run: options.dry_run,
            };
            self.validate_admission(&request).await?;
        }
        if self.has_mutating_admission() {
            kept.drop_unknown(&mut new);
        }
        let state = Arc::clone(&self.state);
        let _allocating = state.allocating(&kept);
        if self.part() == Part::Main {
            let key = self.key();
            let errors =
                super::allocate::allocate(&kept, &mut new, &state.store, &key, options.dry_run);
            self.refuse_wrong(&name, &errors)?;
        }
        self.warnings.extend(builtin::warnings(&kept, &new));
        if is_same(&new, &old) {
            return Ok(Some(self.in_request_version(old)));
        }
        self.put(&kept, new, &old, current, options, !version.is_empty())
    }

    /// Leaves of what was sent what this request may change.
    fn shape(&self, kept: &Kind, new: &mut Value, old: &Value) -> Result<(), StatusError> {
        self.refuse_claims(new, old, meta::text(old, "name"))?;
        meta::carry(new, old);
        let is_custom = kept.custom.is_some();
        // A custom resource gets its defaults when it is decoded: what another part of it lacks stays away.
        if is_custom {
            crate::decode::fill_defaults(kept, new);
        }
        match self.part() {
            Part::Main if kept.has_status() && builtin::drops_status(kept) => {
                keep_status(new, old);
            }
            Part::Status => keep_all_but_status(kept, new, old),
            _ => {}
        }
        if !is_custom {
            crate::decode::fill_defaults(kept, new);
        }
        Ok(())
    }

    /// A changed object as webhooks see it: what was sent, with what is filled in and who wrote it.
    fn changed_as_sent(&self, kept: &Kind, mut sent: Value, new: &Value, old: &Value) -> Value {
        if let Some(part) = &self.sent_part {
            return part.clone();
        }
        if let Some(metadata) = meta::metadata(&mut sent) {
            if let Some(fields) = new.pointer("/metadata/managedFields") {
                metadata.insert("managedFields".to_owned(), fields.clone());
            }
            let version = meta::text(old, "resourceVersion");
            if self.origin != Origin::Body {
                metadata.insert("resourceVersion".to_owned(), version.into());
            }
        }
        crate::decode::fill_defaults(kept, &mut sent);
        self.for_admission(sent)
    }

    /// The changed object, or its scale, after webhooks, in the stored form.
    fn merged(&mut self, mutated: Value, mut new: Value) -> Result<Value, StatusError> {
        if self.subresource.as_deref() != Some("scale") {
            return Ok(self.taken_over(mutated, &new));
        }
        self.scale_to(&mut new, &mutated)?;
        Ok(new)
    }

    /// Does what follows from the kind, and refuses what it does not allow.
    fn finish(
        &mut self,
        kept: &Kind,
        name: &str,
        new: &mut Value,
        old: &Value,
    ) -> Result<(), StatusError> {
        match self.part() {
            Part::Main => builtin::prepare_update(kept, new, old),
            Part::Other => {
                let part = self.subresource.as_deref().unwrap_or_default();
                builtin::prepare_part(kept, part, new, old);
            }
            Part::Status if *kept.table == *REQUESTS => builtin::date(new),
            Part::Status => {}
        }
        self.admit(Operation::Update, name, new, Some(old))?;
        self.state
            .authorizer()
            .check_escalation(&self.user, kept, new, Some(old))?;
        let part = self.subresource.as_deref();
        self.state
            .authorizer()
            .check_signer(&self.user, kept, part, new, Some(old))?;
        if meta::counts_changes(kept)
            && self.part() != Part::Status
            && asks_for_else(kept, new, old)
        {
            meta::count_change(new);
        }
        let mut errors = Self::wrong(kept, part, new, Some(old));
        if *kept.table == *REQUESTS {
            builtin::check_part(part, new, old, &mut errors);
        }
        self.refuse_wrong(name, &errors)
    }

    /// Stores a changed object. Returns nothing after a conflict.
    pub(super) fn put(
        &mut self,
        kept: &Kind,
        new: Value,
        old: &Value,
        current: &Arc<Stored>,
        options: &WriteOptions,
        names_state: bool,
    ) -> Result<Option<Value>, StatusError> {
        if options.dry_run {
            return Ok(Some(self.in_request_version(new)));
        }
        let kept = controllers::update_or_delete(
            &self.state,
            kept,
            &self.key(),
            current.revision,
            new,
            old,
        );
        match kept {
            Ok(object) => Ok(Some(self.in_request_version(object))),
            Err(WriteError::NotPersisted) => Err(StatusError::unwritten()),
            Err(_) if names_state => {
                let name = meta::text(old, "name");
                Err(StatusError::conflict(
                    &self.kind.group_resource(),
                    name,
                    MODIFIED,
                ))
            }
            Err(_) => Ok(None),
        }
    }

    /// Only the server sets the uid and the deletion time of an object.
    fn refuse_claims(&self, new: &Value, old: &Value, name: &str) -> Result<(), StatusError> {
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
                // A kube-apiserver validates this twice for built-in kinds, and reports it twice.
                if self.kind.custom.is_none() {
                    errors.push(error.clone());
                }
                errors.push(error);
            }
        }
        self.refuse_wrong(name, &errors)
    }

    /// The etcd key of the object in a kube-apiserver.
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
    ) -> Result<(), StatusError> {
        if version.is_empty() && self.kind.custom.is_some() && self.origin == Origin::Body {
            let error = FieldError {
                cause: Cause::Invalid,
                field: "metadata.resourceVersion".to_owned(),
                message: "Invalid value: 0: must be specified for an update".to_owned(),
            };
            return Err(StatusError::invalid(
                &self.kind.group_resource(),
                name,
                &[error],
            ));
        }
        if !version.is_empty() && version != meta::text(old, "resourceVersion") {
            return Err(StatusError::conflict(
                &self.kind.group_resource(),
                name,
                MODIFIED,
            ));
        }
        let (given, real) = (meta::text(new, "uid"), meta::text(old, "uid"));
        if !given.is_empty() && given != real && self.origin == Origin::Body {
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
                 failed: UID in precondition: {given}, UID in object meta: {real}",
                self.storage_key()
            );
            return Err(StatusError::conflict(
                &self.kind.group_resource(),
                name,
                &why,
            ));
        }
        Ok(())
    }
}
