use std::cmp::Ordering;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::civil::Civil;
use super::{Duration, MONTHS, RFC3339_NANO, STRING_LAYOUT, Zone};
use crate::runes::quote;

/// A Go `time.Time`: a moment and the zone in which it is shown.
#[derive(Clone, Debug)]
pub struct Time {
    seconds: i64,
    nanoseconds: u32,
    zone: Zone,
}

/// The beginning of the year 1, Go's zero time.
const ZERO: i64 = -62_135_596_800;

const NANOSECONDS: i128 = 1_000_000_000;

impl Time {
    /// This moment in this zone.
    #[allow(clippy::needless_pass_by_value)] // it is given away for good
    pub fn new(moment: Zoned) -> Self {
        let zone = moment.time_zone();
        let zone = match zone.iana_name() {
            _ if *zone == TimeZone::UTC => Zone::Utc,
            Some(name) => Zone::Named(name.to_owned(), zone.clone()),
            None => Zone::Fixed(String::new(), moment.offset().seconds()),
        };
        let nanoseconds = moment.timestamp().as_nanosecond();
        Self::from_nanoseconds(nanoseconds, zone)
    }

    /// The moment and its zone as the date library has them, as near as its range allows.
    pub fn moment(&self) -> Zoned {
        let least = i128::from(Timestamp::MIN.as_second()) * NANOSECONDS;
        let most = i128::from(Timestamp::MAX.as_second()) * NANOSECONDS;
        let nanoseconds = self.total().clamp(least, most);
        let timestamp = Timestamp::from_nanosecond(nanoseconds).unwrap_or_default();
        timestamp.to_zoned(self.zone.to_jiff())
    }

    /// So many seconds and nanoseconds after the beginning of 1970.
    pub fn from_unix(seconds: i64, nanoseconds: u32, zone: Zone) -> Self {
        Self {
            seconds,
            nanoseconds,
            zone,
        }
    }

    /// Go's zero time: the beginning of the year 1, universal time.
    pub fn zero() -> Self {
        Self::from_unix(ZERO, 0, Zone::Utc)
    }

    fn from_nanoseconds(nanoseconds: i128, zone: Zone) -> Self {
        let seconds = nanoseconds.div_euclid(NANOSECONDS);
        let rest = nanoseconds.rem_euclid(NANOSECONDS);
        Self {
            seconds: i64::try_from(seconds).unwrap_or(if seconds < 0 {
                i64::MIN
            } else {
                i64::MAX
            }),
            nanoseconds: u32::try_from(rest).unwrap_or(0),
            zone,
        }
    }

    /// Seconds since the beginning of 1970.
    pub fn seconds(&self) -> i64 {
        self.seconds
    }

    /// Nanoseconds within the second.
    pub fn nanoseconds(&self) -> u32 {
        self.nanoseconds
    }

    /// The zone.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    fn total(&self) -> i128 {
        i128::from(self.seconds) * NANOSECONDS + i128::from(self.nanoseconds)
    }

    /// Nanoseconds since the beginning of 1970.
    pub fn total_nanoseconds(&self) -> i128 {
        self.total()
    }

    /// Whether this is the zero time, in any zone.
    pub fn is_zero(&self) -> bool {
        self.seconds == ZERO && self.nanoseconds == 0
    }

    /// The same moment in another zone.
    #[must_use]
    pub fn in_zone(&self, zone: Zone) -> Self {
        Self {
            zone,
            ..self.clone()
        }
    }

    /// Date and time of day as its zone's clocks show them.
    pub fn civil(&self) -> Civil {
        let offset = self.zone.lookup(self.seconds).offset;
        Civil::from_seconds(self.seconds.wrapping_add(offset))
    }

    /// The moment so much later.
    #[must_use]
    pub fn add(&self, duration: Duration) -> Self {
        Self::from_nanoseconds(self.total() + i128::from(duration.0), self.zone.clone())
    }

    /// How much later this is than the other, at most the longest duration there is.
    pub fn since(&self, other: &Self) -> Duration {
        let difference = self.total() - other.total();
        Duration(i64::try_from(difference).unwrap_or(if difference < 0 {
            i64::MIN
        } else {
            i64::MAX
        }))
    }

    /// The date so many years, months and days later, at the same time of day.
    #[must_use]
    pub fn add_date(&self, years: i64, months: i64, days: i64) -> Self {
        let now = self.civil();
        let then = Civil {
            year: now.year.wrapping_add(years),
            month: now.month.wrapping_add(months),
            day: now.day.wrapping_add(days),
            ..now
        };
        Self::from_unix(
            self.zone.seconds_of(then),
            self.nanoseconds,
            self.zone.clone(),
        )
    }

    /// What is over a multiple of the duration since the zero time.
    pub fn over(&self, multiple: Duration) -> Duration {
        let since_zero = self.total() - i128::from(ZERO) * NANOSECONDS;
        let over = since_zero.rem_euclid(i128::from(multiple.0.max(1)));
        Duration(i64::try_from(over).unwrap_or(0))
    }

    /// The order of moments.
    pub fn compare(&self, other: &Self) -> Ordering {
        self.total().cmp(&other.total())
    }

    /// Whether both are the same moment in the same zone.
    pub fn same(&self, other: &Self) -> bool {
        self.total() == other.total() && self.zone.name() == other.zone.name()
    }

    /// Go's `RFC3339Nano`: fraction digits only as far as they are not zero, `Z` for UTC.
    pub fn rfc3339_nano(&self) -> String {
        String::from_utf8_lossy(&self.format(RFC3339_NANO.as_bytes())).into_owned()
    }

    /// What printing writes. Go adds a reading of the monotonic clock for the present moment;
    /// that is of no use to a template and left out.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.format(STRING_LAYOUT.as_bytes())).into_owned()
    }

    /// What `%#v` prints: the call that makes this time.
    pub fn go_string(&self) -> String {
        let now = self.civil();
        let month = usize::try_from(now.month - 1).ok();
        let month = month.and_then(|month| MONTHS.get(month)).unwrap_or(&"");
        let zone = match &self.zone {
            Zone::Utc => "time.UTC".to_owned(),
            Zone::Local(_) => "time.Local".to_owned(),
            Zone::Named(name, _) | Zone::Fixed(name, _) => {
                let name = quote(name);
                format!("time.Location({name})")
            }
        };
        format!(
            "time.Date({}, time.{month}, {}, {}, {}, {}, {}, {zone})",
            now.year, now.day, now.hour, now.minute, now.second, self.nanoseconds
        )
    }
}
