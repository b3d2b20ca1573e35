//! The cost budget of expressions. The evaluator counts no cost, so the calls that [`super::instrument`] puts into an
//! expression spend from the budget: for each iteration of a loop, and for each large value that is made.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kube_cel::cel::common::ast::IdedExpr;
use kube_cel::cel::parser::Expression;
use kube_cel::cel::{Context, ExecutionError, Value as CelValue};

use super::instrument::{self, MAX_VALUE_SIZE, value_size};
use super::optionals::{self, LOOKUP, lookup};
use super::parse::{on_large_stack, parse};

/// The budget of all rules for one object.
const OBJECT_BUDGET: u64 = 10_000_000;
/// The budget of one rule for one value.
const RULE_BUDGET: u64 = 1_000_000;
/// The cost of an iteration of a loop.
const ITERATION_COST: u64 = 10;
/// The cost of a regular expression match: it is compiled each time.
const REGEX_COST: u64 = 100;
const ITERATION: &str = "@iteration";
const MADE: &str = "@made";
const REGEX: &str = "@regex";

#[derive(Clone, Copy)]
struct Budget {
    object: u64,
    rule: u64,
    /// An expression asked for more than was left.
    exceeded: bool,
}

thread_local! {
    // An object is checked on one thread.
    static BUDGET: Cell<Budget> = const { Cell::new(Budget { object: OBJECT_BUDGET, rule: RULE_BUDGET, exceeded: false }) };
}

/// Evaluates all rules of one object with a new budget.
pub(crate) fn with_budget(rules: impl FnOnce()) {
    BUDGET.set(Budget {
        object: OBJECT_BUDGET,
        rule: RULE_BUDGET,
        exceeded: false,
    });
    on_large_stack(rules);
}

/// Whether the budget is exceeded, and no further rule is to be evaluated.
pub(crate) fn is_exceeded() -> bool {
    BUDGET.get().exceeded
}

/// Evaluates an instrumented expression. The evaluator panics on some of what it does not know.
pub(crate) fn evaluate(
    expression: &Expression,
    scope: &Context<'_>,
) -> Result<CelValue, ExecutionError> {
    let mut left = BUDGET.get();
    left.rule = RULE_BUDGET;
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
    match (left.object.checked_sub(cost), left.rule.checked_sub(cost)) {
        (Some(object), Some(rule)) if !left.exceeded => {
            (left.object, left.rule) = (object, rule);
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
pub(super) fn register(context: &mut Context<'static>) {
    context.add_function(ITERATION, |goes_on: bool, so_far: CelValue| {
        spend(ITERATION_COST + value_size(&so_far)).map(|()| goes_on)
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
pub(crate) fn compile(text: &str) -> Result<Expression, String> {
    let mut expression = parse(text)?;
    instrument(&mut expression);
    Ok(expression)
}

/// Instruments an expression with calls that spend from the budget.
fn instrument(expression: &mut IdedExpr) {
    instrument::instrument(expression, ITERATION, &|call| {
        if let Some(name) = optionals::replacement(&call.func_name) {
            name.clone_into(&mut call.func_name);
        }
        match call.func_name.as_str() {
            "_+_" | "join" | "format" | "replace" | "flatten" | "split" | "lists.range"
            | "range" => Some(MADE),
            "matches" | "find" | "findAll" => Some(REGEX),
            _ => None,
        }
    });
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::{Value, json};

    use crate::schema::{Types, validate};

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
        let begun = Instant::now();
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
        let time = begun.elapsed();
        assert!(time < Duration::from_mins(1), "after {time:?}");
    }
}
