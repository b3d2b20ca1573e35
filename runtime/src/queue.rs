//! A queue of keys to reconcile: no key twice, no key twice at once, failures retried with backoff, and fair turns.

mod ready;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::stream::{FuturesUnordered, StreamExt};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::activity::{LASTING, Work};
use crate::metrics::{ControllerMetrics, Outcome, Worked};

use ready::Ready;
pub use ready::{Flow, flow};

/// A type of keys.
pub trait Key: Clone + Ord + Hash + Debug + Send + Sync + 'static {}
impl<K: Clone + Ord + Hash + Debug + Send + Sync + 'static> Key for K {}

/// The action after a successful reconcile of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Action {
    /// No action until the key is enqueued.
    #[default]
    AwaitChange,
    /// Reconcile again after this time, or earlier if the key is enqueued.
    RequeueAfter(Duration),
    /// Reconcile again after the backoff, as after a failure, though nothing failed: another client was faster, and
    /// the watch is about to deliver its write.
    Requeue,
}

impl Action {
    /// The same action, but after this time at the latest.
    #[must_use]
    pub fn within(self, latest: Duration) -> Self {
        match self {
            Self::AwaitChange => Self::RequeueAfter(latest),
            Self::RequeueAfter(after) => Self::RequeueAfter(after.min(latest)),
            Self::Requeue => Self::Requeue,
        }
    }
}

/// The backoff: the first retry after `first`, then doubling up to `longest`.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// Before the first retry.
    pub first: Duration,
    /// The longest time between two retries.
    pub longest: Duration,
}

impl Default for Backoff {
    /// 5 ms doubling to one minute. The Go controllers go on to 17 minutes, which users saw as policies that had
    /// stopped.
    fn default() -> Self {
        Self {
            first: Duration::from_millis(5),
            longest: Duration::from_mins(1),
        }
    }
}

impl Backoff {
    fn delay(&self, failures: u32) -> Duration {
        let doubled = self
            .first
            .saturating_mul(1_u32.checked_shl(failures).unwrap_or(u32::MAX));
        doubled.min(self.longest)
    }
}

/// A queue; clones share it. It has no bound on purpose: it holds each key at most once, so it is bounded by the
/// number of objects.
pub struct Queue<K> {
    name: &'static str,
    backoff: Backoff,
    state: Arc<Mutex<State<K>>>,
    notify: Arc<Notify>,
    metrics: ControllerMetrics,
}

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self {
            name: self.name,
            backoff: self.backoff,
            state: Arc::clone(&self.state),
            notify: Arc::clone(&self.notify),
            metrics: self.metrics.clone(),
        }
    }
}

struct State<K> {
    has_workers: bool,
    /// The waiting keys.
    ready: Ready<K>,
    flow_of: Option<fn(&K) -> Flow>,
    /// The keys in `ready`.
    queued: HashSet<K>,
    /// The keys that are being reconciled.
    running: HashMap<K, Running>,
    timers: BTreeSet<(Instant, K)>,
    /// The one timer of each key in `timers`.
    due: HashMap<K, Instant>,
    failures: HashMap<K, u32>,
    /// The keys in `queued` and `running` that are only there because the backoff of a failure is over.
    retried: HashSet<K>,
}

/// The reconcile of a key.
#[derive(Clone, Copy, Debug)]
struct Running {
    since: Instant,
    /// The key was enqueued again since.
    again: bool,
}

impl<K: Key> State<K> {
    /// Whether nobody waits for a key that failed so many times in a row, as long as only its backoff brings it back.
    fn is_lasting(&self, key: &K, failures: u32) -> bool {
        self.failures.get(key).copied().unwrap_or_default() >= failures
    }

    /// The work until this time, without keys that failed so many times. Without workers it is unknown: the watches may
    /// not have delivered everything.
    fn work(&self, by: Instant, lasting: u32) -> Work {
        let due = self.timers.iter().take_while(|(at, _)| *at <= by);
        let is_due = due
            .into_iter()
            .any(|(_, key)| !self.is_lasting(key, lasting));
        let is_work = |key| !self.retried.contains(key) || !self.is_lasting(key, lasting);
        let mut busy = self.queued.iter().chain(self.running.keys());
        if !self.has_workers || is_due || busy.any(is_work) {
            Work::Left
        } else if self.failures.is_empty() {
            Work::Done
        } else {
            Work::Failing
        }
    }

    /// Whether the reconcile of a key is more than the next retry of a lasting failure.
    fn is_progress(&self, key: &K) -> bool {
        !self.retried.contains(key) || !self.is_lasting(key, LASTING)
    }

    fn add(&mut self, key: K) {
        // A change may end the failure.
        self.retried.remove(&key);
        self.enqueue(key);
    }

    fn enqueue(&mut self, key: K) {
        if let Some(running) = self.running.get_mut(&key) {
            running.again = true;
        } else if self.queued.insert(key.clone()) {
            let flow = self.flow_of.map_or(0, |flow_of| flow_of(&key));
            self.ready.push(flow, key);
        }
    }

    fn add_at(&mut self, key: K, at: Instant) {
        match self.due.get(&key) {
            Some(due) if *due <= at => return,
            Some(due) => {
                self.timers.remove(&(*due, key.clone()));
            }
            None => {}
        }
        self.due.insert(key.clone(), at);
        self.timers.insert((at, key));
    }

    fn cancel_timer(&mut self, key: &K) {
        if let Some(due) = self.due.remove(key) {
            self.timers.remove(&(due, key.clone()));
        }
    }

    /// The next key to reconcile, or the time of the next timer.
    fn next(&mut self, now: Instant) -> Result<(K, Instant), Option<Instant>> {
        while let Some((at, _)) = self.timers.first() {
            if *at > now {
                break;
            }
            let Some((_, key)) = self.timers.pop_first() else {
                break;
            };
            self.due.remove(&key);
            let is_there = self.queued.contains(&key) || self.running.contains_key(&key);
            if self.failures.contains_key(&key) && !is_there {
                self.retried.insert(key.clone());
            }
            self.enqueue(key);
        }
        let Some((key, since)) = self.ready.pop() else {
            return Err(self.timers.first().map(|(at, _)| *at));
        };
        self.queued.remove(&key);
        // This reconcile replaces the one of the timer.
        self.cancel_timer(&key);
        let running = Running {
            since: now,
            again: false,
        };
        self.running.insert(key.clone(), running);
        Ok((key, since))
    }

    /// Finds the reconciles that take long. Returns when the next one does.
    fn find_slow(&mut self, now: Instant) -> Option<Instant> {
        let flow_of = self.flow_of?;
        let mut next = None;
        for (key, running) in &self.running {
            let at = running.since + ready::SLOW;
            if self.ready.is_slow(key) {
                continue;
            }
            if at <= now {
                self.ready.takes_long(flow_of(key), key.clone());
            } else if next.is_none_or(|next| at < next) {
                next = Some(at);
            }
        }
        next
    }

    /// How many keys may be reconciled at once, and when the next reconcile takes long.
    fn capacity(&mut self, workers: usize, now: Instant) -> (usize, Option<Instant>) {
        let slow_at = self.find_slow(now);
        (workers + self.ready.more_workers(), slow_at)
    }

    fn finished(&mut self, key: &K, took: Duration) {
        if let Some(flow_of) = self.flow_of {
            self.ready.ended(flow_of(key), key, took);
        }
        self.retried.remove(key);
        let ended = self.running.remove(key);
        if ended.is_some_and(|ended| ended.again) {
            self.add(key.clone());
        }
    }
}

impl<K: Key> Queue<K> {
    /// An empty queue. `name` is the controller's name in logs and metrics.
    pub fn new(name: &'static str, metrics: &ControllerMetrics) -> Self {
        Self::with_backoff(name, metrics, Backoff::default())
    }

    /// The same queue, whose keys take turns by their flow: the keys of one do not wait behind all those of another, and flows whose
    /// reconciles take long have at most half of the workers.
    #[must_use]
    pub fn with_flows(self, flow_of: fn(&K) -> Flow) -> Self {
        self.state.lock().flow_of = Some(flow_of);
        self
    }

    /// An empty queue with another backoff.
    pub fn with_backoff(name: &'static str, metrics: &ControllerMetrics, backoff: Backoff) -> Self {
        metrics.register(name);
        let state = Arc::new(Mutex::new(State {
            has_workers: false,
            ready: Ready::default(),
            flow_of: None,
            queued: HashSet::new(),
            running: HashMap::new(),
            timers: BTreeSet::new(),
            due: HashMap::new(),
            failures: HashMap::new(),
            retried: HashSet::new(),
        }));
        let observed = Arc::clone(&state);
        let component = metrics.component();
        component.add_queue(move |by, lasting| observed.lock().work(by, lasting));
        Self {
            name,
            backoff,
            state,
            notify: Arc::new(Notify::new()),
            metrics: metrics.clone(),
        }
    }

    /// The controller's name in logs and metrics.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Enqueues a key: the next free worker reconciles it, or its running reconcile is repeated.
    pub fn add(&self, key: K) {
        let depth = {
            let mut state = self.state.lock();
            state.add(key);
            state.ready.len()
        };
        self.metrics.added(self.name, depth);
        self.notify.notify_one();
    }

    /// Enqueues a key after `delay`, unless it is enqueued earlier.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.state.lock().add_at(key, Instant::now() + delay);
        self.notify.notify_one();
    }

    /// Reconciles the keys until `stop`, then waits for the running reconciles. At most `workers` run at once, and half as many more
    /// while keys of slow [flows](Self::with_flows) are reconciled. A panic in a reconcile is an error like any other.
    pub async fn run<F, Fut, E>(self, workers: usize, stop: CancellationToken, reconcile: F)
    where
        F: Fn(K) -> Fut,
        Fut: Future<Output = Result<Action, E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let mut running = FuturesUnordered::new();
        self.metrics.workers_spawned(self.name, workers.max(1));
        {
            let mut state = self.state.lock();
            state.has_workers = true;
            state.ready.set_workers(workers.max(1));
        }
        loop {
            let next_timer = loop {
                let (next, depth, slow_at) = {
                    let mut state = self.state.lock();
                    let now = Instant::now();
                    let (capacity, slow_at) = state.capacity(workers.max(1), now);
                    if running.len() >= capacity {
                        break slow_at;
                    }
                    (state.next(now), state.ready.len(), slow_at)
                };
                match next {
                    Ok((key, since)) => {
                        let started = self.metrics.began(self.name, since, depth);
                        if self.state.lock().is_progress(&key) {
                            self.metrics.component().begin();
                        }
                        let work =
                            tokio::spawn(AssertUnwindSafe(reconcile(key.clone())).catch_unwind());
                        // Aborting the queue aborts its reconciles.
                        let work = AbortOnDropHandle::new(work);
                        running.push(async move { (key, started, work.await) });
                    }
                    Err(at) => break at.into_iter().chain(slow_at).min(),
                }
            };
            let timer = async {
                match next_timer {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.notify.notified() => {}
                () = timer => {}
                Some((key, started, ended)) = running.next() => {
                    let outcome = match ended {
                        Ok(Ok(result)) => result.map_err(|error| error.to_string()),
                        Ok(Err(_)) | Err(_) => Err("the reconcile panicked".to_owned()),
                    };
                    self.settle(&key, started, outcome);
                }
            }
        }
        while let Some((key, started, ended)) = running.next().await {
            if let Ok(Ok(result)) = ended {
                self.settle(&key, started, result.map_err(|error| error.to_string()));
            }
        }
    }

    fn settle(&self, key: &K, since: Instant, outcome: Result<Action, String>) {
        let mut state = self.state.lock();
        let result = match &outcome {
            Ok(Action::AwaitChange) => {
                state.failures.remove(key);
                Outcome::Success
            }
            Ok(Action::RequeueAfter(delay)) => {
                state.failures.remove(key);
                state.add_at(key.clone(), Instant::now() + *delay);
                Outcome::RequeueAfter
            }
            Ok(Action::Requeue) | Err(_) => {
                let failures = state.failures.entry(key.clone()).or_default();
                let delay = self.backoff.delay(*failures);
                *failures = failures.saturating_add(1);
                state.add_at(key.clone(), Instant::now() + delay);
                if outcome.is_ok() {
                    Outcome::Requeue
                } else {
                    Outcome::Error
                }
            }
        };
        state.finished(key, since.elapsed());
        drop(state);
        let worked = Worked {
            since,
            outcome: result,
        };
        self.metrics.ended(self.name, worked);
        if let Err(error) = outcome {
            tracing::error!(controller = self.name, ?key, %error, "Reconciler error");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn queue(longest: Duration) -> Queue<u32> {
        let backoff = Backoff {
            first: Duration::from_millis(1),
            longest,
        };
        Queue::with_backoff("test", &ControllerMetrics::default(), backoff)
    }

    #[tokio::test(start_paused = true)]
    async fn key_enqueued_during_its_reconcile_runs_once_more_and_never_concurrently() {
        let queue = queue(Duration::from_secs(1));
        let stop = CancellationToken::new();
        let runs = Arc::new(AtomicUsize::new(0));
        let at_once = Arc::new(AtomicUsize::new(0));
        queue.add(1);
        queue.add(1);
        let work = queue.clone().run(4, stop.clone(), {
            let (queue, runs, at_once) = (queue.clone(), Arc::clone(&runs), Arc::clone(&at_once));
            move |key| {
                let (queue, runs, at_once) =
                    (queue.clone(), Arc::clone(&runs), Arc::clone(&at_once));
                async move {
                    assert_eq!(at_once.fetch_add(1, Ordering::SeqCst), 0);
                    if runs.fetch_add(1, Ordering::SeqCst) == 0 {
                        queue.add(key);
                        queue.add(key);
                    }
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    at_once.fetch_sub(1, Ordering::SeqCst);
                    Ok::<_, Infallible>(Action::AwaitChange)
                }
            }
        });
        tokio::select! { () = work => {}, () = tokio::time::sleep(Duration::from_secs(5)) => stop.cancel() }
        assert_eq!(runs.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_and_panics_are_retried_with_capped_backoff() {
        let queue = queue(Duration::from_secs(2));
        let stop = CancellationToken::new();
        let times = Arc::new(Mutex::new(Vec::new()));
        queue.add(7);
        let started = Instant::now();
        let work = queue.clone().run(1, stop.clone(), {
            let times = Arc::clone(&times);
            move |_| {
                let times = Arc::clone(&times);
                async move {
                    times.lock().push(started.elapsed());
                    assert!(times.lock().len() != 2, "the second run panics");
                    Err::<Action, _>("refused")
                }
            }
        });
        tokio::select! { () = work => {}, () = tokio::time::sleep(Duration::from_secs(20)) => stop.cancel() }
        let times = times.lock();
        assert!(times.len() > 12, "{times:?}");
        let last = times
            .windows(2)
            .last()
            .map(|pair| pair[1].saturating_sub(pair[0]));
        assert_eq!(last, Some(Duration::from_secs(2)));
    }

    #[tokio::test(start_paused = true)]
    async fn earlier_requeue_replaces_later_timer() {
        let queue = queue(Duration::from_secs(1));
        let stop = CancellationToken::new();
        let times = Arc::new(Mutex::new(Vec::new()));
        queue.add_after(1, Duration::from_mins(1));
        queue.add_after(1, Duration::from_secs(5));
        queue.add_after(1, Duration::from_secs(90));
        let started = Instant::now();
        let work = queue.clone().run(1, stop.clone(), {
            let times = Arc::clone(&times);
            move |_| {
                times.lock().push(started.elapsed().as_secs());
                async { Ok::<_, Infallible>(Action::AwaitChange) }
            }
        });
        tokio::select! { () = work => {}, () = tokio::time::sleep(Duration::from_secs(200)) => stop.cancel() }
        assert_eq!(*times.lock(), [5]);
    }
}
