//! The window between two writes of one status: the propagator writes a status at most once a window.

use std::time::Duration;

/// The shortest time between two writes of one status. The first change is written at once; what follows within the
/// window is written together at its end. Automation reads statuses, so this must stay far below the 200 ms that
/// upstream's users can rely on.
const WINDOW: Duration = Duration::from_millis(50);
/// A status with many clusters is expensive to write, so its window grows by this much for each cluster, ...
const PER_CLUSTER: Duration = Duration::from_micros(100);
/// ... up to this length.
const LONGEST_WINDOW: Duration = Duration::from_secs(1);

/// The window of a status with this number of clusters.
pub fn window_length(clusters: usize) -> Duration {
    let clusters = u32::try_from(clusters).unwrap_or(u32::MAX);
    let window_length = PER_CLUSTER.saturating_mul(clusters);
    window_length.clamp(WINDOW, LONGEST_WINDOW)
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
}
