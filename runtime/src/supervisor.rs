//! Owns every long-lived task of a process, so that none dies unnoticed.

use std::fmt::Display;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long tasks may take to end after they were told to.
const GRACE: Duration = Duration::from_secs(10);

/// Why a process ended without having been asked to.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// A task that should run as long as the process came to its end.
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
        /// Why.
        reason: String,
    },
}

/// The tasks of a process. When one of them ends, all are stopped and the reason is returned.
pub struct Supervisor {
    tasks: JoinSet<(&'static str, Result<(), String>)>,
    stop: CancellationToken,
}

impl Supervisor {
    /// No tasks yet. `stop` asks all of them to end.
    pub fn new(stop: CancellationToken) -> Self {
        Self {
            tasks: JoinSet::new(),
            stop,
        }
    }

    /// The token that tells tasks to end.
    pub fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Starts a task that runs until `stop`.
    pub fn spawn<E: Display>(
        &mut self,
        task: &'static str,
        work: impl Future<Output = Result<(), E>> + Send + 'static,
    ) {
        self.tasks
            .spawn(async move { (task, work.await.map_err(|error| error.to_string())) });
    }

    /// Starts a task that cannot fail.
    pub fn spawn_infallible(
        &mut self,
        task: &'static str,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        self.tasks.spawn(async move {
            work.await;
            (task, Ok(()))
        });
    }

    /// Waits until the process is asked to stop or a task ends, then ends the others.
    pub async fn run(mut self) -> Result<(), Ended> {
        let outcome = tokio::select! {
            () = self.stop.cancelled() => Ok(()),
            Some(ended) = self.tasks.join_next() => match ended {
                // A task that saw the stop before this select did has ended rightly.
                Ok((_, Ok(()))) if self.stop.is_cancelled() => Ok(()),
                Ok((task, Ok(()))) => Err(Ended::Task { task }),
                Ok((task, Err(reason))) => Err(Ended::Failed { task, reason }),
                Err(error) => Err(Ended::Failed { task: "a task", reason: error.to_string() }),
            },
        };
        self.stop.cancel();
        let rest = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, rest).await.is_err() {
            tracing::warn!(
                "some tasks did not end in {} s and were cut off",
                GRACE.as_secs()
            );
        }
        outcome
    }
}

/// A token that the first SIGTERM or SIGINT cancels; the second ends the process with code 1.
pub fn stop_on_signal() -> std::io::Result<CancellationToken> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = CancellationToken::new();
    let token = stop.clone();
    // Not supervised on purpose: it must outlive everything, and it can only wait.
    tokio::spawn(async move {
        for times in 0_u8.. {
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
            if times > 0 {
                std::process::exit(1);
            }
            tracing::info!("stopping");
            token.cancel();
        }
    });
    Ok(stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_task_that_ends_ends_the_process_with_its_name() {
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
    async fn a_panicking_task_ends_the_process_too() {
        let mut supervisor = Supervisor::new(CancellationToken::new());
        supervisor.spawn_infallible("clumsy", async { panic!("dropped it") });
        assert!(supervisor.run().await.is_err());
    }

    #[tokio::test]
    async fn being_asked_to_stop_is_no_failure() {
        let stop = CancellationToken::new();
        let mut supervisor = Supervisor::new(stop.clone());
        let token = stop.clone();
        supervisor.spawn_infallible("worker", async move { token.cancelled().await });
        stop.cancel();
        assert!(supervisor.run().await.is_ok());
    }
}
