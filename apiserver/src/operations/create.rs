//! Handles requests that create an object.

use std::sync::Arc;

use serde_json::Value;

use super::prepare::Part;
use super::{AdmissionRequest, ObjectRequest, Origin, Reply};
use crate::admission::{Operation, pods};
use crate::apply::{self, FieldManager};
use crate::builtin;
use crate::controllers;
use crate::identity::Identity;
use crate::kinds::Kind;
use crate::meta::{self, NoRandomness};
use crate::request::query::WriteOptions;
use crate::status_error::{GroupResource, StatusError};
use crate::store::{Key, Write, WriteError};

/// The attempts to generate a name that is not taken.
const NAMES: usize = 8;

impl ObjectRequest {
    pub(crate) async fn create(mut self, body: &[u8]) -> Result<(Self, Reply), StatusError> {
        let options = WriteOptions::of(&self.query, "CreateOptions")?;
        let body = crate::decode::parse(&self.content_type, body, &self.kind.kind)?;
        let object = self.decoded(body, options.field_validation)?;
        let reply = self.create_object(object, &options).await?;
        Ok((self, Reply::Object(201, reply)))
    }

    /// Checks the right to create, for a request that was authorized as another verb.
    pub(crate) fn check_may_create(&self) -> Result<(), StatusError> {
        self.state.authorizer().check_right(
            &self.user,
            &crate::auth::AccessRequest {
                verb: "create".to_owned(),
                group: self.kind.group.clone(),
                resource: self.kind.resource.clone(),
                namespace: self.namespace().to_owned(),
                name: self.name.clone().unwrap_or_default(),
                path: None,
            },
        )
    }

    /// Creates a decoded object and answers it as it is sent.
    pub(crate) async fn create_object(
        &mut self,
        mut object: Value,
        options: &WriteOptions,
    ) -> Result<Value, StatusError> {
        self.place(&mut object)?;
        // A dry run does not reach the check of the storage.
        if !meta::text(&object, "resourceVersion").is_empty() && !options.dry_run {
            return Err(StatusError::internal_text(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        self.warnings.extend(builtin::name_owners_once(&mut object));
        let kept = self.written_kind();
        self.check_namespace(meta::text(&object, "name"))?;
        let asked = meta::text(&object, "name").to_owned();
        let sent = self.has_mutating_admission().then(|| object.clone());
        self.begin(&kept, &mut object)?;
        // What is noted is what was asked for: not what the kind and others add.
        if self.origin != Origin::Apply {
            let writer = self.writer(options);
            apply::track_kind(&kept, None, &mut object, &writer);
        }
        if let Some(sent) = sent {
            let mut sent = new_as_sent(&kept, sent, &object, &self.user);
            self.admit_builtin(&kept, &mut sent, &asked)?;
            let sent = self.for_admission(sent);
            let request = AdmissionRequest {
                operation: Operation::Create,
                name: &asked,
                new: &sent,
                old: &Value::Null,
                dry_run: options.dry_run,
            };
            if let Some(mutated) = self.mutate(&request).await? {
                object = self.taken_over(mutated, &object);
                self.place(&mut object)?;
                self.begin(&kept, &mut object)?;
            }
        }
        let given = meta::text(&object, "name");
        let base = meta::text(&object, "generateName").to_owned();
        let made_up = given.is_empty() && !base.is_empty();
        let warning_count = self.warnings.len();
        for attempt in 1.. {
            // Webhooks that are called again return their warnings again.
            self.warnings.truncate(warning_count);
            let mut object = object.clone();
            if made_up {
                let most = 63 - 5;
                let base = base.get(..base.len().min(most)).unwrap_or_default();
                if let Some(metadata) = meta::metadata(&mut object) {
                    metadata.insert(
                        "name".to_owned(),
                        format!("{base}{}", meta::suffix()?).into(),
                    );
                }
                crate::decode::fill_defaults(&kept, &mut object);
            }
            match self.create_named(object, &kept, options).await {
                Err(failure) if made_up && failure.reason == "AlreadyExists" && attempt < NAMES => {
                }
                outcome => return outcome,
            }
        }
        Err(StatusError::internal("no name is free"))
    }

    /// Makes what was sent a new object of its kind.
    fn begin(&self, kept: &Kind, object: &mut Value) -> Result<(), NoRandomness> {
        meta::begin(object, kept)?;
        if kept.has_status()
            && self.part() == Part::Main
            && !builtin::begins_with_status(kept)
            && let Some(object) = object.as_object_mut()
        {
            object.remove("status");
        }
        crate::decode::fill_defaults(kept, object);
        Ok(())
    }

    async fn create_named(
        &mut self,
        mut object: Value,
        kept: &Kind,
        options: &WriteOptions,
    ) -> Result<Value, StatusError> {
        let name = meta::text(&object, "name").to_owned();
        builtin::prepare_create(kept, &mut object, &self.user);
        self.admit(Operation::Create, &name, &mut object, None)?;
        self.admit_builtin(kept, &mut object, &name)?;
        self.state
            .authorizer()
            .check_escalation(&self.user, kept, &object, None)?;
        self.state
            .authorizer()
            .check_signer(&self.user, kept, None, &object, None)?;
        let errors = Self::wrong(kept, None, &object, None);
        self.refuse_wrong(&name, &errors)?;
        if self.has_validating_admission() {
            let request = AdmissionRequest {
                operation: Operation::Create,
                name: &name,
                new: &self.for_admission(object.clone()),
                old: &Value::Null,
                dry_run: options.dry_run,
            };
            self.validate_admission(&request).await?;
        }
        if self.has_mutating_admission() {
            kept.drop_unknown(&mut object);
        }
        let key = Key::new(self.namespace(), &name);
        let state = Arc::clone(&self.state);
        let _allocating = state.allocating(kept);
        let errors =
            super::allocate::allocate(kept, &mut object, &state.store, &key, options.dry_run);
        self.refuse_wrong(&name, &errors)?;
        self.warnings.extend(builtin::warnings(kept, &object));
        builtin::settle(kept, &mut object);
        self.fill_stored_defaults(&mut object);
        if options.dry_run {
            if self.state.store.get(&self.kind.table, &key).is_some() {
                return Err(self.taken(&key, &name));
            }
            return Ok(self.in_request_version(object));
        }
        let written = self
            .state
            .store
            .write(&self.kind.table, &key, Write::Create(object))
            .map_err(|stale| match stale {
                WriteError::NotPersisted => StatusError::unwritten(),
                _ => self.taken(&key, &name),
            })?;
        let object = written.stored.value();
        controllers::after_write(&self.state, kept, &object, None);
        Ok(self.in_request_version(object))
    }

    /// The built-in admission plugins, which run before and after the webhooks.
    fn admit_builtin(
        &self,
        kept: &Kind,
        object: &mut Value,
        name: &str,
    ) -> Result<(), StatusError> {
        if !kept.is("", "pods") {
            return Ok(());
        }
        let suffix = meta::suffix()?;
        pods::admit(object, self.namespace(), &self.state.store, &suffix)
            .map_err(|why| StatusError::forbidden(&self.kind.group_resource(), name, &why))
    }

    /// The name is taken, if only for as long as its object takes to go.
    fn taken(&self, key: &Key, name: &str) -> StatusError {
        let mut failure = StatusError::already_exists(&self.kind.group_resource(), name);
        let holder = self.state.store.get(&self.kind.table, key);
        if holder.is_some_and(|holder| meta::is_deleted(&holder.value())) {
            failure.message = format!("object is being deleted: {}", failure.message);
        }
        failure
    }

    pub(crate) fn writer(&self, options: &WriteOptions) -> FieldManager {
        FieldManager {
            name: match &options.field_manager {
                Some(manager) => manager.clone(),
                None => self.agent.split('/').next().unwrap_or_default().to_owned(),
            },
            api_version: self.kind.api_version(),
            subresource: self.subresource.clone().unwrap_or_default(),
            now: meta::now(),
        }
    }

    /// Puts the object into the namespace of the path, and refuses one of another.
    pub(crate) fn place(&self, object: &mut Value) -> Result<(), StatusError> {
        let given = meta::text(object, "namespace").to_owned();
        let namespace = self.namespace().to_owned();
        if !given.is_empty() && given != namespace {
            return Err(StatusError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        if let Some(metadata) = meta::metadata(object) {
            if namespace.is_empty() {
                metadata.remove("namespace");
            } else {
                metadata.insert("namespace".to_owned(), namespace.into());
            }
        }
        Ok(())
    }

    /// The object after webhooks, in the stored form. `tracked` has the managed fields for one with invalid ones.
    pub(super) fn taken_over(&mut self, mut object: Value, tracked: &Value) -> Value {
        crate::conversion::to_storage(&self.kind, &mut object);
        meta::strip_type(&mut object);
        if let Some(why) = apply::invalid_managed_fields(&object) {
            self.warnings.push(format!(
                ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated \
                 mutating admission controller; please fix your requests: {why}"
            ));
            object["metadata"]["managedFields"] = tracked["metadata"]["managedFields"].clone();
        }
        object
    }

    /// Refuses to make something in a namespace that is not there, or is going.
    fn check_namespace(&self, name: &str) -> Result<(), StatusError> {
        let namespace = self.namespace();
        if namespace.is_empty() {
            return Ok(());
        }
        let found = self
            .state
            .store
            .get("/namespaces", &Key::new("", namespace));
        let Some(found) = found else {
            return Err(StatusError::not_found(
                &GroupResource::new("", "namespaces"),
                namespace,
            ));
        };
        if !meta::is_deleted(&found.value()) {
            return Ok(());
        }
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let mut failure = StatusError::forbidden(&self.kind.group_resource(), name, &why);
        if let Some(Value::Object(details)) = &mut failure.details {
            details.insert(
                "causes".to_owned(),
                serde_json::json!([{
                    "reason": "NamespaceTerminating",
                    "message": format!("namespace {namespace} is being terminated"),
                    "field": "metadata.namespace",
                }]),
            );
        }
        Err(failure)
    }
}

/// A new object as webhooks see it: what was sent, with what is filled in and who wrote it, and with what a real server's
/// own admission adds before it asks others. It has no uid yet.
fn new_as_sent(kept: &Kind, mut sent: Value, begun: &Value, user: &Identity) -> Value {
    if let Some(metadata) = meta::metadata(&mut sent) {
        for field in [
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
        ] {
            metadata.remove(field);
        }
        if let Some(fields) = begun.pointer("/metadata/managedFields") {
            metadata.insert("managedFields".to_owned(), fields.clone());
        }
    }
    crate::decode::fill_defaults(kept, &mut sent);
    if kept.is("", "pods") {
        let mut prepared = begun.clone();
        builtin::prepare_create(kept, &mut prepared, user);
        sent["spec"] = prepared["spec"].take();
    }
    sent
}
