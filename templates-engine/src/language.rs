//! The template language: Go's `text/template`, from text to output.
//!
//! Ported from the behaviour of Go 1.27's `text/template` and `text/template/parse`, error texts
//! included. A template is lexed on demand (`lexer`), parsed into an arena (`tree`,
//! `parser`) and walked by the evaluator (`exec`).

mod call;
mod calls;
mod commands;
mod control;
mod exec;
mod field;
mod lexer;
mod literal;
mod number;
mod operand;
mod output;
mod parser;
mod pipeline;
mod scope;
mod table;
mod tree;
mod tree_text;

pub use exec::{Cause as ExecCause, ExecError, execute};
pub use lexer::Delimiters;
pub use output::{Output, Rendered};
pub use parser::{ParseError, parse};
pub use table::{Callee, FunctionTable};
pub use tree::Template;

/// Whether a text parses with the engine's functions: the line (from 1) and the text of the first
/// error otherwise. For [`lint`](crate::lint::lint_extended).
pub fn check(text: &str, delimiters: Delimiters<'_>) -> Result<(), (usize, String)> {
    match parse("tmpl", text, delimiters, &FunctionTable::new()) {
        Ok(_) => Ok(()),
        Err(error) => Err((error.line, error.message)),
    }
}
