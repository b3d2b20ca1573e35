//! Dates and lengths of time.

use crate::function::Parameter::{self, Any, Str};
use crate::function::{Arguments, Env, Failure, Function};
use crate::functions::define::{Answer, Group, answer, charge_bytes, takes};
use reeve_go_compat::time::duration::SECOND;
use reeve_go_compat::time::{self, Duration, Time, Zone};
use reeve_go_compat::value::Value;

const DATES: Group = Group("Dates");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    DATES.function("now", takes(&[]), now, "", "The present moment. The result differs from one evaluation to the next."),
    DATES.function("date", takes(&[Str, Any]), date, "layout date", "The date in the form of a Go layout such as `2006-01-02 15:04`. A number counts seconds since 1970; anything else that is no date is now."),
    DATES.function("dateInZone", takes(&[Str, Any, Str]), date_in_zone, "layout date zone", "Like `date`, in a time zone such as `Europe/Prague`. An unknown zone is UTC."),
    DATES.function("date_in_zone", takes(&[Str, Any, Str]), date_in_zone, "layout date zone", "The older name of `dateInZone`."),
    DATES.function("htmlDate", takes(&[Any]), html_date, "date", "The date as `2006-01-02`."),
    DATES.function("htmlDateInZone", takes(&[Any, Str]), html_date_in_zone, "date zone", "The date as `2006-01-02` in a time zone."),
    DATES.function("toDate", takes(&[Str, Str]), to_date, "layout text", "Reads a date in the form of a Go layout. What cannot be read is the first moment of the year 1."),
    DATES.function("mustToDate", takes(&[Str, Str]), must_to_date, "layout text", "Like `toDate`, but fails for text that cannot be read."),
    DATES.function("dateModify", takes(&[Str, Parameter::Time]), date_modify, "duration date", "The date later by a duration such as `1h30m`. A bad duration changes nothing."),
    DATES.function("date_modify", takes(&[Str, Parameter::Time]), date_modify, "duration date", "The older name of `dateModify`."),
    DATES.function("mustDateModify", takes(&[Str, Parameter::Time]), must_date_modify, "duration date", "Like `dateModify`, but fails for a bad duration."),
    DATES.function("must_date_modify", takes(&[Str, Parameter::Time]), must_date_modify, "duration date", "The older name of `mustDateModify`."),
    DATES.function("ago", takes(&[Any]), ago, "date", "How long ago the date was, in seconds, minutes and hours."),
    DATES.function("duration", takes(&[Any]), duration, "seconds", "Seconds, as text or as a number of type `int64`, in the form `1m35s`."),
    DATES.function("durationRound", takes(&[Any]), duration_round, "duration", "A duration, or the time since a date, in its largest unit: `3mo`, `2d`, `5h`."),
    DATES.function("unixEpoch", takes(&[Parameter::Time]), unix_epoch, "date", "Seconds since 1970, as text."),
];

fn local(env: &mut Env<'_>) -> Zone {
    Zone::Local(env.ambient.time_zone())
}

fn present(env: &mut Env<'_>) -> Time {
    let moment = env.ambient.now();
    let seconds = moment.as_second();
    let nanoseconds = moment.subsec_nanosecond();
    let (seconds, nanoseconds) = if nanoseconds < 0 {
        (seconds - 1, nanoseconds + 1_000_000_000)
    } else {
        (seconds, nanoseconds)
    };
    let zone = local(env);
    Time::from_unix(seconds, u32::try_from(nanoseconds).unwrap_or(0), zone)
}

fn now(env: &mut Env<'_>, _: &Arguments<'_>) -> Answer {
    Ok(present(env).into_value())
}

fn as_time(value: &Value) -> Option<&Time> {
    match value {
        Value::Native(native) => native.as_any().downcast_ref(),
        _ => None,
    }
}

/// A date, seconds since 1970, or else now.
fn moment(env: &mut Env<'_>, value: &Value) -> Time {
    match value {
        Value::Int(seconds) | Value::Int64(seconds) => {
            let zone = local(env);
            Time::from_unix(*seconds, 0, zone)
        }
        other => match as_time(other) {
            Some(time) => time.clone(),
            None => present(env),
        },
    }
}

fn shown(env: &mut Env<'_>, layout: &[u8], value: &Value, zone: &[u8]) -> Answer {
    // No field writes more than four times what it takes in the layout.
    charge_bytes(env, layout.len().saturating_mul(4))?;
    let time_zone = env.ambient.time_zone();
    let zone = std::str::from_utf8(zone)
        .ok()
        .and_then(|name| Zone::load(name, &time_zone))
        .unwrap_or(Zone::Utc);
    answer(moment(env, value).in_zone(zone).format(layout))
}

fn date(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    shown(env, arguments.str(0)?, arguments.any(1), b"Local")
}

fn date_in_zone(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    shown(env, arguments.str(0)?, arguments.any(1), arguments.str(2)?)
}

fn html_date(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    shown(env, b"2006-01-02", arguments.any(0), b"Local")
}

fn html_date_in_zone(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    shown(env, b"2006-01-02", arguments.any(0), arguments.str(1)?)
}

/// Reads a date; the inner error is Go's text, which quotes both texts.
fn parsed(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Result<Result<Time, String>, Failure> {
    let zone = local(env);
    let (layout, text) = (arguments.str(0)?, arguments.str(1)?);
    charge_bytes(env, layout.len() + text.len())?;
    Ok(time::parse(layout, text, &zone))
}

fn to_date(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(parsed(env, arguments)?
        .unwrap_or_else(|_| Time::zero())
        .into_value())
}

fn must_to_date(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    parsed(env, arguments)?
        .map(Time::into_value)
        .map_err(Failure::text)
}

fn modified(arguments: &Arguments<'_>) -> Result<Result<Value, String>, Failure> {
    let time = arguments.native::<Time>(1)?;
    let duration = Duration::parse(arguments.str(0)?);
    Ok(duration.map(|duration| time.add(duration).into_value()))
}

fn date_modify(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(modified(arguments)?.unwrap_or_else(|_| arguments.any(1).clone()))
}

fn must_date_modify(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    modified(arguments)?.map_err(Failure::text)
}

fn ago(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let then = moment(env, arguments.any(0));
    let since = present(env).since(&then);
    answer(since.round(Duration(SECOND)).to_string())
}

fn duration(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let seconds = match arguments.any(0) {
        Value::Int64(seconds) => *seconds,
        Value::Str(text) => text.as_utf8().map_or(0, parse_saturating),
        _ => 0,
    };
    answer(Duration(seconds.wrapping_mul(SECOND)).to_string())
}

/// `strconv.ParseInt`, whose result is the nearest number when the text is out of range. That is
/// found out digit by digit, before anything behind the digits is looked at.
fn parse_saturating(text: &str) -> i64 {
    let (limit, digits) = match text.strip_prefix('-') {
        Some(digits) => (i64::MIN, digits),
        None => (i64::MAX, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut number: u64 = 0;
    for character in digits.chars() {
        let Some(digit) = character.to_digit(10) else {
            return 0;
        };
        let next = number
            .checked_mul(10)
            .and_then(|number| number.checked_add(u64::from(digit)));
        match next {
            Some(next) => number = next,
            None => return limit,
        }
    }
    if limit == i64::MIN {
        return 0_i64.checked_sub_unsigned(number).unwrap_or(limit);
    }
    i64::try_from(number).unwrap_or(limit)
}

fn duration_round(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let length = match arguments.any(0) {
        Value::Int64(nanoseconds) => *nanoseconds,
        Value::Str(text) => Duration::parse(text).map_or(0, |duration| duration.0),
        other => match as_time(other) {
            Some(time) => present(env).since(time).0,
            None => 0,
        },
    };
    let seconds = |count: u64| count * SECOND.unsigned_abs();
    let units = [
        ("y", seconds(365 * 86_400)),
        ("mo", seconds(30 * 86_400)),
        ("d", seconds(86_400)),
        ("h", seconds(3_600)),
        ("m", seconds(60)),
        ("s", seconds(1)),
    ];
    let length = length.unsigned_abs();
    let fitting = units.into_iter().find(|(_, size)| length > *size);
    answer(fitting.map_or_else(
        || "0s".to_owned(),
        |(unit, size)| format!("{}{unit}", length / size),
    ))
}

fn unix_epoch(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    answer(arguments.native::<Time>(0)?.seconds().to_string())
}
