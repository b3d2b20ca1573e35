//! Two candidates and an API server on a virtual clock, with faults: never two leaders at once, and always one in the
//! end.
//!
//! The candidates are the real ones, down to the [`Lock`]: only the API server is a model. Every run has its own
//! seed, and a failure names it.

use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures::future::poll_fn;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use parking_lot::Mutex;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until};

use super::candidate::{Ambient, Candidate};
use super::lock::{Lock, LockError};
use super::timings::LeaseTimings;
use super::{campaign, lead};
use crate::fence::Fence;

const RUNS: u64 = 3_000;
/// Before the first fault, both candidates see the Lease.
const CALM: Duration = Duration::from_secs(10);
/// How long faults happen, and how long the longest of them lasts after that: a request and its response.
const FAULTY: Duration = Duration::from_mins(4);
const ECHO: Duration = Duration::from_secs(40);
/// The lease and three tries of a candidate.
const ELECTED: Duration = Duration::from_secs(29);

/// A small generator of random numbers: a run is its seed.
#[derive(Clone)]
struct Dice(Arc<Mutex<u64>>);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(
            seed.wrapping_mul(0x2545_f491_4f6c_dd1d),
        )))
    }

    /// A number below `end` (splitmix64).
    fn below(&self, end: u64) -> u64 {
        let mut state = self.0.lock();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }

    /// True in `percent` of a hundred cases.
    fn hits(&self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn millis(&self, end: u64) -> Duration {
        Duration::from_millis(self.below(end))
    }
}

/// The API server: it stores a write only over the version that was read.
#[derive(Default)]
struct Store {
    lease: Option<Lease>,
    version: u64,
}

impl Store {
    fn write(&mut self, mut lease: Lease) -> Result<Lease, LockError> {
        let stored = self.lease.as_ref();
        let version = stored.and_then(|lease| lease.metadata.resource_version.as_ref());
        if version != lease.metadata.resource_version.as_ref() {
            return Err(LockError::Conflict);
        }
        self.version += 1;
        lease.metadata.resource_version = Some(self.version.to_string());
        self.lease = Some(lease.clone());
        Ok(lease)
    }
}

/// The state that a run shares.
#[derive(Clone)]
struct Run {
    dice: Dice,
    store: Arc<Mutex<Store>>,
    /// When each leader could write.
    terms: Arc<Mutex<Vec<Term>>>,
    faults: Range<Instant>,
}

/// The period in which a process could write as the leader.
#[derive(Clone, Copy, Debug)]
struct Term {
    node: u64,
    from: Instant,
    /// Absent while it leads.
    to: Option<Instant>,
}

impl Run {
    fn has_faults(&self) -> bool {
        self.faults.contains(&Instant::now())
    }

    /// How long one way takes: mostly little, sometimes up to 20 s.
    fn way(&self) -> Duration {
        if self.has_faults() && self.dice.hits(15) {
            self.dice.millis(20_000)
        } else {
            self.dice.millis(50)
        }
    }
}

/// The way of one process to the API server.
struct Network(Run);

impl Network {
    /// A request, which continues even if its caller stops waiting.
    async fn ask<T: Send + 'static>(
        &self,
        effect: impl FnOnce(&mut Store) -> Result<T, LockError> + Send + 'static,
    ) -> Result<T, LockError> {
        let run = &self.0;
        let (there, back) = (run.way(), run.way());
        let is_lost = |percent| run.has_faults() && run.dice.hits(percent);
        let (lost_there, lost_back) = (is_lost(10), is_lost(10));
        let is_silent = run.dice.hits(50);
        let store = Arc::clone(&run.store);
        let (answer, answered) = oneshot::channel();
        tokio::spawn(async move {
            sleep(there).await;
            let outcome = if lost_there {
                Err(LockError::Request("lost before it arrived".to_owned()))
            } else {
                effect(&mut store.lock())
            };
            sleep(back).await;
            if (lost_there || lost_back) && is_silent {
                std::future::pending::<()>().await;
            }
            let lost = || Err(LockError::Request("the answer was lost".to_owned()));
            let _ = answer.send(if lost_back { lost() } else { outcome });
        });
        match answered.await {
            Ok(outcome) => outcome,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Lock for Network {
    async fn read(&self) -> Result<Option<Lease>, LockError> {
        self.ask(|store| Ok(store.lease.clone())).await
    }

    async fn write(&self, lease: Lease) -> Result<Lease, LockError> {
        self.ask(|store| store.write(lease)).await
    }
}

/// Suspends a process from time to time, as SIGSTOP does: time passes, and nothing of it runs.
async fn suspended_at_times<T>(run: Run, process: impl Future<Output = T>) -> T {
    let mut process = pin!(process);
    let mut edge = pin!(sleep(run.dice.millis(120_000)));
    let mut is_suspended = false;
    poll_fn(|context| {
        while edge.as_mut().poll(context).is_ready() {
            is_suspended = !is_suspended && run.has_faults();
            let next = if is_suspended { 25_000 } else { 120_000 };
            edge.as_mut().reset(Instant::now() + run.dice.millis(next));
        }
        if is_suspended {
            return Poll::Pending;
        }
        process.as_mut().poll(context)
    })
    .await
}

/// One process after the other, each a separate candidate, until the runtime ends.
async fn node(run: Run, number: u64, restarts: bool) {
    for start in 0_u64.. {
        let process = Box::pin(process(run.clone(), number, start));
        suspended_at_times(run.clone(), process).await;
        if !restarts {
            return;
        }
        sleep(run.dice.millis(5_000)).await;
    }
}

async fn process(run: Run, number: u64, start: u64) {
    let offset = Arc::new(AtomicI64::new(0));
    let (steps, fractions, started) = (Arc::clone(&offset), run.dice.clone(), Instant::now());
    let dice = run.dice.clone();
    let wall = move || {
        if dice.hits(10) {
            steps.store(
                i64::try_from(dice.below(20)).unwrap() - 10,
                Ordering::SeqCst,
            );
        }
        let shown = SignedDuration::try_from(started.elapsed()).unwrap()
            + SignedDuration::from_secs(steps.load(Ordering::SeqCst));
        Timestamp::from_second(1_000_000).unwrap() + shown
    };
    let ambient = Ambient {
        wall: Box::new(wall),
        // Exact enough: a number below a million.
        fraction: Box::new(move || {
            f64::from(u32::try_from(fractions.below(1_000_000)).unwrap()) / 1e6
        }),
    };
    let (timings, fence) = (LeaseTimings::CONTROLLER_RUNTIME, Fence::default());
    let identity = format!("{number}-{start}");
    let network = Network(run.clone());
    let mut candidate = Candidate::new(network, identity, timings, fence.clone(), ambient);
    let lease: Arc<str> = "model".into();
    campaign(&mut candidate, &lease).await;

    let term = {
        let mut terms = run.terms.lock();
        terms.push(Term {
            node: number,
            from: Instant::now(),
            to: None,
        });
        terms.len() - 1
    };
    let (release, released) = oneshot::channel();
    let mut leads = pin!(lead(candidate, lease, timings, released));
    // Some leaders are stopped, some are killed, most continue.
    let end = Instant::now() + run.dice.millis(300_000);
    tokio::select! {
        _ = &mut leads => close(&run, term, &fence),
        () = sleep_until(end), if run.faults.contains(&end) => {
            close(&run, term, &fence);
            if run.dice.hits(50) {
                drop(release);
                let _ = tokio::time::timeout(super::RELEASE, leads).await;
            }
        }
    }
}

/// Ends a term: a leader writes until its process ends or its fence closes, whichever is first.
fn close(run: &Run, term: usize, fence: &Fence) {
    let now = Instant::now();
    let to = fence.closes_at().map_or(now, |at| at.min(now));
    if let Some(term) = run.terms.lock().get_mut(term) {
        term.to = Some(to);
    }
}

/// The error in the terms of leaders, if there is one.
fn overlap(terms: &[Term], start: Instant) -> Option<String> {
    let seconds = |at: Instant| at.duration_since(start).as_secs_f64();
    let describe = |term: &Term| {
        let to = term.to.map_or(f64::INFINITY, seconds);
        format!("{} from {} to {to}", term.node, seconds(term.from))
    };
    let mut pairs = terms.iter().zip(terms.iter().skip(1));
    let (first, second) =
        pairs.find(|(first, second)| first.to.is_none_or(|to| to > second.from))?;
    Some(format!("{} and {}", describe(first), describe(second)))
}

fn play(seed: u64, restarts: bool) -> Result<usize, String> {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(async {
        let start = Instant::now() + CALM;
        let run = Run {
            dice: Dice::new(seed),
            store: Arc::default(),
            terms: Arc::default(),
            faults: start..start + FAULTY,
        };
        for number in 0..2 {
            tokio::spawn(node(run.clone(), number, restarts));
        }
        if !restarts {
            // A user deletes the Lease, under candidates that have seen it.
            let deleted = run.clone();
            tokio::spawn(async move {
                sleep_until(deleted.faults.start).await;
                loop {
                    sleep(deleted.dice.millis(60_000)).await;
                    deleted.store.lock().lease = None;
                }
            });
        }
        sleep_until(run.faults.end + ECHO + ELECTED).await;
        let terms = run.terms.lock().clone();
        if let Some(text) = overlap(&terms, start - CALM) {
            return Err(format!("seed {seed}: two led at once: {text}"));
        }
        if restarts && terms.last().is_none_or(|term| term.to.is_some()) {
            return Err(format!("seed {seed}: nobody leads in the end: {terms:?}"));
        }
        Ok(terms.len())
    })
}

/// Runs many seeds, and requires enough changes of leaders for the result to be meaningful.
fn play_all(restarts: bool, enough: usize) {
    let outcomes: Vec<_> = (0..RUNS).map(|seed| play(seed, restarts)).collect();
    let failures: Vec<_> = outcomes
        .iter()
        .filter_map(|run| run.as_ref().err())
        .collect();
    let shown: Vec<_> = failures.iter().take(3).collect();
    assert!(
        failures.is_empty(),
        "{} runs of {RUNS}: {shown:#?}",
        failures.len()
    );
    let terms: usize = outcomes.into_iter().flatten().sum();
    assert!(terms > enough, "only {terms} terms in {RUNS} runs");
}

#[test]
fn two_candidates_never_lead_at_once_and_one_leads_at_the_end() {
    play_all(true, 4 * 3_000);
}

#[test]
fn deleted_lease_never_makes_two_leaders() {
    play_all(false, 3_000);
}
