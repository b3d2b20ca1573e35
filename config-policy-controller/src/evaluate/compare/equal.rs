//! Whether a desired value and a live one are equal.
//!
//! `merged` is what the object would hold after the merge, `live` what it holds now. The functions are not
//! symmetric; which side is which changes the answer for absent fields and for quantities.

use serde_json::{Map, Value};

use super::assign::{Pairing, equal_scalars, identical};
use super::equality::Equality;
use super::quantity::{is_quantity, same_amount};
use super::rules::{AbsenceRules, EmptyListRule, ZeroRule};
use super::sprint::same_text;

/// Compares a whole value. An absent live value is passed as `Null`.
pub fn deep(merged: &Value, live: &Value, absence: AbsenceRules) -> Equality {
    match (merged, live) {
        (Value::Object(merged), Value::Object(live)) => maps(merged, live, absence),
        (Value::Array(merged), Value::Null) if merged.is_empty() => Equality::Same,
        // The roles are swapped at this level on purpose: it is what decides when a list is the whole value
        // of a key, and policies in use depend on the outcome.
        (Value::Array(merged), Value::Array(live)) => lists(merged, live, absence),
        (Value::Object(_) | Value::Array(_), _) => Equality::Different,
        (merged, live) => scalars(merged, live, absence),
    }
}

/// Compares two maps, field by field.
pub fn maps(
    merged: &Map<String, Value>,
    live: &Map<String, Value>,
    absence: AbsenceRules,
) -> Equality {
    if merged.len() < live.len() {
        return Equality::Different;
    }
    let mut worst = Equality::Same;
    for (key, wanted) in merged {
        worst = worst.max(field(wanted, live.get(key), absence));
        if worst == Equality::Different {
            return worst;
        }
    }
    if live.keys().any(|key| !merged.contains_key(key)) {
        worst = worst.max(match absence.zero {
            ZeroRule::EqualsAbsent => Equality::IfServerAgrees,
            ZeroRule::Distinct => Equality::Different,
        });
    }
    worst
}

/// Compares two lists without regard to order: the best way to pair them counts.
pub fn lists(a: &[Value], b: &[Value], absence: AbsenceRules) -> Equality {
    if a.len() != b.len() {
        return Equality::Different;
    }
    let mut pairing = Pairing::new(a.len(), b.len(), |i, j| match (a.get(i), b.get(j)) {
        (Some(a), Some(b)) => items(a, b, absence),
        _ => Equality::Different,
    });
    pairing.settle(&equal_scalars(a, b));
    pairing.settle(&identical(a, b));
    pairing.best_perfect()
}

fn items(a: &Value, b: &Value, absence: AbsenceRules) -> Equality {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => maps(b, a, absence.in_list()),
        _ if same_text(a, b) => Equality::Same,
        _ => Equality::Different,
    }
}

/// Compares one field of a map. `live` is `None` when it is absent there.
pub fn field(merged: &Value, live: Option<&Value>, absence: AbsenceRules) -> Equality {
    match (merged, live) {
        (Value::Object(merged), Some(Value::Object(live))) => maps(merged, live, absence),
        (Value::Object(merged), _)
            if merged.is_empty() && absence.zero == ZeroRule::EqualsAbsent =>
        {
            Equality::IfDefaulted
        }
        (Value::Array(merged), Some(Value::Array(live))) => lists(live, merged, absence),
        (Value::Array(merged), None)
            if merged.is_empty() && absence.empty_list == EmptyListRule::IfNotStored =>
        {
            Equality::IfDefaulted
        }
        (Value::Array(merged), _) if merged.is_empty() => Equality::Same,
        (Value::Object(_) | Value::Array(_), _) => Equality::Different,
        (Value::String(merged), None)
            if merged.is_empty() && absence.zero == ZeroRule::EqualsAbsent =>
        {
            Equality::IfServerAgrees
        }
        (Value::String(merged), live) => strings(merged, live),
        (merged, Some(live)) if same_text(merged, live) => Equality::Same,
        // `cpu: 0.5` is how a user may write what the server keeps as "500m".
        (Value::Number(merged), Some(Value::String(live)))
            if same_amount(&merged.to_string(), live) =>
        {
            Equality::IfDefaulted
        }
        (merged, None) if is_zero(merged) => Equality::IfDefaulted,
        _ => Equality::Different,
    }
}

fn strings(merged: &str, live: Option<&Value>) -> Equality {
    match live {
        Some(Value::String(live)) if live == merged => Equality::Same,
        Some(Value::String(live)) if same_amount(merged, live) => Equality::IfDefaulted,
        Some(Value::String(_)) | None => Equality::Different,
        // "1" wants a text; a number in its place is something else. Words (`"true"`) are not so strict.
        Some(_) if is_quantity(merged) => Equality::Different,
        Some(live) => same_or_different(same_text(&Value::String(merged.to_owned()), live)),
    }
}

fn scalars(merged: &Value, live: &Value, absence: AbsenceRules) -> Equality {
    let one_is_absent = merged.is_null() != live.is_null();
    if absence.zero == ZeroRule::EqualsAbsent && one_is_absent && is_zero(merged) && is_zero(live) {
        return Equality::IfDefaulted;
    }
    same_or_different(same_text(merged, live))
}

fn same_or_different(same: bool) -> Equality {
    if same {
        Equality::Same
    } else {
        Equality::Different
    }
}

/// Whether the value is what an absent field of its type would read as.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}
