//! The methods of times and their parts that templates may call.

#![allow(clippy::unnecessary_wraps)] // all methods are of one type, those too that cannot fail

use std::rc::Rc;

use reeve_go_compat::time::{Duration, Location, Time, Zone};
use reeve_go_compat::value::{Native, Value};

use super::{Answer, Call, Method, NOTHING, Results, TEXT, receiver, takes};
use crate::function::{Arguments, Failure, Parameter, Signature};

/// Methods cannot charge for what they write, so that there is a bound instead, in bytes.
const LONGEST_LAYOUT: usize = 1024;

const DURATION: Signature = takes(&[Parameter::Named("time.Duration")]);
const TIME: Signature = takes(&[Parameter::Time]);
const DATE: Signature = takes(&[Parameter::Int, Parameter::Int, Parameter::Int]);
const LOCATION: Signature = takes(&[Parameter::Named("*time.Location")]);

fn native(value: impl Native + 'static) -> Value {
    Value::Native(Rc::new(value))
}

/// Methods with more results than templates take.
fn uncallable(name: &str) -> Option<Method> {
    let results = match name {
        "Date" | "Clock" => Results::Many(3),
        "Zone" | "ISOWeek" => Results::WithSecond("int"),
        "ZoneBounds" => Results::WithSecond("time.Time"),
        _ => return None,
    };
    Some(Method {
        signature: NOTHING,
        call: |_, _| Ok(Value::Missing),
        results,
    })
}

/// A duration; in a template a plain number is one, too.
fn duration_argument(arguments: &Arguments<'_>) -> Result<Duration, Failure> {
    match arguments.any(0) {
        Value::Int(nanoseconds) | Value::Int64(nanoseconds) => Ok(Duration(*nanoseconds)),
        _ => arguments.native::<Duration>(0).copied(),
    }
}

/// The method of a `time.Time`.
pub(super) fn of_time(name: &str) -> Option<Method> {
    reading(name)
        .or_else(|| changing(name))
        .or_else(|| comparing(name))
        .map(Method::with_one_result)
        .or_else(|| uncallable(name))
}

fn int(number: i64) -> Answer {
    Ok(Value::Int(number))
}

/// Go's integers wrap around.
fn wrapped(number: i128) -> Answer {
    let low = u64::try_from(number & i128::from(u64::MAX)).unwrap_or(0);
    Ok(Value::Int64(low.cast_signed()))
}

fn time(native: &dyn Native) -> Result<&Time, Failure> {
    receiver(native)
}

fn reading(name: &str) -> Option<(Signature, Call)> {
    let call: Call = match name {
        "Year" => |time_, _| int(time(time_)?.civil().year),
        "Month" => |time_, _| Ok(native(time(time_)?.month())),
        "Day" => |time_, _| int(time(time_)?.civil().day),
        "Hour" => |time_, _| int(time(time_)?.civil().hour),
        "Minute" => |time_, _| int(time(time_)?.civil().minute),
        "Second" => |time_, _| int(time(time_)?.civil().second),
        "Nanosecond" => |time_, _| int(time(time_)?.nanoseconds().into()),
        "YearDay" => |time_, _| int(time(time_)?.civil().year_day()),
        "Weekday" => |time_, _| Ok(native(time(time_)?.weekday())),
        "Unix" => |time_, _| Ok(Value::Int64(time(time_)?.seconds())),
        "UnixMilli" => |time_, _| wrapped(time(time_)?.total_nanoseconds().div_euclid(1_000_000)),
        "UnixMicro" => |time_, _| wrapped(time(time_)?.total_nanoseconds().div_euclid(1_000)),
        "UnixNano" => |time_, _| wrapped(time(time_)?.total_nanoseconds()),
        "IsZero" => |time_, _| Ok(Value::Bool(time(time_)?.is_zero())),
        "IsDST" => |time_, _| {
            let time = time(time_)?;
            Ok(Value::Bool(time.zone().lookup(time.seconds()).summer))
        },
        "String" => |time_, _| Ok(Value::from(Time::text(time(time_)?))),
        "GoString" => |time_, _| Ok(Value::from(time(time_)?.go_string())),
        "Location" => |time_, _| Ok(native(Location(time(time_)?.zone().clone()))),
        "Format" => {
            return Some((TEXT, |time_, arguments| {
                let layout = arguments.str(0)?;
                if layout.len() > LONGEST_LAYOUT {
                    return Err(Failure::text("the layout is too long"));
                }
                let text = time(time_)?.format(layout);
                Ok(Value::Str(text.into()))
            }));
        }
        _ => return None,
    };
    Some((NOTHING, call))
}

fn changing(name: &str) -> Option<(Signature, Call)> {
    Some(match name {
        "UTC" => (NOTHING, |time_, _| {
            Ok(time(time_)?.in_zone(Zone::Utc).into_value())
        }),
        "Local" => (NOTHING, |time_, _| {
            // A method has no access to the caller's zone; a local time has it.
            let time = time(time_)?;
            let zone = match time.zone() {
                local @ Zone::Local(_) => local.clone(),
                _ => Zone::Local(jiff::tz::TimeZone::UTC),
            };
            Ok(time.in_zone(zone).into_value())
        }),
        "In" => (LOCATION, |time_, arguments| {
            if arguments.any(0).is_nil() {
                return Err(Failure::text("time: missing Location in call to Time.In"));
            }
            let zone = arguments.native::<Location>(0)?.0.clone();
            Ok(time(time_)?.in_zone(zone).into_value())
        }),
        "Add" => (DURATION, |time_, arguments| {
            let duration = duration_argument(arguments)?;
            Ok(time(time_)?.add(duration).into_value())
        }),
        "AddDate" => (DATE, |time_, arguments| {
            let (years, months, days) = (arguments.int(0)?, arguments.int(1)?, arguments.int(2)?);
            Ok(time(time_)?.add_date(years, months, days).into_value())
        }),
        "Truncate" => (DURATION, |time_, arguments| {
            let (time, multiple) = (time(time_)?, duration_argument(arguments)?);
            if multiple.0 <= 0 {
                return Ok(time.clone().into_value());
            }
            let over = time.over(multiple);
            Ok(time.add(Duration(-over.0)).into_value())
        }),
        "Round" => (DURATION, |time_, arguments| {
            let (time, multiple) = (time(time_)?, duration_argument(arguments)?);
            if multiple.0 <= 0 {
                return Ok(time.clone().into_value());
            }
            let over = time.over(multiple).0;
            let by = if over < multiple.0 - over {
                -over
            } else {
                multiple.0 - over
            };
            Ok(time.add(Duration(by)).into_value())
        }),
        _ => return None,
    })
}

fn comparing(name: &str) -> Option<(Signature, Call)> {
    let call: Call = match name {
        "Sub" => |time_, arguments| {
            let other = arguments.native::<Time>(0)?;
            Ok(native(time(time_)?.since(other)))
        },
        "Before" => |time_, arguments| {
            let other = arguments.native::<Time>(0)?;
            Ok(Value::Bool(time(time_)?.compare(other).is_lt()))
        },
        "After" => |time_, arguments| {
            let other = arguments.native::<Time>(0)?;
            Ok(Value::Bool(time(time_)?.compare(other).is_gt()))
        },
        "Equal" => |time_, arguments| {
            let other = arguments.native::<Time>(0)?;
            Ok(Value::Bool(time(time_)?.compare(other).is_eq()))
        },
        "Compare" => |time_, arguments| {
            let other = arguments.native::<Time>(0)?;
            int(time(time_)?.compare(other) as i64)
        },
        _ => return None,
    };
    Some((TIME, call))
}

fn duration(native: &dyn Native) -> Result<&Duration, Failure> {
    receiver(native)
}

/// The method of a `time.Duration`.
pub(super) fn of_duration(name: &str) -> Option<Method> {
    use reeve_go_compat::time::duration::{HOUR, MINUTE, SECOND};
    let call: Call = match name {
        "Hours" => |value, _| Ok(Value::Float(duration(value)?.in_units(HOUR))),
        "Minutes" => |value, _| Ok(Value::Float(duration(value)?.in_units(MINUTE))),
        "Seconds" => |value, _| Ok(Value::Float(duration(value)?.in_units(SECOND))),
        "Milliseconds" => |value, _| Ok(Value::Int64(duration(value)?.0 / 1_000_000)),
        "Microseconds" => |value, _| Ok(Value::Int64(duration(value)?.0 / 1_000)),
        "Nanoseconds" => |value, _| Ok(Value::Int64(duration(value)?.0)),
        "String" => |value, _| Ok(Value::from(duration(value)?.to_string())),
        "Abs" => |value, _| Ok(native(Duration(duration(value)?.0.saturating_abs()))),
        "Round" => {
            return Some(Method::with_one_result((DURATION, |value, arguments| {
                let multiple = duration_argument(arguments)?;
                Ok(native(duration(value)?.round(multiple)))
            })));
        }
        "Truncate" => {
            return Some(Method::with_one_result((DURATION, |value, arguments| {
                let multiple = duration_argument(arguments)?;
                Ok(native(duration(value)?.truncate(multiple)))
            })));
        }
        _ => return None,
    };
    Some(Method::with_one_result((NOTHING, call)))
}
