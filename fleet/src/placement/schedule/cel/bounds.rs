//! Keeps an expression from running for ever: every turn of a loop, and everything large that is made, is counted by
//! calls that are woven into the expression.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, operators};
use kube_cel::cel::objects::Value;
use kube_cel::cel::{Context, ExecutionError};

/// What one evaluation may spend: an element that is visited, or 16 bytes of text, is one.
const EVALUATION: u64 = 100_000;

/// What all expressions of a predicate may spend on one cluster.
const CLUSTER: u64 = 1_000_000;

/// The largest value that may be made on the way.
const LARGEST: u64 = 65_536;

const TURN: &str = "@turn";
const MADE: &str = "@made";
const EXHAUSTED: u64 = u64::MAX;

/// What is left to spend; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Budget(Arc<AtomicU64>);

impl Budget {
    /// What the expressions of a predicate may spend on a cluster.
    pub fn of_cluster() -> u64 {
        CLUSTER
    }

    /// Gives an evaluation what it may spend, and returns how much that is.
    pub(super) fn grant(&self, left: u64) -> u64 {
        let given = left.min(EVALUATION);
        self.0.store(given, Ordering::Relaxed);
        given
    }

    /// What is left; `None` if more was asked for, even if the evaluation did not mind.
    pub(super) fn left(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|left| *left != EXHAUSTED)
    }

    /// Takes what a value costs.
    pub(super) fn spend(&self, cost: u64) -> Result<(), ExecutionError> {
        let take = |left: u64| match left {
            EXHAUSTED => None,
            left => Some(left.checked_sub(cost).unwrap_or(EXHAUSTED)),
        };
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        match taken {
            Ok(before) if before >= cost => Ok(()),
            _ => Err(ExecutionError::function_error(
                "evaluation",
                "costs too much",
            )),
        }
    }
}

/// How large a value is; no larger than it takes to be too large.
pub(super) fn size(value: &Value) -> u64 {
    let mut total = 0;
    add(value, &mut total);
    total
}

fn add(value: &Value, total: &mut u64) {
    *total += 1;
    match value {
        _ if *total > LARGEST => {}
        Value::String(text) => *total += text.len() as u64 / 16,
        Value::Bytes(bytes) => *total += bytes.len() as u64 / 16,
        Value::List(list) => {
            for item in list.iter() {
                if *total > LARGEST {
                    return;
                }
                add(item, total);
            }
        }
        Value::Map(map) => {
            for item in map.map.values() {
                if *total > LARGEST {
                    return;
                }
                add(item, total);
            }
        }
        _ => {}
    }
}

/// Adds the functions that [`watch`] weaves in.
pub(super) fn register(context: &mut Context<'static>, budget: &Budget) {
    let turns = budget.clone();
    context.add_function(TURN, move |goes_on: bool, so_far: Value| {
        turns.spend(1 + size(&so_far)).map(|()| goes_on)
    });
    let made = budget.clone();
    context.add_function(MADE, move |value: Value| {
        let size = size(&value);
        let cost = if size > LARGEST { u64::MAX - 1 } else { size };
        made.spend(cost).map(|()| value)
    });
}

/// Counts the turns of every loop, and the size of what may become large; also mends what the evaluator gets wrong.
pub(super) fn watch(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Call(call) => {
            if let Some(target) = &mut call.target {
                watch(target);
            }
            call.args.iter_mut().for_each(watch);
            // The evaluator fails on an optional field that is absent; it does not on an optional index.
            if call.func_name == operators::OPT_SELECT {
                operators::OPT_INDEX.clone_into(&mut call.func_name);
            }
            let grows = matches!(
                call.func_name.as_str(),
                "_+_"
                    | "join"
                    | "format"
                    | "replace"
                    | "flatten"
                    | "split"
                    | "parseJSON"
                    | "lists.range"
                    | "range"
            );
            if grows {
                let made = std::mem::take(expression);
                *expression = called(MADE, vec![made]);
            }
        }
        Expr::Comprehension(loops) => {
            for part in [
                &mut loops.iter_range,
                &mut loops.accu_init,
                &mut loops.loop_cond,
                &mut loops.loop_step,
                &mut loops.result,
            ] {
                watch(part);
            }
            let condition = std::mem::take(&mut loops.loop_cond);
            let so_far = IdedExpr {
                id: 0,
                expr: Expr::Ident(loops.accu_var.clone()),
            };
            loops.loop_cond = called(TURN, vec![condition, so_far]);
        }
        Expr::Select(select) => watch(&mut select.operand),
        Expr::List(list) => list.elements.iter_mut().for_each(watch),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    watch(&mut entry.key);
                    watch(&mut entry.value);
                }
            }
        }
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => {}
    }
}

fn called(name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    IdedExpr {
        id: 0,
        expr: Expr::Call(CallExpr {
            func_name: name.to_owned(),
            target: None,
            args,
        }),
    }
}
