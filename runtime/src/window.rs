//! Spaces the writes of one object: the first change is written at once, later ones within the window are written
//! together at its end.

use std::time::{Duration, Instant};

/// When an object may be written next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    opens: Option<Instant>,
}

impl Window {
    /// The object was written just now, and may be written again after a pause.
    pub fn written(now: Instant, pause: Duration) -> Self {
        Self {
            opens: now.checked_add(pause),
        }
    }

    /// How long to wait; `None` if it may be written now.
    pub fn wait(self, now: Instant) -> Option<Duration> {
        let wait = self.opens?.checked_duration_since(now)?;
        (!wait.is_zero()).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_write_is_immediate_and_next_one_waits_for_the_pause() {
        let (now, pause) = (Instant::now(), Duration::from_millis(200));
        assert_eq!(Window::default().wait(now), None);
        let window = Window::written(now, pause);
        assert_eq!(window.wait(now), Some(pause));
        assert_eq!(window.wait(now + pause / 2), Some(pause / 2));
        assert_eq!(window.wait(now + pause), None);
    }
}
