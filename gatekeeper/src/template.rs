//! `ConstraintTemplate`: what it may say, and the CRD that it makes (GK-101 to GK-106).

mod crd;

use reeve_go_compat::labels;
use serde::{Deserialize, Serialize};

use crate::messages;
use crate::schema;
use crate::{CONSTRAINT_GROUP, Json, TEMPLATE_GROUP};

pub(crate) use crd::constraint_schema;
pub use crd::crd;

/// The only target that there is.
pub const TARGET: &str = "admission.k8s.gatekeeper.sh";
/// The engine of Rego sources.
pub const REGO_ENGINE: &str = "Rego";
/// The engine of CEL sources.
pub const CEL_ENGINE: &str = "K8sNativeValidation";

const SYNC_ANNOTATION: &str = "metadata.gatekeeper.sh/requires-sync-data";

/// Why a template is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct TemplateError {
    /// The code in `status.byPod[].errors[]`.
    pub code: ErrorCode,
    /// What is wrong.
    pub message: String,
}

/// The codes of errors in the status of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorCode {
    /// The CRD cannot be made of the template.
    Create,
    /// The source does not compile.
    Ingest,
    /// The object is not a template.
    Conversion,
    /// Nothing could compile it now; it may be tried again.
    Unavailable,
}

impl ErrorCode {
    /// The text in the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create_error",
            Self::Ingest => "ingest_error",
            Self::Conversion => "conversion_error",
            Self::Unavailable => "unavailable",
        }
    }
}

impl TemplateError {
    /// The text in `status.byPod[].errors[]`, which says what failed.
    pub fn status_message(&self) -> String {
        match self.code {
            ErrorCode::Ingest => messages::could_not_ingest(&self.message),
            ErrorCode::Create | ErrorCode::Conversion | ErrorCode::Unavailable => {
                self.message.clone()
            }
        }
    }

    pub(crate) fn create(message: String) -> Self {
        Self {
            code: ErrorCode::Create,
            message,
        }
    }

    /// Nothing could compile it now.
    pub fn unavailable(message: String) -> Self {
        Self {
            code: ErrorCode::Unavailable,
            message,
        }
    }

    /// The sources cannot be used.
    pub fn ingest(message: String) -> Self {
        Self {
            code: ErrorCode::Ingest,
            message,
        }
    }

    fn conversion(message: String) -> Self {
        Self {
            code: ErrorCode::Conversion,
            message,
        }
    }
}

/// The language version of a Rego source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RegoVersion {
    /// The default.
    #[default]
    V0,
    /// `version: v1`.
    V1,
}

/// The Rego of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegoSource {
    /// The module with the rule `violation`.
    pub rego: String,
    /// Modules with packages `lib.…`.
    pub libs: Vec<String>,
    /// The language version of all of them.
    pub version: RegoVersion,
}

/// Kinds of objects that a template needs in the inventory; any one of its members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncRequirement {
    /// API groups.
    pub groups: Vec<String>,
    /// API versions.
    pub versions: Vec<String>,
    /// Kinds.
    pub kinds: Vec<String>,
}

/// A template whose shape is right; its sources are not compiled yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConstraintTemplate {
    /// `metadata.name`, the kind in lower case.
    pub name: String,
    /// The kind of its constraints.
    pub kind: String,
    /// Short names of that kind.
    pub short_names: Vec<String>,
    /// `v1`, `v1beta1` or `v1alpha1`.
    pub version: String,
    /// `metadata.labels`, which the CRD gets.
    pub labels: Json,
    /// The schema of `spec.parameters`; none when constraints have no parameters.
    pub parameters: Option<Json>,
    /// The Rego source, if there is any.
    pub rego: Option<RegoSource>,
    /// The CEL source, if there is any.
    pub cel: Option<Json>,
    /// The operations that the template is for at admission; empty means all.
    pub operations: Vec<String>,
    /// What must be in the inventory: all members, of each any one of its own.
    pub requires_sync: Vec<Vec<SyncRequirement>>,
}

/// The `CustomResourceDefinition` of constraint templates: Gatekeeper's own.
pub fn definition() -> Json {
    const TEXT: &str = include_str!("../crds/constrainttemplates.json");
    // A test holds it to be JSON.
    serde_json::from_str(TEXT).unwrap_or_default()
}

impl ConstraintTemplate {
    /// Reads and checks a template.
    pub fn parse(object: &Json) -> Result<Self, TemplateError> {
        let version = version(object)?;
        let name = text(&object["metadata"]["name"]);
        let kind = text(&object["spec"]["crd"]["spec"]["names"]["kind"]);
        if kind.is_empty() {
            return Err(TemplateError::create(messages::template_kind(name)));
        }
        if name.to_lowercase() != kind.to_lowercase() {
            return Err(TemplateError::create(messages::template_name(name, kind)));
        }
        let errors = name_errors(kind);
        if !errors.is_empty() {
            return Err(TemplateError::create(messages::template_errors(&errors)));
        }
        let target = target(object)?;
        let (rego, cel) = sources(target)?;
        Ok(Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            short_names: texts(&object["spec"]["crd"]["spec"]["names"]["shortNames"]),
            labels: object["metadata"]["labels"].clone(),
            parameters: parameters(object, &version)?,
            version,
            rego,
            cel,
            operations: texts(&target["operations"]),
            requires_sync: requires_sync(object)?,
        })
    }

    /// Whether the operation of an admission request is one that the template is for.
    pub fn is_for_operation(&self, operation: &str) -> bool {
        self.operations.is_empty()
            || self
                .operations
                .iter()
                .any(|one| one == "*" || one == operation)
    }
}

/// The names of the CRD that are no names.
fn name_errors(kind: &str) -> Vec<String> {
    let plural = kind.to_lowercase();
    let crd = format!("{plural}.{CONSTRAINT_GROUP}");
    let list = format!("{kind}List");
    let label = |path: &str, name: &str, is_kind: bool| {
        let lower = name.to_lowercase();
        let mut bytes = lower.bytes();
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_label = bytes.next().is_some_and(|first| first.is_ascii_lowercase())
            && bytes.all(|byte| is_inner(byte) || byte == b'-')
            && lower.bytes().last().is_some_and(is_inner);
        if lower.len() > 63 {
            Some(messages::label_too_long(path, name, is_kind))
        } else {
            (!is_label).then(|| messages::no_label(path, name, is_kind))
        }
    };
    let subdomain = !labels::is_dns_subdomain(&crd);
    let subdomain = subdomain.then(|| messages::no_subdomain("metadata.name", &crd));
    let labels = [
        label("spec.names.plural", &plural, false),
        label("spec.names.singular", &plural, false),
        label("spec.names.kind", kind, true),
        label("spec.names.listKind", &list, true),
    ];
    subdomain
        .into_iter()
        .chain(labels.into_iter().flatten())
        .collect()
}

fn text(value: &Json) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(value: &Json) -> Vec<String> {
    let list = value.as_array().into_iter().flatten();
    list.filter_map(|one| one.as_str().map(str::to_owned))
        .collect()
}

fn version(object: &Json) -> Result<String, TemplateError> {
    let api_version = text(&object["apiVersion"]);
    let kind = text(&object["kind"]);
    api_version
        .strip_prefix(TEMPLATE_GROUP)
        .and_then(|rest| rest.strip_prefix('/'))
        .filter(|version| ["v1", "v1beta1", "v1alpha1"].contains(version))
        .filter(|_| kind == "ConstraintTemplate")
        .map(str::to_owned)
        .ok_or_else(|| TemplateError::conversion(messages::not_a_template(api_version, kind)))
}

fn target(object: &Json) -> Result<&Json, TemplateError> {
    let targets = object["spec"]["targets"].as_array();
    let targets = targets.map(Vec::as_slice).unwrap_or_default();
    let [target] = targets else {
        return Err(TemplateError::create(messages::target_count()));
    };
    match text(&target["target"]) {
        TARGET => Ok(target),
        other => Err(TemplateError::create(messages::unknown_target(other))),
    }
}

fn sources(target: &Json) -> Result<(Option<RegoSource>, Option<Json>), TemplateError> {
    let mut rego = None;
    let mut cel = None;
    for (index, code) in target["code"].as_array().into_iter().flatten().enumerate() {
        let source = &code["source"];
        if !source.is_object() {
            let path = format!("spec.targets[0].code[{index}].source");
            let message = messages::wrong_field(&path, "an object");
            return Err(TemplateError::create(message));
        }
        // Of two sources for one engine the first counts.
        match text(&code["engine"]) {
            REGO_ENGINE if rego.is_none() => rego = Some(rego_source(source)?),
            CEL_ENGINE if cel.is_none() => cel = Some(source.clone()),
            _ => {}
        }
    }
    // The older place of the source overwrites the newer one.
    let legacy = text(&target["rego"]);
    if !legacy.is_empty() {
        rego = Some(RegoSource {
            rego: legacy.to_owned(),
            libs: texts(&target["libs"]),
            version: RegoVersion::V0,
        });
    }
    Ok((rego, cel))
}

fn rego_source(source: &Json) -> Result<RegoSource, TemplateError> {
    let rego = match &source["rego"] {
        Json::String(text) => text.clone(),
        Json::Null => {
            let message = messages::SOURCE_WITHOUT_REGO.to_owned();
            return Err(TemplateError::ingest(message));
        }
        other => {
            let go_type = reeve_go_compat::json::go_type(other);
            let message = messages::source_type("rego", &other.to_string(), go_type);
            return Err(TemplateError::ingest(message));
        }
    };
    Ok(RegoSource {
        rego,
        libs: texts(&source["libs"]),
        version: match text(&source["version"]) {
            "v1" => RegoVersion::V1,
            _ => RegoVersion::V0,
        },
    })
}

fn parameters(object: &Json, version: &str) -> Result<Option<Json>, TemplateError> {
    let validation = &object["spec"]["crd"]["spec"]["validation"];
    let path = "spec.crd.spec.validation";
    if !validation.is_null() && !validation.is_object() {
        return Err(TemplateError::create(messages::wrong_field(
            path,
            "an object",
        )));
    }
    let is_legacy = validation["legacySchema"]
        .as_bool()
        .unwrap_or(version != "v1");
    let schema = &validation["openAPIV3Schema"];
    if schema.is_null() {
        let preserving = serde_json::json!({"x-kubernetes-preserve-unknown-fields": true});
        return Ok(is_legacy.then_some(preserving));
    }
    let mut schema = schema.clone();
    schema::drop_scalar_items(&mut schema);
    if is_legacy {
        schema = schema::preserving(&schema);
    }
    let path = "spec.validation.openAPIV3Schema.properties[spec].properties[parameters]";
    let errors = schema::shape_errors(&schema, path, is_legacy);
    if errors.is_empty() {
        return Ok(Some(schema));
    }
    Err(TemplateError::create(messages::template_errors(&errors)))
}

fn requires_sync(object: &Json) -> Result<Vec<Vec<SyncRequirement>>, TemplateError> {
    let Some(annotation) = object["metadata"]["annotations"][SYNC_ANNOTATION].as_str() else {
        return Ok(Vec::new());
    };
    // Users wrap the JSON in quotes, also of the shell's kind and more than once.
    let trimmed = annotation
        .trim()
        .trim_matches(|c| c == '"' || c == '\'')
        .trim();
    if trimmed.is_empty() {
        return Ok(Vec::new());
    }
    let fail =
        |cause: &dyn std::fmt::Display| TemplateError::create(messages::sync_annotation(cause));
    let document: Json = serde_json::from_str(trimmed).map_err(|error| fail(&error))?;
    let all = document.as_array().ok_or_else(|| fail(&"no list"))?;
    all.iter()
        .map(|any| {
            let any = any.as_array().ok_or_else(|| fail(&"no list of lists"))?;
            Ok(any
                .iter()
                .map(|one| SyncRequirement {
                    groups: texts(&one["groups"]),
                    versions: texts(&one["versions"]),
                    kinds: texts(&one["kinds"]),
                })
                .collect())
        })
        .collect()
}

#[cfg(test)]
mod tests;
