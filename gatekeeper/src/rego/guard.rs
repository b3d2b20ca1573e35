//! Refuses what the parser and the interpreter, which call themselves, cannot take.

use super::scan::Token;
use super::{CompileError, Limits};
use crate::messages;

/// Brackets inside of each other. The parser reads the content of a bracket twice, so each level doubles its time.
const PARSER_STEPS: u64 = 4 << 20;
/// How deep expressions are nested, by brackets and by operators: each operator of a chain is one level.
const LEVELS: usize = 1_000;

/// Checks the length of a source.
pub fn check_length(source: &str, limits: &Limits) -> Result<(), CompileError> {
    if source.len() <= limits.source_bytes {
        return Ok(());
    }
    let message = messages::source_too_long(source.len(), limits.source_bytes);
    Err(CompileError { message })
}

/// Checks how deeply a source is nested.
pub fn check_nesting(tokens: &[Token<'_>], limits: &Limits) -> Result<(), CompileError> {
    let fail = |line: usize, limit: usize| {
        let message = messages::nested_too_deeply(line, limit);
        Err(CompileError { message })
    };
    let mut open = vec![Level::default()];
    let mut steps = 0_u64;
    let mut previous: Option<&Token<'_>> = None;
    for token in tokens {
        let depth = open.len();
        let is_new_line = previous.is_some_and(|one| one.line != token.line && one.ends_term());
        if let Some(level) = open.last_mut() {
            if token.is(",") || token.is(";") || (is_new_line && !token.is_operator()) {
                level.current = 0;
            }
            level.rise(usize::from(token.is_operator()));
            if level.current > LEVELS {
                return fail(token.line, LEVELS);
            }
        }
        match token.text {
            "(" | "[" | "{" if token.is(token.text) => {
                if !token.is("(") {
                    steps += 1_u64 << depth.min(40);
                }
                if depth > limits.nesting || steps > PARSER_STEPS {
                    return fail(token.line, limits.nesting);
                }
                open.push(Level::default());
            }
            ")" | "]" | "}" if token.is(token.text) && open.len() > 1 => {
                let inner = open.pop().map_or(0, |level| level.deepest + 1);
                if let Some(level) = open.last_mut() {
                    let missing = inner.saturating_sub(level.current);
                    level.rise(missing);
                }
            }
            _ => {}
        }
        previous = Some(token);
    }
    Ok(())
}

/// How deep the expressions of an open bracket are.
#[derive(Default)]
struct Level {
    current: usize,
    deepest: usize,
}

impl Level {
    fn rise(&mut self, by: usize) {
        self.current += by;
        self.deepest = self.deepest.max(self.current);
    }
}
