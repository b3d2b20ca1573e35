//! Days and dates of the Gregorian calendar, without bounds on the year.

/// Seconds of a day.
pub const DAY: i64 = 86_400;

/// A date and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// The year; 0 is the year before 1.
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
    /// 0 to 23.
    pub hour: i64,
    /// 0 to 59.
    pub minute: i64,
    /// 0 to 59.
    pub second: i64,
}

impl Civil {
    /// The date and time this many seconds after the beginning of 1970.
    pub fn from_seconds(seconds: i64) -> Self {
        let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
        let (year, month, day) = date_of(days);
        Self {
            year,
            month,
            day,
            hour: rest / 3600,
            minute: rest % 3600 / 60,
            second: rest % 60,
        }
    }

    /// Seconds since the beginning of 1970. Numbers out of their range count on into the next
    /// larger unit; what does not fit wraps around, as it does in Go.
    pub fn to_seconds(self) -> i64 {
        let month = self.month.wrapping_sub(1);
        let year = self.year.wrapping_add(month.div_euclid(12));
        let days = days_of(year, month.rem_euclid(12) + 1)
            .wrapping_add(self.day)
            .wrapping_sub(1);
        days.wrapping_mul(DAY)
            .wrapping_add(self.hour.wrapping_mul(3600))
            .wrapping_add(self.minute.wrapping_mul(60))
            .wrapping_add(self.second)
    }

    /// The day of the year from 1.
    pub fn year_day(self) -> i64 {
        days_of(self.year, self.month) - days_of(self.year, 1) + self.day
    }
}

/// The weekday from 0 for Sunday.
pub fn weekday(seconds: i64) -> i64 {
    // The first day of 1970 was a Thursday.
    (seconds.div_euclid(DAY) + 4).rem_euclid(7)
}

/// Whether the year has a 29th of February.
pub fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// How many days the month has.
pub fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the beginning of 1970 to the first of this month. The year is counted from March, so
/// that the leap day comes last (after Howard Hinnant's `days_from_civil`).
fn days_of(year: i64, month: i64) -> i64 {
    let year = if month <= 2 {
        year.wrapping_sub(1)
    } else {
        year
    };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era.wrapping_mul(146_097)
        .wrapping_add(day_of_era)
        .wrapping_sub(719_468)
}

/// Year, month and day (after Howard Hinnant's `civil_from_days`).
fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}
