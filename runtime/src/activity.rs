//! Tracks whether controllers have work to do: for processes that run a whole fleet, and exit when everything is
//! reconciled.
//!
//! A stored status may be of an earlier spec, and no level of the chain records of which. What is certain: if no
//! watch of any server has a pending event, and no queue of any controller has a key, then every status is of the
//! current objects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A key that is due within this time has work left. Debounced statuses are written within it; policies that are
/// evaluated in intervals are usually due later.
pub(crate) const SOON: Duration = Duration::from_secs(1);

/// A key that failed this many times in a row has a lasting failure: nobody waits for it.
pub(crate) const LASTING: u32 = 5;

/// The work of a queue until a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// A key is being reconciled, ready, or due until then.
    Left,
    /// Only keys in the backoff of lasting failures.
    Failing,
    /// The queue is empty.
    Done,
}

/// Returns the work of a queue until a time, without keys that failed at least so many times in a row.
type Probe = Box<dyn Fn(Instant, u32) -> Work + Send + Sync>;

/// The queues of the components of a process; clones share them.
#[derive(Clone, Default)]
pub struct Activity(Arc<Shared>);

#[derive(Default)]
struct Shared {
    components: Mutex<Vec<Component>>,
    /// How many keys were handed to workers.
    begun: AtomicU64,
}

/// A component with queues, which is started in the same process as others; clones are the same component.
#[derive(Clone, Default)]
pub struct Component {
    queues: Arc<Mutex<Vec<Probe>>>,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Component {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let queues = self.queues.lock().len();
        formatter
            .debug_struct("Component")
            .field("queues", &queues)
            .finish_non_exhaustive()
    }
}

impl Activity {
    /// Adds a component. It is busy until it has queues whose workers have been started.
    pub fn component(&self) -> Component {
        let component = Component {
            queues: Arc::default(),
            shared: Arc::clone(&self.0),
        };
        self.0.components.lock().push(component.clone());
        component
    }

    /// Whether no queue of any component has a key now or soon, but for those in the backoff of lasting failures.
    pub fn is_idle(&self) -> bool {
        self.is_idle_but_for(LASTING)
    }

    /// Whether no queue of any component has a key now or soon, but for those that have failed once or more since their
    /// last change, and are only tried again.
    pub fn is_only_retrying(&self) -> bool {
        self.is_idle_but_for(1)
    }

    fn is_idle_but_for(&self, failures: u32) -> bool {
        let soon = Instant::now() + SOON;
        let components = self.0.components.lock();
        let is_idle = |component: &Component| {
            let queues = component.queues.lock();
            !queues.is_empty()
                && queues
                    .iter()
                    .all(|probe| probe(soon, failures) != Work::Left)
        };
        components.iter().all(is_idle)
    }

    /// Whether a key has failed and was not reconciled since: the status of its object may be out of date.
    pub fn is_failing(&self) -> bool {
        let now = Instant::now();
        let components = self.0.components.lock();
        components.iter().any(|component| {
            let queues = component.queues.lock();
            queues
                .iter()
                .any(|probe| probe(now, LASTING) == Work::Failing)
        })
    }

    /// How many keys the queues have handed to workers.
    pub fn begun(&self) -> u64 {
        self.0.begun.load(Ordering::SeqCst)
    }
}

impl Component {
    pub(crate) fn add_queue(&self, probe: impl Fn(Instant, u32) -> Work + Send + Sync + 'static) {
        self.queues.lock().push(Box::new(probe));
    }

    pub(crate) fn begin(&self) {
        self.shared.begun.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::metrics::ControllerMetrics;
    use crate::queue::{Action, Queue};

    #[tokio::test(start_paused = true)]
    async fn key_with_lasting_failures_does_not_count_as_work() {
        let activity = Activity::default();
        let metrics = ControllerMetrics::default().tracked_by(&activity.component());
        let queue: Queue<u32> = Queue::new("test", &metrics);
        let stop = CancellationToken::new();
        let work = queue.clone().run(1, stop.clone(), |_| async { Err("no") });
        let story = async {
            queue.add(1);
            // It is retried after 5, 10, 20 and 40 ms more.
            tokio::time::sleep(Duration::from_millis(70)).await;
            assert!(!activity.is_idle() && activity.is_only_retrying());
            tokio::time::sleep(Duration::from_millis(10)).await;
            assert!(activity.is_idle() && activity.is_failing());
            stop.cancel();
        };
        tokio::join!(work, story);
    }

    #[tokio::test(start_paused = true)]
    async fn retry_of_lasting_failure_is_no_work_and_change_of_its_key_is() {
        let activity = Activity::default();
        let metrics = ControllerMetrics::default().tracked_by(&activity.component());
        let queue: Queue<u32> = Queue::new("test", &metrics);
        let stop = CancellationToken::new();
        let work = queue.clone().run(1, stop.clone(), |_| async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            Err("no")
        });
        let story = async {
            queue.add(1);
            // Five attempts of three seconds and the pauses between them.
            tokio::time::sleep(Duration::from_millis(15_080)).await;
            assert_eq!(activity.begun(), 5);
            // Its sixth begins after 80 ms more.
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(activity.is_idle() && activity.is_failing());
            assert_eq!(activity.begun(), 5, "the retry counts");
            queue.add(1);
            assert!(!activity.is_idle(), "its object has changed");
            stop.cancel();
        };
        tokio::join!(work, story);
    }

    #[tokio::test(start_paused = true)]
    async fn component_is_busy_until_its_queues_have_workers_and_no_keys() {
        let activity = Activity::default();
        let component = activity.component();
        assert!(!activity.is_idle(), "it has not made its queues");
        let metrics = ControllerMetrics::default().tracked_by(&component);
        let queue: Queue<u32> = Queue::new("test", &metrics);
        assert!(!activity.is_idle(), "nobody works on its queue");
        let stop = CancellationToken::new();
        let work = queue.clone().run(1, stop.clone(), |key| async move {
            tokio::time::sleep(Duration::from_secs(3)).await;
            let next = if key == 7 {
                Action::RequeueAfter(Duration::from_mins(1))
            } else {
                Action::AwaitChange
            };
            Ok::<_, Infallible>(next)
        });
        let story = async {
            let at = |millis| tokio::time::sleep(Duration::from_millis(millis));
            at(1).await;
            assert!(activity.is_idle());
            queue.add(7);
            assert!(!activity.is_idle(), "a key is ready");
            at(1_000).await;
            assert!(!activity.is_idle(), "a key is worked on");
            at(2_500).await;
            assert!(activity.is_idle(), "the key is due in a minute");
            assert_eq!(activity.begun(), 1);
            queue.add_after(8, Duration::from_millis(900));
            assert!(!activity.is_idle(), "a key is due soon");
            stop.cancel();
        };
        tokio::join!(work, story);
    }
}
