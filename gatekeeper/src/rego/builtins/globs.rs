//! Whether there is a text that two simple patterns match: letters, `.`, classes, and `*` or `+` behind them.

use std::collections::BTreeSet;

use regorus::Value;

/// Patterns longer than this are not compared.
const MAX_LENGTH: usize = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    /// The ranges of runes; none means any.
    ranges: Option<Vec<(char, char)>>,
    may_repeat: bool,
}

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
pub fn intersect(args: &[Value]) -> anyhow::Result<Value> {
    let (Some(Value::String(one)), Some(Value::String(other))) = (args.first(), args.get(1)) else {
        return Ok(Value::Undefined);
    };
    let steps = parse(one).zip(parse(other));
    Ok(steps.map_or(Value::Undefined, |(one, other)| {
        Value::from(is_possible(&one, &other))
    }))
}

/// The steps of a pattern, an optional one as two: nothing, or a repeated one.
fn parse(pattern: &str) -> Option<Vec<(Step, bool)>> {
    if pattern.len() > MAX_LENGTH {
        return None;
    }
    let mut steps = Vec::new();
    let mut runes = pattern.chars().peekable();
    while let Some(rune) = runes.next() {
        let ranges = match rune {
            '.' => None,
            '\\' => {
                let escaped = runes.next()?;
                Some(vec![(escaped, escaped)])
            }
            '[' => {
                let mut ranges = Vec::new();
                loop {
                    let mut first = runes.next()?;
                    if first == ']' {
                        break;
                    }
                    if first == '\\' {
                        first = runes.next()?;
                    }
                    if runes.peek() == Some(&'-') {
                        runes.next();
                        ranges.push((first, runes.next()?));
                    } else {
                        ranges.push((first, first));
                    }
                }
                Some(ranges)
            }
            '*' | '+' | ']' => return None,
            other => Some(vec![(other, other)]),
        };
        let quantifier = runes.next_if(|next| matches!(next, '*' | '+'));
        let step = Step {
            ranges,
            may_repeat: quantifier.is_some(),
        };
        steps.push((step, quantifier == Some('*')));
    }
    Some(steps)
}

fn overlap(one: &Step, other: &Step) -> bool {
    let (Some(one), Some(other)) = (&one.ranges, &other.ranges) else {
        return true;
    };
    one.iter().any(|(first, last)| {
        let mut others = other.iter();
        others.any(|(from, to)| first <= to && from <= last)
    })
}

/// Walks both patterns at once. A state is what comes next in each, and whether that has been read once.
fn is_possible(one: &[(Step, bool)], other: &[(Step, bool)]) -> bool {
    let mut seen = BTreeSet::new();
    let mut pending = vec![((0, false), (0, false))];
    while let Some((left, right)) = pending.pop() {
        if !seen.insert((left, right)) {
            continue;
        }
        if left.0 == one.len() && right.0 == other.len() {
            return true;
        }
        // A step that may be left out, or that has been read, may be left.
        let may_leave = |steps: &[(Step, bool)], (index, is_read): (usize, bool)| {
            steps
                .get(index)
                .is_some_and(|(_, may_miss)| is_read || *may_miss)
        };
        if may_leave(one, left) {
            pending.push(((left.0 + 1, false), right));
        }
        if may_leave(other, right) {
            pending.push((left, (right.0 + 1, false)));
        }
        let (Some((left_step, _)), Some((right_step, _))) = (one.get(left.0), other.get(right.0))
        else {
            continue;
        };
        let may_read = |step: &Step, is_read: bool| !is_read || step.may_repeat;
        if may_read(left_step, left.1)
            && may_read(right_step, right.1)
            && overlap(left_step, right_step)
        {
            pending.push(((left.0, true), (right.0, true)));
        }
    }
    false
}
