//! Decoding of request bodies.

use reeve_go_compat::runes::quote;
use serde_json::Value;

use crate::builtin;
use crate::conversion;
use crate::json::{self, JsonError, MOST_DEPTH};
use crate::kinds::Kind;
use crate::protobuf;
use crate::schema;
use crate::status_error::StatusError;

/// The number of bytes of an undecodable body in an error.
const SHOWN: usize = 30;
/// The Go type that the kind of an object is read into; it is part of a text.
pub(crate) const TYPE_META: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
/// The prefix of errors from the first step of decoding JSON.
pub(crate) const UNTYPED: &str = "couldn't get version/kind; json parse error: ";
const ACCEPTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// Reads a body by its type: JSON or YAML. `kind` is what it should hold.
pub(crate) fn parse(content_type: &str, body: &[u8], kind: &str) -> Result<Value, StatusError> {
    read(content_type, body, |why| unrecognized(kind, why, body))
}

/// Reads a body of which a refusal shows nothing, such as options.
pub(crate) fn parse_options(content_type: &str, body: &[u8]) -> Result<Value, StatusError> {
    read(content_type, body, str::to_owned)
}

fn read(
    content_type: &str,
    body: &[u8],
    refusal: impl Fn(&str) -> String,
) -> Result<Value, StatusError> {
    let media = content_type.split(';').next().unwrap_or_default().trim();
    match media {
        "" | "application/json" => json::parse(body).map_err(|error| {
            let why = format!("{UNTYPED}{}", json_error(&error));
            StatusError::bad_request(refusal(&why))
        }),
        "application/yaml" => read_yaml(body).map_err(|error| match error {
            YamlError::TooDeep => StatusError::bad_request(refusal(&error.to_string())),
            YamlError::Syntax(_) => {
                StatusError::bad_request(format!("error decoding YAML: {error}"))
            }
        }),
        "application/vnd.kubernetes.protobuf" => {
            protobuf::parse(body).map_err(|error| StatusError::bad_request(error.to_string()))
        }
        _ => Err(StatusError::unsupported_media_type(format!(
            "the body of the request was in an unknown format - accepted media types include: {ACCEPTED}"
        ))),
    }
}

pub(crate) fn unrecognized(kind: &str, why: &str, body: &[u8]) -> String {
    let part = body.get(..SHOWN).unwrap_or(body);
    let more = if body.len() > SHOWN { " ..." } else { "" };
    let shown = match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(part).into_owned(),
        Some(_) => crate::meta::hex(part),
    };
    format!("the object provided is unrecognized (must be of type {kind}): {why} ({shown}{more})")
}

/// Why YAML cannot be read.
#[derive(Debug, thiserror::Error)]
enum YamlError {
    #[error("yaml: exceeded max depth of {MOST_DEPTH}")]
    TooDeep,
    #[error("{0}")]
    Syntax(String),
}

/// Reads YAML.
pub(crate) fn yaml(body: &[u8]) -> Result<Value, StatusError> {
    read_yaml(body).map_err(|error| {
        let step = match error {
            YamlError::TooDeep => "error converting YAML to JSON: ",
            YamlError::Syntax(_) => "",
        };
        StatusError::bad_request(format!("error decoding YAML: {step}{error}"))
    })
}

/// Deep YAML is JSON in practice: the decoder of YAML itself stops at some hundred levels.
fn read_yaml(body: &[u8]) -> Result<Value, YamlError> {
    match json::parse(body) {
        Err(JsonError::TooDeep(_)) => return Err(YamlError::TooDeep),
        Ok(value) if json::is_deep(body) => return Ok(value),
        _ => {}
    }
    let text = std::str::from_utf8(body);
    let text = text.map_err(|_| YamlError::Syntax("the body is not UTF-8".to_owned()))?;
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    let read = serde_saphyr::from_str_with_options(text, options);
    read.map_err(|error| YamlError::Syntax(error.to_string()))
}

fn json_error(error: &JsonError) -> String {
    match error {
        JsonError::Syntax(error) if error.is_eof() => "unexpected end of JSON input".to_owned(),
        error => error.to_string(),
    }
}

/// Decodes an object, or a part of one, again after a webhook has changed it, and leaves it as
/// it is sent.
pub(crate) fn reread(
    kind: &Kind,
    part: Option<&str>,
    mut object: Value,
) -> Result<Value, StatusError> {
    if let Some(opening) = json::too_deep(&object) {
        let error = json_error(&JsonError::TooDeep(opening));
        return Err(StatusError::internal(format!("{UNTYPED}{error}")));
    }
    if kind.sent_kind(part).2 != kind.kind {
        return Ok(object);
    }
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    if text("kind") != kind.kind || text("apiVersion") != kind.api_version() {
        let why = unconvertible(kind, text("apiVersion"), text("kind"));
        return Err(StatusError::internal_text(&why));
    }
    if let Some((types, id)) = &kind.schema {
        // Of a custom resource all webhooks see it all: what is unknown goes before it is kept.
        if kind.custom.is_none() {
            schema::prune(types, *id, &mut object);
        }
        schema::decode(types, *id, &mut object)
            .map_err(|why| StatusError::internal_because(&why))?;
    }
    conversion::to_storage(kind, &mut object);
    fill_defaults(kind, &mut object);
    conversion::from_storage(kind, &mut object);
    crate::meta::put_type(&mut object, &kind.api_version(), &kind.kind);
    Ok(object)
}

/// The message for an unknown kind.
pub(crate) fn unregistered(kind: &str, version: &str) -> String {
    format!(
        "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
        quote(kind),
        quote(version)
    )
}

/// Why an object of another kind is none of this one.
pub(crate) fn unconvertible(kind: &Kind, version: &str, given: &str) -> String {
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

/// Sets the defaults of a schema, or of a built-in kind.
pub(crate) fn fill_defaults(kind: &Kind, object: &mut Value) {
    match (&kind.custom, &kind.schema) {
        (Some(_), Some((types, id))) => schema::default(types, *id, object),
        _ => builtin::default(kind, object),
    }
}
