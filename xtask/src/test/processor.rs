//! How busy the processors of the machine are, read from `/proc/stat`.
//!
//! Elsewhere than on Linux they are never busy.

use std::fs;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

/// The time between the two readings that a share is of.
const WINDOW: Duration = Duration::from_secs(2);

/// The idle share of all processors that a program needs to start beside others. Test programs wait most of the time, so that few of
/// them leave so much; a machine whose processors are slow or shared leaves it to fewer of them.
const IDLE_SHARE: f64 = 0.1;

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
            if idle_share(before, ticks()) >= IDLE_SHARE {
                return;
            }
        }
    }
}

/// The share of time between two readings in which processors were idle.
fn idle_share(before: Ticks, after: Ticks) -> f64 {
    let idle = after.idle.saturating_sub(before.idle);
    let total = after.total.saturating_sub(before.total);
    if total == 0 {
        return 1.0;
    }
    // Two seconds have a few hundred ticks for each processor.
    #[allow(clippy::cast_precision_loss)]
    let share = idle as f64 / total as f64;
    share
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
    fn share_is_of_the_time_between_two_readings() {
        let before = Ticks {
            idle: 100,
            total: 1_000,
        };
        let after = Ticks {
            idle: 150,
            total: 1_200,
        };
        assert!((idle_share(before, after) - 0.25).abs() < 1e-9);
        // Where nothing can be read, nothing is waited for.
        assert!((idle_share(Ticks::default(), Ticks::default()) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn waiter_that_is_not_needed_goes_on() {
        Processors::default().wait_until_idle(|| false);
    }
}
