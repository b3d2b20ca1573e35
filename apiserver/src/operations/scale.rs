//! The subresource `scale`.

use serde_json::{Value, json};

use super::{ATTEMPTS, ObjectRequest, Reply};
use crate::kinds::Scale;
use crate::meta;
use crate::request::query::WriteOptions;
use crate::status_error::{Cause, FieldError, GroupResource, StatusError};

impl ObjectRequest {
    pub(crate) fn get_scale(self) -> Result<(Self, Reply), StatusError> {
        let object = self.current()?.value();
        let path = &self.paths()?.spec_replicas;
        if self.kind.custom.is_some() && at(&object, path).is_none() {
            let why = format!("the spec replicas field \".{path}\" does not exist");
            let mut failure = StatusError::internal(&why);
            failure.details = Some(json!({ "causes": [{ "message": why }] }));
            return Err(failure);
        }
        let scale = self.scale_of(&object)?;
        Ok((self, Reply::Object(200, scale)))
    }

    pub(crate) async fn update_scale(self, body: &[u8]) -> Result<(Self, Reply), StatusError> {
        let options = WriteOptions::of(&self.query, "UpdateOptions")?;
        let wanted = crate::decode::parse(&self.content_type, body, &self.kind.kind)?;
        self.write_scale(&options, |_| Ok(wanted.clone())).await
    }

    pub(crate) async fn patch_scale(self, body: &[u8]) -> Result<(Self, Reply), StatusError> {
        let options = WriteOptions::of(&self.query, "PatchOptions")?;
        let json = self.content_type.starts_with("application/json-patch+json");
        let patch = crate::patch::parse(body)
            .map_err(|why| StatusError::bad_request(format!("error decoding patch: {why}")))?;
        self.write_scale(&options, |scale| {
            if json {
                crate::patch::json_patch(scale, &patch)
            } else {
                crate::patch::merge_patch(scale, &patch)
            }
        })
        .await
    }

    async fn write_scale(
        mut self,
        options: &WriteOptions,
        change: impl Fn(&Value) -> Result<Value, StatusError> + Sync,
    ) -> Result<(Self, Reply), StatusError> {
        let warning_count = self.warnings.len();
        for _ in 0..ATTEMPTS {
            self.warnings.truncate(warning_count);
            let current = self.current()?;
            let object = current.value();
            let wanted = change(&self.scale_of(&object)?)?;
            let mut new = object.clone();
            self.scale_to(&mut new, &wanted)?;
            let version = meta::text(&wanted, "resourceVersion").to_owned();
            if let Some(metadata) = meta::metadata(&mut new) {
                if version.is_empty() || version == meta::text(&object, "resourceVersion") {
                    metadata.remove("resourceVersion");
                } else {
                    metadata.insert("resourceVersion".to_owned(), version.into());
                }
            }
            self.origin = super::Origin::Patch;
            self.sent_part = Some(whole(wanted));
            if let Some(object) = self.replace(new, &current, options).await? {
                let scale = self.scale_of(&object)?;
                return Ok((self, Reply::Object(200, scale)));
            }
        }
        let name = self.name.clone().unwrap_or_default();
        Err(StatusError::conflict(
            &self.kind.group_resource(),
            &name,
            super::update::MODIFIED,
        ))
    }

    /// Puts the replicas of a scale into an object.
    pub(super) fn scale_to(&self, object: &mut Value, wanted: &Value) -> Result<(), StatusError> {
        let path = &self.paths()?.spec_replicas;
        let replicas = wanted.pointer("/spec/replicas").cloned();
        let replicas = replicas.unwrap_or_else(|| 0.into());
        let Some(number) = replicas.as_i64() else {
            return Err(StatusError::bad_request(
                "Scale in version \"v1\" cannot be handled as a Scale: spec.replicas has to be a whole number",
            ));
        };
        if number < 0 {
            let error = FieldError::of_value(
                Cause::Invalid,
                "spec.replicas",
                &replicas,
                "must be greater than or equal to 0",
            );
            let about = GroupResource::new("autoscaling", "Scale");
            return Err(StatusError::invalid(
                &about,
                meta::text(object, "name"),
                &[error],
            ));
        }
        set(object, path, replicas);
        Ok(())
    }

    fn paths(&self) -> Result<&Scale, StatusError> {
        self.kind
            .scale
            .as_ref()
            .ok_or_else(StatusError::no_such_path)
    }

    pub(super) fn scale_of(&self, object: &Value) -> Result<Value, StatusError> {
        let paths = self.paths()?;
        let number = |path: &str| at(object, path).and_then(Value::as_i64).unwrap_or_default();
        let mut status = json!({ "replicas": number(&paths.status_replicas) });
        let selector = paths
            .label_selector
            .as_deref()
            .and_then(|path| at(object, path));
        match selector {
            Some(Value::String(text)) => status["selector"] = text.clone().into(),
            Some(selector) => status["selector"] = crate::table::selector_text(selector).into(),
            None => {}
        }
        let mut spec = json!({});
        if let Some(replicas) =
            at(object, &paths.spec_replicas).filter(|value| value.as_i64() != Some(0))
        {
            spec["replicas"] = replicas.clone();
        }
        let mut metadata = json!({});
        for field in [
            "name",
            "namespace",
            "uid",
            "resourceVersion",
            "creationTimestamp",
        ] {
            let text = meta::text(object, field);
            if !text.is_empty() {
                metadata[field] = text.into();
            }
        }
        Ok(json!({
            "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status,
        }))
    }
}

/// A scale that was sent, with what Go's type always has.
fn whole(mut scale: Value) -> Value {
    meta::put_type(&mut scale, "autoscaling/v1", "Scale");
    if let Some(fields) = scale.as_object_mut() {
        fields.entry("spec").or_insert_with(|| json!({}));
        let status = fields.entry("status").or_insert_with(|| json!({}));
        if let Some(status) = status.as_object_mut() {
            status.entry("replicas").or_insert_with(|| 0.into());
        }
    }
    scale
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .try_fold(object, |value, part| value.get(part))
}

fn set(object: &mut Value, path: &str, value: Value) {
    let mut slot = object;
    for part in path.split('.') {
        let Some(map) = slot.as_object_mut() else {
            return;
        };
        slot = map.entry(part).or_insert_with(|| json!({}));
    }
    *slot = value;
}
