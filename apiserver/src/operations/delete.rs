//! Handles requests that delete objects.

use serde_json::{Value, json};

use super::{ATTEMPTS, AdmissionRequest, ObjectRequest, Reply};
use crate::admission::Operation;
use crate::builtin;
use crate::controllers;
use crate::meta::{self, FOREGROUND, ORPHAN};
use crate::request::query::{DeleteOptions, Propagation};
use crate::status_error::StatusError;
use crate::store::{Key, Stored, Write, WriteError};

/// The outcome of a deletion.
enum Deleted {
    /// The object is gone; this was its last state.
    Gone(Value),
    /// The object is terminating and waits for its finalizers.
    Waits(Value),
}

impl ObjectRequest {
    pub(crate) async fn delete(mut self, body: &[u8]) -> Result<(Self, Reply), StatusError> {
        let options = self.delete_options(body)?;
        let key = self.key();
        let deleted = self.delete_one(&key, &options).await?;
        let reply = match deleted {
            Deleted::Waits(object) => self.in_request_version(object),
            Deleted::Gone(object) if builtin::answers_deleted(&self.kind) => {
                self.in_request_version(object)
            }
            Deleted::Gone(object) => {
                let mut details = json!({
                    "name": &*key.name, "kind": self.kind.resource, "uid": meta::text(&object, "uid"),
                });
                if !self.kind.group.is_empty() {
                    details["group"] = self.kind.group.clone().into();
                }
                json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
            }
        };
        Ok((self, Reply::Object(200, reply)))
    }

    fn delete_options(&mut self, body: &[u8]) -> Result<DeleteOptions, StatusError> {
        let body = if body.is_empty() {
            Value::Null
        } else {
            crate::decode::parse_options(&self.content_type, body)?
        };
        let options = DeleteOptions::of(&self.query, &body)?;
        self.deletion = match body {
            Value::Object(fields) => fields,
            _ => serde_json::Map::new(),
        };
        Ok(options)
    }

    pub(crate) async fn delete_collection(
        mut self,
        body: &[u8],
    ) -> Result<(Self, Reply), StatusError> {
        let options = self.delete_options(body)?;
        let listed = self.selected()?;
        for (key, _) in &listed.objects {
            match self.delete_one(key, &options).await {
                Err(failure) if failure.reason != "NotFound" => return Err(failure),
                _ => {}
            }
        }
        Ok((self, Reply::List(listed)))
    }

    async fn delete_one(
        &mut self,
        key: &Key,
        options: &DeleteOptions,
    ) -> Result<Deleted, StatusError> {
        let warning_count = self.warnings.len();
        for _ in 0..ATTEMPTS {
            // Webhooks that are called again return their warnings again.
            self.warnings.truncate(warning_count);
            let stored = self.state.store.get(&self.kind.table, key);
            let stored = stored
                .ok_or_else(|| StatusError::not_found(&self.kind.group_resource(), &key.name))?;
            if let Some(deleted) = self.try_delete(key, &stored, options).await? {
                return Ok(deleted);
            }
        }
        Err(StatusError::conflict(
            &self.kind.group_resource(),
            &key.name,
            super::update::MODIFIED,
        ))
    }

    async fn try_delete(
        &mut self,
        key: &Key,
        stored: &Stored,
        options: &DeleteOptions,
    ) -> Result<Option<Deleted>, StatusError> {
        let old = stored.value();
        self.check_delete(key, &old, options)?;
        if let Some(why) = builtin::protection(&self.kind, &key.name) {
            return Err(StatusError::forbidden(
                &self.kind.group_resource(),
                &key.name,
                why,
            ));
        }
        self.admit(Operation::Delete, &key.name, &mut Value::Null, Some(&old))?;
        let grace = builtin::grace(&self.kind, &old, options.grace_period);
        if self.kind.is("", "pods") {
            // The Pod has the default.
            self.deletion
                .insert("gracePeriodSeconds".to_owned(), grace.into());
        }
        if self.kind.is("", "namespaces") {
            let uid = json!({ "uid": meta::text(&old, "uid") });
            self.deletion.entry("preconditions").or_insert(uid);
        }
        self.check_deletion(&old, options.dry_run).await?;
        let mut new = old.clone();
        let finalizers = finalizers_for(&old, options.propagation);
        meta::set_finalizers(&mut new, &finalizers);
        let at_once = builtin::may_go(&self.kind, &old) || self.kind.is("", "pods");
        if finalizers.is_empty() && grace == 0 && at_once {
            if options.dry_run {
                return Ok(Some(Deleted::Gone(old)));
            }
            let write = Write::Delete(stored.revision, old);
            let Some(last) = self.written(key, write)? else {
                return Ok(None);
            };
            controllers::after_delete(&self.state, &self.kind, &last);
            return Ok(Some(Deleted::Gone(last)));
        }
        if !meta::is_deleted(&old) {
            if let Some(metadata) = meta::metadata(&mut new) {
                metadata.insert("deletionTimestamp".to_owned(), meta::now().into());
                metadata.insert("deletionGracePeriodSeconds".to_owned(), grace.into());
            }
            if meta::counts_changes(&self.kind) {
                meta::count_change(&mut new);
            }
            builtin::mark_deleted(&self.kind, &mut new);
        }
        if new == old || options.dry_run {
            return Ok(Some(Deleted::Waits(new)));
        }
        let write = Write::Replace(stored.revision, new);
        let Some(object) = self.written(key, write)? else {
            return Ok(None);
        };
        controllers::after_write(&self.state, &self.kind, &object, Some(&old));
        Ok(Some(Deleted::Waits(object)))
    }

    /// Runs the admission of a deletion.
    async fn check_deletion(&mut self, old: &Value, dry_run: bool) -> Result<(), StatusError> {
        let is_mutated = self.has_mutating_admission();
        if !is_mutated && !self.has_validating_admission() {
            return Ok(());
        }
        let request = AdmissionRequest {
            operation: Operation::Delete,
            // Who deletes many has named none.
            name: &self.name.clone().unwrap_or_default(),
            new: &Value::Null,
            old: &self.in_request_version(old.clone()),
            dry_run,
        };
        if is_mutated {
            self.mutate(&request).await?;
        }
        self.validate_admission(&request).await
    }

    /// The written object; nothing after a conflict.
    fn written(&self, key: &Key, write: Write) -> Result<Option<Value>, StatusError> {
        match self.state.store.write(&self.kind.table, key, write) {
            Ok(written) => Ok(Some(written.stored.value())),
            Err(WriteError::NotPersisted) => Err(StatusError::unwritten()),
            Err(WriteError::Conflict | WriteError::NotFound) => Ok(None),
        }
    }

    fn check_delete(
        &self,
        key: &Key,
        old: &Value,
        options: &DeleteOptions,
    ) -> Result<(), StatusError> {
        if let Some(uid) = &options.uid {
            let real = meta::text(old, "uid");
            if uid != real {
                let why = format!(
                    "the UID in the precondition ({uid}) does not match the UID in record ({real}). \
                     The object might have been deleted and then recreated"
                );
                return Err(StatusError::conflict(
                    &self.kind.group_kind(),
                    &key.name,
                    &why,
                ));
            }
        }
        if let Some(version) = &options.resource_version {
            let real = meta::text(old, "resourceVersion");
            if version != real {
                let why = format!(
                    "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record \
                     ({real}). The object might have been modified"
                );
                return Err(StatusError::conflict(
                    &self.kind.group_kind(),
                    &key.name,
                    &why,
                ));
            }
        }
        Ok(())
    }
}

/// The finalizers of an object that is to be deleted in this manner.
fn finalizers_for(old: &Value, propagation: Option<Propagation>) -> Vec<String> {
    let mut finalizers: Vec<String> = meta::finalizers(old)
        .into_iter()
        .map(str::to_owned)
        .collect();
    let wanted = match propagation {
        None => return finalizers,
        Some(Propagation::Background) => None,
        Some(Propagation::Foreground) => Some(FOREGROUND),
        Some(Propagation::Orphan) => Some(ORPHAN),
    };
    finalizers.retain(|one| ![ORPHAN, FOREGROUND].contains(&one.as_str()));
    finalizers.extend(wanted.map(str::to_owned));
    finalizers
}
