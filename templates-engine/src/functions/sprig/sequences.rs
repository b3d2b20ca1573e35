//! Runs of numbers.

use crate::function::Parameter::Int;
use crate::function::{Arguments, Env, Failure, Function};
use crate::functions::define::{Answer, Group, charge_bytes, charge_items, takes, takes_more};
use reeve_go_compat::value::{Element, List, Value};

const SEQUENCES: Group = Group("Runs of numbers");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    SEQUENCES.function(
        "until",
        takes(&[Int]),
        until,
        "end",
        "The numbers from 0 up to, not including, the end; downwards if it is negative.",
    ),
    SEQUENCES.function(
        "untilStep",
        takes(&[Int, Int, Int]),
        until_step,
        "start end step",
        "The numbers from start to before end, in steps.",
    ),
    SEQUENCES.function(
        "seq",
        takes_more(&[], Int),
        seq,
        "[start [step]] end",
        "The numbers from start (or 1) to end, both included, as text with spaces between them.",
    ),
];

fn until(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let end = arguments.int(0)?;
    let step = if end < 0 { -1 } else { 1 };
    Ok(ints(numbers(env, 0, end, step)?))
}

fn until_step(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let found = numbers(env, arguments.int(0)?, arguments.int(1)?, arguments.int(2)?)?;
    Ok(ints(found))
}

fn ints(numbers: Vec<i64>) -> Value {
    Value::List(List::new(Element::Int, numbers.into_iter().map(Value::Int)))
}

fn numbers(env: &mut Env<'_>, start: i64, end: i64, step: i64) -> Result<Vec<i64>, Failure> {
    let towards = if end < start { step < 0 } else { step > 0 };
    if !towards {
        return Ok(Vec::new());
    }
    let distance = i128::from(end) - i128::from(start);
    let step = i128::from(step);
    let count = (distance + step - step.signum()) / step;
    charge_items(env, usize::try_from(count).unwrap_or(usize::MAX))?;
    let mut found = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
    let mut next = i128::from(start);
    for _ in 0..count {
        found.extend(i64::try_from(next));
        next += step;
    }
    if i64::try_from(next).is_err() {
        // Upstream's counter wraps around here and the run never ends.
        charge_items(env, usize::MAX)?;
    }
    Ok(found)
}

fn seq(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let number = |position| arguments.int(position);
    let downwards = |start: i64, end: i64| if end < start { -1 } else { 1 };
    let found = match arguments.len() {
        1 => {
            let end = number(0)?;
            let step = downwards(1, end);
            numbers(env, 1, end.wrapping_add(step), step)?
        }
        2 => {
            let (start, end) = (number(0)?, number(1)?);
            let step = downwards(start, end);
            numbers(env, start, end.wrapping_add(step), step)?
        }
        3 => {
            let (start, step, end) = (number(0)?, number(1)?, number(2)?);
            if end < start && step > 0 {
                Vec::new()
            } else {
                let beyond = end.wrapping_add(downwards(start, end));
                numbers(env, start, beyond, step)?
            }
        }
        _ => Vec::new(),
    };
    let mut text = String::new();
    for (position, number) in found.iter().enumerate() {
        let separator = if position > 0 { " " } else { "" };
        let number = number.to_string();
        charge_bytes(env, separator.len() + number.len())?;
        text.push_str(separator);
        text.push_str(&number);
    }
    Ok(Value::from(text))
}
