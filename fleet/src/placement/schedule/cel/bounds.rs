//! Bounds the run time of an expression: calls that are inserted into the expression count every iteration of a loop
//! and every large value.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kube_cel::cel::common::ast::{IdedExpr, operators};
use kube_cel::cel::objects::Value;
use kube_cel::cel::{Context, ExecutionError};
use reeve_apiserver::cel::{MAX_VALUE_SIZE, instrument, value_size};

/// The budget of one evaluation: a visited element costs one, as do 16 bytes of text.
const EVALUATION: u64 = 100_000;

/// The budget of all expressions of a predicate for one cluster.
const CLUSTER: u64 = 1_000_000;

const TURN: &str = "@turn";
const MADE: &str = "@made";
const EXHAUSTED: u64 = u64::MAX;

/// The remaining budget; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Budget(Arc<AtomicU64>);

impl Budget {
    /// The budget of a predicate's expressions for one cluster.
    pub fn of_cluster() -> u64 {
        CLUSTER
    }

    /// Sets the budget of one evaluation, and returns it.
    pub(super) fn grant(&self, left: u64) -> u64 {
        let given = left.min(EVALUATION);
        self.0.store(given, Ordering::Relaxed);
        given
    }

    /// The remaining budget; `None` if it was exceeded, even if the expression ignored the error.
    pub(super) fn left(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|left| *left != EXHAUSTED)
    }

    /// Subtracts the cost of a value.
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

/// Registers the functions that [`watch`] inserts.
pub(super) fn register(context: &mut Context<'static>, budget: &Budget) {
    let turns = budget.clone();
    context.add_function(TURN, move |goes_on: bool, so_far: Value| {
        turns.spend(1 + value_size(&so_far)).map(|()| goes_on)
    });
    let made = budget.clone();
    context.add_function(MADE, move |value: Value| {
        let size = value_size(&value);
        let cost = if size > MAX_VALUE_SIZE {
            u64::MAX - 1
        } else {
            size
        };
        made.spend(cost).map(|()| value)
    });
}

/// Inserts the calls that count iterations and the size of large values, and corrects what the evaluator gets wrong.
pub(super) fn watch(expression: &mut IdedExpr) {
    instrument(expression, TURN, &|call| {
        // The evaluator fails on an absent optional field, but not on an absent optional index.
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
        grows.then_some(MADE)
    });
}
