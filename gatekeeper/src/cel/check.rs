//! Checks a parsed expression, and makes of it what is evaluated.

mod calls;
mod clauses;
mod loops;

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};

use super::expression::{Entry, Expression, Item, Operator, Root, Select};
use super::parse;
use super::signatures::{is_namespace, type_name};
use super::types::{REQUEST, Type};
use super::value::Value;
use crate::cel::messages;

/// The maximum depth of an expression: checking and evaluation recurse.
const MAX_DEPTH: usize = 120;

/// What an expression may refer to.
#[derive(Debug, Default)]
pub struct Environment {
    /// The variables that are declared before it; those that do not compile have the error.
    pub variables: Vec<(String, Result<Type, String>)>,
    /// Whether it sees `params`, the whole constraint.
    pub has_constraint: bool,
}

pub type Checked = Result<(Expression, Type), String>;

/// Parses and checks an expression.
pub fn check(text: &str, environment: &Environment) -> Checked {
    parse::with_syntax(text, |syntax| {
        let mut checker = Checker {
            environment,
            locals: Vec::new(),
            depth: 0,
            is_mixed: false,
        };
        checker.expression(syntax)
    })
}

/// Like [`check`], for a boolean.
pub fn check_bool(text: &str, environment: &Environment) -> Result<Expression, String> {
    match check(text, environment)? {
        (expression, Type::Bool) => Ok(expression),
        (_, other) => Err(messages::not_of_type("bool", &other.to_string())),
    }
}

/// Like [`check`], for a string.
pub fn check_string(text: &str, environment: &Environment) -> Result<Expression, String> {
    match check(text, environment)? {
        (expression, Type::String) => Ok(expression),
        (_, other) => Err(messages::not_of_type("string", &other.to_string())),
    }
}

struct Checker<'e> {
    environment: &'e Environment,
    locals: Vec<(String, Type)>,
    depth: usize,
    /// Whether list and map literals may hold values of several types: within the arguments of `format`.
    is_mixed: bool,
}

impl Checker<'_> {
    fn expression(&mut self, syntax: &IdedExpr) -> Checked {
        if self.depth >= MAX_DEPTH {
            return Err(messages::too_deep(MAX_DEPTH));
        }
        self.depth += 1;
        let checked = self.node(syntax);
        self.depth -= 1;
        checked
    }

    fn boxed(&mut self, syntax: &IdedExpr) -> Result<(Box<Expression>, Type), String> {
        let (expression, of) = self.expression(syntax)?;
        Ok((Box::new(expression), of))
    }

    fn node(&mut self, syntax: &IdedExpr) -> Checked {
        match &syntax.expr {
            Expr::Literal(literal) => Ok(literal_of(literal)),
            Expr::Ident(name) => self.identifier(name),
            Expr::Select(select) => {
                let how = if select.test {
                    Select::Presence
                } else {
                    Select::Value
                };
                self.select(&select.operand, &select.field, how)
            }
            Expr::List(list) => {
                let elements = list.elements.iter().enumerate();
                let elements: Vec<(&IdedExpr, bool)> = elements
                    .map(|(index, one)| (one, list.optional_indices.contains(&index)))
                    .collect();
                self.list(&elements)
            }
            Expr::Map(map) => self.map(&map.entries),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(made) => Err(messages::undeclared(&made.type_name)),
            Expr::Unspecified => Err(messages::UNREADABLE.to_owned()),
        }
    }

    fn identifier(&mut self, name: &str) -> Checked {
        let local = self.locals.iter().rposition(|(local, _)| local == name);
        if let Some((place, (_, of))) =
            local.and_then(|place| Some((place, self.locals.get(place)?)))
        {
            return Ok((Expression::Local(place), of.clone()));
        }
        let root = match name {
            "object" => Root::Object,
            "oldObject" => Root::OldObject,
            "namespaceObject" => Root::NamespaceObject,
            "request" => return Ok((Expression::Root(Root::Request), Type::Struct(&REQUEST))),
            "params" if self.environment.has_constraint => Root::Constraint,
            _ => {
                let name = type_name(name).ok_or_else(|| messages::undeclared(name))?;
                return Ok((Expression::Literal(Value::Type(name)), Type::Meta));
            }
        };
        Ok((Expression::Root(root), Type::Dyn))
    }

    /// Whether it is the name of a variable of a loop or of the environment.
    fn is_variable(&self, name: &str) -> bool {
        self.locals.iter().any(|(local, _)| local == name)
            || [
                "object",
                "oldObject",
                "namespaceObject",
                "request",
                "variables",
            ]
            .contains(&name)
            || (name == "params" && self.environment.has_constraint)
    }

    fn select(&mut self, operand: &IdedExpr, field: &str, how: Select) -> Checked {
        if let Expr::Ident(name) = &operand.expr
            && name == "variables"
            && !self.locals.iter().any(|(local, _)| local == name)
        {
            return self.variable(field, how);
        }
        let (operand, of) = self.boxed(operand)?;
        let found = field_type(&of, field)?;
        let found = match how {
            Select::Presence => Type::Bool,
            Select::Optional => Type::optional(found),
            Select::Value if matches!(of, Type::Optional(_)) => Type::optional(found),
            Select::Value => found,
        };
        Ok((Expression::Select(operand, field.to_owned(), how), found))
    }

    fn variable(&mut self, name: &str, how: Select) -> Checked {
        let (expression, of) = match name {
            "params" => (Expression::Root(Root::Parameters), Type::Dyn),
            "anyObject" => (Expression::Root(Root::AnyObject), Type::Dyn),
            _ => {
                let variables = &self.environment.variables;
                let place = variables.iter().rposition(|(one, _)| one == name);
                let place = place.ok_or_else(|| messages::undefined_field(name))?;
                let of = variables.get(place).map_or(&Ok(Type::Dyn), |(_, of)| of);
                let of = of
                    .as_ref()
                    .map_err(|error| messages::variable_not_compiled(name, error))?;
                (Expression::Variable(place), of.clone())
            }
        };
        Ok(match how {
            // The variables are declared, so they are present.
            Select::Presence => (Expression::Literal(Value::Bool(true)), Type::Bool),
            Select::Value => (expression, of),
            Select::Optional => {
                let call = Expression::Call {
                    name: "optional.of".to_owned(),
                    target: None,
                    arguments: vec![expression],
                };
                (call, Type::optional(of))
            }
        })
    }

    fn list(&mut self, elements: &[(&IdedExpr, bool)]) -> Checked {
        let (items, types) = self.elements(elements)?;
        let mut common: Option<Type> = None;
        for of in types {
            common = Some(self.unify(common, of)?);
        }
        Ok((
            Expression::List(items),
            Type::list(common.unwrap_or(Type::Dyn)),
        ))
    }

    fn elements(
        &mut self,
        elements: &[(&IdedExpr, bool)],
    ) -> Result<(Vec<Item>, Vec<Type>), String> {
        let mut items = Vec::with_capacity(elements.len());
        let mut types = Vec::with_capacity(elements.len());
        for (element, is_optional) in elements {
            let (value, of) = self.expression(element)?;
            types.push(match of {
                Type::Optional(inner) if *is_optional => *inner,
                other => other,
            });
            items.push(Item {
                value,
                is_optional: *is_optional,
            });
        }
        Ok((items, types))
    }

    fn unify(&self, common: Option<Type>, of: Type) -> Result<Type, String> {
        match common {
            None => Ok(of),
            Some(common) if common.fits(&of) || self.is_mixed => Ok(common.join(&of)),
            Some(common) => Err(messages::expected_type(
                &common.to_string(),
                &of.to_string(),
            )),
        }
    }

    fn map(&mut self, entries: &[kube_cel::cel::common::ast::IdedEntryExpr]) -> Checked {
        let mut made = Vec::with_capacity(entries.len());
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(messages::UNREADABLE.to_owned());
            };
            let (key, key_type) = self.expression(&entry.key)?;
            let (value, value_type) = self.expression(&entry.value)?;
            let value_type = match value_type {
                Type::Optional(inner) if entry.optional => *inner,
                other => other,
            };
            keys = Some(self.unify(keys, key_type)?);
            values = Some(self.unify(values, value_type)?);
            made.push(Entry {
                key,
                value,
                is_optional: entry.optional,
            });
        }
        let of = Type::map(keys.unwrap_or(Type::Dyn), values.unwrap_or(Type::Dyn));
        Ok((Expression::Map(made), of))
    }

    fn index(&mut self, of: &IdedExpr, key: &IdedExpr, how: Select) -> Checked {
        let (of, of_type) = self.boxed(of)?;
        let (key, key_type) = self.boxed(key)?;
        let found = element_type(&of_type, &key_type)
            .ok_or_else(|| messages::no_overload("_[_]", &format!("({of_type}, {key_type})")))?;
        let found = match (how, &of_type) {
            (Select::Optional, _) | (_, Type::Optional(_)) => Type::optional(found),
            _ => found,
        };
        Ok((Expression::Index(of, key, how), found))
    }

    fn binary(&mut self, operator: Operator, left: &IdedExpr, right: &IdedExpr) -> Checked {
        let (left, left_type) = self.boxed(left)?;
        let (right, right_type) = self.boxed(right)?;
        let result = calls::binary_type(operator, &left_type, &right_type).ok_or_else(|| {
            messages::no_overload(operator.name(), &format!("({left_type}, {right_type})"))
        })?;
        Ok((Expression::Binary(operator, left, right), result))
    }

    /// A static name such as `optional` in `optional.of`.
    fn namespace<'s>(&self, target: &'s IdedExpr) -> Option<&'s str> {
        match &target.expr {
            Expr::Ident(name) if is_namespace(name) && !self.is_variable(name) => Some(name),
            _ => None,
        }
    }
}

fn literal_of(literal: &LiteralValue) -> (Expression, Type) {
    let (value, of) = match literal {
        LiteralValue::Boolean(value) => (Value::Bool(*value.inner()), Type::Bool),
        LiteralValue::Bytes(value) => (
            Value::Bytes(std::sync::Arc::new(value.inner().to_vec())),
            Type::Bytes,
        ),
        LiteralValue::Double(value) => (Value::Double(*value.inner()), Type::Double),
        LiteralValue::Int(value) => (Value::Int(*value.inner()), Type::Int),
        LiteralValue::Null => (Value::Null, Type::Null),
        LiteralValue::String(value) => (Value::text(value.inner()), Type::String),
        LiteralValue::UInt(value) => (Value::UInt(*value.inner()), Type::UInt),
    };
    (Expression::Literal(value), of)
}

fn field_type(of: &Type, field: &str) -> Result<Type, String> {
    match of {
        Type::Dyn => Ok(Type::Dyn),
        Type::Map(key, value) if key.fits(&Type::String) => Ok((**value).clone()),
        Type::Struct(of) => of
            .field(field)
            .ok_or_else(|| messages::undefined_field(field)),
        Type::Optional(of) => field_type(of, field),
        other => Err(messages::no_fields(&other.to_string())),
    }
}

fn element_type(of: &Type, key: &Type) -> Option<Type> {
    match of {
        Type::Dyn => Some(Type::Dyn),
        Type::List(element) if key.fits(&Type::Int) => Some((**element).clone()),
        Type::Map(of_key, value) if key.fits(of_key) => Some((**value).clone()),
        Type::Optional(of) => element_type(of, key),
        _ => None,
    }
}
