//! Instruments expressions with calls that count their cost, because the evaluator counts nothing.

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr};

/// The maximum size of an intermediate value. A value has size 1, and so have 16 bytes of text.
pub(super) const MAX_VALUE_SIZE: u64 = 65_536;

/// The size of a value. Counting stops once it is above [`MAX_VALUE_SIZE`].
pub(super) fn value_size(value: &Value) -> u64 {
    let mut total = 0;
    add(value, &mut total);
    total
}

fn add(value: &Value, total: &mut u64) {
    *total += 1;
    match value {
        Value::String(text) => *total += text.len() as u64 / 16,
        Value::Bytes(bytes) => *total += bytes.len() as u64 / 16,
        Value::List(list) => {
            for item in list.iter() {
                if *total > MAX_VALUE_SIZE {
                    return;
                }
                add(item, total);
            }
        }
        Value::Map(map) => {
            for item in map.map.values() {
                if *total > MAX_VALUE_SIZE {
                    return;
                }
                add(item, total);
            }
        }
        _ => {}
    }
}

/// Replaces the condition of every loop by a call of `on_iteration` with the condition and the accumulator, and wraps
/// every call for which `wrapper` names a function in a call of it. `wrapper` may also change the call.
pub(super) fn instrument(
    expression: &mut IdedExpr,
    on_iteration: &str,
    wrapper: &impl Fn(&mut CallExpr) -> Option<&'static str>,
) {
    let recurse = |inner: &mut IdedExpr| instrument(inner, on_iteration, wrapper);
    match &mut expression.expr {
        Expr::Call(call) => {
            if let Some(target) = &mut call.target {
                recurse(target);
            }
            call.args.iter_mut().for_each(recurse);
            if let Some(name) = wrapper(call) {
                let made = std::mem::take(expression);
                *expression = call_of(name, vec![made]);
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
                recurse(part);
            }
            let condition = std::mem::take(&mut loops.loop_cond);
            let accumulator = IdedExpr {
                id: 0,
                expr: Expr::Ident(loops.accu_var.clone()),
            };
            loops.loop_cond = call_of(on_iteration, vec![condition, accumulator]);
        }
        Expr::Select(select) => recurse(&mut select.operand),
        Expr::List(list) => list.elements.iter_mut().for_each(recurse),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    recurse(&mut entry.key);
                    recurse(&mut entry.value);
                }
            }
        }
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => {}
    }
}

fn call_of(name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    IdedExpr {
        id: 0,
        expr: Expr::Call(CallExpr {
            func_name: name.to_owned(),
            target: None,
            args,
        }),
    }
}
