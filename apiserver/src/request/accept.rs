//! The negotiated form of a response.

use http::HeaderMap;
use http::header::ACCEPT;

use crate::status_error::StatusError;

/// The shape in which objects are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Nothing: whole objects.
    #[default]
    Whole,
    /// The metadata of one.
    Metadata,
    /// A list of their metadata.
    MetadataList,
    /// Rows of a table.
    Table,
}

/// The object in a table row (`includeObject`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowObject {
    /// No object in the rows.
    None,
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Whole,
}

/// The encoding of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// As JSON.
    #[default]
    Json,
    /// As YAML.
    Yaml,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// The shape of objects.
    pub shape: Shape,
    /// The encoding.
    pub encoding: Encoding,
    /// The object in a table row.
    pub row_object: RowObject,
}

/// One of the forms that a client takes.
#[derive(Debug, Default)]
pub struct Clause<'a> {
    /// Such as `application/json`.
    pub media: &'a str,
    /// Such as `as=Table`.
    pub parameters: Vec<(&'a str, &'a str)>,
}

impl Clause<'_> {
    /// A parameter's value; empty if it is not there.
    pub fn parameter(&self, key: &str) -> &str {
        let found = self.parameters.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| *value).unwrap_or_default()
    }
}

/// The forms that a client takes, best first as it wrote them.
pub fn clauses(headers: &HeaderMap) -> Vec<Clause<'_>> {
    let text = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let text = text.filter(|text| !text.is_empty()).unwrap_or("*/*");
    text.split(',')
        .map(|clause| {
            let mut parts = clause.split(';').map(str::trim);
            Clause {
                media: parts.next().unwrap_or_default(),
                parameters: parts.filter_map(|part| part.split_once('=')).collect(),
            }
        })
        .collect()
}

/// The form to answer in.
pub fn form(headers: &HeaderMap) -> Result<Form, StatusError> {
    for clause in clauses(headers) {
        let encoding = match clause.media {
            "application/json" | "*/*" | "application/*" => Encoding::Json,
            "application/yaml" => Encoding::Yaml,
            _ => continue,
        };
        let of_meta = clause.parameter("g") == "meta.k8s.io" && clause.parameter("v") == "v1";
        let shape = match clause.parameter("as") {
            "" => Shape::Whole,
            "Table" if of_meta => Shape::Table,
            "PartialObjectMetadata" if of_meta => Shape::Metadata,
            "PartialObjectMetadataList" if of_meta => Shape::MetadataList,
            _ => continue,
        };
        return Ok(Form {
            shape,
            encoding,
            row_object: RowObject::default(),
        });
    }
    Err(StatusError {
        details: Some(serde_json::json!({})),
        ..StatusError::not_acceptable(
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
            application/vnd.kubernetes.protobuf",
        )
    })
}
