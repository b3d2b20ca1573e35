//! Macros: those that the parser expands, which are recognised, and those that it does not know.

use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue};

use super::{Checked, Checker};
use crate::cel::expression::{Expression, Loop, LoopKind};
use crate::cel::messages;
use crate::cel::types::Type;

/// A macro as it was written.
struct Written<'s> {
    kind: LoopKind,
    range: &'s IdedExpr,
    variables: Vec<&'s str>,
    condition: Option<&'s IdedExpr>,
    body: &'s IdedExpr,
}

impl Checker<'_> {
    /// A macro that the parser expanded.
    pub(super) fn comprehension(&mut self, expanded: &ComprehensionExpr) -> Checked {
        let written = recognised(expanded).ok_or_else(|| messages::UNREADABLE.to_owned())?;
        self.written(&written)
    }

    /// A macro that the parser left as a call.
    pub(super) fn macro_call(&mut self, call: &CallExpr) -> Option<Checked> {
        let range = call.target.as_deref()?;
        let (kind, is_pair) = match (call.func_name.as_str(), call.args.len()) {
            ("all", 3) => (LoopKind::All, true),
            ("exists", 3) => (LoopKind::Exists, true),
            ("existsOne" | "exists_one", 3) => (LoopKind::ExistsOne, true),
            ("transformList", 3 | 4) => (LoopKind::Map, true),
            ("transformMap", 3 | 4) => (LoopKind::TransformMap, true),
            ("transformMapEntry", 3 | 4) => (LoopKind::TransformMapEntry, true),
            ("sortBy", 2) => (LoopKind::SortBy, false),
            ("optMap", 2) => return Some(self.optional_map(range, &call.args, false)),
            ("optFlatMap", 2) => return Some(self.optional_map(range, &call.args, true)),
            _ => return None,
        };
        let (names, rest) = call.args.split_at(if is_pair { 2 } else { 1 });
        let variables: Option<Vec<&str>> = names.iter().map(identifier).collect();
        let Some(variables) = variables else {
            return Some(Err(messages::NOT_A_NAME.to_owned()));
        };
        let (condition, body) = match rest {
            [body] => (None, body),
            [condition, body] => (Some(condition), body),
            _ => return None,
        };
        Some(self.written(&Written {
            kind,
            range,
            variables,
            condition,
            body,
        }))
    }

    fn written(&mut self, written: &Written<'_>) -> Checked {
        let (range, range_type) = self.expression(written.range)?;
        let has_pair = written.variables.len() == 2;
        let types = match (&range_type, has_pair) {
            (Type::Dyn, _) => [Type::Dyn, Type::Dyn],
            (Type::List(of), false) => [(**of).clone(), Type::Dyn],
            (Type::List(of), true) => [Type::Int, (**of).clone()],
            (Type::Map(key, value), _) => [(**key).clone(), (**value).clone()],
            (other, _) => return Err(messages::not_iterable(&other.to_string())),
        };
        let depth = self.locals.len();
        let names = written.variables.iter().zip(types);
        let names = names.map(|(name, of)| ((*name).to_owned(), of));
        self.locals.extend(names);
        let condition = written
            .condition
            .map(|one| self.expression(one))
            .transpose();
        let body = self.expression(written.body);
        self.locals.truncate(depth);
        let condition = condition?;
        let (body, body_type) = body?;
        let is_predicate = matches!(
            written.kind,
            LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne | LoopKind::Filter
        );
        let conditions = condition.iter().map(|(_, of)| of);
        let mut predicates = conditions.chain(is_predicate.then_some(&body_type));
        if let Some(wrong) = predicates.find(|of| !of.fits(&Type::Bool)) {
            return Err(messages::expected_type("bool", &wrong.to_string()));
        }
        let result = match (written.kind, &range_type) {
            (LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne, _) => Type::Bool,
            (LoopKind::Map, _) => Type::list(body_type),
            (LoopKind::Filter | LoopKind::SortBy, Type::Map(key, _)) => Type::list((**key).clone()),
            (LoopKind::Filter | LoopKind::SortBy, Type::Dyn) => Type::list(Type::Dyn),
            (LoopKind::Filter | LoopKind::SortBy, _) => range_type,
            (LoopKind::TransformMap, Type::Map(key, _)) => Type::map((**key).clone(), body_type),
            (LoopKind::TransformMap, Type::List(_)) => Type::map(Type::Int, body_type),
            (LoopKind::TransformMap, _) => Type::map(Type::Dyn, body_type),
            (LoopKind::TransformMapEntry, _) => body_type,
        };
        let made = Loop {
            kind: written.kind,
            range,
            has_pair,
            condition: condition.map(|(condition, _)| condition),
            body,
        };
        Ok((Expression::Loop(Box::new(made)), result))
    }

    fn optional_map(&mut self, of: &IdedExpr, arguments: &[IdedExpr], is_flat: bool) -> Checked {
        let (optional, of_type) = self.boxed(of)?;
        let held = match of_type {
            Type::Optional(held) => *held,
            Type::Dyn => Type::Dyn,
            other => {
                let types = format!("{other}.(dyn)");
                return Err(messages::no_overload("optMap", &types));
            }
        };
        let [name, body] = arguments else {
            return Err(messages::UNREADABLE.to_owned());
        };
        let name = identifier(name).ok_or_else(|| messages::NOT_A_NAME.to_owned())?;
        self.locals.push((name.to_owned(), held));
        let body = self.boxed(body);
        self.locals.pop();
        let (body, body_type) = body?;
        let result = if is_flat {
            body_type
        } else {
            Type::optional(body_type)
        };
        let made = Expression::OptionalMap {
            optional,
            body,
            is_flat,
        };
        Ok((made, result))
    }
}

fn identifier(syntax: &IdedExpr) -> Option<&str> {
    match &syntax.expr {
        Expr::Ident(name) => Some(name),
        _ => None,
    }
}

/// The macro whose expansion this is.
fn recognised(expanded: &ComprehensionExpr) -> Option<Written<'_>> {
    let Expr::Call(step) = &expanded.loop_step.expr else {
        return None;
    };
    let variable = expanded.iter_var.as_str();
    let written = |kind, condition, body| Written {
        kind,
        range: &expanded.iter_range,
        variables: vec![variable],
        condition,
        body,
    };
    let has_flag = matches!(
        expanded.accu_init.expr,
        Expr::Literal(LiteralValue::Boolean(_))
    );
    match (step.func_name.as_str(), step.args.as_slice()) {
        ("_&&_", [_, predicate]) if has_flag => Some(written(LoopKind::All, None, predicate)),
        ("_||_", [_, predicate]) if has_flag => Some(written(LoopKind::Exists, None, predicate)),
        ("_+_", [_, element]) => Some(written(LoopKind::Map, None, single(element)?)),
        ("_?_:_", [predicate, step, _]) => {
            let Expr::Call(add) = &step.expr else {
                return None;
            };
            let [_, added] = add.args.as_slice() else {
                return None;
            };
            let Some(element) = single(added) else {
                return Some(written(LoopKind::ExistsOne, None, predicate));
            };
            if identifier(element) == Some(variable) {
                return Some(written(LoopKind::Filter, None, predicate));
            }
            Some(written(LoopKind::Map, Some(predicate), element))
        }
        _ => None,
    }
}

/// The element of a list of one.
fn single(syntax: &IdedExpr) -> Option<&IdedExpr> {
    match &syntax.expr {
        Expr::List(list) => match list.elements.as_slice() {
            [element] => Some(element),
            _ => None,
        },
        _ => None,
    }
}
