//! Checks an expression before it is evaluated.

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr};

use super::super::super::messages;
use super::functions;

/// The longest expression in bytes. An expression may hold as many elements as it has bytes, and loops multiply them.
const LONGEST: usize = 8 * 1024;

pub(super) fn length(text: &str) -> Result<(), String> {
    if text.len() > LONGEST {
        return Err(format!(
            "ERROR: <input>: expression code point size exceeds limit: size: {}, limit {LONGEST}",
            text.len()
        ));
    }
    Ok(())
}

/// Checks that all identifiers and functions of an expression exist.
pub(super) fn references(expression: &IdedExpr) -> Result<(), String> {
    walk(expression, &mut vec!["managedCluster"])
}

fn walk<'e>(expression: &'e IdedExpr, scope: &mut Vec<&'e str>) -> Result<(), String> {
    match &expression.expr {
        Expr::Ident(name) => known(name, scope),
        Expr::Literal(_) => Ok(()),
        Expr::Select(select) => walk(&select.operand, scope),
        Expr::List(list) => list
            .elements
            .iter()
            .try_for_each(|element| walk(element, scope)),
        Expr::Map(map) => map.entries.iter().try_for_each(|entry| match &entry.expr {
            EntryExpr::StructField(_) => Err(unsupported("struct fields")),
            EntryExpr::MapEntry(entry) => {
                walk(&entry.key, scope)?;
                walk(&entry.value, scope)
            }
        }),
        Expr::Call(call) => {
            let mut name = call.func_name.as_str();
            let mut target = call.target.as_deref();
            let qualified;
            if let Some(Expr::Ident(prefix)) = target.map(|target| &target.expr) {
                qualified = format!("{prefix}.{name}");
                if functions::exists(&qualified) {
                    name = &qualified;
                    target = None;
                }
            }
            if !functions::exists(name) {
                return Err(messages::undeclared(name));
            }
            if let Some(target) = target {
                walk(target, scope)?;
            }
            call.args.iter().try_for_each(|one| walk(one, scope))
        }
        Expr::Comprehension(loops) => {
            walk(&loops.iter_range, scope)?;
            walk(&loops.accu_init, scope)?;
            let outside = scope.len();
            scope.push(&loops.accu_var);
            walk(&loops.result, scope)?;
            scope.push(&loops.iter_var);
            scope.extend(loops.iter_var2.as_deref());
            walk(&loops.loop_cond, scope)?;
            walk(&loops.loop_step, scope)?;
            scope.truncate(outside);
            Ok(())
        }
        Expr::Struct(_) => Err(unsupported("struct literals")),
        Expr::Unspecified => Err(unsupported("an empty expression")),
    }
}

fn known(name: &str, scope: &[&str]) -> Result<(), String> {
    if scope.contains(&name) {
        return Ok(());
    }
    Err(messages::undeclared(name))
}

fn unsupported(what: &str) -> String {
    format!("ERROR: <input>: {what} cannot be evaluated")
}
