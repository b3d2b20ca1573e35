//! Parsing and compiling of expressions. The parser and the evaluator recurse, and panic on what they do not know.

use std::panic::catch_unwind;

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr};
use kube_cel::cel::parser::{Expression, Parser};

/// The maximum length in bytes. An expression may hold as many elements as it has bytes, and loops multiply them.
const MAX_LENGTH: usize = 16 * 1024;
/// The maximum depth of an expression: the evaluator recurses.
const MAX_DEPTH: usize = 160;
/// The maximum depth of brackets: the parser recurses, many frames for a bracket.
const MAX_BRACKET_DEPTH: usize = 250;
/// The stack of parser and evaluator in bytes: they recurse over the whole of a chain of operators.
const STACK: usize = 128 * 1024 * 1024;

/// Runs a parser or an evaluator with enough stack.
pub fn on_large_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::grow(STACK, work)
}

/// Parses an expression.
pub fn parse(text: &str) -> Result<Expression, String> {
    if text.len() > MAX_LENGTH {
        let size = text.len();
        return Err(format!(
            "ERROR: <input>: expression code point size exceeds limit: size: {size}, limit {MAX_LENGTH}"
        ));
    }
    if brackets(text) > MAX_BRACKET_DEPTH {
        return Err(format!(
            "ERROR: <input>: expression recursion limit exceeded: {MAX_BRACKET_DEPTH}"
        ));
    }
    on_large_stack(|| {
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
                "ERROR: <input>: expression recursion limit exceeded: {MAX_DEPTH}"
            ));
        }
        Ok(expression)
    })
}

/// The depth of brackets. Those in string literals count too; no reasonable expression is refused for them.
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

fn is_too_deep(expression: &IdedExpr, depth: usize) -> bool {
    if depth > MAX_DEPTH {
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

#[cfg(test)]
mod tests {
    #[test]
    fn too_deep_or_too_long_expression_is_refused() {
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
