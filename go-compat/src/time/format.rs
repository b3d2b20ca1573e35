//! Times to text.

use super::Time;
use super::civil::{Civil, weekday};
use super::layout::{Field, Offset, next_field};
use super::zone::InEffect;
use super::{MONTHS, WEEKDAYS};

impl Time {
    /// `Time.Format`.
    pub fn format(&self, layout: &[u8]) -> Vec<u8> {
        let in_effect = self.zone().lookup(self.seconds());
        let local = self.seconds().wrapping_add(in_effect.offset);
        let moment = Moment {
            civil: Civil::from_seconds(local),
            weekday: weekday(local),
            nanoseconds: self.nanoseconds(),
            in_effect,
        };
        let mut text = Vec::with_capacity(layout.len() + 16);
        let mut rest = layout;
        while let Some((before, field, length)) = next_field(rest) {
            text.extend_from_slice(rest.get(..before).unwrap_or_default());
            moment.append(&mut text, field);
            rest = rest.get(before + length..).unwrap_or_default();
        }
        text.extend_from_slice(rest);
        text
    }
}

struct Moment {
    civil: Civil,
    weekday: i64,
    nanoseconds: u32,
    in_effect: InEffect,
}

/// A number with leading zeros up to this width, which a sign does not count for.
fn padded(number: i64, width: usize) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{:0width$}", number.unsigned_abs())
}

fn name(names: &'static [&'static str], position: i64) -> &'static str {
    usize::try_from(position)
        .ok()
        .and_then(|position| names.get(position).copied())
        .unwrap_or_default()
}

impl Moment {
    fn append(&self, text: &mut Vec<u8>, field: Field) {
        let civil = self.civil;
        let month = name(&MONTHS, civil.month - 1);
        let weekday = name(&WEEKDAYS, self.weekday);
        let afternoon = civil.hour >= 12;
        let hour12 = (civil.hour + 11) % 12 + 1;
        let shown = match field {
            Field::LongMonth => month.to_owned(),
            Field::Month => month.get(..3).unwrap_or_default().to_owned(),
            Field::NumMonth => padded(civil.month, 0),
            Field::ZeroMonth => padded(civil.month, 2),
            Field::LongWeekDay => weekday.to_owned(),
            Field::WeekDay => weekday.get(..3).unwrap_or_default().to_owned(),
            Field::Day => padded(civil.day, 0),
            Field::UnderDay => format!("{:2}", civil.day),
            Field::ZeroDay => padded(civil.day, 2),
            Field::UnderYearDay => format!("{:3}", civil.year_day()),
            Field::ZeroYearDay => padded(civil.year_day(), 3),
            Field::Hour => padded(civil.hour, 2),
            Field::Hour12 => padded(hour12, 0),
            Field::ZeroHour12 => padded(hour12, 2),
            Field::Minute => padded(civil.minute, 0),
            Field::ZeroMinute => padded(civil.minute, 2),
            Field::Second => padded(civil.second, 0),
            Field::ZeroSecond => padded(civil.second, 2),
            Field::LongYear => padded(civil.year, 4),
            Field::Year => padded(civil.year.wrapping_abs() % 100, 2),
            Field::UpperPm => if afternoon { "PM" } else { "AM" }.to_owned(),
            Field::LowerPm => if afternoon { "pm" } else { "am" }.to_owned(),
            Field::ZoneName => self.zone_name(),
            Field::Offset(form) => self.offset(form),
            Field::Fraction(digits, separator) => self.fraction(digits, separator, false),
            Field::TrimmedFraction(digits, separator) => self.fraction(digits, separator, true),
        };
        text.extend_from_slice(shown.as_bytes());
    }

    fn zone_name(&self) -> String {
        if self.in_effect.name.is_empty() {
            return self.offset(Offset {
                zulu: false,
                colons: false,
                numbers: 2,
            });
        }
        self.in_effect.name.clone()
    }

    fn offset(&self, form: Offset) -> String {
        let offset = self.in_effect.offset;
        if form.zulu && offset == 0 {
            return "Z".to_owned();
        }
        // The sign is that of the minutes: half a minute west prints as zero.
        let minutes = offset / 60;
        let sign = if minutes < 0 { '-' } else { '+' };
        let seconds = if minutes < 0 { -offset } else { offset } % 60;
        let minutes = minutes.abs();
        let colon = if form.colons { ":" } else { "" };
        let mut text = format!("{sign}{:02}", minutes / 60);
        if form.numbers > 1 {
            text.push_str(colon);
            text.push_str(&padded(minutes % 60, 2));
        }
        if form.numbers > 2 {
            text.push_str(colon);
            text.push_str(&padded(seconds, 2));
        }
        text
    }

    fn fraction(&self, digits: usize, separator: u8, trim: bool) -> String {
        if trim && self.nanoseconds == 0 {
            return String::new();
        }
        let all = format!("{}{:09}", char::from(separator), self.nanoseconds);
        let mut text = all.get(..=digits.min(9)).unwrap_or(&all);
        if trim {
            text = text.trim_end_matches('0');
            text = text.strip_suffix(char::from(separator)).unwrap_or(text);
        }
        text.to_owned()
    }
}
