//! The cost budget of expressions. The evaluator counts no cost, so the calls that [`super::instrument`] puts into an
//! expression spend from the budget: for each iteration of a loop, and for each large value that is made.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kube_cel::cel::common::ast::IdedExpr;
use kube_cel::cel::{Context, ExecutionError, Value as CelValue};

use super::instrument::{self, MAX_VALUE_SIZE, value_size};
use super::optionals::{self, LOOKUP, lookup};
use super::parse::{on_large_stack, parse};

/// The cost of a regular expression match: it is compiled each time.
const REGEX_COST: u64 = 100;
const ITERATION: &str = "@iteration";
const MADE: &str = "@made";
const REGEX: &str = "@regex";

/// How much expressions may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The budget of all expressions until the budget is reset.
    pub total: u64,
    /// The budget of one evaluation.
    pub evaluation: u64,
    /// The cost of an iteration of a loop.
    pub iteration: u64,
}

/// The limits of all rules for one object.
const OBJECT: Limits = Limits {
    total: 10_000_000,
    evaluation: 1_000_000,
    iteration: 10,
};

/// What is left.
#[derive(Clone, Copy)]
struct Budget {
    limits: Limits,
    total: u64,
    evaluation: u64,
    /// An expression asked for more than was left.
    exceeded: bool,
}

impl Budget {
    const fn new(limits: Limits) -> Self {
        Self {
            limits,
            total: limits.total,
            evaluation: limits.evaluation,
            exceeded: false,
        }
    }
}

thread_local! {
    // Expressions with one budget are evaluated on one thread.
    static BUDGET: Cell<Budget> = const { Cell::new(Budget::new(OBJECT)) };
}

/// Begins a new budget for the expressions that this thread evaluates from now on.
pub fn reset_budget(limits: Limits) {
    BUDGET.set(Budget::new(limits));
}

/// Evaluates all rules of one object with a new budget.
pub(crate) fn with_budget(rules: impl FnOnce()) {
    reset_budget(OBJECT);
    on_large_stack(rules);
}

/// Whether the budget is exceeded, and no further expression is to be evaluated. It is even if the expression ignored
/// the error.
pub fn is_exceeded() -> bool {
    BUDGET.get().exceeded
}

/// Evaluates an instrumented expression. The evaluator panics on some of what it does not know.
pub fn evaluate(expression: &IdedExpr, scope: &Context<'_>) -> Result<CelValue, ExecutionError> {
    let mut left = BUDGET.get();
    left.evaluation = left.limits.evaluation;
    BUDGET.set(left);
    spend(1)?;
    let outcome = catch_unwind(AssertUnwindSafe(|| CelValue::resolve(expression, scope)));
    outcome.unwrap_or_else(|_| {
        Err(ExecutionError::function_error(
            "evaluation",
            "the expression cannot be evaluated",
        ))
    })
}

fn spend(cost: u64) -> Result<(), ExecutionError> {
    let mut left = BUDGET.get();
    let after = (
        left.total.checked_sub(cost),
        left.evaluation.checked_sub(cost),
    );
    match after {
        (Some(total), Some(evaluation)) if !left.exceeded => {
            (left.total, left.evaluation) = (total, evaluation);
            BUDGET.set(left);
            Ok(())
        }
        _ => {
            left.exceeded = true;
            BUDGET.set(left);
            Err(ExecutionError::function_error(
                "evaluation",
                "costs too much",
            ))
        }
    }
}

/// Registers the functions that [`instrument`] calls.
pub fn register(context: &mut Context<'static>) {
    context.add_function(ITERATION, |goes_on: bool, so_far: CelValue| {
        spend(BUDGET.get().limits.iteration + value_size(&so_far)).map(|()| goes_on)
    });
    context.add_function(LOOKUP, |of: CelValue, key: CelValue| lookup(&of, &key));
    context.add_function(MADE, |value: CelValue| {
        let size = value_size(&value);
        let cost = if size > MAX_VALUE_SIZE {
            u64::MAX
        } else {
            size
        };
        spend(cost).map(|()| value)
    });
    context.add_function(REGEX, |value: CelValue| {
        spend(REGEX_COST + value_size(&value)).map(|()| value)
    });
}

/// Parses and instruments an expression.
pub(crate) fn compile(text: &str) -> Result<IdedExpr, String> {
    let mut expression = parse(text)?;
    instrument(&mut expression);
    Ok(expression)
}

/// Instruments an expression with calls of the functions that [`register`] adds, which spend from the budget.
pub fn instrument(expression: &mut IdedExpr) {
    instrument::instrument(expression, ITERATION, &|call| {
        if let Some(name) = optionals::replacement(&call.func_name) {
            name.clone_into(&mut call.func_name);
        }
        match call.func_name.as_str() {
            "_+_" | "join" | "format" | "replace" | "flatten" | "split" | "parseJSON"
            | "lists.range" | "range" => Some(MADE),
            "matches" | "find" | "findAll" => Some(REGEX),
            _ => None,
        }
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime};
    use serde_json::{Value, json};

    use crate::schema::{Types, validate};

    /// What other programs take of a busy machine does not count.
    fn thread_cpu_time() -> Duration {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::try_from(time).unwrap()
    }

    /// The errors of a rule for a list of as many numbers.
    fn messages(rule: &str, numbers: usize) -> Vec<String> {
        let schema = json!({ "type": "object", "properties": { "list": {
            "type": "array", "items": { "type": "integer" },
            "x-kubernetes-validations": [{ "rule": rule }, { "rule": "true" }],
        } } });
        let (types, id) = Types::from_crd(&schema).unwrap();
        let list: Vec<Value> = (0..numbers).map(Value::from).collect();
        let errors = validate(&types, id, &json!({ "list": list }), None);
        errors.into_iter().map(|error| error.message).collect()
    }

    #[test]
    fn long_list_is_within_budget() {
        assert_eq!(
            messages("self.all(x, x >= 0)", 20_000),
            Vec::<String>::new()
        );
        let twice = "self.all(x, self.exists(y, y == x))";
        assert_eq!(messages(twice, 200), Vec::<String>::new());
    }

    #[test]
    fn expensive_rule_exceeds_budget() {
        let begun = thread_cpu_time();
        for rule in [
            "self.all(x, self.all(y, self.all(z, x + y + z >= 0)))",
            "self.map(x, self.map(y, self)).size() > 0",
            "self.all(x, self.all(y, 'a'.matches('^a$')))",
            "self.map(x, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaa').join('').split('').map(x, self).size() > 0",
        ] {
            let messages = messages(rule, 2_000);
            let expected = "validation failed due to running out of cost budget, no further validation rules will be run";
            assert_eq!(messages.len(), 1, "{rule}: {messages:?}");
            assert!(messages[0].ends_with(expected), "{rule}: {messages:?}");
        }
        let time = thread_cpu_time().saturating_sub(begun);
        assert!(time < Duration::from_mins(1), "after {time:?}");
    }
}
