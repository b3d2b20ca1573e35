//! Constraints: their validation against a template, and what of them an evaluation needs (GK-107, GK-108).

use reeve_go_compat::labels;
use serde::{Deserialize, Serialize};

use crate::enforcement::Enforcement;
use crate::matching::{Match, group_and_kind, own_name};
use crate::messages;
use crate::schema;
use crate::template::ConstraintTemplate;
use crate::{CONSTRAINT_GROUP, Json};

/// Why a constraint is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    /// It violates the schema: what `invalid: true` of a suite waits for.
    #[error("{0}")]
    Schema(String),
    /// Anything else is wrong.
    #[error("{0}")]
    Invalid(String),
    /// No template makes its kind.
    #[error("{0}")]
    NoTemplate(String),
}

impl ConstraintError {
    /// Whether the schema is what refuses it.
    pub fn is_schema(&self) -> bool {
        matches!(self, Self::Schema(_))
    }
}

/// A constraint's identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConstraintKey {
    /// The kind, by which its template is found.
    pub kind: String,
    /// The name.
    pub name: String,
}

/// A constraint that has been validated, with defaults.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The whole object, with defaults.
    pub object: Json,
    /// Which objects it is for.
    pub matches: Match,
    /// What a violation leads to.
    pub enforcement: Enforcement,
}

impl Constraint {
    /// Its identity.
    pub fn key(&self) -> ConstraintKey {
        ConstraintKey {
            kind: self.kind.clone(),
            name: self.name.clone(),
        }
    }

    /// Validates a constraint of a template and fills in defaults.
    pub fn parse(object: &Json, template: &ConstraintTemplate) -> Result<Self, ConstraintError> {
        check_objects(object)?;
        check_selector(&object["spec"]["match"]["labelSelector"])?;
        check_selector(&object["spec"]["match"]["namespaceSelector"])?;
        check_identity(object, template)?;
        let schema = crate::template::constraint_schema(template);
        let errors = schema::validate(&schema, object);
        if !errors.is_empty() {
            return Err(ConstraintError::Schema(messages::schema_failed(&errors)));
        }
        check_scopes(&object["spec"])?;
        check_unknown(&schema, object)?;
        let mut object = object.clone();
        schema::apply_defaults(&schema, &mut object);
        Ok(Self::of_validated(object))
    }

    /// A constraint that has been validated and has its defaults.
    pub fn of_validated(object: Json) -> Self {
        Self {
            kind: object["kind"].as_str().unwrap_or_default().to_owned(),
            name: own_name(&object).to_owned(),
            matches: Match::of_spec(&object["spec"]),
            enforcement: Enforcement::of_spec(&object["spec"]),
            object,
        }
    }

    /// `spec.parameters`, with defaults.
    pub fn parameters(&self) -> Option<&Json> {
        self.object["spec"].get("parameters")
    }
}

fn invalid(message: String) -> ConstraintError {
    ConstraintError::Invalid(message)
}

/// Where selectors are looked for, there must be objects.
fn check_objects(object: &Json) -> Result<(), ConstraintError> {
    let spec = &object["spec"];
    let fail = |path: &str, value: &Json| {
        let go_type = reeve_go_compat::json::go_type(value);
        let shown = match value {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        Err(invalid(messages::not_an_object(path, &shown, go_type)))
    };
    match (spec, &spec["match"]) {
        (Json::Null, _) | (Json::Object(_), Json::Null | Json::Object(_)) => Ok(()),
        (Json::Object(_), other) => fail("spec.match.labelSelector", other),
        (other, _) => fail("spec.match", other),
    }
}

/// The path in the texts is the same for both selectors, as upstream's.
fn check_selector(selector: &Json) -> Result<(), ConstraintError> {
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        check_label("matchLabels", key, labels::key_errors(key))?;
        let value = value.as_str().unwrap_or_default();
        check_label("matchLabels", value, labels::value_errors(value))?;
    }
    let expressions = selector["matchExpressions"].as_array();
    for (index, expression) in expressions.into_iter().flatten().enumerate() {
        let operator = expression["operator"].as_str().unwrap_or_default();
        let has_values = expression["values"]
            .as_array()
            .is_some_and(|values| !values.is_empty());
        match operator {
            "In" | "NotIn" if !has_values => {
                return Err(invalid(messages::selector_values(index, false)));
            }
            "Exists" | "DoesNotExist" if has_values => {
                return Err(invalid(messages::selector_values(index, true)));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => return Err(invalid(messages::selector_operator(index, other))),
        }
        let key = expression["key"].as_str().unwrap_or_default();
        let path = format!("matchExpressions[{index}].key");
        check_label(&path, key, labels::key_errors(key))?;
    }
    Ok(())
}

fn check_label(path: &str, label: &str, errors: Vec<String>) -> Result<(), ConstraintError> {
    match errors.into_iter().next() {
        Some(error) => Err(invalid(messages::selector_label(path, label, &error))),
        None => Ok(()),
    }
}

fn check_identity(object: &Json, template: &ConstraintTemplate) -> Result<(), ConstraintError> {
    let name = own_name(object);
    if !labels::is_dns_subdomain(name) {
        return Err(invalid(messages::constraint_name(name)));
    }
    let (group, kind) = group_and_kind(object);
    if kind != template.kind {
        return Err(invalid(messages::constraint_kind(kind, &template.kind)));
    }
    if group != CONSTRAINT_GROUP {
        return Err(invalid(messages::constraint_group(name, group)));
    }
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let version = version.rsplit('/').next().unwrap_or_default();
    if !["v1beta1", "v1alpha1"].contains(&version) {
        return Err(invalid(messages::constraint_version(name, version)));
    }
    Ok(())
}

fn check_scopes(spec: &Json) -> Result<(), ConstraintError> {
    let is_scoped = spec["enforcementAction"].as_str() == Some(crate::enforcement::SCOPED);
    let has_scopes = spec["scopedEnforcementActions"].is_array();
    if is_scoped && !has_scopes {
        return Err(invalid(messages::MISSING_SCOPES.to_owned()));
    }
    Ok(())
}

/// Unknown members of the object. Those of the metadata are the API server's.
fn check_unknown(schema: &Json, object: &Json) -> Result<(), ConstraintError> {
    let mut rest = object.clone();
    if let Some(members) = rest.as_object_mut() {
        for known in ["apiVersion", "kind", "metadata"] {
            members.remove(known);
        }
    }
    let unknown = schema::unknown_fields(schema, &rest);
    if unknown.is_empty() {
        return Ok(());
    }
    Err(invalid(messages::unknown_fields(&unknown)))
}

#[cfg(test)]
#[path = "constraint_tests.rs"]
mod tests;
