//! Text to times.

use super::Time;
use super::civil::{Civil, days_in, is_leap};
use super::duration::quote;
use super::layout::{Field, Offset, next_field};
use super::zone::Zone;
use super::{MONTHS, WEEKDAYS};

/// A field that could not be read.
enum Fault {
    /// The value is not of the field's form.
    Form,
    /// The number is out of the range of this quantity.
    Range(&'static str),
}

type Read<T> = Result<T, Fault>;

/// `time.ParseInLocation`; the error is Go's text.
pub fn parse(layout: &[u8], value: &[u8], local: &Zone) -> Result<Time, String> {
    let mut reader = Reader {
        rest: value,
        found: Found::default(),
    };
    let prefix_of = |what: &[u8], rest: &[u8]| {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote(value),
            quote(layout),
            quote(rest),
            quote(what)
        )
    };
    let mut pattern = layout;
    loop {
        let next = next_field(pattern);
        let before = next.map_or(pattern.len(), |(before, _, _)| before);
        let literal = pattern.get(..before).unwrap_or_default();
        if !reader.skip(literal) {
            return Err(prefix_of(literal, reader.rest));
        }
        let Some((_, field, length)) = next else {
            break;
        };
        let shown = pattern.get(before..before + length).unwrap_or_default();
        pattern = pattern.get(before + length..).unwrap_or_default();
        let held = reader.rest;
        match reader.read(field, pattern) {
            Ok(()) => {}
            Err(Fault::Form) => return Err(prefix_of(shown, held)),
            Err(Fault::Range(what)) => {
                return Err(format!(
                    "parsing time {}: {what} out of range",
                    quote(value)
                ));
            }
        }
    }
    if !reader.rest.is_empty() {
        return Err(format!(
            "parsing time {}: extra text: {}",
            quote(value),
            quote(reader.rest)
        ));
    }
    reader
        .found
        .into_time(local)
        .map_err(|problem| format!("parsing time {}: {problem}", quote(value)))
}

#[derive(Default)]
struct Found {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanoseconds: i64,
    morning: bool,
    afternoon: bool,
    utc: bool,
    offset: Option<i64>,
    zone: String,
}

struct Reader<'a> {
    rest: &'a [u8],
    found: Found,
}

fn digit(byte: Option<&u8>) -> Option<i64> {
    byte.filter(|byte| byte.is_ascii_digit())
        .map(|byte| i64::from(byte - b'0'))
}

fn is_separator(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b'.' | b','))
}

/// A sign and digits.
fn signed(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        _ => (false, text),
    };
    let mut number: i64 = 0;
    for byte in digits {
        number = number.checked_mul(10)?.checked_add(digit(Some(byte))?)?;
    }
    Some(if negative { -number } else { number })
}

impl<'a> Reader<'a> {
    /// Skips this text; a space in it stands for any number of spaces.
    fn skip(&mut self, mut literal: &[u8]) -> bool {
        while let Some(first) = literal.first() {
            if *first == b' ' {
                if self.rest.first().is_some_and(|byte| *byte != b' ') {
                    return false;
                }
                literal = without_spaces(literal);
                self.rest = without_spaces(self.rest);
                continue;
            }
            if self.rest.first() != Some(first) {
                return false;
            }
            literal = literal.get(1..).unwrap_or_default();
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        true
    }

    fn take(&mut self, length: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Fault::Form)?;
        self.rest = rest;
        Ok(taken)
    }

    /// One or two digits; exactly two if `fixed`.
    fn number(&mut self, fixed: bool) -> Read<i64> {
        let first = digit(self.rest.first()).ok_or(Fault::Form)?;
        match digit(self.rest.get(1)) {
            Some(second) => {
                self.take(2)?;
                Ok(first * 10 + second)
            }
            None if fixed => Err(Fault::Form),
            None => {
                self.take(1)?;
                Ok(first)
            }
        }
    }

    fn name(&mut self, names: &[&str], length: Option<usize>) -> Read<i64> {
        for (position, name) in names.iter().enumerate() {
            let name = length
                .and_then(|length| name.get(..length))
                .unwrap_or(name)
                .as_bytes();
            if self
                .rest
                .get(..name.len())
                .is_some_and(|found| found.eq_ignore_ascii_case(name))
            {
                self.take(name.len())?;
                return Ok(i64::try_from(position).unwrap_or(0));
            }
        }
        Err(Fault::Form)
    }

    fn read(&mut self, field: Field, following: &[u8]) -> Read<()> {
        match field {
            Field::Year => {
                let year = signed(self.take(2)?).ok_or(Fault::Form)?;
                self.found.year = if year >= 69 { 1900 } else { 2000 } + year;
            }
            Field::LongYear => {
                digit(self.rest.first()).ok_or(Fault::Form)?;
                self.found.year = signed(self.take(4)?).ok_or(Fault::Form)?;
            }
            Field::Month => self.found.month = Some(self.name(&MONTHS, Some(3))? + 1),
            Field::LongMonth => self.found.month = Some(self.name(&MONTHS, None)? + 1),
            Field::NumMonth | Field::ZeroMonth => {
                let month = self.number(field == Field::ZeroMonth)?;
                self.found.month = Some(within(month, 1..=12, "month")?);
            }
            Field::WeekDay => {
                self.name(&WEEKDAYS, Some(3))?;
            }
            Field::LongWeekDay => {
                self.name(&WEEKDAYS, None)?;
            }
            Field::Day | Field::UnderDay | Field::ZeroDay => {
                if field == Field::UnderDay && self.rest.first() == Some(&b' ') {
                    self.take(1)?;
                }
                self.found.day = Some(self.number(field == Field::ZeroDay)?);
            }
            Field::UnderYearDay | Field::ZeroYearDay => self.read_year_day(field)?,
            Field::Hour => {
                let hour = self.number(false)?;
                self.found.hour = within(hour, 0..=23, "hour")?;
            }
            Field::Hour12 | Field::ZeroHour12 => {
                let hour = self.number(field == Field::ZeroHour12)?;
                self.found.hour = within(hour, 0..=12, "hour")?;
            }
            Field::Minute | Field::ZeroMinute => {
                let minute = self.number(field == Field::ZeroMinute)?;
                self.found.minute = within(minute, 0..=59, "minute")?;
            }
            Field::Second | Field::ZeroSecond => self.read_second(field, following)?,
            Field::UpperPm => self.read_half(b"AM", b"PM")?,
            Field::LowerPm => self.read_half(b"am", b"pm")?,
            Field::Offset(form) => self.read_offset(form)?,
            Field::ZoneName => self.read_zone()?,
            Field::Fraction(digits, _) => {
                let fraction = self.take(digits + 1)?;
                self.found.nanoseconds = nanoseconds(fraction)?;
            }
            Field::TrimmedFraction(..) => {
                if is_separator(self.rest.first()) && digit(self.rest.get(1)).is_some() {
                    self.read_fraction()?;
                }
            }
        }
        Ok(())
    }

    /// A separator and all digits that follow it.
    fn read_fraction(&mut self) -> Read<()> {
        let digits = self
            .rest
            .iter()
            .skip(1)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let fraction = self.take(digits + 1)?;
        self.found.nanoseconds = nanoseconds(fraction)?;
        Ok(())
    }

    fn read_second(&mut self, field: Field, following: &[u8]) -> Read<()> {
        let second = self.number(field == Field::ZeroSecond)?;
        self.found.second = within(second, 0..=59, "second")?;
        // A fraction is read even where the layout has none.
        let layout_has_fraction = matches!(
            next_field(following),
            Some((_, Field::Fraction(..) | Field::TrimmedFraction(..), _))
        );
        if is_separator(self.rest.first())
            && digit(self.rest.get(1)).is_some()
            && !layout_has_fraction
        {
            self.read_fraction()?;
        }
        Ok(())
    }

    fn read_year_day(&mut self, field: Field) -> Read<()> {
        for _ in 0..2 {
            if field == Field::UnderYearDay && self.rest.first() == Some(&b' ') {
                self.take(1)?;
            }
        }
        let digits = self
            .rest
            .iter()
            .take(3)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits == 0 || field == Field::ZeroYearDay && digits != 3 {
            return Err(Fault::Form);
        }
        self.found.year_day = signed(self.take(digits)?);
        Ok(())
    }

    fn read_half(&mut self, morning: &[u8], afternoon: &[u8]) -> Read<()> {
        let half = self.take(2)?;
        if half == afternoon {
            self.found.afternoon = true;
        } else if half == morning {
            self.found.morning = true;
        } else {
            return Err(Fault::Form);
        }
        Ok(())
    }

    fn read_offset(&mut self, form: Offset) -> Read<()> {
        if form.zulu && self.rest.first() == Some(&b'Z') {
            self.take(1)?;
            self.found.utc = true;
            return Ok(());
        }
        let numbers = usize::from(form.numbers);
        let colons = if form.colons { numbers - 1 } else { 0 };
        let text = self.take(1 + 2 * numbers + colons)?;
        let step = if form.colons { 3 } else { 2 };
        let mut values = [0; 3];
        // Ranges are checked even when a later number is malformed.
        let mut malformed = false;
        if form.colons {
            malformed |= text.get(3) != Some(&b':') || numbers > 2 && text.get(6) != Some(&b':');
            if malformed {
                return Err(Fault::Form);
            }
        }
        for (position, slot) in values.iter_mut().take(numbers).enumerate() {
            let start = 1 + position * step;
            match (digit(text.get(start)), digit(text.get(start + 1))) {
                (Some(tens), Some(units)) if !malformed => *slot = tens * 10 + units,
                _ => malformed = true,
            }
        }
        let [hours, minutes, seconds] = values;
        // The last one that is out of range is the one that Go reports.
        within(seconds, 0..=60, "time zone offset second")?;
        within(minutes, 0..=60, "time zone offset minute")?;
        within(hours, 0..=24, "time zone offset hour")?;
        let offset = (hours * 60 + minutes) * 60 + seconds;
        self.found.offset = match text.first() {
            Some(b'+') if !malformed => Some(offset),
            Some(b'-') if !malformed => Some(-offset),
            _ => return Err(Fault::Form),
        };
        Ok(())
    }

    fn read_zone(&mut self) -> Read<()> {
        if self.rest.starts_with(b"UTC") {
            self.take(3)?;
            self.found.utc = true;
            return Ok(());
        }
        let length = zone_length(self.rest).ok_or(Fault::Form)?;
        let name = self.take(length)?;
        self.found.zone = String::from_utf8_lossy(name).into_owned();
        Ok(())
    }
}

fn without_spaces(text: &[u8]) -> &[u8] {
    let spaces = text.iter().take_while(|byte| **byte == b' ').count();
    text.get(spaces..).unwrap_or_default()
}

fn within(number: i64, range: std::ops::RangeInclusive<i64>, what: &'static str) -> Read<i64> {
    if range.contains(&number) {
        Ok(number)
    } else {
        Err(Fault::Range(what))
    }
}

/// A separator and digits, of which nine count.
fn nanoseconds(text: &[u8]) -> Read<i64> {
    let text = text.get(..text.len().min(10)).unwrap_or_default();
    if !is_separator(text.first()) {
        return Err(Fault::Form);
    }
    let digits = text.get(1..).unwrap_or_default();
    let number = signed(digits).ok_or(Fault::Form)?;
    if number < 0 {
        return Err(Fault::Range("fractional second"));
    }
    let missing = u32::try_from(9_usize.saturating_sub(digits.len())).unwrap_or(0);
    Ok(number * 10_i64.pow(missing))
}

/// How much of the text looks like an abbreviation of a time zone.
fn zone_length(text: &[u8]) -> Option<usize> {
    let start = text.get(..3)?;
    if text.starts_with(b"ChST") || text.starts_with(b"MeST") {
        return Some(4);
    }
    if start == b"GMT" {
        return Some(3 + signed_length(text.get(3..).unwrap_or_default()));
    }
    if matches!(text.first(), Some(b'+' | b'-')) {
        return Some(signed_length(text)).filter(|length| *length > 0);
    }
    let letters = text
        .iter()
        .take(6)
        .take_while(|byte| byte.is_ascii_uppercase())
        .count();
    match letters {
        5 if text.get(4) == Some(&b'T') => Some(5),
        4 if text.get(3) == Some(&b'T') || text.starts_with(b"WITA") => Some(4),
        3 => Some(3),
        _ => None,
    }
}

/// The length of a sign and a number of hours; 0 if it is none.
fn signed_length(text: &[u8]) -> usize {
    let [b'+' | b'-', digits @ ..] = text else {
        return 0;
    };
    let length = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let hours = signed(digits.get(..length).unwrap_or_default());
    match hours {
        Some(0..=23) if length > 0 => length + 1,
        _ => 0,
    }
}

impl Found {
    fn into_time(mut self, local: &Zone) -> Result<Time, &'static str> {
        if self.afternoon && self.hour < 12 {
            self.hour += 12;
        } else if self.morning && !self.afternoon && self.hour == 12 {
            self.hour = 0;
        }
        self.apply_year_day()?;
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        if !(1..=days_in(self.year, month)).contains(&day) {
            return Err("day out of range");
        }
        let civil = Civil {
            year: self.year,
            month,
            day,
            hour: self.hour,
            minute: self.minute,
            second: self.second,
        };
        let (seconds, zone) = self.place(civil, local);
        let nanoseconds = u32::try_from(self.nanoseconds).unwrap_or(0);
        Ok(Time::from_unix(seconds, nanoseconds, zone))
    }

    fn apply_year_day(&mut self) -> Result<(), &'static str> {
        let Some(year_day) = self.year_day else {
            return Ok(());
        };
        let length = if is_leap(self.year) { 366 } else { 365 };
        if !(1..=length).contains(&year_day) {
            return Err("day-of-year out of range");
        }
        let january = Civil {
            year: self.year,
            month: 1,
            day: year_day,
            hour: 0,
            minute: 0,
            second: 0,
        };
        let date = Civil::from_seconds(january.to_seconds());
        if self.month.is_some_and(|month| month != date.month) {
            return Err("day-of-year does not match month");
        }
        if self.day.is_some_and(|day| day != date.day) {
            return Err("day-of-year does not match day");
        }
        (self.month, self.day) = (Some(date.month), Some(date.day));
        Ok(())
    }

    /// The moment and its zone: universal time, an offset, an abbreviation, or the local zone.
    fn place(&self, civil: Civil, local: &Zone) -> (i64, Zone) {
        let seconds = civil.to_seconds();
        if self.utc {
            return (seconds, Zone::Utc);
        }
        // An offset of minus one second is Go's mark for none.
        if let Some(offset) = self.offset.filter(|offset| *offset != -1) {
            let moment = seconds - offset;
            let here = local.lookup(moment);
            if here.offset == offset && (self.zone.is_empty() || here.name == self.zone) {
                return (moment, local.clone());
            }
            let offset = i32::try_from(offset).unwrap_or(0);
            return (moment, Zone::Fixed(self.zone.clone(), offset));
        }
        if !self.zone.is_empty() {
            if let Some(offset) = local.offset_of(&self.zone, seconds) {
                return (seconds - offset, local.clone());
            }
            let hours = self
                .zone
                .strip_prefix("GMT")
                .filter(|hours| !hours.is_empty());
            let hours = hours
                .and_then(|hours| signed(hours.as_bytes()))
                .unwrap_or(0);
            let offset = i32::try_from(hours * 3600).unwrap_or(0);
            return (seconds, Zone::Fixed(self.zone.clone(), offset));
        }
        (local.seconds_of(civil), local.clone())
    }
}
