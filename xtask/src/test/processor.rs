//! How busy the processors of the machine are, read from `/proc/stat`.
//!
//! Elsewhere than on Linux they are never busy.

use std::fs;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

/// The time between two readings.
const WINDOW: Duration = Duration::from_secs(2);

/// A program starts beside others when one of so many ticks is idle. Test programs wait most of the time, so a few of them leave that
/// much idle; on a machine whose processors are slow or shared, fewer of them do.
const ONE_IDLE_OF: u64 = 10;

/// Ticks of all processors since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ticks {
    idle: u64,
    total: u64,
}

/// Lets programs start one after the other, each when the processors are partly idle.
#[derive(Debug, Default)]
pub(super) struct Processors(Mutex<()>);

impl Processors {
    /// Waits until the processors are partly idle. Of several waiters one goes on at a time, and the next one sees what it starts.
    /// Also ends when `is_needed` is false.
    pub(super) fn wait_until_idle(&self, is_needed: impl Fn() -> bool) {
        let _turn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while is_needed() {
            let before = ticks();
            sleep(WINDOW);
            if is_idle(before, ticks()) {
                return;
            }
        }
    }
}

/// Whether the processors were partly idle between two readings. Where nothing can be read, they were.
fn is_idle(before: Ticks, after: Ticks) -> bool {
    let idle = after.idle.saturating_sub(before.idle);
    let total = after.total.saturating_sub(before.total);
    idle * ONE_IDLE_OF >= total
}

fn ticks() -> Ticks {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    parse(&stat).unwrap_or_default()
}

/// The first line of `/proc/stat`, `proc_stat(5)`: `cpu`, then ticks of user, nice, system, idle, iowait, irq, softirq, steal, and two
/// that user and nice contain.
fn parse(stat: &str) -> Option<Ticks> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?;
    let fields: Option<Vec<u64>> = fields
        .split_whitespace()
        .take(8)
        .map(|field| field.parse().ok())
        .collect();
    let fields = fields?;
    Some(Ticks {
        idle: fields.get(3)? + fields.get(4)?,
        total: fields.iter().sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  10 1 5 80 4 0 0 20 3 0\ncpu0 5 1 5 40 4 0 0 20 3 0\nintr 12\n";

    #[test]
    fn waiting_for_a_disk_is_idle_and_stolen_time_is_not() {
        let expected = Ticks {
            idle: 84,
            total: 120,
        };
        assert_eq!(parse(STAT), Some(expected));
        for unreadable in ["", "cpu  1 2", "cpu  1 2 3 x 5"] {
            assert_eq!(parse(unreadable), None, "{unreadable}");
        }
    }

    #[test]
    fn processors_are_idle_for_a_tenth_of_the_time_between_two_readings() {
        let ticks = |idle, total| Ticks { idle, total };
        let before = ticks(100, 1_000);
        for (idle, expected) in [(100, false), (119, false), (120, true), (300, true)] {
            assert_eq!(is_idle(before, ticks(idle, 1_200)), expected, "{idle}");
        }
        // Where nothing can be read, nothing is waited for.
        assert!(is_idle(Ticks::default(), Ticks::default()));
    }

    #[test]
    fn waiter_that_is_not_needed_goes_on() {
        Processors::default().wait_until_idle(|| false);
    }
}
