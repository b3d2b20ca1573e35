//! Bodies of requests.

use serde_json::Value;

use super::Call;
use crate::convert;
use crate::failure::{Failure, go_quoted};
use crate::request::query::FieldValidation;
use crate::schema;

/// What is known of one that can be read.
const ACCEPTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// Reads a body by its type: JSON or YAML.
pub(crate) fn parse(content_type: &str, body: &[u8]) -> Result<Value, Failure> {
    let media = content_type.split(';').next().unwrap_or_default().trim();
    match media {
        "" | "application/json" => serde_json::from_slice(body)
            .map_err(|error| Failure::bad_request(json_error(body, &error))),
        "application/yaml" => yaml(body),
        _ => Err(Failure::unsupported_media_type(format!(
            "the body of the request was in an unknown format - accepted media types include: {ACCEPTED}"
        ))),
    }
}

/// Reads YAML.
pub(crate) fn yaml(body: &[u8]) -> Result<Value, Failure> {
    let text = std::str::from_utf8(body)
        .map_err(|_| Failure::bad_request("error decoding YAML: the body is not UTF-8"))?;
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| Failure::bad_request(format!("error decoding YAML: {error}")))
}

fn json_error(body: &[u8], error: &serde_json::Error) -> String {
    let text = String::from_utf8_lossy(body);
    let shown: String = text.chars().take(1024).collect();
    if error.is_eof() {
        return format!(
            "couldn't get version/kind; json parse error: unexpected end of JSON input{}",
            ""
        );
    }
    format!(
        "couldn't get version/kind; json parse error: {error}; the body starts with {}",
        go_quoted(&shown.chars().take(40).collect::<String>())
    )
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
        self.known_fields(object, validation, "strict decoding error")
    }

    /// Reads an object that was not sent as such, but made by a patch.
    pub(crate) fn known_fields(
        &mut self,
        mut object: Value,
        validation: FieldValidation,
        strict: &str,
    ) -> Result<Value, Failure> {
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
            self.judge_unknown(&unknown, validation, strict)?;
            let decoded = schema::decode(types, *id, &mut object);
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
        strict: &str,
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
                    "{} in version {} cannot be handled as a {}: {strict}: {}",
                    self.kind.kind,
                    go_quoted(&self.kind.version),
                    self.kind.kind,
                    told.join(", ")
                )));
            }
        }
        Ok(())
    }

    fn checked_kind(&self, mut body: Value) -> Result<Value, Failure> {
        let want = self.kind.api_version();
        let Some(object) = body.as_object_mut() else {
            return Err(Failure::bad_request(
                "couldn't get version/kind; json parse error: json: cannot unmarshal into Go value of type struct",
            ));
        };
        let text = |key: &str| {
            object
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let (version, kind) = (text("apiVersion"), text("kind"));
        if kind.is_empty() && self.kind.custom.is_some() {
            return Err(Failure::bad_request(format!(
                "Object 'Kind' is missing in '{}'",
                Value::Object(object.clone())
            )));
        }
        if !version.is_empty() && version != want {
            return Err(Failure::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({want})"
            )));
        }
        if !kind.is_empty() && kind != self.kind.kind {
            return Err(Failure::bad_request(format!(
                "{kind} in version {} cannot be handled as a {}: converting (v1.{kind}) to ({}.{}): unknown conversion",
                go_quoted(&self.kind.version),
                self.kind.kind,
                self.kind.group,
                self.kind.kind
            )));
        }
        Ok(body)
    }
}
