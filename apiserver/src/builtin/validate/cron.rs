//! Schedules: five fields of minutes, hours, days, months and days of the week.

use reeve_go_compat::runes::quote;
use reeve_go_compat::time::Duration;

/// A field of a schedule: its least and its most value, and the names that it knows, which begin at the least.
struct Field {
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field {
        least: 0,
        most: 59,
        names: &[],
    },
    Field {
        least: 0,
        most: 23,
        names: &[],
    },
    Field {
        least: 1,
        most: 31,
        names: &[],
    },
    Field {
        least: 1,
        most: 12,
        names: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    Field {
        least: 0,
        most: 6,
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];
const WORDS: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

/// Validates a schedule.
pub(super) fn schedule(text: &str, has_zone: bool) -> Vec<String> {
    let mut errors = Vec::new();
    let (mut rest, mut is_known) = (text, true);
    for prefix in ["TZ=", "CRON_TZ="] {
        let Some(after) = text.strip_prefix(prefix) else {
            continue;
        };
        let (name, after) = after.split_once(' ').unwrap_or((after, ""));
        rest = after.trim();
        is_known = jiff::tz::TimeZone::get(name).is_ok();
        if !is_known {
            errors.push(format!(
                "provided bad location {name}: unknown time zone {name}"
            ));
        }
    }
    if let (true, Err(why)) = (is_known, parse(rest)) {
        errors.push(why);
    }
    if text.contains("TZ") {
        errors.push(if has_zone {
            "cannot use both timeZone field and TZ or CRON_TZ in schedule".to_owned()
        } else {
            "cannot use TZ or CRON_TZ in schedule, use timeZone field instead".to_owned()
        });
    }
    errors
}

/// Validates the name of a time zone.
pub(super) fn zone(name: &str) -> Vec<String> {
    if name.is_empty() {
        return vec!["timeZone must be nil or non-empty string".to_owned()];
    }
    if name.eq_ignore_ascii_case("local") {
        return vec![
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
                .to_owned(),
        ];
    }
    match jiff::tz::TimeZone::get(name) {
        Ok(_) => Vec::new(),
        Err(_) => vec![format!("unknown time zone {name}")],
    }
}

fn parse(text: &str) -> Result<(), String> {
    if let Some(interval) = text.strip_prefix("@every ") {
        return match Duration::parse(interval.as_bytes()) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("failed to parse duration {text}: {error}")),
        };
    }
    if text.starts_with('@') {
        return if WORDS.contains(&text) {
            Ok(())
        } else {
            Err(format!("unrecognized descriptor: {text}"))
        };
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    for (field, text) in FIELDS.iter().zip(fields) {
        for range in text.split(',').filter(|range| !range.is_empty()) {
            self::range(field, range)?;
        }
    }
    Ok(())
}

fn range(field: &Field, text: &str) -> Result<(), String> {
    let parts: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = parts
        .first()
        .copied()
        .unwrap_or_default()
        .split('-')
        .collect();
    let first = ends.first().copied().unwrap_or_default();
    let (start, mut end, single) = if first == "*" || first == "?" {
        (field.least, field.most, false)
    } else {
        let start = value(field, first)?;
        match ends.as_slice() {
            [_] => (start, start, true),
            [_, last] => (start, value(field, last)?, false),
            _ => return Err(format!("too many hyphens: {text}")),
        }
    };
    let step = match parts.as_slice() {
        [_] => 1,
        [_, step] => {
            if single {
                end = field.most;
            }
            number(step)?
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    if start < field.least {
        return Err(format!(
            "beginning of range ({start}) below minimum ({}): {text}",
            field.least
        ));
    }
    if end > field.most {
        return Err(format!(
            "end of range ({end}) above maximum ({}): {text}",
            field.most
        ));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {text}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn value(field: &Field, text: &str) -> Result<u32, String> {
    let lower = text.to_lowercase();
    if let Some(place) = field.names.iter().position(|name| *name == lower) {
        return Ok(field.least + u32::try_from(place).unwrap_or_default());
    }
    number(text)
}

fn number(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(number) if number < 0 => Err(format!("negative number ({number}) not allowed: {text}")),
        Ok(number) => u32::try_from(number).map_err(|_| format!("too large a number: {text}")),
        Err(_) => Err(format!(
            "failed to parse int from {text}: strconv.Atoi: parsing {}: invalid syntax",
            quote(text)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("*/5 0-6,22 1 jan,MAR mon-fri")]
    #[case("0 0 ? * 6")]
    #[case("@every 1h30m")]
    #[case("@weekly")]
    fn schedules_that_are_right(#[case] text: &str) {
        assert!(schedule(text, false).is_empty());
    }

    #[rstest::rstest]
    #[case("* * * *", "expected exactly 5 fields, found 4: [* * * *]")]
    #[case("60 * * * *", "end of range (60) above maximum (59): 60")]
    #[case("* * 0 * *", "beginning of range (0) below minimum (1): 0")]
    #[case("5-2 * * * *", "beginning of range (5) beyond end of range (2): 5-2")]
    #[case("1-2-3 * * * *", "too many hyphens: 1-2-3")]
    #[case("*/1/2 * * * *", "too many slashes: */1/2")]
    #[case("*/0 * * * *", "step of range should be a positive number: */0")]
    #[case(
        "@every 5",
        "failed to parse duration @every 5: time: missing unit in duration \"5\""
    )]
    fn schedules_that_are_wrong(#[case] text: &str, #[case] why: &str) {
        assert_eq!(schedule(text, false), [why]);
    }

    #[test]
    fn timestamp_error_names_the_zone_field() {
        assert!(zone("Europe/Prague").is_empty());
        assert_eq!(zone("Nope/Nope"), ["unknown time zone Nope/Nope"]);
        assert_eq!(
            schedule("TZ=UTC 0 0 * * *", true),
            ["cannot use both timeZone field and TZ or CRON_TZ in schedule"]
        );
    }
}
