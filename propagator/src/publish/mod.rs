//! Publishes what is found: the statuses of root policies and policy sets, each at most once in a window however many
//! clusters answer, and events.

pub mod roots;
pub mod sets;

use std::time::{Duration, Instant};

/// The shortest time between two writes of one status. The first change is written at once; what follows within the
/// window is written together at its end. Automation reads statuses, so this must stay far below the 200 ms that
/// upstream's users can rely on.
const WINDOW: Duration = Duration::from_millis(50);
/// A status with many clusters is dear to write, so it is written less often: this much for each of them, ...
const PER_CLUSTER: Duration = Duration::from_micros(100);
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

    /// A status about so many clusters was written just now.
    fn written(now: Instant, clusters: usize) -> Self {
        let clusters = u32::try_from(clusters).unwrap_or(u32::MAX);
        let pause = PER_CLUSTER.saturating_mul(clusters);
        Self {
            opens: now.checked_add(pause.clamp(WINDOW, LONGEST_WINDOW)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_write_waits_for_nothing_and_the_next_by_the_number_of_clusters() {
        let now = Instant::now();
        assert_eq!(Window::default().wait(now), None);
        let few = Window::written(now, 2);
        assert_eq!(few.wait(now), Some(WINDOW));
        assert_eq!(few.wait(now + WINDOW), None);
        let many = Window::written(now, 2000);
        assert_eq!(many.wait(now), Some(Duration::from_millis(200)));
        let most = Window::written(now, usize::MAX);
        assert_eq!(most.wait(now), Some(LONGEST_WINDOW));
    }
}
