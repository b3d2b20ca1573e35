//! Operators and functions.

use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue};

use super::{Checked, Checker, clauses};
use crate::cel::expression::{Expression, Operator, Select};
use crate::cel::messages;
use crate::cel::signatures::{Overload, Result as Returns, overloads};
use crate::cel::types::{DURATION, TIMESTAMP, Type};
use crate::cel::value::Value;

impl Checker<'_> {
    pub(super) fn call(&mut self, call: &CallExpr) -> Checked {
        if let Some(checked) = self.operator(call) {
            return checked;
        }
        if let Some(checked) = self.macro_call(call) {
            return checked;
        }
        let Some(target) = &call.target else {
            return self.function(&call.func_name, None, &call.args);
        };
        match self.namespace(target) {
            Some(namespace) => {
                let name = format!("{namespace}.{}", call.func_name);
                self.function(&name, None, &call.args)
            }
            None => self.function(&call.func_name, Some(target), &call.args),
        }
    }

    fn operator(&mut self, call: &CallExpr) -> Option<Checked> {
        match (call.func_name.as_str(), call.args.as_slice()) {
            ("_&&_", [left, right]) => Some(self.logic(left, right, Expression::And)),
            ("_||_", [left, right]) => Some(self.logic(left, right, Expression::Or)),
            ("!_", [of]) => Some(
                self.logic_operand(of)
                    .map(|of| (Expression::Not(of), Type::Bool)),
            ),
            ("-_", [of]) => Some(self.negation(of)),
            ("_?_:_", [condition, one, other]) => Some(self.conditional(condition, one, other)),
            ("_[_]", [of, key]) => Some(self.index(of, key, Select::Value)),
            ("_[?_]", [of, key]) => Some(self.index(of, key, Select::Optional)),
            ("_?._", [of, field]) => match &field.expr {
                Expr::Literal(LiteralValue::String(name)) => {
                    Some(self.select(of, name.inner(), Select::Optional))
                }
                _ => Some(Err(messages::UNREADABLE.to_owned())),
            },
            (name, [left, right]) => {
                let operator = Operator::of_name(name)?;
                Some(self.binary(operator, left, right))
            }
            _ => None,
        }
    }

    fn logic_operand(&mut self, of: &IdedExpr) -> Result<Box<Expression>, String> {
        let (expression, of) = self.boxed(of)?;
        if of.fits(&Type::Bool) {
            return Ok(expression);
        }
        Err(messages::expected_type("bool", &of.to_string()))
    }

    fn logic(
        &mut self,
        left: &IdedExpr,
        right: &IdedExpr,
        of: fn(Box<Expression>, Box<Expression>) -> Expression,
    ) -> Checked {
        let left = self.logic_operand(left)?;
        let right = self.logic_operand(right)?;
        Ok((of(left, right), Type::Bool))
    }

    fn negation(&mut self, of: &IdedExpr) -> Checked {
        let (expression, of) = self.boxed(of)?;
        if matches!(of, Type::Int | Type::Double | Type::Dyn) {
            return Ok((Expression::Negate(expression), of));
        }
        Err(messages::no_overload("-_", &format!("({of})")))
    }

    fn conditional(&mut self, condition: &IdedExpr, one: &IdedExpr, other: &IdedExpr) -> Checked {
        let condition = self.logic_operand(condition)?;
        let (one, one_type) = self.expression(one)?;
        let (other, other_type) = self.expression(other)?;
        if !one_type.fits(&other_type) {
            let types = format!("(bool, {one_type}, {other_type})");
            return Err(messages::no_overload("_?_:_", &types));
        }
        let parts = Box::new([*condition, one, other]);
        Ok((Expression::If(parts), one_type.join(&other_type)))
    }

    fn function(
        &mut self,
        name: &str,
        target: Option<&IdedExpr>,
        arguments: &[IdedExpr],
    ) -> Checked {
        let overloads = overloads(name).ok_or_else(|| messages::undeclared(name))?;
        let (target, receiver) = match target {
            Some(target) => {
                let (target, of) = self.boxed(target)?;
                (Some(target), Some(of))
            }
            None => (None, None),
        };
        let was_mixed = self.is_mixed;
        self.is_mixed |= name == "format";
        let checked: Result<Vec<_>, String> = match (name, target.as_deref(), arguments) {
            ("format", Some(Expression::Literal(template)), [list]) => {
                self.formatted(template.as_str().unwrap_or_default(), list)
            }
            _ => arguments.iter().map(|one| self.expression(one)).collect(),
        };
        self.is_mixed = was_mixed;
        let (arguments, types): (Vec<_>, Vec<_>) = checked?.into_iter().unzip();
        let result = result_type(&overloads, receiver.as_ref(), &types)
            .ok_or_else(|| messages::no_overload(name, &shown(receiver.as_ref(), &types)))?;
        check_constants(name, &arguments)?;
        let call = Expression::Call {
            name: name.to_owned(),
            target,
            arguments,
        };
        Ok((call, result))
    }

    /// The argument of `format`; of a list it can be seen whether it fits the template.
    fn formatted(
        &mut self,
        template: &str,
        list: &IdedExpr,
    ) -> Result<Vec<(Expression, Type)>, String> {
        let elements = match &list.expr {
            Expr::List(elements) if elements.optional_indices.is_empty() => &elements.elements,
            _ => return Ok(vec![self.expression(list)?]),
        };
        let elements: Vec<(&IdedExpr, bool)> = elements.iter().map(|one| (one, false)).collect();
        let (items, types) = self.elements(&elements)?;
        if let Some(problem) = clauses::problem(template, &types) {
            return Err(problem);
        }
        Ok(vec![(Expression::List(items), Type::list(Type::Dyn))])
    }
}

/// Literals that can be seen to be wrong.
fn check_constants(name: &str, arguments: &[Expression]) -> Result<(), String> {
    let is_negative = match arguments {
        [Expression::Negate(of)] => matches!(**of, Expression::Literal(_)),
        [Expression::Literal(Value::Int(value))] => *value < 0,
        _ => false,
    };
    if name == "uint" && is_negative {
        return Err(messages::invalid_argument(name));
    }
    let [.., Expression::Literal(value)] = arguments else {
        return Ok(());
    };
    let Some(text) = value.as_str() else {
        return Ok(());
    };
    let is_wrong = match name {
        "matches" => reeve_go_compat::regexp::Regexp::compile(text.as_bytes()).is_err(),
        "duration" | "timestamp" | "quantity" | "ip" | "cidr" | "url" | "semver" | "int"
        | "uint" | "double" | "bool"
            if arguments.len() == 1 =>
        {
            crate::cel::evaluate::constant_fails(name, text)
        }
        _ => false,
    };
    if is_wrong {
        return Err(messages::invalid_argument(name));
    }
    Ok(())
}

fn shown(receiver: Option<&Type>, arguments: &[Type]) -> String {
    let receiver = receiver.map(|of| format!("{of}.")).unwrap_or_default();
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    format!("{receiver}({})", arguments.join(", "))
}

fn result_type(
    overloads: &[Overload],
    receiver: Option<&Type>,
    arguments: &[Type],
) -> Option<Type> {
    let mut found: Option<Type> = None;
    for overload in overloads {
        let has_receiver = match (&overload.receiver, receiver) {
            (Some(wanted), Some(given)) => wanted.fits(given),
            (None, None) => true,
            _ => false,
        };
        let takes = overload.arguments.len() == arguments.len()
            && overload
                .arguments
                .iter()
                .zip(arguments)
                .all(|(wanted, given)| wanted.fits(given));
        if has_receiver && takes {
            let returned = returned(&overload.result, receiver, arguments);
            found = Some(match found {
                Some(other) => other.join(&returned),
                None => returned,
            });
        }
    }
    found
}

fn returned(result: &Returns, receiver: Option<&Type>, arguments: &[Type]) -> Type {
    let element = || match receiver {
        Some(Type::List(of) | Type::Optional(of)) => (**of).clone(),
        _ => Type::Dyn,
    };
    match result {
        Returns::Fixed(of) => of.clone(),
        Returns::Receiver => receiver.cloned().unwrap_or(Type::Dyn),
        Returns::Element => element(),
        Returns::OptionalElement => Type::optional(element()),
        Returns::OptionalArgument => {
            Type::optional(arguments.first().cloned().unwrap_or(Type::Dyn))
        }
        Returns::Held => match (element(), arguments.first()) {
            (Type::Dyn, Some(default)) => default.clone(),
            (held, _) => held,
        },
    }
}

/// The type of the result of an operator; none if it has no overload for the operands.
pub(super) fn binary_type(operator: Operator, left: &Type, right: &Type) -> Option<Type> {
    match operator {
        Operator::Equal | Operator::NotEqual => left.fits(right).then_some(Type::Bool),
        Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual => {
            let is_ordered = |of: &Type| {
                of.is_dyn()
                    || of.is_number()
                    || matches!(of, Type::String | Type::Bytes | Type::Bool)
                    || *of == TIMESTAMP
                    || *of == DURATION
            };
            let fits = left.fits(right) || (left.is_number() && right.is_number());
            (is_ordered(left) && is_ordered(right) && fits).then_some(Type::Bool)
        }
        Operator::In => {
            let fits = match right {
                Type::Dyn => true,
                Type::List(of) | Type::Map(of, _) => of.fits(left),
                _ => false,
            };
            fits.then_some(Type::Bool)
        }
        Operator::Add => added_type(left, right),
        Operator::Subtract if *left == TIMESTAMP && *right == TIMESTAMP => Some(DURATION),
        Operator::Subtract if *left == TIMESTAMP && *right == DURATION => Some(TIMESTAMP),
        Operator::Subtract if *left == DURATION && *right == DURATION => Some(DURATION),
        Operator::Subtract | Operator::Multiply | Operator::Divide => {
            arithmetic_type(left, right, Type::is_number)
        }
        Operator::Modulo => arithmetic_type(left, right, |of| matches!(of, Type::Int | Type::UInt)),
    }
}

fn arithmetic_type(left: &Type, right: &Type, has: impl Fn(&Type) -> bool) -> Option<Type> {
    match (left, right) {
        (Type::Dyn, Type::Dyn) => Some(Type::Dyn),
        (Type::Dyn, of) | (of, Type::Dyn) if has(of) => Some(of.clone()),
        (of, Type::Dyn) | (Type::Dyn, of) if *of == TIMESTAMP || *of == DURATION => Some(Type::Dyn),
        (left, right) if left == right && has(left) => Some(left.clone()),
        _ => None,
    }
}

fn added_type(left: &Type, right: &Type) -> Option<Type> {
    match (left, right) {
        (Type::List(one), Type::List(other)) if one.fits(other) => {
            Some(Type::list((**one).clone().join(other)))
        }
        (Type::List(_), Type::Dyn) | (Type::Dyn, Type::List(_)) => Some(Type::list(Type::Dyn)),
        (one, other)
            if (*one == TIMESTAMP && *other == DURATION)
                || (*one == DURATION && *other == TIMESTAMP) =>
        {
            Some(TIMESTAMP)
        }
        (one, other) if *one == DURATION && *other == DURATION => Some(DURATION),
        _ => arithmetic_type(left, right, |of| {
            of.is_number() || matches!(of, Type::String | Type::Bytes)
        }),
    }
}
