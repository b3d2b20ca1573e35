//! Templates for the engine `Rego`: compiled once, evaluated on prepared engines (GK-103, GK-104).

mod text;
mod value;

use std::num::NonZeroU32;
use std::time::Duration;

use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, Value};

use crate::Json;
use crate::messages;
use crate::template::{RegoSource, RegoVersion};

pub use value::{is_shallow, to_json, to_value};

/// What an evaluation may take and give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest time of one evaluation.
    pub time: Duration,
    /// The most violations that one evaluation may give.
    pub violations: usize,
    /// The most bytes of messages and details that one evaluation may give.
    pub output_bytes: usize,
    /// The longest source.
    pub source_bytes: usize,
    /// The deepest nesting of a source.
    pub nesting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(1),
            violations: 10_000,
            output_bytes: 4 << 20,
            source_bytes: 1 << 20,
            nesting: 100,
        }
    }
}

/// Why a source is refused. The text is that of the status, without its prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CompileError {
    /// What is wrong, and where.
    pub message: String,
}

/// Why an evaluation has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EvaluationError {
    /// What went wrong, and where.
    pub message: String,
}

/// A violation that a rule reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// `msg`.
    pub message: String,
    /// `details`, an empty object where the rule gives none.
    pub details: Json,
}

/// The compiled source of a template.
#[derive(Clone, Debug)]
pub struct Program {
    engine: Engine,
    rule: String,
    limits: Limits,
    is_referential: bool,
}

impl Program {
    /// Compiles a source.
    pub fn compile(source: &RegoSource, limits: &Limits) -> Result<Self, CompileError> {
        let mut engine = Engine::new();
        engine.set_rego_v0(source.version == RegoVersion::V0);
        let package = engine
            .add_policy("template".to_owned(), source.rego.clone())
            .map_err(|error| CompileError {
                message: error.to_string(),
            })?;
        for (index, lib) in source.libs.iter().enumerate() {
            engine
                .add_policy(format!("lib{index}"), lib.clone())
                .map_err(|error| CompileError {
                    message: error.to_string(),
                })?;
        }
        engine.set_strict_builtin_errors(false);
        engine.set_execution_timer_config(ExecutionTimerConfig {
            limit: limits.time,
            check_interval: NonZeroU32::MIN,
        });
        Ok(Self {
            engine,
            rule: format!("{package}.violation"),
            limits: *limits,
            is_referential: source.rego.contains("data.inventory"),
        })
    }

    /// Whether it reads `data.inventory`.
    pub fn is_referential(&self) -> bool {
        self.is_referential
    }

    /// The same program with an inventory.
    pub(crate) fn with_inventory(&self, inventory: Value) -> Result<Self, EvaluationError> {
        let mut program = self.clone();
        let data = value::object([("inventory", inventory)]);
        program
            .engine
            .add_data(data)
            .map_err(|error| EvaluationError {
                message: error.to_string(),
            })?;
        Ok(program)
    }

    /// The violations of one constraint, in the order of their messages.
    pub fn evaluate(
        &self,
        review: &Value,
        parameters: &Value,
    ) -> Result<Vec<Finding>, EvaluationError> {
        let mut engine = self.engine.clone();
        engine.set_input(value::object([
            ("review", review.clone()),
            ("parameters", parameters.clone()),
        ]));
        let result = engine
            .eval_rule(self.rule.clone())
            .map_err(|error| EvaluationError {
                message: error.to_string(),
            })?;
        self.findings(&result)
    }

    fn findings(&self, result: &Value) -> Result<Vec<Finding>, EvaluationError> {
        let elements: Vec<&Value> = match result {
            Value::Set(set) => set.iter_sorted().collect(),
            Value::Array(list) => list.iter().collect(),
            _ => Vec::new(),
        };
        let mut findings: Vec<Finding> = Vec::new();
        let mut bytes = 0;
        for element in elements {
            let Some(finding) = finding(element)? else {
                continue;
            };
            if findings.contains(&finding) {
                continue;
            }
            bytes += finding.message.len() + finding.details.to_string().len();
            findings.push(finding);
            let fail = |message| Err(EvaluationError { message });
            if findings.len() > self.limits.violations {
                return fail(messages::too_many_violations(self.limits.violations));
            }
            if bytes > self.limits.output_bytes {
                return fail(messages::too_much_output(self.limits.output_bytes));
            }
        }
        findings.sort_by(|a, b| a.message.cmp(&b.message));
        Ok(findings)
    }
}

/// An element without `msg` is ignored.
fn finding(element: &Value) -> Result<Option<Finding>, EvaluationError> {
    let Ok(object) = element.as_object() else {
        return Ok(None);
    };
    let Some(message) = object.get(&Value::from("msg")) else {
        return Ok(None);
    };
    let Value::String(message) = message else {
        let shown = text::of_term(message);
        let message = messages::message_type(&shown, text::go_type(message));
        return Err(EvaluationError { message });
    };
    let details = object.get(&Value::from("details"));
    Ok(Some(Finding {
        message: message.to_string(),
        details: details.map_or_else(|| Json::Object(serde_json::Map::new()), to_json),
    }))
}
