//! The order of keys: as a person would sort them.

use std::cmp::Ordering;

/// Sorts entries by their keys.
///
/// The order is not transitive (`9z` < `10z` < `1a` < `9z`), which the standard library's sort may answer with a
/// panic, so this is a plain merge sort.
pub(super) fn sort<'a, V>(
    entries: impl Iterator<Item = (&'a String, &'a V)>,
) -> Vec<(&'a str, &'a V)> {
    let entries = entries.map(|(key, value)| (key.chars().collect(), (key.as_str(), value)));
    merge_sort(entries.collect())
        .into_iter()
        .map(|(_, entry)| entry)
        .collect()
}

fn merge_sort<T>(mut entries: Vec<(Vec<char>, T)>) -> Vec<(Vec<char>, T)> {
    if entries.len() < 2 {
        return entries;
    }
    let right = merge_sort(entries.split_off(entries.len() / 2));
    let left = merge_sort(entries);
    let mut merged = Vec::with_capacity(left.len().saturating_add(right.len()));
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some((a, _)), Some((b, _))) = (left.peek(), right.peek()) {
        let smaller = if compare(a, b) == Ordering::Greater {
            right.next()
        } else {
            left.next()
        };
        merged.extend(smaller);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

/// Compares two keys: other characters before letters, runs of digits by their number
/// (`message9` before `message10`).
fn compare(a: &[char], b: &[char]) -> Ordering {
    let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (left, right) = (
        a.get(common..).unwrap_or_default(),
        b.get(common..).unwrap_or_default(),
    );
    let (Some(first), Some(second)) = (left.first(), right.first()) else {
        return a.len().cmp(&b.len());
    };
    match (first.is_alphabetic(), second.is_alphabetic()) {
        (true, true) => first.cmp(second),
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => {
            let before = a.get(..common).unwrap_or_default();
            compare_numbers(before, left, right).then_with(|| first.cmp(second))
        }
    }
}

/// Compares the digit runs at the start of both rests by value, then by length. A zero that continues a number
/// counts as a digit of it; one at the start of a run does not.
fn compare_numbers(before: &[char], left: &[char], right: &[char]) -> Ordering {
    let zero_first = left.first() == Some(&'0') || right.first() == Some(&'0');
    let digits_before = before.iter().rev().take_while(|c| c.is_ascii_digit());
    let inside_number = zero_first && digits_before.into_iter().any(|c| *c != '0');
    let (left, left_length) = number(left, inside_number);
    let (right, right_length) = number(right, inside_number);
    left.cmp(&right).then(left_length.cmp(&right_length))
}

/// The value of the leading digits and how many there are.
fn number(text: &[char], inside_number: bool) -> (u128, usize) {
    let mut value = u128::from(inside_number);
    let mut length = 0_usize;
    for digit in text.iter().map_while(|c| c.to_digit(10)) {
        value = value.saturating_mul(10).saturating_add(u128::from(digit));
        length = length.saturating_add(1);
    }
    (value, length)
}
