//! YAML as go-yaml reads and writes it.
//!
//! Two dialects: that of `gopkg.in/yaml.v3`, in which templates are rendered, and that of
//! `sigs.k8s.io/yaml` (go-yaml v2), in which everything else is read. They differ in what
//! unquoted text means and in the lines that errors name.

mod compose;
mod decode;
mod encode;
mod error;
mod go_syntax;
mod parser;
mod reader;
mod resolve;
mod scanner;

use crate::json::{self, JsonError};
use crate::value::Value;

use compose::Document;
use error::Dialect;

pub use decode::{Field, OnPlace, PathSegment, Place, StructType, Type};
pub use encode::{Charge, QuotedAction, Quoting, TemplateStyle, TemplateYaml, find_actions};
pub use error::YamlError;

/// How far each level is indented.
const INDENT: usize = 2;

/// Reads the first document as `gopkg.in/yaml.v3` reads it into an `interface{}`.
///
/// Nothing at all is nil. Whatever follows the first document is ignored, errors included, unless
/// they are in its next few words.
pub fn decode(text: &[u8]) -> Result<Value, YamlError> {
    match Document::read(text, Dialect::V3)? {
        Some(document) => decode::decode(&document, None),
        None => Ok(Value::Nil),
    }
}

/// Reads all documents of a stream, each as [`decode`] does.
pub fn decode_all(text: &[u8]) -> Result<Vec<Value>, YamlError> {
    let (documents, roots) = Document::read_all(text, Dialect::V3)?;
    roots
        .into_iter()
        .map(|root| decode::decode_root(&documents, root, None))
        .collect()
}

/// Reads the first document as the `Decoder` of `gopkg.in/yaml.v3` reads it into a type, with unknown fields forbidden. `None` when
/// there is no document.
///
/// A struct becomes a `map[string]interface {}` of the fields that the document has. Null is as good as absent.
pub fn decode_typed(text: &[u8], of: Type) -> Result<Option<Value>, YamlError> {
    Document::read(text, Dialect::V3)?
        .map(|document| decode::decode_typed(&document, of))
        .transpose()
}

/// Like [`decode`]; calls `on_place` with the position in the text of each scalar of the result, keys and values.
pub fn decode_with_places(text: &[u8], on_place: OnPlace<'_>) -> Result<Value, YamlError> {
    match Document::read(text, Dialect::V3)? {
        Some(document) => decode::decode(&document, Some(on_place)),
        None => Ok(Value::Nil),
    }
}

/// Reads the first document as `sigs.k8s.io/yaml` reads it, with the types of a Kubernetes object:
/// integers are `int64`, keys are strings.
///
/// The original writes `error converting YAML to JSON: ` before each of these errors.
pub fn decode_sigs(text: &[u8]) -> Result<Value, YamlError> {
    sigs_value(text, &json::typed::Type::Any)
}

/// Why a document could not be read as JSON.
#[derive(Debug, thiserror::Error)]
pub enum ToJsonError {
    /// It is not YAML.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// A value of it is not one of JSON.
    #[error(transparent)]
    Encode(#[from] JsonError),
    /// The JSON cannot be read.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Reads the first document as [`decode_sigs`] does, as the tree that objects are made of.
pub fn decode_sigs_json(text: &[u8]) -> Result<serde_json::Value, ToJsonError> {
    sigs_tree(text, &json::typed::Type::Any)
}

/// Why a document could not be read as a type.
#[derive(Debug, thiserror::Error)]
pub enum TypedError {
    /// It is not YAML, or not JSON.
    #[error("error converting YAML to JSON: {0}")]
    Convert(#[from] ToJsonError),
    /// It is something else than the type.
    #[error("error unmarshaling JSON: while decoding JSON: {0}")]
    Decode(#[from] json::typed::TypedError),
}

/// Reads the first document as `Unmarshal` of `sigs.k8s.io/yaml` reads it into a type: a number or a boolean is a text where the type has
/// one.
pub fn decode_sigs_typed(
    text: &[u8],
    of: &json::typed::Type,
    unknown: json::typed::UnknownFields,
) -> Result<serde_json::Value, TypedError> {
    let tree = sigs_tree(text, of)?;
    Ok(json::typed::decode_typed(&tree, of, unknown)?)
}

fn sigs_tree(text: &[u8], of: &json::typed::Type) -> Result<serde_json::Value, ToJsonError> {
    let json = json::encode(&sigs_value(text, of)?, json::Escape::None)?;
    Ok(json::tree(&json)?)
}

fn sigs_value(text: &[u8], of: &json::typed::Type) -> Result<Value, YamlError> {
    match Document::read(text, Dialect::V2)? {
        Some(document) => {
            let value = decode::decode(&document, None)?;
            decode::to_json_object(decode::with_texts(value, of))
        }
        None => Ok(Value::Nil),
    }
}

/// Writes a value as the `Encoder` of `gopkg.in/yaml.v3` does with an indentation of 2.
pub fn encode(value: &Value) -> Result<Vec<u8>, YamlError> {
    encode_with_indent(value, INDENT)
}

/// Like [`encode`], with an indentation of 2 to 9 spaces.
pub fn encode_with_indent(value: &Value, indent: usize) -> Result<Vec<u8>, YamlError> {
    encode::encode(value, indent, &mut |_| Ok(()))
}

/// Like [`encode_with_indent`], but a text is quoted where go-yaml writes a block that reads back as another text, or not at all.
pub fn encode_readable(value: &Value, indent: usize) -> Result<Vec<u8>, YamlError> {
    encode::encode_readable(value, indent)
}

/// Like [`encode`], with each piece of output charged before the next is made. A
/// value that holds the same map many times over may be far larger as text than in memory.
pub fn encode_charged<E: From<YamlError>>(
    value: &Value,
    charge: Charge<'_, E>,
) -> Result<Vec<u8>, E> {
    encode::encode(value, INDENT, charge)
}

/// Writes JSON as `sigs.k8s.io/yaml` does: what `kubectl get -o yaml` prints.
pub fn encode_sigs(json: &serde_json::Value) -> Result<Vec<u8>, YamlError> {
    encode::encode_sigs(&json_to_value(json))
}

/// JSON as the YAML that is rendered as a template.
pub fn encode_json_for_template(json: &serde_json::Value) -> Result<Vec<u8>, YamlError> {
    encode(&json_to_value(json))
}

/// Like [`encode_json_for_template`]; also returns which actions quoting changed.
pub fn encode_json_with_actions(
    json: &serde_json::Value,
    style: &TemplateStyle,
) -> Result<TemplateYaml, YamlError> {
    encode::encode_template(&json_to_value(json), INDENT, style)
}

/// JSON as values. The original reads JSON as YAML, but what an API server or `encoding/json`
/// writes reads the same either way.
fn json_to_value(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Value::Int(value),
            (None, Some(value)) => Value::Uint64(value),
            (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::Array(items) => Value::list(items.iter().map(json_to_value)),
        serde_json::Value::Object(entries) => Value::dict(
            entries
                .iter()
                .map(|(key, value)| (key.as_str(), json_to_value(value))),
        ),
        scalar => Value::from(scalar),
    }
}
