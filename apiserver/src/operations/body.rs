//! The body of a write: its kind and its fields.

use reeve_go_compat::runes::quote;
use serde_json::Value;

use super::ObjectRequest;
use crate::builtin;
use crate::conversion;
use crate::decode::{TYPE_META, UNTYPED, unconvertible, unrecognized, unregistered};
use crate::request::query::FieldValidation;
use crate::schema;
use crate::status_error::StatusError;

impl ObjectRequest {
    /// Reads the object that is to be written: checks its kind, drops what the schema does not know, and brings it
    /// into the stored form, without kind and version.
    pub(crate) fn decoded(
        &mut self,
        body: Value,
        validation: FieldValidation,
    ) -> Result<Value, StatusError> {
        let object = self.checked_kind(body)?;
        self.known_fields(object, validation)
    }

    /// Reads an object that was not sent as such, but made by a patch.
    pub(crate) fn known_fields(
        &mut self,
        mut object: Value,
        validation: FieldValidation,
    ) -> Result<Value, StatusError> {
        let kind = std::sync::Arc::clone(&self.kind);
        if let Some((types, id)) = &kind.schema {
            let preserve = self
                .kind
                .custom
                .as_ref()
                .is_some_and(|custom| custom.preserve_unknown);
            let unknown = if preserve {
                Vec::new()
            } else {
                schema::prune(types, *id, &mut object)
            };
            let decoded = schema::decode(types, *id, &mut object)
                .and_then(|()| builtin::readable(&self.kind, &object))
                .map_err(|why| {
                    StatusError::bad_request(format!(
                        "{} in version {} cannot be handled as a {}: {why}",
                        self.kind.kind,
                        quote(&self.kind.version),
                        self.kind.kind
                    ))
                });
            // A kube-apiserver decodes built-in kinds into Go types, whose errors win over those of strictness; custom
            // kinds have no Go types.
            if self.kind.custom.is_none() {
                decoded?;
                self.report_unknown(&unknown, validation)?;
            } else {
                self.report_unknown(&unknown, validation)?;
                decoded?;
            }
        }
        conversion::to_storage(&self.kind, &mut object);
        crate::meta::strip_type(&mut object);
        Ok(object)
    }

    fn report_unknown(
        &mut self,
        unknown: &[String],
        validation: FieldValidation,
    ) -> Result<(), StatusError> {
        let messages = unknown
            .iter()
            .map(|path| format!("unknown field {}", quote(path)));
        match validation {
            _ if unknown.is_empty() => {}
            FieldValidation::Ignore => {}
            FieldValidation::Warn => self.warnings.extend(messages),
            FieldValidation::Strict => {
                let messages: Vec<String> = messages.collect();
                return Err(StatusError::bad_request(format!(
                    "{} in version {} cannot be handled as a {}: strict decoding error: {}",
                    self.kind.kind,
                    quote(&self.kind.version),
                    self.kind.kind,
                    messages.join(", ")
                )));
            }
        }
        Ok(())
    }

    fn checked_kind(&self, body: Value) -> Result<Value, StatusError> {
        let want = self.kind.api_version();
        let kind = &self.kind.kind;
        let Some(object) = body.as_object() else {
            let json_type = match &body {
                Value::String(_) => "string",
                Value::Number(_) => "number",
                Value::Bool(_) => "bool",
                _ => "array",
            };
            let why =
                format!("json: cannot unmarshal {json_type} into Go value of type {TYPE_META}");
            let why = format!("{UNTYPED}{why}");
            let shown = body.to_string();
            return Err(StatusError::bad_request(unrecognized(
                kind,
                &why,
                shown.as_bytes(),
            )));
        };
        let field = |key: &str| {
            object
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let (given_version, given_kind) = (field("apiVersion"), field("kind"));
        if self.kind.custom.is_some() {
            self.check_custom_kind(&given_version, &given_kind, &body)?;
            return Ok(body);
        }
        let version = if given_version.is_empty() {
            want.clone()
        } else {
            given_version
        };
        let is_kind = given_kind.is_empty() || given_kind == *kind;
        if version == want && is_kind {
            return Ok(body);
        }
        let known = self
            .state
            .kinds()
            .of_object(&version, &given_kind)
            .is_some();
        let number = version.rsplit('/').next().unwrap_or_default();
        let given_kind = if given_kind.is_empty() {
            kind.clone()
        } else {
            given_kind
        };
        let why = if known {
            unconvertible(&self.kind, &version, &given_kind)
        } else {
            unregistered(&given_kind, &version)
        };
        Err(StatusError::bad_request(format!(
            "{given_kind} in version {} cannot be handled as a {kind}: {why}",
            quote(number)
        )))
    }

    fn check_custom_kind(
        &self,
        version: &str,
        kind: &str,
        body: &Value,
    ) -> Result<(), StatusError> {
        let want = self.kind.api_version();
        if kind.is_empty() {
            let text = body.to_string();
            let short: String = text.chars().take(30).collect();
            return Err(StatusError::bad_request(format!(
                "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{text}' \
                 ({short} ...)",
                self.kind.kind
            )));
        }
        if version != want {
            return Err(StatusError::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({want})"
            )));
        }
        self.check_is_of_kind(body)
    }

    /// A custom resource of another kind is invalid, not undecodable.
    pub(super) fn check_is_of_kind(&self, object: &Value) -> Result<(), StatusError> {
        let kind = object.get("kind").and_then(Value::as_str);
        let kind = kind.unwrap_or_default();
        if kind == self.kind.kind || self.kind.custom.is_none() {
            return Ok(());
        }
        let error = crate::status_error::FieldError::of_value(
            crate::status_error::Cause::Invalid,
            "kind",
            &kind.into(),
            &format!("must be {}", self.kind.kind),
        );
        let about = crate::status_error::GroupResource::new(&self.kind.group, kind);
        Err(StatusError::invalid(
            &about,
            crate::meta::text(object, "name"),
            &[error],
        ))
    }
}
