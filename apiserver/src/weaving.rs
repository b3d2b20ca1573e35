//! Counting what an expression costs by calls that are woven into it, because the evaluator counts nothing. Whoever
//! evaluates registers the functions that are called.

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr};

/// The largest value that may be made on the way: a value is one, and so are 16 bytes of text.
pub const LARGEST: u64 = 65_536;

/// How large a value is; no larger than it takes to be too large.
pub fn size(value: &Value) -> u64 {
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

/// Puts a call of `turn` into the condition of every loop, with the condition and what the loop has made so far, and
/// a call of what `counted` names around every call that it names one for. `counted` may change the call, too.
pub fn weave(
    expression: &mut IdedExpr,
    turn: &str,
    counted: &impl Fn(&mut CallExpr) -> Option<&'static str>,
) {
    let watch = |inner: &mut IdedExpr| weave(inner, turn, counted);
    match &mut expression.expr {
        Expr::Call(call) => {
            if let Some(target) = &mut call.target {
                watch(target);
            }
            call.args.iter_mut().for_each(watch);
            if let Some(name) = counted(call) {
                let made = std::mem::take(expression);
                *expression = called(name, vec![made]);
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
            loops.loop_cond = called(turn, vec![condition, so_far]);
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
