//! Compiled validation rules.

use std::sync::{Arc, OnceLock};

use kube_cel::cel::parser::Expression;

use crate::cel;

/// A compiled rule. It is compiled when it is first evaluated.
#[derive(Clone, Debug, Default)]
pub(super) struct Compiled(Arc<OnceLock<Programs>>);

#[derive(Debug)]
pub(super) struct Programs {
    pub(super) rule: Result<Expression, String>,
    pub(super) message: Option<Expression>,
    /// Whether the rule reads `oldSelf`.
    pub(super) transition: bool,
}

impl Compiled {
    pub(super) fn programs(&self, rule: &str, message_expression: &str) -> &Programs {
        self.0.get_or_init(|| {
            let program = cel::compile(rule);
            let transition = program
                .as_ref()
                .is_ok_and(|program| program.references().has_variable("oldSelf"));
            Programs {
                rule: program,
                message: cel::compile(message_expression)
                    .ok()
                    .filter(|_| !message_expression.is_empty()),
                transition,
            }
        })
    }
}
