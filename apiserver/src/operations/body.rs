//! Bodies of requests.

use serde_json::Value;

use super::Call;
use crate::builtin;
use crate::convert;
use crate::failure::{Failure, go_quoted};
use crate::kinds::Kind;
use crate::protobuf;
use crate::request::query::FieldValidation;
use crate::schema;

/// What is known of one that can be read.
/// How deep objects may be. What is deeper could be written, and not be read again.
const MOST_DEPTH: usize = 100;
/// The Go type that the kind of an object is read into; it is part of a text.
pub(crate) const TYPE_META: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
const ACCEPTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// Reads a body by its type: JSON or YAML. `kind` is what it should hold.
pub(crate) fn parse(content_type: &str, body: &[u8], kind: &str) -> Result<Value, Failure> {
    let media = content_type.split(';').next().unwrap_or_default().trim();
    match media {
        "" | "application/json" => serde_json::from_slice(body)
            .map_err(|error| Failure::bad_request(unrecognized(kind, &json_error(&error), body))),
        "application/yaml" => yaml(body),
        "application/vnd.kubernetes.protobuf" => {
            protobuf::parse(body).map_err(|error| Failure::bad_request(error.to_string()))
        }
        _ => Err(Failure::unsupported_media_type(format!(
            "the body of the request was in an unknown format - accepted media types include: {ACCEPTED}"
        ))),
    }
}

fn unrecognized(kind: &str, why: &str, body: &[u8]) -> String {
    let shown = match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(body.get(..1024).unwrap_or(body)).into_owned(),
        Some(_) => crate::meta::hex(body.get(..1024).unwrap_or(body)),
    };
    format!(
        "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse error: \
         {why} ({shown})"
    )
}

/// Reads YAML.
pub(crate) fn yaml(body: &[u8]) -> Result<Value, Failure> {
    let text = std::str::from_utf8(body)
        .map_err(|_| Failure::bad_request("error decoding YAML: the body is not UTF-8"))?;
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| Failure::bad_request(format!("error decoding YAML: {error}")))
}

fn json_error(error: &serde_json::Error) -> String {
    if error.is_eof() {
        "unexpected end of JSON input".to_owned()
    } else {
        error.to_string()
    }
}

/// Reads an object that is to be written, or a part of one, after somebody has changed what was sent, and leaves it as
/// it is sent.
pub(crate) fn reread(kind: &Kind, part: Option<&str>, mut object: Value) -> Result<Value, Failure> {
    if crate::meta::is_deeper_than(&object, MOST_DEPTH) {
        return Err(Failure::internal(format!(
            "the object is nested deeper than {MOST_DEPTH} levels"
        )));
    }
    if crate::admission::sent_kind(kind, part).2 != kind.kind {
        return Ok(object);
    }
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    if text("kind") != kind.kind || text("apiVersion") != kind.api_version() {
        let why = unconvertible(kind, text("apiVersion"), text("kind"));
        return Err(Failure::internal_text(&why));
    }
    if let Some((types, id)) = &kind.schema {
        // Of a custom resource all webhooks see it all: what is unknown goes before it is kept.
        if kind.custom.is_none() {
            schema::prune(types, *id, &mut object);
        }
        schema::decode(types, *id, &mut object).map_err(|why| Failure::internal_because(&why))?;
    }
    convert::to_kept(kind, &mut object);
    Call::filled(kind, &mut object);
    convert::from_kept(kind, &mut object);
    crate::meta::put_type(&mut object, &kind.api_version(), &kind.kind);
    Ok(object)
}

/// That nobody knows a kind.
pub(crate) fn unregistered(kind: &str, version: &str) -> String {
    format!(
        "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
        go_quoted(kind),
        go_quoted(version)
    )
}

/// Why an object of another kind is none of this one.
fn unconvertible(kind: &Kind, version: &str, given: &str) -> String {
    let number = version.rsplit('/').next().unwrap_or_default();
    let group = match kind.group.split('.').next().unwrap_or_default() {
        "" => "core",
        group => group,
    };
    format!(
        "converting ({number}.{given}) to ({group}.{}): unknown conversion",
        kind.kind
    )
}

/// Drops what the schema of a custom resource does not know, of one that others than the client have changed.
pub(crate) fn drop_unknown(kind: &Kind, object: &mut Value) {
    let custom = kind.custom.as_ref();
    if let Some((types, id)) = &kind.schema
        && custom.is_some_and(|custom| !custom.preserve_unknown)
    {
        schema::prune(types, *id, object);
    }
}

impl Call {
    /// Reads the object that is to be written: checks its kind, drops what the schema does not know, and brings it
    /// into the form that is kept, without what says the kind.
    pub(crate) fn decoded(
        &mut self,
        body: Value,
        validation: FieldValidation,
    ) -> Result<Value, Failure> {
        let object = self.checked_kind(body)?;
        self.known_fields(object, validation)
    }

    /// Reads an object that was not sent as such, but made by a patch.
    pub(crate) fn known_fields(
        &mut self,
        mut object: Value,
        validation: FieldValidation,
    ) -> Result<Value, Failure> {
        if crate::meta::is_deeper_than(&object, MOST_DEPTH) {
            return Err(Failure::bad_request(format!(
                "the object is nested deeper than {MOST_DEPTH} levels"
            )));
        }
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
            self.judge_unknown(&unknown, validation)?;
            let decoded = schema::decode(types, *id, &mut object)
                .and_then(|()| builtin::readable(&self.kind, &object));
            decoded.map_err(|why| {
                Failure::bad_request(format!(
                    "{} in version {} cannot be handled as a {}: {why}",
                    self.kind.kind,
                    go_quoted(&self.kind.version),
                    self.kind.kind
                ))
            })?;
        }
        convert::to_kept(&self.kind, &mut object);
        crate::meta::strip_type(&mut object);
        Ok(object)
    }

    fn judge_unknown(
        &mut self,
        unknown: &[String],
        validation: FieldValidation,
    ) -> Result<(), Failure> {
        let told = unknown
            .iter()
            .map(|path| format!("unknown field {}", go_quoted(path)));
        match validation {
            _ if unknown.is_empty() => {}
            FieldValidation::Ignore => {}
            FieldValidation::Warn => self.warnings.extend(told),
            FieldValidation::Strict => {
                let told: Vec<String> = told.collect();
                return Err(Failure::bad_request(format!(
                    "{} in version {} cannot be handled as a {}: strict decoding error: {}",
                    self.kind.kind,
                    go_quoted(&self.kind.version),
                    self.kind.kind,
                    told.join(", ")
                )));
            }
        }
        Ok(())
    }

    fn checked_kind(&self, body: Value) -> Result<Value, Failure> {
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
            return Err(Failure::bad_request(unrecognized(
                kind,
                &why,
                body.to_string().as_bytes(),
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
            .server
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
        Err(Failure::bad_request(format!(
            "{given_kind} in version {} cannot be handled as a {kind}: {why}",
            go_quoted(number)
        )))
    }

    fn check_custom_kind(&self, version: &str, kind: &str, body: &Value) -> Result<(), Failure> {
        let want = self.kind.api_version();
        if kind.is_empty() {
            let text = body.to_string();
            let short: String = text.chars().take(30).collect();
            return Err(Failure::bad_request(format!(
                "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{text}' \
                 ({short} ...)",
                self.kind.kind
            )));
        }
        if version != want {
            return Err(Failure::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({want})"
            )));
        }
        self.check_is_of_kind(body)
    }

    /// A custom resource that says that it is of another kind is wrong, rather than unreadable.
    pub(super) fn check_is_of_kind(&self, object: &Value) -> Result<(), Failure> {
        let kind = object.get("kind").and_then(Value::as_str);
        let kind = kind.unwrap_or_default();
        if kind == self.kind.kind || self.kind.custom.is_none() {
            return Ok(());
        }
        let error = crate::failure::FieldError::of_value(
            crate::failure::Cause::Invalid,
            "kind",
            &kind.into(),
            &format!("must be {}", self.kind.kind),
        );
        let about = crate::failure::About::new(&self.kind.group, kind);
        Err(Failure::invalid(
            &about,
            crate::meta::text(object, "name"),
            &[error],
        ))
    }
}
