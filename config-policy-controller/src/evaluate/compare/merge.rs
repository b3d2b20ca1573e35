//! Merges desired content into a live object, for musthave (and for the filter of mustnothave).

use serde_json::{Map, Value};

use super::assign::{Pairing, equal_scalars, identical};
use super::equal::deep;
use super::equality::Equality;
use super::rules::AbsenceRules;
use super::sprint::same_text;

/// The wanted map with everything of the live one that it does not mention.
pub fn merge_maps(
    desired: &Map<String, Value>,
    live: &Map<String, Value>,
    absence: AbsenceRules,
) -> Map<String, Value> {
    let mut merged = live.clone();
    for (key, wanted) in desired {
        let value = match live.get(key) {
            Some(live) => merge_field(wanted, live, absence),
            None => wanted.clone(),
        };
        merged.insert(key.clone(), value);
    }
    merged
}

fn merge_field(desired: &Value, live: &Value, absence: AbsenceRules) -> Value {
    match (desired, live) {
        (Value::Object(desired), Value::Object(live)) => {
            Value::Object(merge_maps(desired, live, absence))
        }
        (Value::Array(desired), Value::Array(live)) => {
            Value::Array(merge_lists(desired, live, absence))
        }
        // A null in place of a map means "any value"; in place of anything else it means "must be absent".
        (Value::Null, Value::Object(_)) => live.clone(),
        (desired, _) => desired.clone(),
    }
}

/// The wanted items, each merged with the live item it stands for, followed by the live items nothing stands for.
///
/// Maps with the same non-empty `name` always belong together. Beyond that, an item belongs to a live one
/// that it would not change, and items are paired so that as many as possible find a partner.
pub fn merge_lists(desired: &[Value], live: &[Value], absence: AbsenceRules) -> Vec<Value> {
    let candidate = |i: usize, j: usize| match (desired.get(i), live.get(j)) {
        (Some(Value::Object(wanted)), Some(Value::Object(live))) => {
            Some(Value::Object(merge_maps(wanted, live, absence)))
        }
        (wanted, _) => wanted.cloned(),
    };
    let mut pairing = Pairing::new(desired.len(), live.len(), |i, j| {
        match (candidate(i, j), live.get(j)) {
            // A list in a list replaces its partner as it is, so one in the same order comes first.
            (Some(list @ Value::Array(_)), Some(live)) if !same_text(&list, live) => {
                deep(&list, live, absence).max(Equality::IfServerAgrees)
            }
            (Some(candidate), Some(live)) => match deep(&candidate, live, absence) {
                // Servers drop empty texts. Added instead, the item would be added again and again.
                Equality::Different => deep(&without_blanks(&candidate, live), live, absence)
                    .max(Equality::IfServerAgrees),
                equality => equality,
            },
            _ => Equality::Different,
        }
    });
    pairing.settle(&equal_scalars(desired, live));
    pairing.settle(&identical(desired, live));
    pair_up(&mut pairing, desired, live);

    let mut merged: Vec<Value> = (0..desired.len())
        .filter_map(|i| match pairing.partner(i) {
            Some(j) => candidate(i, j),
            None => desired.get(i).cloned(),
        })
        .collect();
    let unclaimed = live.iter().enumerate().filter(|(j, _)| pairing.is_free(*j));
    merged.extend(unclaimed.map(|(_, item)| item.clone()));
    merged
}

/// A map without the empty texts that the live one does not have at all.
fn without_blanks(candidate: &Value, live: &Value) -> Value {
    let (Value::Object(fields), Value::Object(live)) = (candidate, live) else {
        return candidate.clone();
    };
    let is_blank = |key: &str, value: &Value| !live.contains_key(key) && value == "";
    fields
        .iter()
        .filter(|(key, value)| !is_blank(key, value))
        .map(|(key, value)| {
            let live = live.get(key).unwrap_or(&Value::Null);
            (key.clone(), without_blanks(value, live))
        })
        .collect()
}

/// Named items come first: they have one natural partner, items without a name take what is left.
fn pair_up<J>(pairing: &mut Pairing<J>, desired: &[Value], live: &[Value])
where
    J: FnMut(usize, usize) -> Equality,
{
    let (named, unnamed): (Vec<_>, Vec<_>) =
        (0..desired.len()).partition(|i| desired.get(*i).and_then(name).is_some());
    let all: Vec<usize> = named.iter().chain(&unnamed).copied().collect();
    if pair_exactly(pairing, &all) {
        return;
    }
    // Something does not fit whatever is done, so the object will be changed. Now the names decide what
    // belongs together, and only what they leave is shared out by content.
    pairing.release();
    pair_exactly(pairing, &named);
    for i in &named {
        if pairing.is_paired(*i) {
            continue;
        }
        let wanted = desired.get(*i).and_then(name);
        let same_name = |j: &usize| pairing.is_free(*j) && live.get(*j).and_then(name) == wanted;
        if let Some(j) = (0..live.len()).find(same_name) {
            pairing.give(j, *i);
        }
    }
    pairing.freeze();
    pair_exactly(pairing, &unnamed);
}

/// Pairs items with live items they would not change, preferring certain matches. Whether all found one.
fn pair_exactly<J>(pairing: &mut Pairing<J>, items: &[usize]) -> bool
where
    J: FnMut(usize, usize) -> Equality,
{
    let mut all = true;
    for allowed in [
        Equality::Same,
        Equality::IfDefaulted,
        Equality::IfServerAgrees,
    ] {
        all = true;
        for i in items {
            all &= pairing.is_paired(*i) || pairing.pair(*i, allowed);
        }
        if all {
            break;
        }
    }
    all
}

/// The non-empty `name` of a list item.
pub(crate) fn name(item: &Value) -> Option<&str> {
    item.get("name")?.as_str().filter(|name| !name.is_empty())
}
