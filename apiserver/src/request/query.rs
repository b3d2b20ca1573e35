//! Query parameters and options.

use std::num::{IntErrorKind, ParseIntError};

use percent_encoding::percent_decode_str;
use reeve_go_compat::runes::quote;
use serde_json::Value;

use crate::status_error::StatusError;

/// The parameters of a request, decoded, in their order.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what comes after the question mark.
    pub fn parse(text: &str) -> Self {
        let decode = |part: &str| {
            let part = part.replace('+', " ");
            percent_decode_str(&part).decode_utf8_lossy().into_owned()
        };
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key), decode(value))
        });
        Self(pairs.collect())
    }

    /// The first value of a parameter.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }

    /// The same, or nothing if it is empty.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).filter(|text| !text.is_empty())
    }

    /// All values of a parameter.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let of_key = self.0.iter().filter(move |(name, _)| name == key);
        of_key.map(|(_, value)| value.as_str())
    }

    /// A switch: on if it is there and not `false` or `0`.
    pub fn on(&self, key: &str) -> bool {
        self.get(key)
            .is_some_and(|value| !matches!(value.to_lowercase().as_str(), "false" | "0"))
    }

    /// A whole number.
    pub fn number(&self, key: &str) -> Result<Option<i64>, StatusError> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|error: ParseIntError| {
            let why = match error.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            let shown = quote(text);
            StatusError::bad_request(format!("strconv.ParseInt: parsing {shown}: {why}"))
        })
    }
}

/// What to do with unknown fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drop them.
    Ignore,
    /// Drop them with a warning.
    Warn,
    /// Refuse them.
    Strict,
}

/// The options of a write.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Whether nothing is kept.
    pub dry_run: bool,
    /// The field manager.
    pub field_manager: Option<String>,
    /// What to do with unknown fields.
    pub field_validation: FieldValidation,
    /// Whether an apply takes fields over from others.
    pub force: bool,
}

impl WriteOptions {
    /// Of a query. `kind` is the kind of the options, for refusals.
    pub fn of(query: &Query, kind: &str) -> Result<Self, StatusError> {
        use crate::status_error::{Cause, FieldError};
        let mut errors = Vec::new();
        if query.all("dryRun").any(|value| value != "All") {
            {
                let shown: Vec<Value> = query.all("dryRun").map(Value::from).collect();
                errors.push(FieldError::of_value(
                    Cause::NotSupported,
                    "dryRun",
                    &Value::Array(shown),
                    "supported values: \"All\"",
                ));
            }
        }
        let field_validation = match query.text("fieldValidation") {
            None | Some("Warn") => FieldValidation::Warn,
            Some("Ignore") => FieldValidation::Ignore,
            Some("Strict") => FieldValidation::Strict,
            Some(other) => {
                errors.push(FieldError::not_supported(
                    "fieldValidation",
                    &other.into(),
                    &["", "Ignore", "Strict", "Warn"],
                ));
                FieldValidation::Warn
            }
        };
        let field_manager = query.text("fieldManager");
        if let Some(manager) = field_manager
            && manager.len() > 128
        {
            errors.push(FieldError::new(
                Cause::TooLong,
                "fieldManager",
                "may not be more than 128 bytes",
            ));
        }
        if !errors.is_empty() {
            return Err(StatusError::invalid_options(kind, &errors));
        }
        Ok(Self {
            dry_run: query.get("dryRun").is_some(),
            field_manager: field_manager.map(str::to_owned),
            field_validation,
            force: query.on("force"),
        })
    }
}

/// The propagation policy of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They are orphaned.
    Orphan,
}

/// The options of a deletion.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// Only the object of this uid.
    pub uid: Option<String>,
    /// Only the object in this state.
    pub resource_version: Option<String>,
    /// The propagation policy; absent for the default of the kind.
    pub propagation: Option<Propagation>,
    /// The grace period in seconds.
    pub grace_period: Option<i64>,
    /// Whether nothing is kept.
    pub dry_run: bool,
}

impl DeleteOptions {
    /// Of a query and a body, which may be empty.
    pub fn of(query: &Query, body: &Value) -> Result<Self, StatusError> {
        let text = |path: &str| body.pointer(path).and_then(Value::as_str);
        let policy = query
            .text("propagationPolicy")
            .or(text("/propagationPolicy"));
        let orphan = match body.get("orphanDependents") {
            Some(Value::Bool(orphan)) => Some(*orphan),
            _ => query
                .get("orphanDependents")
                .map(|_| query.on("orphanDependents")),
        };
        let propagation = match (policy, orphan) {
            (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
            (Some("Foreground"), _) => Some(Propagation::Foreground),
            (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
            (None, None) => None,
            (Some(other), _) => {
                let error = crate::status_error::FieldError::not_supported(
                    "propagationPolicy",
                    &other.into(),
                    &["Foreground", "Background", "Orphan", "nil"],
                );
                return Err(StatusError::invalid_options("DeleteOptions", &[error]));
            }
        };
        let grace = body.get("gracePeriodSeconds").and_then(Value::as_i64);
        let in_body = body.get("dryRun").and_then(Value::as_array);
        Ok(Self {
            uid: text("/preconditions/uid").map(str::to_owned),
            resource_version: text("/preconditions/resourceVersion").map(str::to_owned),
            propagation,
            grace_period: grace.or(query.number("gracePeriodSeconds")?),
            dry_run: WriteOptions::of(query, "DeleteOptions")?.dry_run
                || in_body.is_some_and(|list| !list.is_empty()),
        })
    }
}
