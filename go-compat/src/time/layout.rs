//! Go's layouts: a reference moment, written the way that times shall be.

/// One part of a layout that stands for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `January`
    LongMonth,
    /// `Jan`
    Month,
    /// `1`
    NumMonth,
    /// `01`
    ZeroMonth,
    /// `Monday`
    LongWeekDay,
    /// `Mon`
    WeekDay,
    /// `2`
    Day,
    /// `_2`
    UnderDay,
    /// `02`
    ZeroDay,
    /// `__2`
    UnderYearDay,
    /// `002`
    ZeroYearDay,
    /// `15`
    Hour,
    /// `3`
    Hour12,
    /// `03`
    ZeroHour12,
    /// `4`
    Minute,
    /// `04`
    ZeroMinute,
    /// `5`
    Second,
    /// `05`
    ZeroSecond,
    /// `2006`
    LongYear,
    /// `06`
    Year,
    /// `PM`
    UpperPm,
    /// `pm`
    LowerPm,
    /// `MST`
    ZoneName,
    /// `-0700` and its like.
    Offset(Offset),
    /// `.000`: digits, and the separator.
    Fraction(usize, u8),
    /// `.999`: without trailing zeros.
    TrimmedFraction(usize, u8),
}

/// How an offset from universal time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// Whether universal time is written as `Z`.
    pub zulu: bool,
    /// Whether colons stand between the numbers.
    pub colons: bool,
    /// 1 for hours only, 2 with minutes, 3 with seconds.
    pub numbers: u8,
}

/// A layout's text up to its first field, the field, and how long the field's text is.
pub fn next_field(layout: &[u8]) -> Option<(usize, Field, usize)> {
    (0..layout.len()).find_map(|position| {
        let rest = layout.get(position..).unwrap_or_default();
        let (skipped, field, length) = field_at(rest)?;
        Some((position + skipped, field, length))
    })
}

const OFFSETS: [(&[u8], bool, u8); 5] = [
    (b"070000", false, 3),
    (b"07:00:00", true, 3),
    (b"0700", false, 2),
    (b"07:00", true, 2),
    (b"07", false, 1),
];

fn starts_lower(text: Option<&[u8]>) -> bool {
    text.and_then(<[u8]>::first)
        .is_some_and(u8::is_ascii_lowercase)
}

/// The field at the start of this text, what to skip before it, and its length.
fn field_at(text: &[u8]) -> Option<(usize, Field, usize)> {
    let here = |field, length| Some((0, field, length));
    let name = |long: &[u8], long_field, short_field| {
        if text.starts_with(long) {
            Some((0, long_field, long.len()))
        } else if text.starts_with(long.get(..3)?) && !starts_lower(text.get(3..)) {
            Some((0, short_field, 3))
        } else {
            None
        }
    };
    match text.first()? {
        b'J' => name(b"January", Field::LongMonth, Field::Month),
        b'M' if text.starts_with(b"MST") => here(Field::ZoneName, 3),
        b'M' => name(b"Monday", Field::LongWeekDay, Field::WeekDay),
        b'0' => match text.get(1)? {
            b'1' => here(Field::ZeroMonth, 2),
            b'2' => here(Field::ZeroDay, 2),
            b'3' => here(Field::ZeroHour12, 2),
            b'4' => here(Field::ZeroMinute, 2),
            b'5' => here(Field::ZeroSecond, 2),
            b'6' => here(Field::Year, 2),
            b'0' if text.get(2) == Some(&b'2') => here(Field::ZeroYearDay, 3),
            _ => None,
        },
        b'1' if text.get(1) == Some(&b'5') => here(Field::Hour, 2),
        b'1' => here(Field::NumMonth, 1),
        b'2' if text.starts_with(b"2006") => here(Field::LongYear, 4),
        b'2' => here(Field::Day, 1),
        // The underscore before a year is just that.
        b'_' if text.starts_with(b"_2006") => Some((1, Field::LongYear, 4)),
        b'_' if text.starts_with(b"_2") => here(Field::UnderDay, 2),
        b'_' if text.starts_with(b"__2") => here(Field::UnderYearDay, 3),
        b'3' => here(Field::Hour12, 1),
        b'4' => here(Field::Minute, 1),
        b'5' => here(Field::Second, 1),
        b'P' if text.starts_with(b"PM") => here(Field::UpperPm, 2),
        b'p' if text.starts_with(b"pm") => here(Field::LowerPm, 2),
        first @ (b'-' | b'Z') => {
            let rest = text.get(1..)?;
            let (form, colons, numbers) = OFFSETS
                .into_iter()
                .find(|(form, _, _)| rest.starts_with(form))?;
            let offset = Offset {
                zulu: *first == b'Z',
                colons,
                numbers,
            };
            here(Field::Offset(offset), form.len() + 1)
        }
        separator @ (b'.' | b',') => fraction(*separator, text.get(1..)?),
        _ => None,
    }
}

/// A run of zeros or nines that no other digit follows.
fn fraction(separator: u8, text: &[u8]) -> Option<(usize, Field, usize)> {
    let digit = text.first().filter(|digit| matches!(digit, b'0' | b'9'))?;
    let length = text.iter().take_while(|byte| *byte == digit).count();
    if text.get(length).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let field = if *digit == b'0' {
        Field::Fraction(length, separator)
    } else {
        Field::TrimmedFraction(length, separator)
    };
    Some((0, field, length + 1))
}
