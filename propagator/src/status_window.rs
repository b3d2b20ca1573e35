//! The window between two writes of one status, which is written at most once in it however many clusters change.

use std::time::Duration;

/// The shortest time between two writes of one status. The first change is written at once; what follows within the
/// window is written together at its end. Automation reads statuses, so this must stay far below the 200 ms that
/// upstream's users can rely on.
const WINDOW: Duration = Duration::from_millis(50);
/// A status with many clusters is dear to write, so it is written less often: this much for each of them, ...
const PER_CLUSTER: Duration = Duration::from_micros(100);
/// ... but not less often than this.
const LONGEST_WINDOW: Duration = Duration::from_secs(1);

/// How long a status about so many clusters is not written again.
pub fn pause(clusters: usize) -> Duration {
    let clusters = u32::try_from(clusters).unwrap_or(u32::MAX);
    let pause = PER_CLUSTER.saturating_mul(clusters);
    pause.clamp(WINDOW, LONGEST_WINDOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_between_writes_grows_with_the_number_of_clusters() {
        assert_eq!(pause(2), WINDOW);
        assert_eq!(pause(2000), Duration::from_millis(200));
        assert_eq!(pause(usize::MAX), LONGEST_WINDOW);
    }
}
