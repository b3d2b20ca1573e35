//! The order of keys: go-yaml's `sorter.go`.

use std::cmp::Ordering;

use crate::value::{Key, Value};
use crate::yaml::error::Dialect;

/// A key, prepared for comparing.
struct Sortable {
    characters: Vec<char>,
    entry: (Key, Value),
}

/// The entries in go-yaml's order: numbers by value, texts as people would sort them.
///
/// The order is not total for every set of keys, which the standard library's sorting may answer
/// with a panic. So this merges by hand.
pub(super) fn sorted(entries: Vec<(Key, Value)>, dialect: Dialect) -> Vec<(Key, Value)> {
    let mut runs: Vec<Vec<Sortable>> = entries
        .into_iter()
        .map(|entry| {
            let characters = match &entry.0 {
                Key::Str(text) => text.lossy().chars().collect(),
                _ => Vec::new(),
            };
            vec![Sortable { characters, entry }]
        })
        .collect();
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut rest = runs.into_iter();
        while let Some(first) = rest.next() {
            merged.push(match rest.next() {
                Some(second) => merge(first, second, dialect),
                None => first,
            });
        }
        runs = merged;
    }
    let run = runs.pop().unwrap_or_default();
    run.into_iter().map(|sortable| sortable.entry).collect()
}

fn merge(first: Vec<Sortable>, second: Vec<Sortable>, dialect: Dialect) -> Vec<Sortable> {
    let mut merged = Vec::with_capacity(first.len() + second.len());
    let mut first = first.into_iter().peekable();
    let mut second = second.into_iter().peekable();
    loop {
        let take_second = match (first.peek(), second.peek()) {
            (Some(a), Some(b)) => is_less(b, a, dialect),
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (None, None) => return merged,
        };
        merged.extend(if take_second {
            second.next()
        } else {
            first.next()
        });
    }
}

fn is_less(a: &Sortable, b: &Sortable, dialect: Dialect) -> bool {
    match (&a.entry.0, &b.entry.0) {
        (Key::Str(_), Key::Str(_)) => is_text_less(&a.characters, &b.characters, dialect),
        (a, b) => match (number(a), number(b)) {
            (Some(x), Some(y)) => match x.partial_cmp(&y) {
                Some(Ordering::Less) => true,
                Some(Ordering::Equal) if kind(a) != kind(b) => kind(a) < kind(b),
                Some(Ordering::Equal) => a < b,
                _ => false,
            },
            _ => kind(a) < kind(b),
        },
    }
}

/// The numbers of Go's `reflect.Kind`s.
fn kind(key: &Key) -> u8 {
    match key {
        Key::Nil => 20,
        Key::Bool(_) => 1,
        Key::Int(_) => 2,
        Key::Uint(_) => 11,
        Key::Float(_) => 14,
        Key::Str(_) => 24,
    }
}

#[allow(clippy::cast_precision_loss)] // as the original compares
fn number(key: &Key) -> Option<f64> {
    match key {
        Key::Bool(value) => Some(f64::from(u8::from(*value))),
        Key::Int(value) => Some(*value as f64),
        Key::Uint(value) => Some(*value as f64),
        Key::Float(value) => Some(*value),
        Key::Nil | Key::Str(_) => None,
    }
}

fn is_text_less(a: &[char], b: &[char], dialect: Dialect) -> bool {
    let Some(at) = a.iter().zip(b).position(|(x, y)| x != y) else {
        return a.len() < b.len();
    };
    let (Some(x), Some(y)) = (a.get(at).copied(), b.get(at).copied()) else {
        return false;
    };
    let common = a.get(..at).unwrap_or_default();
    let after_digit = dialect == Dialect::V3 && common.last().copied().is_some_and(is_digit);
    match (is_letter(x), is_letter(y)) {
        (true, true) => x < y,
        (x_is_letter, y_is_letter) if x_is_letter || y_is_letter => {
            if after_digit {
                x_is_letter
            } else {
                y_is_letter
            }
        }
        _ => {
            // A zero behind other digits is part of their number.
            let continues = (x == '0' || y == '0')
                && common
                    .iter()
                    .rev()
                    .take_while(|character| is_digit(**character))
                    .any(|digit| *digit != '0');
            let (x_number, x_length) = number_at(a, at, continues);
            let (y_number, y_length) = number_at(b, at, continues);
            (x_number, x_length, x) < (y_number, y_length, y)
        }
    }
}

/// The number whose digits begin here, and how many they are. Go's arithmetic wraps, too.
fn number_at(text: &[char], at: usize, continues: bool) -> (i64, usize) {
    let digits = text.get(at..).unwrap_or_default();
    let mut number = i64::from(continues);
    let mut length = 0;
    for digit in digits.iter().take_while(|character| is_digit(**character)) {
        let value = i64::from(u32::from(*digit)) - i64::from(b'0');
        number = number.wrapping_mul(10).wrapping_add(value);
        length += 1;
    }
    (number, length)
}

/// Go's `unicode.IsDigit`: decimal digits of any script.
fn is_digit(character: char) -> bool {
    crate::runes::is_digit(character)
}

/// Go's `unicode.IsLetter`.
fn is_letter(character: char) -> bool {
    crate::runes::is_letter(character)
}
