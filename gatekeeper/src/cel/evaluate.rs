//! Evaluation of checked expressions, with a budget.

mod arithmetic;
mod collections;
mod conversions;
mod foreign;
mod format;
mod formats;
mod functions;
mod loops;
mod strings;
mod versions;

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use super::error::{EvalError, Evaluated};
use super::expression::{Expression, Operator, Root, Select};
use super::value::{BYTES_OF_A_UNIT, List, Map, Value};

pub use foreign::constant_fails;

/// What one expression may cost: a unit for each part that is evaluated, and for some bytes or elements of what is made.
const EXPRESSION_COST: u64 = 2_000_000;
/// What all expressions for one object may cost.
const OBJECT_COST: u64 = 20_000_000;
/// How deep variables may use each other.
const MAX_VARIABLES_DEPTH: usize = 32;
/// What the expressions of a template see of one object.
pub struct Scope<'a> {
    pub object: Value<'a>,
    pub old_object: Value<'a>,
    pub request: Value<'a>,
    pub namespace_object: Value<'a>,
    pub constraint: Value<'a>,
    pub parameters: Value<'a>,
    pub variables: &'a [(String, Expression)],
    /// The values of the variables that have been used.
    memo: Vec<OnceCell<Evaluated<'a>>>,
    /// What is left for the current expression, and for the object.
    left: Cell<u64>,
    total: Cell<u64>,
    depth: Cell<usize>,
}

impl<'a> Scope<'a> {
    pub fn new(roots: [Value<'a>; 6], variables: &'a [(String, Expression)]) -> Self {
        let [
            object,
            old_object,
            request,
            namespace_object,
            constraint,
            parameters,
        ] = roots;
        Self {
            object,
            old_object,
            request,
            namespace_object,
            constraint,
            parameters,
            variables,
            memo: variables.iter().map(|_| OnceCell::new()).collect(),
            left: Cell::new(0),
            total: Cell::new(OBJECT_COST),
            depth: Cell::new(0),
        }
    }

    /// The value of an expression.
    pub fn evaluate(&self, expression: &'a Expression) -> Evaluated<'a> {
        self.left.set(EXPRESSION_COST);
        Evaluator {
            scope: self,
            locals: Vec::new(),
        }
        .value(expression)
    }

    fn spend(&self, units: usize) -> Result<(), EvalError> {
        let units = u64::try_from(units).unwrap_or(u64::MAX);
        let left = self.left.get().checked_sub(units);
        let total = self.total.get().checked_sub(units);
        let (Some(left), Some(total)) = (left, total) else {
            // The rest of the expression must not go on either, where an error is ignored.
            self.left.set(0);
            return Err(EvalError::cost_exceeded());
        };
        self.left.set(left);
        self.total.set(total);
        Ok(())
    }

    /// Charges for going through all of a value, as often as `times`.
    fn spend_on(&self, value: &Value<'_>, times: usize) -> Result<(), EvalError> {
        self.spend(self.cost(value).saturating_mul(times))
    }

    /// What it costs to go through all of a value; more than is left if that is not enough.
    fn cost(&self, value: &Value<'_>) -> usize {
        let cost = value.cost(self.left.get().saturating_add(1));
        usize::try_from(cost).unwrap_or(usize::MAX)
    }

    fn variable(&self, place: usize) -> Evaluated<'a> {
        let (Some((name, expression)), Some(cell)) =
            (self.variables.get(place), self.memo.get(place))
        else {
            return Err(EvalError::no_such_key(place));
        };
        if let Some(known) = cell.get() {
            return known.clone();
        }
        if self.depth.get() >= MAX_VARIABLES_DEPTH {
            return Err(EvalError::cost_exceeded());
        }
        self.depth.set(self.depth.get() + 1);
        let mut evaluator = Evaluator {
            scope: self,
            locals: Vec::new(),
        };
        let value = evaluator.value(expression);
        self.depth.set(self.depth.get() - 1);
        let value = value.map_err(|error| error.in_variable(name));
        cell.get_or_init(|| value).clone()
    }
}

struct Evaluator<'s, 'a> {
    scope: &'s Scope<'a>,
    locals: Vec<Value<'a>>,
}

impl<'a> Evaluator<'_, 'a> {
    fn value(&mut self, expression: &'a Expression) -> Evaluated<'a> {
        self.scope.spend(1)?;
        match expression {
            Expression::Literal(value) => Ok(value.clone()),
            Expression::Local(place) => {
                let value = self.locals.get(*place).cloned();
                value.ok_or_else(|| EvalError::no_such_key(place))
            }
            Expression::Root(root) => Ok(self.root(*root)),
            Expression::Variable(place) => self.scope.variable(*place),
            Expression::Select(operand, field, how) => {
                let operand = self.value(operand)?;
                if let Value::Map(Map::Shared(map)) = &operand {
                    self.scope.spend(map.len())?;
                }
                select(&operand, field, *how)
            }
            Expression::Index(operand, key, how) => {
                let operand = self.value(operand)?;
                let key = self.value(key)?;
                if let Value::Map(map) = &operand {
                    self.search(map, &key)?;
                }
                index(&operand, &key, *how)
            }
            Expression::List(items) => self.list(items),
            Expression::Map(entries) => self.map(entries),
            Expression::And(left, right) => self.logic(left, right, false),
            Expression::Or(left, right) => self.logic(left, right, true),
            Expression::Not(of) => match self.value(of)? {
                Value::Bool(value) => Ok(Value::Bool(!value)),
                _ => Err(EvalError::no_overload()),
            },
            Expression::Negate(of) => arithmetic::negate(&self.value(of)?),
            Expression::If(parts) => {
                let [condition, one, other] = &**parts;
                match self.value(condition)? {
                    Value::Bool(true) => self.value(one),
                    Value::Bool(false) => self.value(other),
                    _ => Err(EvalError::no_overload()),
                }
            }
            Expression::Binary(operator, left, right) => {
                let left = self.value(left)?;
                let right = self.value(right)?;
                self.binary(*operator, &left, &right)
            }
            Expression::Call {
                name,
                target,
                arguments,
            } => self.call(name, target.as_deref(), arguments),
            Expression::Loop(of) => self.run_loop(of),
            Expression::OptionalMap {
                optional,
                body,
                is_flat,
            } => self.optional_map(optional, body, *is_flat),
        }
    }

    fn root(&self, root: Root) -> Value<'a> {
        let scope = self.scope;
        match root {
            Root::Object => scope.object.clone(),
            Root::OldObject => scope.old_object.clone(),
            Root::Request => scope.request.clone(),
            Root::NamespaceObject => scope.namespace_object.clone(),
            Root::Constraint => scope.constraint.clone(),
            Root::Parameters => scope.parameters.clone(),
            Root::AnyObject => match &scope.object {
                Value::Null => scope.old_object.clone(),
                object => object.clone(),
            },
        }
    }

    /// `&&` and `||`: the one operand decides although the other has an error.
    fn logic(
        &mut self,
        left: &'a Expression,
        right: &'a Expression,
        decisive: bool,
    ) -> Evaluated<'a> {
        let left = truth(self.value(left));
        if left == Ok(decisive) {
            return Ok(Value::Bool(decisive));
        }
        let right = truth(self.value(right));
        if right == Ok(decisive) {
            return Ok(Value::Bool(decisive));
        }
        left.and(right).map(Value::Bool)
    }

    fn binary(&self, operator: Operator, left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
        use std::cmp::Ordering::{Greater, Less};
        match operator {
            Operator::Equal => self.equal(left, right).map(Value::Bool),
            Operator::NotEqual => self.equal(left, right).map(|equal| Value::Bool(!equal)),
            Operator::Less => ordered(operator, left, right, |order| order == Less),
            Operator::LessEqual => ordered(operator, left, right, |order| order != Greater),
            Operator::Greater => ordered(operator, left, right, |order| order == Greater),
            Operator::GreaterEqual => ordered(operator, left, right, |order| order != Less),
            Operator::In => match right {
                Value::List(list) => {
                    let all = self.scope.cost(right);
                    let each = self.scope.cost(left);
                    self.scope.spend(all.min(each.saturating_mul(list.len())))?;
                    Ok(Value::Bool(list.iter().any(|one| one.equals(left))))
                }
                Value::Map(map) => {
                    self.search(map, left)?;
                    Ok(Value::Bool(map.get(left).is_some()))
                }
                _ => Err(EvalError::no_overload()),
            },
            Operator::Add => {
                let sum = arithmetic::add(left, right)?;
                self.made(sum)
            }
            _ => arithmetic::calculate(operator, left, right),
        }
    }

    fn equal(&self, left: &Value<'a>, right: &Value<'a>) -> Result<bool, EvalError> {
        // As many parts are compared as the smaller one has, but those of lists and maps of different lengths.
        let limit = self.scope.left.get().saturating_add(1);
        let cost = left.cost(limit);
        let cost = cost.min(right.cost(cost));
        self.scope
            .spend(usize::try_from(cost).unwrap_or(usize::MAX))?;
        Ok(left.equals(right))
    }

    /// Charges for the search for a key: the keys of a made map are compared one by one.
    fn search(&self, map: &Map<'a>, key: &Value<'a>) -> Result<(), EvalError> {
        match map {
            Map::Borrowed(_) => Ok(()),
            Map::Shared(map) => self.scope.spend_on(key, map.len()),
        }
    }

    /// Charges for a value that was made.
    fn made(&self, value: Value<'a>) -> Evaluated<'a> {
        let size = match &value {
            Value::String(text) => text.as_str().len() / BYTES_OF_A_UNIT,
            Value::Bytes(bytes) => bytes.len() / BYTES_OF_A_UNIT,
            Value::List(list) => list.len(),
            Value::Map(map) => map.len(),
            _ => 0,
        };
        self.scope.spend(size)?;
        Ok(value)
    }
}

fn truth(value: Evaluated<'_>) -> Result<bool, EvalError> {
    match value? {
        Value::Bool(value) => Ok(value),
        _ => Err(EvalError::no_overload()),
    }
}

fn ordered<'a>(
    operator: Operator,
    left: &Value<'a>,
    right: &Value<'a>,
    is: impl Fn(std::cmp::Ordering) -> bool,
) -> Evaluated<'a> {
    if !left.is_ordered() {
        return Err(EvalError::no_overload_of(operator.name()));
    }
    if let (Value::Double(one), Value::Double(other)) = (left, right)
        && (one.is_nan() || other.is_nan())
    {
        return Ok(Value::Bool(false));
    }
    let order = left.compare(right).ok_or_else(EvalError::no_overload)?;
    Ok(Value::Bool(is(order)))
}

fn select<'a>(operand: &Value<'a>, field: &str, how: Select) -> Evaluated<'a> {
    let found = match operand {
        Value::Map(map) => map.field(field),
        Value::List(_) => {
            return Err(EvalError::new("unsupported index type 'string' in list"));
        }
        Value::Optional(held) => {
            let how = match how {
                Select::Value => Select::Optional,
                other => other,
            };
            return match (held, how) {
                (Some(held), how) => select(held, field, how),
                (None, Select::Presence) => Ok(Value::Bool(false)),
                (None, _) => Ok(Value::Optional(None)),
            };
        }
        _ => None,
    };
    match how {
        Select::Presence => Ok(Value::Bool(found.is_some())),
        Select::Optional => Ok(found.map_or(Value::Optional(None), Value::some)),
        Select::Value => found.ok_or_else(|| EvalError::no_such_key(field)),
    }
}

fn index<'a>(operand: &Value<'a>, key: &Value<'a>, how: Select) -> Evaluated<'a> {
    let found = match operand {
        Value::Map(map) => at_key(map, key),
        Value::List(list) => at_place(list, key),
        Value::Optional(Some(held)) => return index(held, key, Select::Optional),
        Value::Optional(None) => return Ok(Value::Optional(None)),
        _ => Err(no_such_key(key)),
    };
    match (how, found) {
        (Select::Optional, Ok(value)) => Ok(Value::some(value)),
        (Select::Optional, Err(_)) => Ok(Value::Optional(None)),
        (_, found) => found,
    }
}

fn at_key<'a>(map: &Map<'a>, key: &Value<'a>) -> Evaluated<'a> {
    map.get(key).ok_or_else(|| no_such_key(key))
}

fn no_such_key(key: &Value<'_>) -> EvalError {
    let shown = match key {
        Value::String(text) => text.as_str().to_owned(),
        other => format::plain(other),
    };
    EvalError::no_such_key(shown)
}

fn at_place<'a>(list: &List<'a>, key: &Value<'a>) -> Evaluated<'a> {
    let place = match key {
        Value::Int(place) => i128::from(*place),
        Value::UInt(place) => i128::from(*place),
        #[expect(clippy::cast_possible_truncation, reason = "it has no fraction")]
        Value::Double(place) if place.fract() == 0.0 => *place as i128,
        Value::Double(place) => {
            let text = format!("unsupported index value {place} in list");
            return Err(EvalError::new(text));
        }
        other => {
            let text = format!("unsupported index type '{}' in list", other.type_name());
            return Err(EvalError::new(text));
        }
    };
    let found = usize::try_from(place)
        .ok()
        .and_then(|place| list.get(place));
    found.ok_or_else(|| EvalError::new(format!("index out of bounds: {place}")))
}

impl<'a> Evaluator<'_, 'a> {
    fn list(&mut self, items: &'a [super::expression::Item]) -> Evaluated<'a> {
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            let value = self.value(&item.value)?;
            match value {
                Value::Optional(held) if item.is_optional => {
                    list.extend(held.map(Arc::unwrap_or_clone));
                }
                value => list.push(value),
            }
        }
        Ok(Value::list(list))
    }

    fn map(&mut self, entries: &'a [super::expression::Entry]) -> Evaluated<'a> {
        let mut map: Vec<(Value<'a>, Value<'a>)> = Vec::with_capacity(entries.len());
        for entry in entries {
            let key = self.value(&entry.key)?;
            let value = match self.value(&entry.value)? {
                Value::Optional(None) if entry.is_optional => continue,
                Value::Optional(Some(held)) if entry.is_optional => Arc::unwrap_or_clone(held),
                value => value,
            };
            self.scope.spend_on(&key, map.len())?;
            if map.iter().any(|(known, _)| known.equals(&key)) {
                let shown = format::plain(&key);
                return Err(EvalError::new(format!(
                    "insert failed: key {shown} already exists"
                )));
            }
            map.push((key, value));
        }
        Ok(Value::map(map))
    }
}
