//! The source of a template: `spec.targets[0].code[].source` of the engine `K8sNativeValidation`.

use super::{CompileError, FailurePolicy, messages};
use crate::Json;

/// The prefix that the names of variables and match conditions must not have.
const RESERVED_PREFIX: &str = "gatekeeper_internal_";
/// Names of variables that are given.
const RESERVED: [&str; 2] = ["params", "anyObject"];

/// The texts of a source.
pub struct Source {
    pub validations: Vec<Validation>,
    pub variables: Vec<Named>,
    /// Of the key `matchCondition`: `matchConditions` is ignored.
    pub conditions: Vec<Named>,
    pub failure_policy: FailurePolicy,
}

pub struct Validation {
    pub expression: String,
    pub message: String,
    pub message_expression: String,
}

pub struct Named {
    pub name: String,
    pub expression: String,
}

impl Source {
    pub fn read(source: &Json) -> Result<Self, CompileError> {
        if !source.is_object() {
            return Err(CompileError::new(messages::SOURCE_NOT_AN_OBJECT));
        }
        if !(source["generateVAP"].is_boolean() || source["generateVAP"].is_null()) {
            return Err(CompileError::new(messages::GENERATE_VAP_NOT_A_BOOLEAN));
        }
        let validations = list(&source["validations"])?;
        let validations: Result<Vec<_>, _> = validations
            .iter()
            .map(|one| {
                Ok(Validation {
                    expression: text(one, "expression")?,
                    message: text(one, "message")?,
                    message_expression: text(one, "messageExpression")?,
                })
            })
            .collect();
        let read = Self {
            validations: validations?,
            variables: named(&source["variables"])?,
            conditions: named(&source["matchCondition"])?,
            failure_policy: failure_policy(&source["failurePolicy"])?,
        };
        read.check_names()?;
        Ok(read)
    }

    fn check_names(&self) -> Result<(), CompileError> {
        for variable in &self.variables {
            let name = variable.name.as_str();
            if RESERVED.contains(&name) {
                return Err(CompileError::new(messages::reserved_variable(name)));
            }
            if name.starts_with(RESERVED_PREFIX) {
                let text = messages::prefixed_variable(name, RESERVED_PREFIX);
                return Err(CompileError::new(text));
            }
        }
        let mut conditions = self.conditions.iter();
        match conditions.find(|one| one.name.starts_with(RESERVED_PREFIX)) {
            Some(condition) => {
                let text = messages::prefixed_condition(&condition.name, RESERVED_PREFIX);
                Err(CompileError::new(text))
            }
            None => Ok(()),
        }
    }
}

fn failure_policy(policy: &Json) -> Result<FailurePolicy, CompileError> {
    match policy {
        Json::Null => Ok(FailurePolicy::default()),
        Json::String(name) if name == "Fail" => Ok(FailurePolicy::Fail),
        Json::String(name) if name == "Ignore" => Ok(FailurePolicy::Ignore),
        other => {
            let shown = other
                .as_str()
                .map_or_else(|| other.to_string(), str::to_owned);
            Err(CompileError::new(messages::unknown_failure_policy(&shown)))
        }
    }
}

fn list(value: &Json) -> Result<&[Json], CompileError> {
    match value {
        Json::Null => Ok(&[]),
        Json::Array(list) => Ok(list),
        other => Err(CompileError::new(messages::not_a_list(kind(other)))),
    }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "nil",
        Json::Bool(_) => "bool",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "slice",
        Json::Object(_) => "map",
    }
}

fn text(of: &Json, name: &str) -> Result<String, CompileError> {
    match &of[name] {
        Json::Null => Ok(String::new()),
        Json::String(text) => Ok(text.clone()),
        other => Err(CompileError::new(messages::not_a_text(name, kind(other)))),
    }
}

fn named(value: &Json) -> Result<Vec<Named>, CompileError> {
    list(value)?
        .iter()
        .map(|one| {
            Ok(Named {
                name: text(one, "name")?,
                expression: text(one, "expression")?,
            })
        })
        .collect()
}
