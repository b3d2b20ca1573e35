//! A value in an object, and where it is: what checks of fields are written in.

use serde_json::Value;

use crate::status_error::{Cause, FieldError};

/// The errors so far.
pub(super) type Errors = Vec<FieldError>;

const NOTHING: &Value = &Value::Null;

/// A value, `null` if there is none, and its path.
#[derive(Clone, Debug)]
pub(super) struct FieldValue<'v> {
    pub(super) value: &'v Value,
    pub(super) path: String,
}

impl<'v> FieldValue<'v> {
    /// Of a whole object.
    pub(super) fn whole(object: &'v Value) -> Self {
        Self {
            value: object,
            path: String::new(),
        }
    }

    /// A field; of fields of fields with dots.
    pub(super) fn get(&self, field: &str) -> Self {
        let found = field
            .split('.')
            .try_fold(self.value, |value, part| value.get(part));
        let path = if self.path.is_empty() {
            field.to_owned()
        } else {
            format!("{}.{field}", self.path)
        };
        Self {
            value: found.unwrap_or(NOTHING),
            path,
        }
    }

    /// An entry of a map.
    pub(super) fn key(&self, key: &str) -> Self {
        Self {
            value: self.value.get(key).unwrap_or(NOTHING),
            path: format!("{}[{key}]", self.path),
        }
    }

    /// The items of a list.
    pub(super) fn items(&self) -> impl Iterator<Item = FieldValue<'v>> + use<'v> {
        let path = self.path.clone();
        let items = self.value.as_array().into_iter().flatten();
        items.enumerate().map(move |(place, value)| FieldValue {
            value,
            path: format!("{path}[{place}]"),
        })
    }

    /// The entries of a map, by key.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'v str, FieldValue<'v>)> + use<'v> {
        let path = self.path.clone();
        let entries = self.value.as_object().into_iter().flatten();
        entries.map(move |(key, value)| {
            let path = format!("{path}[{key}]");
            (key.as_str(), FieldValue { value, path })
        })
    }

    /// The same path with another value.
    pub(super) fn with(&self, value: &'v Value) -> Self {
        Self {
            value,
            path: self.path.clone(),
        }
    }

    /// The text, empty if it is none.
    pub(super) fn text(&self) -> &'v str {
        self.value.as_str().unwrap_or_default()
    }

    pub(super) fn number(&self) -> Option<i64> {
        self.value.as_i64()
    }

    pub(super) fn is_true(&self) -> bool {
        *self.value == Value::Bool(true)
    }

    pub(super) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether there is nothing, or an empty text, list or map.
    pub(super) fn is_empty(&self) -> bool {
        match self.value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self.value {
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            _ => 0,
        }
    }

    pub(super) fn required(&self, why: &str) -> FieldError {
        FieldError::new(Cause::Required, &self.path, why)
    }

    pub(super) fn forbidden(&self, why: &str) -> FieldError {
        FieldError::new(Cause::Forbidden, &self.path, why)
    }

    pub(super) fn invalid(&self, why: &str) -> FieldError {
        FieldError::of_value(Cause::Invalid, &self.path, self.value, why)
    }

    /// Of a text that may be absent, which is shown as an empty one.
    pub(super) fn invalid_text(&self, why: &str) -> FieldError {
        FieldError::of_value(Cause::Invalid, &self.path, &self.text().into(), why)
    }

    pub(super) fn duplicate(&self) -> FieldError {
        FieldError::of_value(Cause::Duplicate, &self.path, self.value, "")
    }

    pub(super) fn not_found(&self) -> FieldError {
        FieldError::of_value(Cause::NotFound, &self.path, self.value, "")
    }

    /// One of others is allowed. Of a text that may be absent.
    pub(super) fn unsupported(&self, allowed: &[&str]) -> FieldError {
        FieldError::not_supported(&self.path, &self.text().into(), allowed)
    }

    pub(super) fn too_long(&self, most: usize) -> FieldError {
        let why = format!("may not be more than {most} bytes");
        FieldError::new(Cause::TooLong, &self.path, &why)
    }
}

/// The errors of the text by a rule for names.
pub(super) fn named(at: &FieldValue<'_>, rule: fn(&str) -> Vec<String>, errors: &mut Errors) {
    errors.extend(rule(at.text()).iter().map(|why| at.invalid_text(why)));
}

/// The same, of a text that has to be there.
pub(super) fn required_name(
    at: &FieldValue<'_>,
    rule: fn(&str) -> Vec<String>,
    errors: &mut Errors,
) {
    if at.text().is_empty() {
        errors.push(at.required(""));
    } else {
        named(at, rule, errors);
    }
}

/// The same, of a text that may be absent.
pub(super) fn optional_name(
    at: &FieldValue<'_>,
    rule: fn(&str) -> Vec<String>,
    errors: &mut Errors,
) {
    if !at.text().is_empty() {
        named(at, rule, errors);
    }
}

/// One of few texts, if there is one.
pub(super) fn one_of(at: &FieldValue<'_>, allowed: &[&str], errors: &mut Errors) {
    if at.is_set() && !allowed.contains(&at.text()) {
        errors.push(at.unsupported(allowed));
    }
}

/// One of few texts, which has to be there.
pub(super) fn required_one_of(at: &FieldValue<'_>, allowed: &[&str], errors: &mut Errors) {
    if at.text().is_empty() {
        errors.push(at.required(""));
    } else {
        one_of(at, allowed, errors);
    }
}

/// A number that is not below zero, if there is one.
pub(super) fn not_negative(at: &FieldValue<'_>, errors: &mut Errors) {
    if at.number().is_some_and(|number| number < 0) {
        errors.push(at.invalid("must be greater than or equal to 0"));
    }
}

/// Fields of an object whose numbers are not below zero.
pub(super) fn none_negative(at: &FieldValue<'_>, fields: &[&str], errors: &mut Errors) {
    for field in fields {
        not_negative(&at.get(field), errors);
    }
}

/// A number in a range, if there is one.
pub(super) fn within(at: &FieldValue<'_>, least: i64, most: i64, errors: &mut Errors) {
    if at
        .number()
        .is_some_and(|number| !(least..=most).contains(&number))
    {
        errors.push(at.invalid(&format!("must be between {least} and {most}, inclusive")));
    }
}

/// A port; none at all is the port zero.
pub(super) fn port(at: &FieldValue<'_>, errors: &mut Errors) {
    let number = at.number().unwrap_or_default();
    if !(1..=65535).contains(&number) {
        let why = "must be between 1 and 65535, inclusive";
        errors.push(FieldError::of_value(
            Cause::Invalid,
            &at.path,
            &number.into(),
            why,
        ));
    }
}

/// An immutable field.
pub(super) fn immutable(new: &FieldValue<'_>, old: &FieldValue<'_>, errors: &mut Errors) {
    if new.value != old.value {
        errors.push(new.invalid("field is immutable"));
    }
}

/// Reports duplicates among the texts at `field` of some items.
pub(super) fn no_duplicates<'v>(
    items: impl Iterator<Item = FieldValue<'v>>,
    field: &str,
    errors: &mut Errors,
) {
    let mut seen: Vec<&str> = Vec::new();
    for item in items {
        let at = if field.is_empty() {
            item
        } else {
            item.get(field)
        };
        if at.text().is_empty() {
            continue;
        }
        if seen.contains(&at.text()) {
            errors.push(at.duplicate());
        }
        seen.push(at.text());
    }
}
