//! The window between two writes of one status: the propagator writes a status at most once a window.

use std::time::{Duration, Instant};

use reeve_runtime::window::Window;

/// The shortest time between two writes of one status. The first change is written at once; what follows within the
/// window is written together at its end. Automation reads statuses, so this must stay far below the 200 ms that
/// upstream's users can rely on.
const WINDOW: Duration = Duration::from_millis(50);
/// A status with many clusters is expensive to write, so its window grows by this much for each cluster, ...
const PER_CLUSTER: Duration = Duration::from_micros(100);
/// ... up to this length.
const LONGEST_WINDOW: Duration = Duration::from_secs(1);

/// Under continuous change a root policy with this many clusters is written once a [`LONGEST_WINDOW`], one with fewer
/// that much more often, ...
const MANY_CLUSTERS: u32 = 300;
/// ... and one with this many ...
const MOST_CLUSTERS: u32 = 10_000;
/// ... once in this time.
const LONGEST_CONTINUOUS_WINDOW: Duration = Duration::from_secs(5);

/// The window of a status with this number of clusters, after a change that follows a quiet time.
pub fn window_length(clusters: usize) -> Duration {
    let clusters = u32::try_from(clusters).unwrap_or(u32::MAX);
    let window_length = PER_CLUSTER.saturating_mul(clusters);
    window_length.clamp(WINDOW, LONGEST_WINDOW)
}

/// The window of a status with this number of clusters that changes without a pause.
fn continuous_window_length(clusters: usize) -> Duration {
    let shortest = window_length(clusters);
    let clusters = u32::try_from(clusters).unwrap_or(u32::MAX);
    let length = if clusters <= MANY_CLUSTERS {
        LONGEST_WINDOW * clusters / MANY_CLUSTERS
    } else {
        let more = clusters.min(MOST_CLUSTERS) - MANY_CLUSTERS;
        let grown = LONGEST_CONTINUOUS_WINDOW.saturating_sub(LONGEST_WINDOW);
        LONGEST_WINDOW + grown / (MOST_CLUSTERS - MANY_CLUSTERS) * more
    };
    length.max(shortest)
}

/// When the status of a root policy may be written next. The window is short after a quiet time, and doubles with each
/// write under continuous change: a single change is visible at once, and ten thousand are not ten thousand writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatusWindow {
    window: Window,
    /// The time of the last write, and the length of the window after it.
    last: Option<(Instant, Duration)>,
}

impl StatusWindow {
    /// How long to wait; `None` if the status may be written now.
    pub fn wait(self, now: Instant) -> Option<Duration> {
        self.window.wait(now)
    }

    /// The state after a write of a status with this number of clusters.
    #[must_use]
    pub fn written(self, now: Instant, clusters: usize) -> Self {
        let longest = continuous_window_length(clusters);
        let continuous = self
            .last
            .filter(|(at, _)| now.duration_since(*at) <= longest * 2);
        let length = match continuous {
            Some((_, length)) => (length * 2).min(longest),
            None => window_length(clusters),
        };
        Self {
            window: Window::written(now, length),
            last: Some((now, length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_grows_with_the_number_of_clusters() {
        assert_eq!(window_length(2), WINDOW);
        assert_eq!(window_length(2000), Duration::from_millis(200));
        assert_eq!(window_length(usize::MAX), LONGEST_WINDOW);
    }

    #[test]
    fn continuous_window_grows_to_five_seconds() {
        assert_eq!(continuous_window_length(2), WINDOW);
        assert_eq!(continuous_window_length(30), Duration::from_millis(100));
        assert_eq!(continuous_window_length(300), Duration::from_secs(1));
        let almost = LONGEST_CONTINUOUS_WINDOW.saturating_sub(continuous_window_length(10_000));
        assert!(almost < Duration::from_millis(1), "{almost:?} less");
        assert_eq!(
            continuous_window_length(usize::MAX),
            continuous_window_length(10_000)
        );
    }

    /// The writes of a status that changes at these times, in milliseconds.
    fn writes(clusters: usize, changes: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let start = Instant::now();
        let mut window = StatusWindow::default();
        let mut writes: Vec<u64> = Vec::new();
        for change in changes {
            if writes.last().is_some_and(|write| *write >= change) {
                continue;
            }
            let now = start + Duration::from_millis(change);
            let at = now + window.wait(now).unwrap_or_default();
            window = window.written(at, clusters);
            writes.push(u64::try_from((at - start).as_millis()).unwrap_or(u64::MAX));
        }
        writes
    }

    #[test]
    fn changes_apart_are_written_at_once() {
        let changes = [0, 2_500, 5_000, 9_000];
        assert_eq!(writes(300, changes), changes);
    }

    #[test]
    fn continuous_changes_are_written_once_a_second() {
        let writes = writes(300, (0..20_000).step_by(10));
        assert_eq!(writes.first(), Some(&0));
        let gaps: Vec<u64> = writes.windows(2).map(|two| two[1] - two[0]).collect();
        assert_eq!(gaps[..4], [50, 100, 200, 400]);
        assert!(gaps[5..].iter().all(|gap| *gap >= 1_000), "{gaps:?}");
        assert!(writes.len() < 26, "{writes:?}");
    }

    #[test]
    fn small_status_is_written_as_often_as_ever() {
        let writes = writes(2, (0..1_000).step_by(10));
        assert_eq!(writes.len(), 21, "{writes:?}");
    }
}
