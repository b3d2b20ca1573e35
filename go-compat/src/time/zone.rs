//! Time zones.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

use super::civil::Civil;

/// A Go `*time.Location`.
#[derive(Clone, Debug)]
pub enum Zone {
    /// Coordinated universal time.
    Utc,
    /// The zone that the caller gave as the local one.
    Local(TimeZone),
    /// A zone of the tz database by its name.
    Named(String, TimeZone),
    /// An offset in seconds that was read from a text, with the name that was read.
    Fixed(String, i32),
}

/// What is in effect in a zone at some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InEffect {
    /// The abbreviation, such as `CEST`.
    pub name: String,
    /// Seconds east of Greenwich.
    pub offset: i64,
    /// Whether it is summer time.
    pub summer: bool,
}

/// The database that is part of this program: what templates yield must not depend on the machine.
static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Transitions looked at when a zone's abbreviations are collected.
const MOST_TRANSITIONS: usize = 400;

/// The calendar repeats itself after 400 years.
const CYCLE: i64 = 146_097 * 86_400;

/// The beginning of the year 2400.
const CYCLE_START: i64 = 13_569_465_600;

fn timestamp(seconds: i64) -> Timestamp {
    if let Ok(timestamp) = Timestamp::from_second(seconds) {
        return timestamp;
    }
    if seconds < 0 {
        return Timestamp::MIN;
    }
    let repeated = CYCLE_START + (seconds - CYCLE_START).rem_euclid(CYCLE);
    Timestamp::from_second(repeated).unwrap_or(Timestamp::MAX)
}

impl Zone {
    /// `time.LoadLocation`; `None` for an unknown zone.
    pub fn load(name: &str, local: &TimeZone) -> Option<Self> {
        match name {
            "" | "UTC" => return Some(Self::Utc),
            "Local" => return Some(Self::Local(local.clone())),
            _ => {}
        }
        let zone = DATABASE.get(name).ok()?;
        // Upstream looks for a file, whose name has upper and lower case.
        (zone.iana_name() == Some(name)).then(|| Self::Named(name.to_owned(), zone))
    }

    /// What is in effect so many seconds after the beginning of 1970.
    pub fn lookup(&self, seconds: i64) -> InEffect {
        match self {
            Self::Utc => InEffect {
                name: "UTC".to_owned(),
                offset: 0,
                summer: false,
            },
            Self::Fixed(name, offset) => InEffect {
                name: name.clone(),
                offset: (*offset).into(),
                summer: false,
            },
            Self::Local(zone) | Self::Named(_, zone) => {
                let info = zone.to_offset_info(timestamp(seconds));
                InEffect {
                    name: info.abbreviation().to_owned(),
                    offset: info.offset().seconds().into(),
                    summer: info.dst().is_dst(),
                }
            }
        }
    }

    /// The zone as the date library has it.
    pub fn to_jiff(&self) -> TimeZone {
        match self {
            Self::Utc => TimeZone::UTC,
            Self::Local(zone) | Self::Named(_, zone) => zone.clone(),
            Self::Fixed(_, offset) => {
                Offset::from_seconds(*offset).map_or(TimeZone::UTC, TimeZone::fixed)
            }
        }
    }

    /// Go's `Location.String`.
    pub fn name(&self) -> &str {
        match self {
            Self::Utc => "UTC",
            Self::Local(_) => "Local",
            Self::Named(name, _) | Self::Fixed(name, _) => name,
        }
    }

    /// The moment at which clocks of this zone show this date and time.
    pub fn seconds_of(&self, civil: Civil) -> i64 {
        let seconds = civil.to_seconds();
        let guess = self.lookup(seconds).offset;
        if guess == 0 {
            return seconds;
        }
        let offset = self.lookup(seconds.wrapping_sub(guess)).offset;
        seconds.wrapping_sub(offset)
    }

    /// The offset that an abbreviation means in this zone, best at a local time of so many
    /// seconds.
    pub fn offset_of(&self, name: &str, seconds: i64) -> Option<i64> {
        let known = self.abbreviations();
        let mut named = known.iter().filter(|known| known.name == name);
        named
            .clone()
            .find(|known| self.lookup(seconds.wrapping_sub(known.offset)).name == name)
            .or_else(|| named.next())
            .map(|known| known.offset)
    }

    fn abbreviations(&self) -> Vec<InEffect> {
        let mut known = vec![self.lookup(i64::MIN)];
        if let Self::Local(zone) | Self::Named(_, zone) = self {
            for transition in zone.following(Timestamp::MIN).take(MOST_TRANSITIONS) {
                let found = InEffect {
                    name: transition.abbreviation().to_owned(),
                    offset: transition.offset().seconds().into(),
                    summer: transition.dst().is_dst(),
                };
                if !known.contains(&found) {
                    known.push(found);
                }
            }
        }
        known
    }
}
