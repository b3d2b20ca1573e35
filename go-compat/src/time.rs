//! Go's `time` package as far as templates can see it: layouts, durations, zones.

pub mod civil;
pub mod duration;
mod format;
mod layout;
mod moment;
mod native;
mod parse;
mod zone;

pub use duration::Duration;
pub use moment::Time;
pub use native::{Location, Named};
pub use parse::parse;
pub use zone::Zone;

/// The layout of `Time.String`.
pub const STRING_LAYOUT: &str = "2006-01-02 15:04:05.999999999 -0700 MST";

/// The layout of times in JSON.
pub const RFC3339_NANO: &str = "2006-01-02T15:04:05.999999999Z07:00";

pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
