//! Times and their parts as values of templates.

use std::any::Any;
use std::rc::Rc;

use super::civil::weekday;
use super::{Duration, MONTHS, Time, WEEKDAYS, Zone};
use crate::value::{Kind, Native, Value};

/// A Go `time.Month` or `time.Weekday`: a number with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    type_name: &'static str,
    names: &'static [&'static str],
    /// The number that the first name has.
    first: i64,
    number: i64,
}

/// A Go `*time.Location`.
#[derive(Clone, Debug)]
pub struct Location(pub Zone);

impl Time {
    /// The time as a template's value.
    pub fn into_value(self) -> Value {
        Value::Native(Rc::new(self))
    }

    /// The month, as a `time.Month`.
    pub fn month(&self) -> Named {
        Named {
            type_name: "time.Month",
            names: &MONTHS,
            first: 1,
            number: self.civil().month,
        }
    }

    /// The day of the week, as a `time.Weekday`.
    pub fn weekday(&self) -> Named {
        Named {
            type_name: "time.Weekday",
            names: &WEEKDAYS,
            first: 0,
            number: weekday(self.civil().to_seconds()),
        }
    }
}

impl Native for Time {
    fn type_name(&self) -> &'static str {
        "time.Time"
    }

    fn kind(&self) -> Kind {
        Kind::Struct
    }

    fn text(&self) -> Option<String> {
        Some(Time::text(self))
    }

    fn go_string(&self) -> Option<String> {
        Some(Time::go_string(self))
    }

    fn json(&self) -> String {
        format!("\"{}\"", self.rfc3339_nano())
    }

    fn equals(&self, other: &dyn Native) -> bool {
        other
            .as_any()
            .downcast_ref::<Self>()
            .is_some_and(|other| self.same(other))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Native for Duration {
    fn type_name(&self) -> &'static str {
        "time.Duration"
    }

    fn kind(&self) -> Kind {
        Kind::Int64
    }

    fn text(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn integer(&self) -> Option<i64> {
        Some(self.0)
    }

    fn json(&self) -> String {
        self.0.to_string()
    }

    fn equals(&self, other: &dyn Native) -> bool {
        other.as_any().downcast_ref::<Self>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Native for Named {
    fn type_name(&self) -> &'static str {
        self.type_name
    }

    fn kind(&self) -> Kind {
        Kind::Int
    }

    fn text(&self) -> Option<String> {
        let name = usize::try_from(self.number - self.first)
            .ok()
            .and_then(|position| self.names.get(position));
        Some((*name.unwrap_or(&"")).to_owned())
    }

    fn integer(&self) -> Option<i64> {
        Some(self.number)
    }

    fn json(&self) -> String {
        self.number.to_string()
    }

    fn equals(&self, other: &dyn Native) -> bool {
        other.as_any().downcast_ref::<Self>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Native for Location {
    fn type_name(&self) -> &'static str {
        "*time.Location"
    }

    fn kind(&self) -> Kind {
        Kind::Ptr
    }

    fn text(&self) -> Option<String> {
        Some(self.0.name().to_owned())
    }

    fn json(&self) -> String {
        // Nothing in it is exported.
        "{}".to_owned()
    }

    fn equals(&self, other: &dyn Native) -> bool {
        other
            .as_any()
            .downcast_ref::<Self>()
            .is_some_and(|other| self.0.name() == other.0.name())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
