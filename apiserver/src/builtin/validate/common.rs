//! What many kinds have: labels and their selectors, amounts, numbers or percentages.

use reeve_go_compat::labels::{self, Selector};
use reeve_go_compat::quantity::Quantity;
use serde_json::Value;

use super::field::{Errors, FieldValue};
use crate::status_error::{Cause, FieldError};

const A_BILLION: i128 = 1_000_000_000;
const PERCENT_RULE: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or \
    '93%', regex used for validation is '[0-9]+%')";

/// A map of labels. Errors have the path of the whole map.
pub(super) fn labels(at: &FieldValue<'_>, errors: &mut Errors) {
    for (key, value) in at.entries() {
        for why in labels::key_errors(key) {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                &at.path,
                &key.into(),
                &why,
            ));
        }
        for why in labels::value_errors(value.text()) {
            errors.push(at.with(value.value).invalid(&why));
        }
    }
}

/// A map of annotations.
pub(super) fn annotations(at: &FieldValue<'_>, errors: &mut Errors) {
    for (key, _) in at.entries() {
        for why in labels::key_errors(&key.to_lowercase()) {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                &at.path,
                &key.into(),
                &why,
            ));
        }
    }
}

/// A selector of labels, if there is one.
pub(super) fn selector(at: &FieldValue<'_>, errors: &mut Errors) {
    labels(&at.get("matchLabels"), errors);
    for one in at.get("matchExpressions").items() {
        expression(&one, errors);
    }
}

/// A key, an operator, and as many values as that takes.
pub(super) fn expression(one: &FieldValue<'_>, errors: &mut Errors) {
    let (operator, values) = (one.get("operator"), one.get("values"));
    let wrong = match operator.text() {
        "In" | "NotIn" => values
            .is_empty()
            .then(|| values.required("must be specified when `operator` is 'In' or 'NotIn'")),
        "Exists" | "DoesNotExist" => (!values.is_empty()).then(|| {
            values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
        }),
        _ => Some(operator.invalid_text("not a valid selector operator")),
    };
    errors.extend(wrong);
    names_of_expression(one, errors);
}

/// The names in an expression.
pub(super) fn names_of_expression(one: &FieldValue<'_>, errors: &mut Errors) {
    super::field::named(&one.get("key"), labels::key_errors, errors);
    for value in one.get("values").items() {
        super::field::named(&value, labels::value_errors, errors);
    }
}

/// Whether a selector selects labels.
pub(super) fn selects(selector: &FieldValue<'_>, labels: &Value) -> bool {
    let selector = Selector::of_object(selector.value);
    selector.is_some_and(|selector| selector.matches(|key| labels.get(key)?.as_str()))
}

/// How much a quantity is.
pub(super) fn amount(at: &FieldValue<'_>) -> Option<i128> {
    Quantity::parse(at.text()).ok()?.nanos()
}

/// An amount that is not below zero.
pub(super) fn amount_not_negative(at: &FieldValue<'_>, errors: &mut Errors) {
    if amount(at).is_some_and(|amount| amount < 0) {
        errors.push(at.invalid("must be greater than or equal to 0"));
    }
}

/// Whether an amount is one of whole units.
pub(super) fn is_whole(at: &FieldValue<'_>) -> bool {
    amount(at).is_none_or(|amount| amount % A_BILLION == 0)
}

/// A number or a percentage that is not below zero, if there is one.
pub(super) fn number_or_percent(at: &FieldValue<'_>, errors: &mut Errors) {
    match at.value {
        Value::String(text) if percent(text).is_none() => errors.push(at.invalid(PERCENT_RULE)),
        _ => super::field::not_negative(at, errors),
    }
}

/// At most all, if it is a percentage.
pub(super) fn at_most_all(at: &FieldValue<'_>, errors: &mut Errors) {
    if percent(at.text()).is_some_and(|percent| percent > 100) {
        errors.push(at.invalid("must not be greater than 100%"));
    }
}

/// Whether a number or percentage is zero.
pub(super) fn is_none(at: &FieldValue<'_>) -> bool {
    match at.value {
        // What is no percentage is a number all the same, if only zero.
        Value::String(text) => {
            percent(text).unwrap_or_else(|| text.parse().unwrap_or_default()) == 0
        }
        Value::Null => true,
        other => other.as_i64() == Some(0),
    }
}

fn percent(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%')?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u64::MAX))
}

/// Validates the name of a port.
pub(super) fn port_name(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 15 {
        errors.push("must be no more than 15 characters".to_owned());
    }
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !text.bytes().all(fits) {
        errors.push(
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        );
    }
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        errors.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        errors.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        errors.push("must not begin or end with a hyphen".to_owned());
    }
    errors
}

/// A path that stays below where it begins.
pub(super) fn local_path(at: &FieldValue<'_>, errors: &mut Errors) {
    if at.text().starts_with('/') {
        errors.push(at.invalid("must be a relative path"));
    }
    no_backsteps(at, errors);
}

/// A path without `..`.
pub(super) fn no_backsteps(at: &FieldValue<'_>, errors: &mut Errors) {
    if at.text().split('/').any(|part| part == "..") {
        errors.push(at.invalid("must not contain '..'"));
    }
}
