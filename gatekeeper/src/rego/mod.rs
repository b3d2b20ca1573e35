//! Templates for the engine `Rego`: compiled once, evaluated on prepared engines (GK-103, GK-104).

mod builtins;
mod checked;
mod facts;
mod fault;
mod guard;
mod interpolation;
mod lexical;
mod lint;
mod literals;
mod negation;
mod precise;
mod scan;
mod sprintf;
mod syntax;
mod text;
mod value;
mod variables;

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::Duration;

use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, Value};
use serde::{Deserialize, Serialize};

use self::checked::Checked;
use crate::Json;
use crate::external_data::ExternalData;
use crate::messages;
use crate::template::{RegoSource, RegoVersion};

pub(crate) use value::{discard, is_shallow, to_object_value};
pub use value::{to_json, to_value};

/// What an evaluation may take and give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
            nesting: 32,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// `msg`.
    pub message: String,
    /// `details`, an empty object where the rule gives none.
    pub details: Json,
}

/// What a level of nested calls and expressions takes of the stack, at most.
const STACK_PER_LEVEL: usize = if cfg!(debug_assertions) {
    32 << 10
} else {
    12 << 10
};
/// What an evaluation takes of the stack besides.
const STACK: usize = 512 << 10;

/// The compiled source of a template.
#[derive(Clone, Debug)]
pub struct Program {
    engine: Engine,
    rule: String,
    limits: Limits,
    checked: Checked,
}

impl Program {
    /// Compiles a source.
    pub fn compile(
        source: &RegoSource,
        limits: &Limits,
        external_data: &ExternalData,
    ) -> Result<Self, CompileError> {
        // Parsing and checking call themselves as deep as the source is nested, which has been limited before.
        stacker::maybe_grow(64 << 20, 64 << 20, || {
            Self::compiled(source, limits, external_data)
        })
    }

    fn compiled(
        source: &RegoSource,
        limits: &Limits,
        external_data: &ExternalData,
    ) -> Result<Self, CompileError> {
        let mut modules = vec![("template".to_owned(), source.rego.as_str())];
        for (index, lib) in source.libs.iter().enumerate() {
            modules.push((format!("libs[\"lib_{index}\"]"), lib.as_str()));
        }
        let mut all_facts = Vec::new();
        let mut rewritten = Vec::new();
        for (name, text) in modules {
            guard::check_length(text, limits)?;
            let text = interpolation::rewrite(&lexical::without_repeated_imports(text));
            let scanned = scan::tokens(&text);
            let plain = literals::rewrite(&name, &text, &scanned)?;
            let tokens = plain.as_deref().map_or(scanned, scan::tokens);
            let text = plain.as_deref().unwrap_or(&text);
            guard::check_nesting(&tokens, limits)?;
            if source.version == RegoVersion::V1
                && let Some(line) = lexical::body_without_if(&tokens)
            {
                let error = format!("{name}:{line}: {}", messages::IF_REQUIRED);
                let message = messages::invalid_template(messages::errors_occurred(&[error]));
                return Err(CompileError { message });
            }
            if source.version == RegoVersion::V0
                && let Some(line) = lexical::if_without_import(text, &tokens)
            {
                let error = format!("{name}:{line}: {}", messages::IF_NOT_IMPORTED);
                let message = messages::invalid_template(messages::errors_occurred(&[error]));
                return Err(CompileError { message });
            }
            let text = lexical::rewrite(text, &tokens);
            let module = syntax::parse(&name, &text, source.version, limits)?;
            all_facts.push(facts::of_module(&module));
            rewritten.push((name, negation::rewrite(&text, &module)));
        }
        let checked = lint::check(&all_facts, source.version, external_data)?;
        let internal = |error: anyhow::Error| CompileError {
            message: fault::parse_error("template", &error.to_string()),
        };
        let mut engine = Engine::new();
        engine.set_rego_v0(source.version == RegoVersion::V0);
        engine.set_policy_length_config(syntax::length_config(limits));
        engine.set_strict_builtin_errors(false);
        // What a template prints goes nowhere, as with Gatekeeper.
        engine.set_gather_prints(true);
        engine.set_execution_timer_config(ExecutionTimerConfig {
            limit: limits.time,
            check_interval: NonZeroU32::new(16).unwrap_or(NonZeroU32::MIN),
        });
        builtins::register(&mut engine, &rewritten, external_data).map_err(internal)?;
        for (name, text) in rewritten {
            engine.add_policy(name, text).map_err(internal)?;
        }
        let package = all_facts.first().map(|facts| facts.package.as_str());
        let mut program = Self {
            engine,
            rule: format!("data.{}.violation", package.unwrap_or_default()),
            limits: *limits,
            checked,
        };
        program.prepare()?;
        Ok(program)
    }

    /// Evaluates once without input: clones of a prepared engine need no analysis. What only an input can make right is no
    /// error here.
    fn prepare(&mut self) -> Result<(), CompileError> {
        self.engine.set_input(Value::new_object());
        let rule = self.rule.clone();
        let engine = &mut self.engine;
        let result = on_stack(&self.checked, || {
            builtins::begin_evaluation();
            engine.eval_rule(rule)
        });
        let error = result.err();
        let error = error.and_then(|error| fault::compile_error(&error.to_string()));
        match error {
            Some(message) => Err(CompileError { message }),
            None => Ok(()),
        }
    }

    /// Whether it reads `data.inventory`.
    pub fn is_referential(&self) -> bool {
        self.checked.is_referential
    }

    /// The same program with an inventory.
    pub(crate) fn with_inventory(&self, inventory: Value) -> Result<Self, EvaluationError> {
        let mut program = self.clone();
        let fail = |error: &dyn std::fmt::Display| EvaluationError {
            message: error.to_string(),
        };
        let data = value::object([("inventory", inventory)]);
        program.engine.clear_data();
        program
            .engine
            .add_data(data)
            .map_err(|error| fail(&error))?;
        program.prepare().map_err(|error| fail(&error))?;
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
        let result = on_stack(&self.checked, || {
            builtins::begin_evaluation();
            engine.eval_rule(self.rule.clone())
        });
        let result = result.map_err(|error| EvaluationError {
            message: fault::evaluation_error(&error, &self.limits, &self.checked),
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
        let mut seen = BTreeSet::new();
        let mut output = value::Output::new(self.limits.output_bytes);
        for element in elements {
            let Some(finding) = finding(element, &mut output)? else {
                continue;
            };
            let details = finding.details.to_string();
            if !seen.insert((finding.message.clone(), details)) {
                continue;
            }
            findings.push(finding);
            if findings.len() > self.limits.violations {
                let message = messages::too_many_violations(self.limits.violations);
                return Err(EvaluationError { message });
            }
        }
        findings.sort_by(|a, b| a.message.cmp(&b.message));
        Ok(findings)
    }
}

/// Runs on a stack that is large enough for the deepest calls.
fn on_stack<T>(checked: &Checked, evaluate: impl FnOnce() -> T) -> T {
    let need = STACK + checked.levels.saturating_mul(STACK_PER_LEVEL);
    stacker::maybe_grow(need, need, evaluate)
}

/// An element without `msg` is ignored.
fn finding(
    element: &Value,
    output: &mut value::Output,
) -> Result<Option<Finding>, EvaluationError> {
    let Ok(object) = element.as_object() else {
        return Ok(None);
    };
    let Some(message) = object.get(&Value::from("msg")) else {
        return Ok(None);
    };
    output.accept(message)?;
    let Value::String(message) = message else {
        let shown = text::of_term(message);
        let message = messages::message_type(&shown, text::go_type(message));
        return Err(EvaluationError { message });
    };
    let details = match object.get(&Value::from("details")) {
        Some(details) => output.json(details)?,
        None => Json::Object(serde_json::Map::new()),
    };
    Ok(Some(Finding {
        message: message.to_string(),
        details,
    }))
}
