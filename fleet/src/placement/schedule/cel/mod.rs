//! Expressions in the Common Expression Language about clusters.
//!
//! The evaluator has no cost limit, so an expression is checked before it is evaluated ([`check`]) and bounded while
//! it is evaluated ([`bounds`]): one that exceeds its budget does not match.

mod bounds;
mod check;
mod functions;
mod values;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kube_cel::cel::parser::{Expression, Parser};
use kube_cel::cel::{Context, Value};

pub use bounds::Budget;
pub use values::Subject;

use super::super::messages;
use super::Scores;

/// The stack of a compiler: it recurses over the whole of a chain of operators.
const STACK: usize = 64 * 1024 * 1024;

/// Runs `work` on a large stack, because compilation and evaluation recurse.
pub(super) fn on_a_large_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::grow(STACK, work)
}

/// Expressions that must all be true for a cluster.
pub struct Expressions {
    compiled: Vec<Expression>,
    context: Context<'static>,
    budget: Budget,
}

impl Expressions {
    /// The error is that of the first expression that does not compile.
    pub fn compile(texts: &[String], scores: &Arc<Scores>) -> Result<Self, String> {
        let budget = Budget::default();
        let compiled = texts
            .iter()
            .map(|text| compile(text).map_err(|issue| messages::does_not_compile(&issue)));
        Ok(Self {
            compiled: compiled.collect::<Result<_, _>>()?,
            context: functions::context(scores, &budget),
            budget,
        })
    }

    /// Whether all expressions are true for a cluster. An error, a result that is not a boolean, and an exceeded
    /// budget count as false. The expressions share `budget`.
    pub fn hold(&self, cluster: &Subject, mut budget: u64) -> bool {
        let mut context = self.context.new_inner_scope();
        context.add_variable_from_value("managedCluster", cluster.value());
        self.compiled.iter().all(|expression| {
            let given = self.budget.grant(budget);
            // The evaluator panics on constructs that it does not support.
            let answer = catch_unwind(AssertUnwindSafe(|| Value::resolve(expression, &context)));
            let Some(left) = self.budget.left() else {
                return false;
            };
            budget = budget.saturating_sub(given.saturating_sub(left).max(1));
            matches!(answer, Ok(Ok(Value::Bool(true)))) && budget > 0
        })
    }
}

fn compile(text: &str) -> Result<Expression, String> {
    check::length(text)?;
    on_a_large_stack(|| {
        let parser = Parser::default().enable_optional_syntax(true);
        let parsed = catch_unwind(AssertUnwindSafe(|| parser.parse(text)))
            .map_err(|_| "it cannot be parsed".to_owned())?;
        let mut expression = parsed.map_err(|issue| issue.to_string())?;
        check::references(&expression)?;
        bounds::watch(&mut expression);
        Ok(expression)
    })
}
