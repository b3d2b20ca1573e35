//! Runs test programs, some of them at once.

use std::collections::VecDeque;
use std::io::Write as _;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};

use super::Failures;

/// Programs that run at once. Most wait more than they compute; so many fill two cores.
const AT_ONCE: usize = 3;

/// A program to run.
pub(super) struct Job {
    pub title: String,
    pub command: Command,
}

/// What is left to run.
#[derive(Default)]
pub(super) struct Jobs {
    /// Run one after the other, first to last: a control plane of its own costs each of them much.
    pub serial: VecDeque<Job>,
    /// Run several at once.
    pub parallel: VecDeque<Job>,
}

/// The results of the jobs that have ended.
struct Finished<'a> {
    passed: bool,
    count: usize,
    /// How long they would have taken one after the other.
    took: Duration,
    failures: &'a mut Failures,
}

/// Runs all jobs. What failed is added to `failures`; whether nothing did is returned.
pub(super) fn run(jobs: Jobs, failures: &mut Failures) -> Result<bool> {
    let begun = Instant::now();
    let serial = Mutex::new(jobs.serial);
    let parallel = Mutex::new(jobs.parallel);
    let finished = Mutex::new(Finished {
        passed: true,
        count: 0,
        took: Duration::ZERO,
        failures,
    });
    let run_next = |jobs: &Mutex<VecDeque<Job>>| -> Result<bool> {
        let Some(job) = lock(jobs).pop_front() else {
            return Ok(false);
        };
        run_job(job, &finished)?;
        Ok(true)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE)
            .map(|worker| {
                let (run_next, serial, parallel) = (&run_next, &serial, &parallel);
                scope.spawn(move || -> Result<()> {
                    // One worker alone takes what must not run at once.
                    while worker == 0 && run_next(serial)? {}
                    while run_next(parallel)? {}
                    Ok(())
                })
            })
            .collect();
        let ended: Vec<_> = workers
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .collect();
        ended
            .into_iter()
            .try_for_each(|worker| worker.unwrap_or_else(|_| Err(anyhow!("a worker panicked"))))
    })?;
    let finished = lock(&finished);
    println!(
        "\n{} programs in {:.0} s, one after the other {:.0} s",
        finished.count,
        begun.elapsed().as_secs_f64(),
        finished.took.as_secs_f64()
    );
    Ok(finished.passed)
}

fn run_job(mut job: Job, finished: &Mutex<Finished<'_>>) -> Result<()> {
    println!("     Running {}", job.title);
    let started = Instant::now();
    let output = job.command.output();
    let output = output.with_context(|| format!("cannot run {}", job.title))?;
    let took = started.elapsed();
    let mut finished = lock(finished);
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut out = std::io::stdout().lock();
    // A reader that has closed the pipe wants the exit code at least.
    let _ = writeln!(
        out,
        "\n     Finished {} in {:.1} s\n{printed}",
        job.title,
        took.as_secs_f64()
    );
    let _ = out.write_all(&output.stderr);
    printed
        .lines()
        .for_each(|line| finished.failures.take(line));
    finished.count += 1;
    finished.took += took;
    if !output.status.success() {
        finished.passed = false;
        finished
            .failures
            .add(format!("{} ended with {}", job.title, output.status));
    }
    Ok(())
}

/// A worker that panicked while it held the lock has printed why.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
