//! Parsing of expressions. The parser recurses, and panics on some of what it cannot read.

mod literals;

use std::panic::catch_unwind;

use kube_cel::cel::parser::{Expression, Parser};

use crate::cel::messages;

/// The maximum length of an expression in bytes.
const MAX_LENGTH: usize = 16 * 1024;
/// The maximum depth of brackets: the parser recurses, many frames for a bracket.
const MAX_BRACKETS: usize = 90;
/// The stack of the parser in bytes: it recurses over the whole of a chain of operators.
const STACK: usize = 128 * 1024 * 1024;

/// Calls `work` with the syntax tree of an expression, on a stack that is large enough for all of the tree.
pub fn with_syntax<T>(
    text: &str,
    work: impl FnOnce(&Expression) -> Result<T, String>,
) -> Result<T, String> {
    if text.len() > MAX_LENGTH {
        return Err(messages::too_long(text.len(), MAX_LENGTH));
    }
    if depth_of_brackets(text) > MAX_BRACKETS {
        return Err(messages::too_deep(MAX_BRACKETS));
    }
    stacker::maybe_grow(STACK, STACK, || {
        let text = literals::normalized(text);
        let parsed = catch_unwind(|| Parser::default().enable_optional_syntax(true).parse(&text));
        let syntax = parsed
            .map_err(|_| messages::UNREADABLE.to_owned())?
            .map_err(|error| error.to_string().trim().to_owned())?;
        work(&syntax)
    })
}

/// The depth of brackets. Those in string literals count too; no reasonable expression is refused for them.
fn depth_of_brackets(text: &str) -> usize {
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
