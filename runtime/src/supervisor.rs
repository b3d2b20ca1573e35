//! Owns every long-lived task of a process, so that none ends unnoticed.

use std::fmt::Display;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::leader::{LeaderError, Leadership};

/// How long tasks may take to end after `stop`.
const GRACE: Duration = Duration::from_secs(10);
/// How long aborted tasks may take to end: each runs until its next await.
const ABORT: Duration = Duration::from_secs(1);

/// Why a process ended without a stop.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// A task that should run as long as the process ended.
    #[error("{task} ended unexpectedly")]
    Task {
        /// The task's name.
        task: &'static str,
    },
    /// A task failed.
    #[error("{task} failed: {reason}")]
    Failed {
        /// The task's name.
        task: &'static str,
        /// The reason, as the message shows it.
        reason: String,
    },
    /// Leadership was lost: another process may lead now.
    #[error(transparent)]
    Lost(LeaderError),
}

/// The tasks of a process. When one of them ends, all are stopped and the reason is returned.
pub struct Supervisor {
    tasks: JoinSet<(&'static str, Result<(), String>)>,
    stop: CancellationToken,
    leadership: Option<Leadership>,
}

impl Supervisor {
    /// No tasks yet. `stop` asks all of them to end.
    pub fn new(stop: CancellationToken) -> Self {
        Self {
            tasks: JoinSet::new(),
            stop,
            leadership: None,
        }
    }

    /// Ties the tasks to leadership: when it is lost all of them are aborted at once, and when they have ended for
    /// another reason it is released.
    pub fn lead(&mut self, leadership: Leadership) {
        self.leadership = Some(leadership);
    }

    /// The token that stops the tasks.
    pub fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Starts a task that runs until `stop`.
    pub fn spawn<E: Display>(
        &mut self,
        task: &'static str,
        work: impl Future<Output = Result<(), E>> + Send + 'static,
    ) {
        // Mapped: an async block would have room for the future twice.
        let ended = move |result: Result<(), E>| (task, result.map_err(|error| error.to_string()));
        self.tasks.spawn(work.map(ended));
    }

    /// Starts a task that cannot fail.
    pub fn spawn_infallible(
        &mut self,
        task: &'static str,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        self.tasks.spawn(work.map(move |()| (task, Ok(()))));
    }

    /// Waits for the stop of the process or the end of a task, then ends the others. Returns at once when leadership
    /// is lost: another process leads as soon as the lease has run out.
    pub fn run(mut self) -> BoxFuture<'static, Result<(), TaskError>> {
        Box::pin(async move {
            let outcome = tokio::select! {
                () = self.stop.cancelled() => Ok(()),
                error = lost(&mut self.leadership) => return Err(self.abort(error)),
                Some(ended) = self.tasks.join_next() => match ended {
                    // A task that saw the stop before this select has ended as expected.
                    Ok((_, Ok(()))) if self.stop.is_cancelled() => Ok(()),
                    Ok((task, Ok(()))) => Err(TaskError::Task { task }),
                    Ok((task, Err(reason))) => Err(TaskError::Failed { task, reason }),
                    Err(error) => Err(TaskError::Failed { task: "a task", reason: error.to_string() }),
                },
            };
            self.stop.cancel();
            // The lease is renewed in the meantime: the tasks finish their work.
            let finished = tokio::select! {
                error = lost(&mut self.leadership) => return Err(self.abort(error)),
                finished = tokio::time::timeout(GRACE, all(&mut self.tasks)) => finished.is_ok(),
            };
            if !finished {
                tracing::warn!(
                    "some tasks did not end in {} s and were cut off",
                    GRACE.as_secs()
                );
            }
            self.tasks.abort_all();
            let _ = tokio::time::timeout(ABORT, all(&mut self.tasks)).await;
            // Released only when all work has ended without an abort: an aborted request may still reach the API server,
            // and another leader would write at the same time. In that case the lease expires.
            if let Some(leadership) = self.leadership.take().filter(|_| finished) {
                leadership.release().await;
            }
            outcome
        })
    }

    /// Aborts all tasks without waiting for them.
    fn abort(&mut self, error: LeaderError) -> TaskError {
        self.tasks.abort_all();
        self.stop.cancel();
        TaskError::Lost(error)
    }
}

async fn all<T: 'static>(tasks: &mut JoinSet<T>) {
    while tasks.join_next().await.is_some() {}
}

/// Ends when leadership is lost; never without one.
async fn lost(leadership: &mut Option<Leadership>) -> LeaderError {
    match leadership {
        Some(leadership) => leadership.lost().await,
        None => std::future::pending().await,
    }
}

/// A token that the first SIGTERM, SIGINT or SIGHUP cancels; the second ends the process with code 1. A SIGHUP that was
/// ignored when the process started stays ignored.
pub fn stop_on_signal() -> std::io::Result<CancellationToken> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // The user may want a process that outlives its terminal: nohup ignores this signal before it starts one.
    let mut hangup = if ignores_hangup() {
        None
    } else {
        Some(signal(SignalKind::hangup())?)
    };
    let stop = CancellationToken::new();
    let token = stop.clone();
    // Not supervised on purpose: it must outlive all tasks, and it only waits.
    tokio::spawn(async move {
        for times in 0_u8.. {
            let hung_up = async {
                match &mut hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {}, _ = hung_up => {} }
            if times > 0 {
                std::process::exit(1);
            }
            tracing::info!("stopping");
            token.cancel();
        }
    });
    Ok(stop)
}

/// Whether SIGHUP is ignored, according to `/proc/self/status`.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // A mask of signals; SIGHUP is the first.
    ignored.is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::metrics::ControllerMetrics;
    use crate::queue::{Action, Queue};

    #[tokio::test(start_paused = true)]
    async fn task_that_ends_ends_process_with_its_name() {
        let stop = CancellationToken::new();
        let mut supervisor = Supervisor::new(stop.clone());
        let other = stop.clone();
        supervisor.spawn_infallible("the patient one", async move { other.cancelled().await });
        supervisor.spawn("the watch", async { Err("the door is shut") });
        let ended = supervisor.run().await.unwrap_err();
        assert_eq!(ended.to_string(), "the watch failed: the door is shut");
        assert!(stop.is_cancelled());
    }

    #[tokio::test]
    async fn task_that_panics_ends_process() {
        let mut supervisor = Supervisor::new(CancellationToken::new());
        supervisor.spawn_infallible("clumsy", async { panic!("dropped it") });
        assert!(supervisor.run().await.is_err());
    }

    #[tokio::test]
    async fn stop_is_not_a_failure() {
        let stop = CancellationToken::new();
        let mut supervisor = Supervisor::new(stop.clone());
        let token = stop.clone();
        supervisor.spawn_infallible("worker", async move { token.cancelled().await });
        stop.cancel();
        assert!(supervisor.run().await.is_ok());
    }

    /// Reconciles that write every 10 ms and do not end, in a supervised queue.
    fn writers(supervisor: &mut Supervisor) -> Arc<AtomicUsize> {
        let (queue, writes) = (
            Queue::new("test", &ControllerMetrics::default()),
            Arc::new(AtomicUsize::new(0)),
        );
        (0..4).for_each(|key| queue.add(key));
        let (stop, counted) = (supervisor.stop(), Arc::clone(&writes));
        supervisor.spawn_infallible("workers", async move {
            let reconcile = |_: i32| {
                let writes = Arc::clone(&counted);
                async move {
                    for _ in 0..300 {
                        sleep(Duration::from_millis(10)).await;
                        writes.fetch_add(1, Ordering::SeqCst);
                    }
                    Ok::<_, Infallible>(Action::AwaitChange)
                }
            };
            queue.run(4, stop, reconcile).await;
        });
        writes
    }

    #[tokio::test(start_paused = true)]
    async fn lost_leadership_aborts_running_reconciles() {
        let mut supervisor = Supervisor::new(CancellationToken::new());
        let writes = writers(&mut supervisor);
        supervisor.lead(Leadership::of(|_| async {
            sleep(Duration::from_secs(1)).await;
            LeaderError::Ended("test".into())
        }));
        let started = Instant::now();
        let ended = supervisor.run().await.unwrap_err().to_string();
        assert!(ended.starts_with("leader election lost: "), "{ended}");
        assert!(started.elapsed() < Duration::from_millis(1_010));
        let written = writes.load(Ordering::SeqCst);
        assert!(written > 300, "{written}");
        sleep(Duration::from_secs(10)).await;
        assert_eq!(
            writes.load(Ordering::SeqCst),
            written,
            "a reconcile went on"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn lease_is_released_after_reconciles_have_ended() {
        let stop = CancellationToken::new();
        let mut supervisor = Supervisor::new(stop.clone());
        let writes = writers(&mut supervisor);
        let (seen, at_release) = (Arc::clone(&writes), Arc::new(AtomicUsize::new(0)));
        let noted = Arc::clone(&at_release);
        supervisor.lead(Leadership::of(|released| async move {
            let _ = released.await;
            noted.store(seen.load(Ordering::SeqCst), Ordering::SeqCst);
            LeaderError::Ended("test".into())
        }));
        tokio::spawn(async move {
            sleep(Duration::from_secs(1)).await;
            stop.cancel();
        });
        supervisor.run().await.unwrap();
        assert_eq!(at_release.load(Ordering::SeqCst), 4 * 300);
    }

    #[tokio::test(start_paused = true)]
    async fn leadership_lost_while_tasks_end_does_not_wait_for_them() {
        let stop = CancellationToken::new();
        let mut supervisor = Supervisor::new(stop.clone());
        supervisor.spawn_infallible("slow", sleep(Duration::from_secs(9)));
        supervisor.lead(Leadership::of(|_| async {
            sleep(Duration::from_secs(2)).await;
            LeaderError::Ended("test".into())
        }));
        stop.cancel();
        let started = Instant::now();
        let ended = supervisor.run().await;
        assert!(matches!(ended, Err(TaskError::Lost(_))), "{ended:?}");
        assert_eq!(started.elapsed().as_secs(), 2);
    }
}
