//! Durations as Go writes them: `500ms`, `30s`, `1m30s`.

use std::time::Duration;

/// Reads a duration.
pub fn parse(text: &str) -> Result<Duration, String> {
    let parsed = reeve_go_compat::time::Duration::parse(text.as_bytes());
    let nanoseconds = parsed.map_err(|why| {
        let why = why.strip_prefix("time: ").unwrap_or(&why);
        format!("{why}: expected numbers with units, such as 500ms, 30s or 1m30s")
    })?;
    u64::try_from(nanoseconds.0)
        .map(Duration::from_nanos)
        .map_err(|_| format!("invalid duration {text:?}: it is negative"))
}
