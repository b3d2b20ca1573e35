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

/// The status of a policy set is small, and expensive to compute: all clusters of all its policies are aggregated. So its window
/// grows by this much for each cluster of each policy, ...
const PER_SET_PAIR: Duration = Duration::from_micros(20);
/// ... up to this length.
const LONGEST_SET_WINDOW: Duration = Duration::from_secs(5);

/// Under continuous change a root policy with this many clusters is written once a [`LONGEST_WINDOW`], one with fewer
/// that much more often, ...
const MANY_CLUSTERS: u32 = 300;
/// ... and one with this many ...
const MOST_CLUSTERS: u32 = 10_000;
/// ... once in this time.
const LONGEST_CONTINUOUS_WINDOW: Duration = Duration::from_secs(5);
/// Changes are continuous if there are this many of them before a write, ...
const FEWEST_CHANGES: u64 = 2;
/// ... and this many more for each second since the one before it: fewer are not worth waiting for, ...
const FEWEST_CHANGES_PER_SECOND: u64 = 2;
/// ... if the root policy has at most this many clusters. Of one with more, which costs more to write, each change is worth as
/// much less: ten versions a second of a status of 1 MiB fill the etcd of a hub within minutes.
const CLUSTERS_OF_CHEAP_STATUS: u64 = 500;
/// Each write lists all clusters of its root policy, so what statuses cost the propagator and the API server is the number of
/// clusters written. All root policies under continuous change together are written with about this many in a second, ...
const CLUSTERS_PER_SECOND: u32 = 4_000;
/// ... unless one would have to wait for longer than this.
const LONGEST_SHARED_WINDOW: Duration = Duration::from_secs(10);
/// How long a status counts as changing after a write with many changes. Where many statuses wait for the API server, each is written
/// long after the end of its window.
const CHANGING: Duration = LONGEST_SHARED_WINDOW.saturating_mul(2);

/// The window of a status with this number of clusters, after a change that follows a quiet time.
pub fn window_length(clusters: usize) -> Duration {
    let clusters = u32::try_from(clusters).unwrap_or(u32::MAX);
    let window_length = PER_CLUSTER.saturating_mul(clusters);
    window_length.clamp(WINDOW, LONGEST_WINDOW)
}

/// The window of the status of a policy set with so many policies on a hub with so many clusters.
pub fn set_window_length(policies: usize, clusters: usize) -> Duration {
    let pairs = policies.saturating_mul(clusters);
    let pairs = u32::try_from(pairs).unwrap_or(u32::MAX);
    let length = PER_SET_PAIR.saturating_mul(pairs);
    length.clamp(window_length(clusters), LONGEST_SET_WINDOW)
}

/// The window of a status with this number of clusters that changes without a pause, however few others do.
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

/// The window of each status that changes without a pause, of which all together have this number of clusters.
fn shared_window_length(clusters: usize) -> Duration {
    let clusters = u32::try_from(clusters).unwrap_or(u32::MAX);
    let length = Duration::from_secs(1).saturating_mul(clusters) / CLUSTERS_PER_SECOND;
    length.min(LONGEST_SHARED_WINDOW)
}

/// When the status of a root policy may be written next. The window is short after a quiet time, and doubles with each
/// write under continuous change: a single change is visible at once, and ten thousand are not ten thousand writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatusWindow {
    last: Option<LastWrite>,
}

/// The size of a status that is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatusSize {
    /// The number of its clusters.
    pub clusters: usize,
    /// How often the compliance of one of them had changed until then.
    pub changes: u64,
}

#[derive(Clone, Copy, Debug)]
struct LastWrite {
    at: Instant,
    /// The length of the window after it.
    length: Duration,
    size: StatusSize,
    pace: Pace,
}

/// How soon a write follows the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// After a quiet time.
    Quiet,
    /// So soon that the window grows, as far as this status alone needs it.
    Repeated,
    /// With many changes.
    Continuous,
}

impl LastWrite {
    /// The pace of a write after so many changes. How long it has waited for other statuses makes no difference to changes that do not
    /// pause.
    fn pace(&self, now: Instant, changes: u64) -> Pace {
        let gap = now.duration_since(self.at);
        let changes = changes.saturating_sub(self.size.changes);
        let clusters = u64::try_from(self.size.clusters).unwrap_or(u64::MAX);
        let more = FEWEST_CHANGES_PER_SECOND * gap.as_secs() * CLUSTERS_OF_CHEAP_STATUS;
        let fewest = FEWEST_CHANGES + more / clusters.max(CLUSTERS_OF_CHEAP_STATUS);
        let is_soon = gap <= self.length + self.length / 4
            || gap <= continuous_window_length(self.size.clusters) * 2;
        if changes >= fewest {
            Pace::Continuous
        } else if is_soon {
            Pace::Repeated
        } else {
            Pace::Quiet
        }
    }
}

impl StatusWindow {
    /// How long to wait; `None` if the status may be written now.
    pub fn wait(self, now: Instant) -> Option<Duration> {
        let last = self.last?;
        Window::written(last.at, last.length).wait(now)
    }

    /// The number of clusters of the status, if it changes continuously; 0 if not.
    pub fn changing_clusters(&self, now: Instant) -> usize {
        let changing = |last: &&LastWrite| {
            last.pace == Pace::Continuous && now.duration_since(last.at) <= CHANGING
        };
        let last = self.last.as_ref().filter(changing);
        last.map_or(0, |last| last.size.clusters)
    }

    /// The state after a write of a status of this size, while others change continuously that have `other_clusters` together.
    #[must_use]
    pub fn written(self, now: Instant, size: StatusSize, other_clusters: usize) -> Self {
        let pace = |last: LastWrite| last.pace(now, size.changes);
        let pace = self.last.map_or(Pace::Quiet, pace);
        let doubled = self.last.map_or(Duration::ZERO, |last| last.length * 2);
        let alone = continuous_window_length(size.clusters);
        let length = match pace {
            Pace::Quiet => window_length(size.clusters),
            Pace::Repeated => doubled.min(alone),
            Pace::Continuous => {
                let together = size.clusters.saturating_add(other_clusters);
                doubled.min(alone.max(shared_window_length(together)))
            }
        };
        Self {
            last: Some(LastWrite {
                at: now,
                length,
                size,
                pace,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn window_grows_with_the_number_of_clusters() {
        assert_eq!(window_length(2), WINDOW);
        assert_eq!(window_length(2000), Duration::from_millis(200));
        assert_eq!(window_length(usize::MAX), LONGEST_WINDOW);
    }

    #[rstest]
    #[case::of_few_pairs(10, 300, Duration::from_millis(60))]
    #[case::never_shorter_than_that_of_a_policy(1, 2_000, Duration::from_millis(200))]
    #[case::of_many_pairs(50, 1_000, Duration::from_secs(1))]
    #[case::up_to_the_longest(100, 10_000, LONGEST_SET_WINDOW)]
    #[case::of_an_empty_set(0, 10, WINDOW)]
    fn window_of_a_set_grows_with_its_pairs(
        #[case] policies: usize,
        #[case] clusters: usize,
        #[case] expected: Duration,
    ) {
        assert_eq!(set_window_length(policies, clusters), expected);
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

    /// The writes of some equal statuses that change at these times, in milliseconds: each status with each change.
    fn writes_of(
        count: usize,
        clusters: usize,
        changes: impl IntoIterator<Item = u64>,
    ) -> Vec<Vec<u64>> {
        let start = Instant::now();
        let millis = |at: Instant| u64::try_from((at - start).as_millis()).unwrap_or(u64::MAX);
        let mut windows = vec![StatusWindow::default(); count];
        let mut writes: Vec<Vec<u64>> = vec![Vec::new(); count];
        let changes: Vec<u64> = changes.into_iter().collect();
        for change in &changes {
            for place in 0..count {
                if writes[place].last().is_some_and(|write| write >= change) {
                    continue;
                }
                let now = start + Duration::from_millis(*change);
                let at = now + windows[place].wait(now).unwrap_or_default();
                let others = windows.iter().enumerate();
                let others = others.filter(|(other, _)| *other != place);
                let others = others.map(|(_, other)| other.changing_clusters(now)).sum();
                let until = changes.partition_point(|change| *change <= millis(at));
                let size = StatusSize {
                    clusters,
                    changes: u64::try_from(until).unwrap(),
                };
                windows[place] = windows[place].written(at, size, others);
                writes[place].push(millis(at));
            }
        }
        writes
    }

    fn writes(clusters: usize, changes: impl IntoIterator<Item = u64>) -> Vec<u64> {
        writes_of(1, clusters, changes).remove(0)
    }

    fn gaps(writes: &[u64]) -> Vec<u64> {
        writes.windows(2).map(|two| two[1] - two[0]).collect()
    }

    #[test]
    fn changes_apart_are_written_at_once() {
        let changes = [0, 2_500, 5_000, 9_000];
        assert_eq!(writes(300, changes), changes);
        for of_one in writes_of(50, 300, changes) {
            assert_eq!(of_one, changes, "others change as often");
        }
    }

    #[test]
    fn continuous_changes_are_written_once_a_second() {
        let writes = writes(300, (0..20_000).step_by(10));
        assert_eq!(writes.first(), Some(&0));
        let gaps = gaps(&writes);
        assert_eq!(gaps[..4], [50, 100, 200, 400]);
        assert!(gaps[5..].iter().all(|gap| *gap >= 1_000), "{gaps:?}");
        assert!(writes.len() < 26, "{writes:?}");
    }

    #[test]
    fn ten_statuses_of_three_hundred_clusters_share_what_is_written_without_waiting_longer() {
        for of_one in writes_of(10, 300, (0..20_000).step_by(10)) {
            let gaps = gaps(&of_one);
            let mut settled = gaps[6..].iter();
            assert!(settled.all(|gap| (1_000..1_020).contains(gap)), "{gaps:?}");
        }
    }

    #[rstest]
    #[case::of_twenty_with_a_thousand_clusters(20, 1_000, 5_000)]
    #[case::up_to_the_longest(20, 10_000, 10_000)]
    fn many_large_statuses_wait_longer(
        #[case] count: usize,
        #[case] clusters: usize,
        #[case] expected: u64,
    ) {
        for of_one in writes_of(count, clusters, (0..120_000).step_by(100)) {
            let gaps = gaps(&of_one);
            let mut settled = gaps[gaps.len() - 5..].iter();
            assert!(settled.all(|gap| gap.abs_diff(expected) <= 100), "{gaps:?}");
        }
    }

    #[rstest]
    #[case::of_ten_thousand_clusters(10_000, 10_000)]
    #[case::of_five_thousand_clusters(5_000, 10_000)]
    #[case::of_a_thousand_clusters_as_if_alone(1_000, 1_289)]
    fn one_change_a_second_is_continuous_if_statuses_are_large(
        #[case] clusters: usize,
        #[case] expected: u64,
    ) {
        for of_one in writes_of(20, clusters, (0..120_000).step_by(1_000)) {
            let gaps = gaps(&of_one);
            let mut settled = gaps[gaps.len() - 3..].iter();
            assert!(settled.all(|gap| gap.abs_diff(expected) <= 1), "{gaps:?}");
        }
    }

    /// A kube-apiserver on two cores takes about as many answers from 1,000 clusters with 50 policies.
    #[test]
    fn two_changes_a_second_are_continuous_with_a_thousand_clusters() {
        for of_one in writes_of(50, 1_000, (0..120_000).step_by(450)) {
            let gaps = gaps(&of_one);
            let mut settled = gaps[gaps.len() - 5..].iter();
            assert!(settled.all(|gap| gap.abs_diff(10_000) <= 450), "{gaps:?}");
        }
    }

    /// One worker writes 50 statuses of 1,000 clusters, each of which changes every 450 ms. A write takes 60 ms.
    #[test]
    fn statuses_that_wait_for_each_other_are_written_less_often() {
        const CHANGE: u64 = 450;
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut windows = [(StatusWindow::default(), 0, 0); 50];
        let (mut now, mut writes) = (0, Vec::new());
        while now < 120_000 {
            let due = |(window, _, next_change): &(StatusWindow, u64, u64)| {
                let wait = window.wait(at(now)).unwrap_or_default();
                (now + u64::try_from(wait.as_millis()).unwrap()).max(*next_change)
            };
            let (place, due) = (0..windows.len())
                .map(|place| (place, due(&windows[place])))
                .min_by_key(|(place, due)| (*due, windows[*place].1))
                .unwrap();
            let begun = now.max(due);
            now = begun + 60;
            let others = windows.iter().enumerate();
            let others = others.filter(|(other, _)| *other != place);
            let others = others.map(|(_, other)| other.0.changing_clusters(at(now)));
            let others = others.sum();
            let size = StatusSize {
                clusters: 1_000,
                changes: begun / CHANGE + 1,
            };
            let window = windows[place].0.written(at(now), size, others);
            windows[place] = (window, now, (begun / CHANGE + 1) * CHANGE);
            writes.push(now);
        }
        let early = writes.iter().filter(|at| **at < 5_000).count();
        assert!(early > 70, "the worker has no pause at first: {early}");
        let late = writes.iter().filter(|at| **at >= 70_000).count();
        assert!(late <= 300, "once in ten seconds each: {late}");
    }

    #[test]
    fn single_changes_of_a_large_status_are_written_at_once_when_they_are_rare() {
        let changes: Vec<u64> = (0..120_000).step_by(12_000).collect();
        assert_eq!(writes(10_000, changes.clone()), changes);
    }

    /// Twenty statuses of a thousand clusters change all the time for a minute. Then each changes once in 2.5 s.
    #[test]
    fn single_changes_are_written_at_once_again_after_continuous_ones() {
        let storm = (0..60_000).step_by(100);
        let after = (70_000..100_000).step_by(2_500);
        for of_one in writes_of(20, 1_000, storm.chain(after.clone())) {
            let at_once: Vec<u64> = after.clone().skip(1).collect();
            let last = &of_one[of_one.len() - at_once.len()..];
            assert_eq!(last, at_once, "{of_one:?}");
        }
    }

    #[test]
    fn small_status_is_written_as_often_as_ever() {
        let writes = writes(2, (0..1_000).step_by(10));
        assert_eq!(writes.len(), 21, "{writes:?}");
    }
}
