//! Expressions in the Common Expression Language about clusters.
//!
//! The evaluator has no cost limit, so an expression is checked before it is evaluated ([`check`]) and has a budget while
//! it is evaluated: one that exceeds it does not match.

mod check;
mod functions;
mod values;

use std::sync::Arc;

use kube_cel::cel::common::ast::IdedExpr;
use kube_cel::cel::{Context, Value};
use reeve_apiserver::cel::{self, Limits};

pub use values::Subject;

use super::super::messages;
use super::Scores;

/// The limits of a predicate's expressions for one cluster: a visited element costs one, as do 16 bytes of text.
pub const LIMITS: Limits = Limits {
    total: 1_000_000,
    evaluation: 100_000,
    iteration: 1,
};

/// Expressions that must all be true for a cluster.
pub struct Expressions {
    compiled: Vec<IdedExpr>,
    context: Context<'static>,
}

impl Expressions {
    /// The error is that of the first expression that does not compile.
    pub fn compile(texts: &[String], scores: &Arc<Scores>) -> Result<Self, String> {
        let compiled = texts
            .iter()
            .map(|text| compile(text).map_err(|issue| messages::does_not_compile(&issue)));
        Ok(Self {
            compiled: compiled.collect::<Result<_, _>>()?,
            context: functions::context(scores),
        })
    }

    /// Whether all expressions are true for a cluster. An error, a result that is not a boolean, and an exceeded
    /// budget count as false. The expressions share the total of `limits`.
    pub fn hold(&self, cluster: &Subject, limits: Limits) -> bool {
        let mut context = self.context.new_inner_scope();
        context.add_variable_from_value("managedCluster", cluster.value());
        cel::reset_budget(limits);
        self.compiled.iter().all(|expression| {
            let result = cel::evaluate(expression, &context);
            matches!(result, Ok(Value::Bool(true))) && !cel::is_exceeded()
        })
    }
}

fn compile(text: &str) -> Result<IdedExpr, String> {
    check::length(text)?;
    let mut expression = cel::parse(text)?;
    check::references(&expression)?;
    cel::instrument(&mut expression);
    Ok(expression)
}
