//! What rules may cost: every turn of a loop, and everything large that is made, is counted by calls that are woven into
//! the expression, because the evaluator counts nothing. It also recurses and panics on what it does not know.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr};
use kube_cel::cel::parser::{Expression, Parser};
use kube_cel::cel::{Context, ExecutionError, Value as CelValue};

use super::optionals::{self, FOUND, found};
use crate::weaving::{LARGEST, size, weave};

/// What all rules may spend on one object.
const OBJECT: u64 = 10_000_000;
/// What one rule may spend on one value.
const RULE: u64 = 1_000_000;
/// A turn of a loop.
const A_TURN: u64 = 10;
/// A search by a regular expression, which is compiled each time.
const A_SEARCH: u64 = 100;
/// In bytes. An expression may hold as many elements as it has bytes, and loops multiply them.
const LONGEST: usize = 16 * 1024;
/// How deep an expression may be: the evaluator recurses.
const DEEPEST: usize = 160;
/// How deep the brackets of an expression may be: the parser recurses, many frames for a bracket.
const DEEPEST_BRACKETS: usize = 250;
/// What a compiler may take of the stack: it recurses over the whole of a chain of operators.
const STACK: usize = 128 * 1024 * 1024;

const TURN: &str = "@turn";
const MADE: &str = "@made";
const SEARCHED: &str = "@searched";

#[derive(Clone, Copy)]
struct Left {
    object: u64,
    rule: u64,
    /// More was asked for than there was.
    exceeded: bool,
}

thread_local! {
    // An object is checked on one thread.
    static LEFT: Cell<Left> = const { Cell::new(Left { object: OBJECT, rule: RULE, exceeded: false }) };
}

/// Runs all rules of one object.
pub(crate) fn bounded(rules: impl FnOnce()) {
    LEFT.set(Left {
        object: OBJECT,
        rule: RULE,
        exceeded: false,
    });
    on_a_large_stack(rules);
}

/// Whether the rules have spent what they may, and none is to run any more.
pub(super) fn is_exceeded() -> bool {
    LEFT.get().exceeded
}

/// Runs what compiles or evaluates expressions.
fn on_a_large_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::grow(STACK, work)
}

/// Reads an expression. The text says what is wrong with it.
pub(super) fn compile(text: &str) -> Result<Expression, String> {
    let mut expression = parse(text)?;
    watch(&mut expression);
    Ok(expression)
}

/// Whether an expression can be read.
pub(crate) fn parse(text: &str) -> Result<Expression, String> {
    if text.len() > LONGEST {
        let size = text.len();
        return Err(format!(
            "ERROR: <input>: expression code point size exceeds limit: size: {size}, limit {LONGEST}"
        ));
    }
    if brackets(text) > DEEPEST_BRACKETS {
        return Err(format!(
            "ERROR: <input>: expression recursion limit exceeded: {DEEPEST_BRACKETS}"
        ));
    }
    on_a_large_stack(|| {
        // The parser panics on some of what it cannot read.
        let parsed = catch_unwind(|| {
            let parser = Parser::default().enable_optional_syntax(true);
            parser.parse(text)
        });
        let expression = parsed
            .map_err(|_| "it cannot be parsed".to_owned())?
            .map_err(|error| error.to_string())?;
        if is_too_deep(&expression, 0) {
            return Err(format!(
                "ERROR: <input>: expression recursion limit exceeded: {DEEPEST}"
            ));
        }
        Ok(expression)
    })
}

/// How deep brackets are at most. Those in texts count, too, which no expression of reason is refused for.
fn brackets(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// What an expression amounts to.
pub(super) fn resolve(
    expression: &Expression,
    scope: &Context<'_>,
) -> Result<CelValue, ExecutionError> {
    let mut left = LEFT.get();
    left.rule = RULE;
    LEFT.set(left);
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
    let mut left = LEFT.get();
    match (left.object.checked_sub(cost), left.rule.checked_sub(cost)) {
        (Some(object), Some(rule)) if !left.exceeded => {
            (left.object, left.rule) = (object, rule);
            LEFT.set(left);
            Ok(())
        }
        _ => {
            left.exceeded = true;
            LEFT.set(left);
            Err(ExecutionError::function_error(
                "evaluation",
                "costs too much",
            ))
        }
    }
}

/// Adds the functions that [`compile`] weaves in.
pub(super) fn register(context: &mut Context<'static>) {
    context.add_function(TURN, |goes_on: bool, so_far: CelValue| {
        spend(A_TURN + size(&so_far)).map(|()| goes_on)
    });
    context.add_function(FOUND, |of: CelValue, key: CelValue| found(&of, &key));
    context.add_function(MADE, |value: CelValue| {
        let size = size(&value);
        let cost = if size > LARGEST { u64::MAX } else { size };
        spend(cost).map(|()| value)
    });
    context.add_function(SEARCHED, |value: CelValue| {
        spend(A_SEARCH + size(&value)).map(|()| value)
    });
}

fn is_too_deep(expression: &IdedExpr, depth: usize) -> bool {
    if depth > DEEPEST {
        return true;
    }
    let deep = |inner: &IdedExpr| is_too_deep(inner, depth + 1);
    match &expression.expr {
        Expr::Call(call) => call.target.as_deref().is_some_and(deep) || call.args.iter().any(deep),
        Expr::Comprehension(loops) => [
            &loops.iter_range,
            &loops.accu_init,
            &loops.loop_cond,
            &loops.loop_step,
            &loops.result,
        ]
        .into_iter()
        .any(|part| is_too_deep(part, depth + 1)),
        Expr::Select(select) => deep(&select.operand),
        Expr::List(list) => list.elements.iter().any(deep),
        Expr::Map(map) => map.entries.iter().any(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => deep(&entry.key) || deep(&entry.value),
            EntryExpr::StructField(field) => deep(&field.value),
        }),
        Expr::Struct(made) => made.entries.iter().any(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => deep(&entry.key) || deep(&entry.value),
            EntryExpr::StructField(field) => deep(&field.value),
        }),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => false,
    }
}

/// Counts the turns of every loop, and the size of what may become large.
fn watch(expression: &mut IdedExpr) {
    weave(expression, TURN, &|call| {
        if let Some(name) = optionals::instead(&call.func_name) {
            name.clone_into(&mut call.func_name);
        }
        match call.func_name.as_str() {
            "_+_" | "join" | "format" | "replace" | "flatten" | "split" | "lists.range"
            | "range" => Some(MADE),
            "matches" | "find" | "findAll" => Some(SEARCHED),
            _ => None,
        }
    });
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::{Value, json};

    use crate::schema::{Types, validate};

    /// What a rule says of a list of as many numbers.
    fn said(rule: &str, numbers: usize) -> Vec<String> {
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
    fn long_lists_may_be_walked() {
        assert_eq!(said("self.all(x, x >= 0)", 20_000), Vec::<String>::new());
        let twice = "self.all(x, self.exists(y, y == x))";
        assert_eq!(said(twice, 200), Vec::<String>::new());
    }

    #[test]
    fn a_rule_that_does_not_end_soon_is_ended() {
        let begun = Instant::now();
        for rule in [
            "self.all(x, self.all(y, self.all(z, x + y + z >= 0)))",
            "self.map(x, self.map(y, self)).size() > 0",
            "self.all(x, self.all(y, 'a'.matches('^a$')))",
            "self.map(x, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaa').join('').split('').map(x, self).size() > 0",
        ] {
            let said = said(rule, 2_000);
            let told = "validation failed due to running out of cost budget, no further validation rules will be run";
            assert_eq!(said.len(), 1, "{rule}: {said:?}");
            assert!(said[0].ends_with(told), "{rule}: {said:?}");
        }
        let time = begun.elapsed();
        assert!(time < Duration::from_mins(1), "after {time:?}");
    }

    #[test]
    fn what_is_too_deep_or_too_long_is_no_rule() {
        for rule in [
            format!("{}1{} == 1", "(".repeat(4_000), ")".repeat(4_000)),
            format!("{}true", "!".repeat(8_000)),
            vec!["true"; 2_500].join(" && "),
            format!("{}1{} == 1", "[".repeat(4_000), "]".repeat(4_000)),
            format!("self{} == 1", ".a".repeat(8_000)),
            format!("'{}' == ''", "a".repeat(20_000)),
        ] {
            let _ = super::parse(&rule);
        }
        assert!(super::parse(&format!("self{} == 1", ".a".repeat(500))).is_err());
        assert!(super::parse(&"a".repeat(20_000)).is_err());
        assert!(super::parse("self.all(x, x > 0)").is_ok());
    }
}
