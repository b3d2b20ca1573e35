//! Publishes what is found: the statuses of root policies and policy sets, each at most once in a window however many
//! clusters answer, and events.

pub mod roots;
pub mod sets;

use std::time::{Duration, Instant};

/// The shortest time between two writes of one status. The first change is written at once; what follows within the
/// window is written together at its end. Automation reads statuses, so this must stay far below the 200 ms that
/// upstream's users can rely on.
const WINDOW: Duration = Duration::from_millis(50);
/// A status that takes long to write, because of many clusters or a busy API server, is written less often, ...
const SHARE: u32 = 4;
/// ... but not less often than this.
const LONGEST_WINDOW: Duration = Duration::from_secs(1);

/// Spaces the writes of one status.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    opens: Option<Instant>,
}

impl Window {
    /// How long to wait; `None` if it may be written now.
    fn wait(self, now: Instant) -> Option<Duration> {
        let wait = self.opens?.checked_duration_since(now)?;
        (!wait.is_zero()).then_some(wait)
    }

    /// It was written just now, which took this long.
    fn written(now: Instant, took: Duration) -> Self {
        let pause = took.saturating_mul(SHARE).clamp(WINDOW, LONGEST_WINDOW);
        Self {
            opens: now.checked_add(pause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_write_waits_for_nothing_and_the_next_for_a_share_of_the_last() {
        let now = Instant::now();
        assert_eq!(Window::default().wait(now), None);
        let quick = Window::written(now, Duration::from_millis(2));
        assert_eq!(quick.wait(now), Some(WINDOW));
        assert_eq!(quick.wait(now + WINDOW), None);
        let slow = Window::written(now, Duration::from_millis(100));
        assert_eq!(slow.wait(now), Some(Duration::from_millis(400)));
        let stuck = Window::written(now, Duration::from_mins(1));
        assert_eq!(stuck.wait(now), Some(LONGEST_WINDOW));
    }
}
