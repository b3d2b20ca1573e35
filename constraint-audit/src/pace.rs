//! How often what referential constraints match is reviewed again.

use std::time::{Duration, Instant};

/// How long changes of the inventory are collected before what referential constraints match is reviewed again: that lists all of it.
/// The more often the inventory changes, the longer.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    window: Option<Duration>,
    reviewed: Option<Instant>,
}

impl Pace {
    const SHORTEST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_mins(1);
    /// A pause of so many windows makes them short again.
    const PAUSE: u32 = 4;

    /// How long the next changes are collected.
    pub(crate) fn window(&self) -> Duration {
        self.window.unwrap_or(Self::SHORTEST)
    }

    /// What referential constraints match is reviewed again.
    pub(crate) fn reviewed(&mut self, now: Instant) {
        let window = self.window();
        let is_busy = self
            .reviewed
            .is_some_and(|before| now.duration_since(before) < window * Self::PAUSE);
        let next = if is_busy { window * 2 } else { Self::SHORTEST };
        self.window = Some(next.min(Self::LONGEST));
        self.reviewed = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inventory_that_changes_all_the_time_is_reviewed_ever_more_seldom() {
        let mut pace = Pace::default();
        let mut now = Instant::now();
        let mut windows = Vec::new();
        for _ in 0..9 {
            windows.push(pace.window().as_secs());
            now += pace.window();
            pace.reviewed(now);
        }
        assert_eq!(windows, [1, 1, 2, 4, 8, 16, 32, 60, 60]);
        now += Duration::from_mins(5);
        pace.reviewed(now);
        assert_eq!(pace.window(), Pace::SHORTEST);
    }
}
