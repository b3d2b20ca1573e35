//! Macros over lists and maps.

use std::cmp::Ordering;

use super::{Evaluator, truth};
use crate::cel::error::{EvalError, Evaluated};
use crate::cel::expression::{Expression, Loop, LoopKind};
use crate::cel::value::Value;

/// Steps that are made for a unit.
const STEPS_OF_A_UNIT: usize = 8;

impl<'a> Evaluator<'_, 'a> {
    pub(super) fn run_loop(&mut self, of: &'a Loop) -> Evaluated<'a> {
        let range = self.value(&of.range)?;
        let length = match &range {
            Value::List(list) => list.len(),
            Value::Map(map) => map.len(),
            _ => 0,
        };
        // Each step is made before the first is run, and one may decide for all.
        self.scope.spend(length / STEPS_OF_A_UNIT)?;
        let steps = steps(&range, of.has_pair)?;
        match of.kind {
            LoopKind::All => self.quantified(of, steps, false),
            LoopKind::Exists => self.quantified(of, steps, true),
            LoopKind::ExistsOne => {
                let mut count = 0_usize;
                for step in steps {
                    count += usize::from(truth(self.with(step, &of.body))?);
                }
                Ok(Value::Bool(count == 1))
            }
            LoopKind::Map | LoopKind::Filter => self.listed(of, steps),
            LoopKind::TransformMap | LoopKind::TransformMapEntry => self.mapped(of, steps),
            LoopKind::SortBy => self.sorted(of, steps),
        }
    }

    /// A part of the macro, with its variables.
    fn with(&mut self, (first, second): Step<'a>, part: &'a Expression) -> Evaluated<'a> {
        let depth = self.locals.len();
        self.locals.push(first);
        self.locals.extend(second);
        let value = self.value(part);
        self.locals.truncate(depth);
        value
    }

    /// Whether one element decides, an error of another one notwithstanding.
    fn quantified(&mut self, of: &'a Loop, steps: Vec<Step<'a>>, decisive: bool) -> Evaluated<'a> {
        let mut result = Ok(!decisive);
        for step in steps {
            let found = truth(self.with(step, &of.body));
            if found == Ok(decisive) {
                return Ok(Value::Bool(decisive));
            }
            result = result.and(found);
            if self.scope.left.get() == 0 {
                return Err(EvalError::cost_exceeded());
            }
        }
        result.map(Value::Bool)
    }

    fn is_chosen(&mut self, of: &'a Loop, step: &Step<'a>) -> Result<bool, EvalError> {
        match &of.condition {
            Some(condition) => truth(self.with(step.clone(), condition)),
            None => Ok(true),
        }
    }

    fn listed(&mut self, of: &'a Loop, steps: Vec<Step<'a>>) -> Evaluated<'a> {
        let mut list = Vec::new();
        for step in steps {
            if !self.is_chosen(of, &step)? {
                continue;
            }
            let first = step.0.clone();
            let value = self.with(step, &of.body)?;
            if of.kind == LoopKind::Map {
                list.push(value);
            } else if truth(Ok(value))? {
                list.push(first);
            }
        }
        self.made(Value::list(list))
    }

    fn mapped(&mut self, of: &'a Loop, steps: Vec<Step<'a>>) -> Evaluated<'a> {
        let mut map: Vec<(Value<'a>, Value<'a>)> = Vec::new();
        for step in steps {
            if !self.is_chosen(of, &step)? {
                continue;
            }
            let first = step.0.clone();
            let value = self.with(step, &of.body)?;
            match (of.kind, value) {
                (LoopKind::TransformMapEntry, Value::Map(entry)) => {
                    self.scope.spend(entry.len())?;
                    map.extend(entry.entries());
                }
                (LoopKind::TransformMapEntry, _) => return Err(EvalError::no_overload()),
                (_, value) => map.push((first, value)),
            }
        }
        self.made(Value::map(map))
    }

    fn sorted(&mut self, of: &'a Loop, steps: Vec<Step<'a>>) -> Evaluated<'a> {
        let mut keyed = Vec::with_capacity(steps.len());
        for step in steps {
            let value = step.0.clone();
            let key = self.with(step, &of.body)?;
            self.scope.spend_on(&key, 1)?;
            keyed.push((key, value));
        }
        let first = keyed.first().map(|(key, _)| key.type_name());
        let is_uniform = keyed
            .iter()
            .all(|(key, _)| key.is_ordered() && Some(key.type_name()) == first);
        if !is_uniform && !keyed.is_empty() {
            return Err(EvalError::new("list elements must have the same type"));
        }
        keyed.sort_by(|(one, _), (other, _)| one.compare(other).unwrap_or(Ordering::Equal));
        Ok(Value::list(
            keyed.into_iter().map(|(_, value)| value).collect(),
        ))
    }

    pub(super) fn optional_map(
        &mut self,
        optional: &'a Expression,
        body: &'a Expression,
        is_flat: bool,
    ) -> Evaluated<'a> {
        match self.value(optional)? {
            Value::Optional(Some(held)) => {
                let value = self.with(((*held).clone(), None), body)?;
                Ok(if is_flat { value } else { Value::some(value) })
            }
            Value::Optional(None) => Ok(Value::Optional(None)),
            _ => Err(EvalError::no_overload()),
        }
    }
}

/// The variables of one step of a macro.
type Step<'a> = (Value<'a>, Option<Value<'a>>);

/// The variables of each step.
fn steps<'a>(range: &Value<'a>, has_pair: bool) -> Result<Vec<Step<'a>>, EvalError> {
    match range {
        Value::List(list) if has_pair => {
            let indexed = (0_i64..).zip(list.iter());
            Ok(indexed
                .map(|(index, value)| (Value::Int(index), Some(value)))
                .collect())
        }
        Value::List(list) => Ok(list.iter().map(|value| (value, None)).collect()),
        Value::Map(map) => {
            let entries = map.entries().into_iter();
            Ok(entries
                .map(|(key, value)| (key, has_pair.then_some(value)))
                .collect())
        }
        other => Err(EvalError::new(format!(
            "got 'types.{}', expected iterable type",
            go_name(other)
        ))),
    }
}

fn go_name(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "Null",
        Value::Bool(_) => "Bool",
        Value::Int(_) => "Int",
        Value::UInt(_) => "Uint",
        Value::Double(_) => "Double",
        Value::String(_) => "String",
        Value::Bytes(_) => "Bytes",
        Value::Optional(_) => "Optional",
        _ => "Unknown",
    }
}
