//! Handles requests that patch an object.

use serde_json::{Value, json};

use super::{ATTEMPTS, ObjectRequest, Origin, Reply};
use crate::apply::{self, Conflicts};
use crate::meta;
use crate::patch;
use crate::printing::sprintf;
use crate::request::query::{FieldValidation, WriteOptions};
use crate::status_error::StatusError;

/// The patches that custom resources take.
const TYPES: &str =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

/// The type of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl ObjectRequest {
    pub(crate) async fn patch(mut self, body: &[u8]) -> Result<(Self, Reply), StatusError> {
        let options = WriteOptions::of(&self.query, "PatchOptions")?;
        let manner = self.manner()?;
        if manner == Manner::Apply {
            return self.apply(body, &options).await;
        }
        if options.force {
            let error = crate::status_error::FieldError::new(
                crate::status_error::Cause::Forbidden,
                "force",
                "may not be specified for non-apply patch",
            );
            return Err(StatusError::invalid_options("PatchOptions", &[error]));
        }
        let patch = patch::parse(body).map_err(|why| match manner {
            Manner::Strategic => StatusError::bad_request(why),
            _ => StatusError::bad_request(format!("error decoding patch: {why}")),
        })?;
        self.origin = Origin::Patch;
        let warning_count = self.warnings.len();
        for _ in 0..ATTEMPTS {
            let current = self.current()?;
            let before = self.in_request_version(current.value());
            let patched = self.patched(manner, &before, &patch)?;
            if let Some(failure) = patch::too_deep(&patched) {
                return Err(failure);
            }
            self.warnings.truncate(warning_count);
            self.check_is_of_kind(&patched)?;
            let read = self.known_fields(patched, options.field_validation);
            let mut object = read.map_err(|why| self.unreadable(manner, &before, &patch, why))?;
            self.check_identity(&object)?;
            self.place_back(&mut object);
            let reply = self.replace_patched(object, &before, &current, &options);
            if let Some(reply) = reply.await? {
                return Ok((self, Reply::Object(200, reply)));
            }
        }
        let name = self.name.clone().unwrap_or_default();
        Err(StatusError::conflict(
            &self.kind.group_resource(),
            &name,
            super::update::MODIFIED,
        ))
    }

    /// An object that a patch has made unreadable: that is the patch's fault. Made once more to be shown, as few are.
    fn unreadable(
        &self,
        manner: Manner,
        before: &Value,
        patch: &Value,
        why: StatusError,
    ) -> StatusError {
        if self.kind.custom.is_some() {
            return why;
        }
        let shown = match manner {
            Manner::Strategic => Ok(sprintf("%v", patch)),
            _ => self
                .patched(manner, before, patch)
                .map(|made| made.to_string()),
        };
        let text = why.message.split_once(": ");
        let text = text.map_or(why.message.as_str(), |(_, text)| text);
        patch::unreadable(&shown.unwrap_or_default(), text)
    }

    /// A patch that leaves the resource version as it is names no state.
    async fn replace_patched(
        &mut self,
        mut object: Value,
        before: &Value,
        current: &std::sync::Arc<crate::store::Stored>,
        options: &WriteOptions,
    ) -> Result<Option<Value>, StatusError> {
        let version = meta::text(&object, "resourceVersion");
        let same = version == meta::text(before, "resourceVersion");
        if same && let Some(metadata) = meta::metadata(&mut object) {
            metadata.remove("resourceVersion");
        }
        self.replace(object, current, options).await
    }

    fn manner(&self) -> Result<Manner, StatusError> {
        let media = self
            .content_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim();
        let builtin = self.kind.custom.is_none();
        match media {
            "application/json-patch+json" => Ok(Manner::Json),
            "application/merge-patch+json" => Ok(Manner::Merge),
            "application/strategic-merge-patch+json" if builtin => Ok(Manner::Strategic),
            "application/apply-patch+yaml" => Ok(Manner::Apply),
            _ => {
                if !builtin {
                    return Err(StatusError::unsupported_media_type(format!(
                        "the body of the request was in an unknown format - accepted media types include: {TYPES}"
                    )));
                }
                let mut failure =
                    StatusError::unsupported_media_type("415: Unsupported Media Type");
                failure.details = Some(json!({}));
                Err(failure)
            }
        }
    }

    fn patched(&self, manner: Manner, before: &Value, patch: &Value) -> Result<Value, StatusError> {
        match (manner, &self.kind.schema) {
            (Manner::Json, _) => patch::json_patch(before, patch),
            (Manner::Strategic, Some((types, id))) => patch::strategic(types, *id, before, patch),
            _ => patch::merge_patch(before, patch),
        }
    }

    /// A patch changes neither the kind nor the name.
    fn check_identity(&self, object: &Value) -> Result<(), StatusError> {
        let given = meta::text(object, "name");
        let name = self.name.as_deref().unwrap_or_default();
        if !given.is_empty() && given != name {
            return Err(StatusError::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({name})"
            )));
        }
        let given = meta::text(object, "namespace");
        if !given.is_empty() && given != self.namespace() {
            return Err(StatusError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        Ok(())
    }

    fn place_back(&self, object: &mut Value) {
        let (name, namespace) = (
            self.name.clone().unwrap_or_default(),
            self.namespace().to_owned(),
        );
        if let Some(metadata) = meta::metadata(object) {
            metadata.insert("name".to_owned(), name.into());
            if !namespace.is_empty() {
                metadata.insert("namespace".to_owned(), namespace.into());
            }
        }
    }

    /// Server-side apply.
    async fn apply(
        mut self,
        body: &[u8],
        options: &WriteOptions,
    ) -> Result<(Self, Reply), StatusError> {
        if options.field_manager.is_none() {
            let error = crate::status_error::FieldError::new(
                crate::status_error::Cause::Required,
                "fieldManager",
                "is required for apply patch",
            );
            return Err(StatusError::invalid_options("PatchOptions", &[error]));
        }
        let wanted = crate::decode::yaml(body)?;
        self.check_applied(&wanted)?;
        self.origin = Origin::Apply;
        let warning_count = self.warnings.len();
        for _ in 0..ATTEMPTS {
            self.warnings.truncate(warning_count);
            let key = self.key();
            let current = self.state.store.get(&self.kind.table, &key);
            let before = current
                .as_ref()
                .map(|stored| self.in_request_version(stored.value()));
            if let Some(reply) = self.applied(&wanted, before, current, options).await? {
                return Ok((self, reply));
            }
        }
        let name = self.name.clone().unwrap_or_default();
        Err(StatusError::conflict(
            &self.kind.group_resource(),
            &name,
            super::update::MODIFIED,
        ))
    }

    async fn applied(
        &mut self,
        wanted: &Value,
        before: Option<Value>,
        current: Option<std::sync::Arc<crate::store::Stored>>,
        options: &WriteOptions,
    ) -> Result<Option<Reply>, StatusError> {
        let name = self.name.clone().unwrap_or_default();
        if current.is_none() {
            let uid = meta::text(wanted, "uid");
            if !uid.is_empty() {
                let why = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return Err(StatusError::conflict(
                    &self.kind.group_resource(),
                    &name,
                    &why,
                ));
            }
            if self.subresource.is_some() {
                return Err(StatusError::not_found(&self.kind.group_resource(), &name));
            }
        }
        let live = before.unwrap_or_else(|| {
            let mut empty = json!({ "metadata": { "name": name } });
            if !self.namespace().is_empty() {
                empty["metadata"]["namespace"] = self.namespace().into();
            }
            meta::put_type(&mut empty, &self.kind.api_version(), &self.kind.kind);
            empty
        });
        let writer = self.writer(options);
        let mut merged = apply::apply_kind(
            &self.kind,
            &live,
            wanted,
            &writer,
            if options.force {
                Conflicts::Force
            } else {
                Conflicts::Refuse
            },
        )?;
        if writer_is_kubectl(options) {
            keep_last_applied(&mut merged, wanted);
        }
        let mut object = self.known_fields(merged, FieldValidation::Ignore)?;
        self.place_back(&mut object);
        let Some(current) = current else {
            self.check_may_create()?;
            let reply = match self.create_object(object, options).await {
                Err(failure) if failure.reason == "AlreadyExists" && !options.dry_run => {
                    return Ok(None);
                }
                outcome => outcome?,
            };
            return Ok(Some(Reply::Object(201, reply)));
        };
        let given = meta::text(wanted, "resourceVersion").to_owned();
        if let Some(metadata) = meta::metadata(&mut object) {
            if given.is_empty() {
                metadata.remove("resourceVersion");
            } else {
                metadata.insert("resourceVersion".to_owned(), given.into());
            }
        }
        let reply = self.replace(object, &current, options).await?;
        Ok(reply.map(|reply| Reply::Object(200, reply)))
    }

    fn check_applied(&self, wanted: &Value) -> Result<(), StatusError> {
        let text = |key: &str| wanted.get(key).and_then(Value::as_str).unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        if kind.is_empty() {
            return Err(StatusError::bad_request(format!(
                "error decoding apply patch: Object 'Kind' is missing in '{wanted}'"
            )));
        }
        if kind != self.kind.kind || version != self.kind.api_version() {
            let (group, number) = version.split_once('/').unwrap_or(("", version));
            return Err(StatusError::bad_request(format!(
                "invalid object type: {group}/{number}, Kind={kind}"
            )));
        }
        if wanted
            .pointer("/metadata/managedFields")
            .is_some_and(|entries| !entries.is_null())
        {
            return Err(StatusError::bad_request(
                "metadata.managedFields must be nil",
            ));
        }
        self.check_identity(wanted)
    }
}

/// The annotation of kubectl's client-side apply, which server-side apply of kubectl keeps up to date.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn writer_is_kubectl(options: &WriteOptions) -> bool {
    options.field_manager.as_deref() == Some("kubectl")
}

/// Brings the record of what was last applied up to date, if there is one.
fn keep_last_applied(merged: &mut Value, wanted: &Value) {
    let annotations = |object: &mut Value| -> Option<serde_json::Map<String, Value>> {
        let annotations = object.pointer_mut("/metadata/annotations")?;
        annotations.as_object_mut().map(std::mem::take)
    };
    let Some(mut kept) = annotations(merged) else {
        return;
    };
    if let Some(record) = kept.get_mut(LAST_APPLIED) {
        let mut wanted = wanted.clone();
        if let Some(mut given) = annotations(&mut wanted) {
            given.remove(LAST_APPLIED);
            wanted["metadata"]["annotations"] = given.into();
        }
        *record = format!("{wanted}\n").into();
    }
    merged["metadata"]["annotations"] = kept.into();
}
