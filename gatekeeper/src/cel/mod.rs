//! Templates for the engine `K8sNativeValidation`: validations in CEL.

mod check;
mod error;
mod evaluate;
mod expression;
mod messages;
mod parse;
mod signatures;
mod source;
mod types;
mod value;

use serde_json::json;

use self::check::{Environment, check, check_bool, check_string};
use self::error::EvalError;
use self::evaluate::Scope;
use self::expression::Expression;
use self::source::{Named, Source};
use self::value::Value;
use crate::Json;

/// The maximum length in bytes of a message from a `messageExpression`.
const MAX_MESSAGE_LENGTH: usize = 5 * 1024;

/// Why the source of a template cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CompileError {
    /// The text for the status of the template.
    pub message: String,
}

impl CompileError {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }

    fn at(place: &str, error: &str) -> Self {
        Self::new(messages::compilation(place, error))
    }
}

/// What `failurePolicy` is where the source has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailurePolicy {
    /// An error of an expression is a violation.
    #[default]
    Fail,
    /// An error of an expression is nothing.
    Ignore,
}

/// The documents that expressions see.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The object; none on DELETE.
    pub object: Option<&'a Json>,
    /// The object before the request.
    pub old_object: Option<&'a Json>,
    /// The admission request, with all keys present.
    pub request: &'a Json,
    /// The Namespace of the object.
    pub namespace_object: Option<&'a Json>,
    /// `spec.parameters` of the constraint, with defaults; none when the constraint has none.
    pub parameters: Option<&'a Json>,
    /// The whole constraint.
    pub constraint: &'a Json,
}

/// The compiled source of a template.
#[derive(Debug)]
pub struct Program {
    variables: Vec<(String, Expression)>,
    conditions: Vec<Compiled>,
    validations: Vec<Validation>,
    failure_policy: FailurePolicy,
}

#[derive(Debug)]
struct Compiled {
    text: String,
    expression: Expression,
}

#[derive(Debug)]
struct Validation {
    compiled: Compiled,
    /// Without a `messageExpression`, or with one that does not compile.
    message: Option<Expression>,
    fallback: String,
}

impl Program {
    /// Compiles `spec.targets[0].code[].source` of the engine `K8sNativeValidation`.
    pub fn compile(source: &Json) -> Result<Self, CompileError> {
        let source = Source::read(source)?;
        let (environment, variables) = compile_variables(&source.variables);
        let conditions: Result<Vec<Compiled>, CompileError> = (0..)
            .zip(&source.conditions)
            .map(|(index, one)| {
                let place = format!("matchCondition[{index}]");
                compile_test(&one.expression, &environment, &place)
            })
            .collect();
        let validations: Result<Vec<Validation>, CompileError> = (0..)
            .zip(source.validations)
            .map(|(index, one)| Validation::compile(&one, &environment, index))
            .collect();
        Ok(Self {
            variables,
            conditions: conditions?,
            validations: validations?,
            failure_policy: source.failure_policy,
        })
    }

    /// The messages of the validations that fail, in their order.
    pub fn evaluate(&self, input: &Input<'_>) -> Vec<String> {
        let request = request_of(input.request);
        let namespace = input.namespace_object.map(namespace_of);
        let roots = [
            value_of(input.object),
            value_of(input.old_object),
            Value::of_json(&request),
            value_of(namespace.as_ref()),
            Value::of_json(input.constraint),
            value_of(input.parameters),
        ];
        let scope = Scope::new(roots, &self.variables);
        match self.is_matched(&scope) {
            Ok(true) => {}
            Ok(false) => return Vec::new(),
            Err(errors) => return self.reported(errors),
        }
        self.validations
            .iter()
            .filter_map(|validation| self.validate(validation, &scope))
            .collect()
    }

    /// Whether all match conditions hold; the errors unless one does not.
    fn is_matched<'a>(&'a self, scope: &Scope<'a>) -> Result<bool, Vec<String>> {
        let mut errors = Vec::new();
        for condition in &self.conditions {
            match truth(scope.evaluate(&condition.expression)) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) => errors.push(messages::error_of_expression(&condition.text, error)),
            }
        }
        if errors.is_empty() {
            Ok(true)
        } else {
            Err(errors)
        }
    }

    fn reported(&self, errors: Vec<String>) -> Vec<String> {
        match self.failure_policy {
            FailurePolicy::Fail => errors.into_iter().take(1).collect(),
            FailurePolicy::Ignore => Vec::new(),
        }
    }

    fn validate<'a>(&'a self, validation: &'a Validation, scope: &Scope<'a>) -> Option<String> {
        match truth(scope.evaluate(&validation.compiled.expression)) {
            Ok(true) => None,
            Ok(false) => {
                let message = validation.message.as_ref();
                let message = message.and_then(|message| own_message(message, scope));
                Some(message.unwrap_or_else(|| validation.fallback.clone()))
            }
            Err(_) if self.failure_policy == FailurePolicy::Ignore => None,
            Err(error) => Some(messages::error_of_expression(
                &validation.compiled.text,
                error,
            )),
        }
    }
}

impl Validation {
    fn compile(
        source: &source::Validation,
        environment: &Environment,
        index: usize,
    ) -> Result<Self, CompileError> {
        let place = format!("validations[{index}]");
        let compiled = compile_test(&source.expression, environment, &place)?;
        let message = Some(source.message_expression.trim()).filter(|text| !text.is_empty());
        // Gatekeeper takes the message without it where it does not compile.
        let message = message.and_then(|text| check_string(text, environment).ok());
        let fallback = match source.message.trim() {
            "" => messages::failed(compiled.text.trim()),
            message => message.to_owned(),
        };
        Ok(Self {
            compiled,
            message,
            fallback,
        })
    }
}

/// The variables, and what later expressions may refer to. One that does not compile is an error of what refers to it.
fn compile_variables(variables: &[Named]) -> (Environment, Vec<(String, Expression)>) {
    let mut environment = Environment {
        variables: Vec::new(),
        has_constraint: true,
    };
    let mut compiled = Vec::with_capacity(variables.len());
    for variable in variables {
        let checked = check(&variable.expression, &environment);
        let (expression, of) = match checked {
            Ok((expression, of)) => (expression, Ok(of)),
            Err(error) => (Expression::Literal(Value::Null), Err(error)),
        };
        compiled.push((variable.name.clone(), expression));
        environment.variables.push((variable.name.clone(), of));
    }
    environment.has_constraint = false;
    (environment, compiled)
}

fn compile_test(
    text: &str,
    environment: &Environment,
    place: &str,
) -> Result<Compiled, CompileError> {
    let expression =
        check_bool(text, environment).map_err(|error| CompileError::at(place, &error))?;
    Ok(Compiled {
        text: text.to_owned(),
        expression,
    })
}

fn truth(value: error::Evaluated<'_>) -> Result<bool, EvalError> {
    match value? {
        Value::Bool(value) => Ok(value),
        _ => Err(EvalError::no_overload()),
    }
}

fn value_of(json: Option<&Json>) -> Value<'_> {
    json.map_or(Value::Null, Value::of_json)
}

/// The message of a `messageExpression`, if it can be used.
fn own_message<'a>(message: &'a Expression, scope: &Scope<'a>) -> Option<String> {
    let value = scope.evaluate(message).ok()?;
    let text = value.as_str()?;
    let trimmed = text.trim();
    let is_usable =
        !trimmed.is_empty() && !trimmed.contains('\n') && text.len() <= MAX_MESSAGE_LENGTH;
    is_usable.then(|| trimmed.to_owned())
}

/// The request as expressions see it: what is empty is absent, and the requested kind is that of the object unless
/// the API server converted it.
fn request_of(request: &Json) -> Json {
    let mut request = request.clone();
    let own = [("requestKind", "kind"), ("requestResource", "resource")];
    for (requested, own) in own {
        let is_absent = request[requested]["version"]
            .as_str()
            .unwrap_or_default()
            .is_empty();
        if is_absent && !request[own].is_null() {
            request[requested] = request[own].clone();
        }
    }
    let Some(members) = request.as_object_mut() else {
        return request;
    };
    let is_empty = |value: &Json| match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(list) => list.is_empty(),
        Json::Object(map) => map.is_empty(),
        _ => false,
    };
    for name in [
        "name",
        "namespace",
        "subResource",
        "requestSubResource",
        "uid",
    ] {
        if members.get(name).is_some_and(is_empty) {
            members.remove(name);
        }
    }
    if let Some(Json::Object(user)) = members.get_mut("userInfo") {
        user.retain(|_, value| !is_empty(value));
    }
    request
}

/// A Namespace as expressions see it: `spec` and `status` are present.
fn namespace_of(namespace: &Json) -> Json {
    let mut namespace = namespace.clone();
    for name in ["spec", "status"] {
        if namespace[name].is_null() && namespace.is_object() {
            namespace[name] = json!({});
        }
    }
    namespace
}

#[cfg(test)]
mod tests;
