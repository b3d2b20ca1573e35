//! Runs test programs, some of them at once.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow};

use super::Failures;
use super::processor::Processors;
use super::timings::{Row, Timings};
use super::usage;

/// A program to run.
pub(super) struct Job {
    pub title: String,
    /// The kind of API server that it runs on, if it is a suite of scenarios.
    pub server: Option<&'static str>,
    pub command: Command,
}

/// The programs of a lane run first to last, a few of them at once: one always, and others beside it while processors are idle.
pub(super) struct Lane {
    pub name: &'static str,
    /// How many run at once at most. With those of the other lanes they fill two cores: most wait more than they compute.
    pub at_once: usize,
    pub jobs: VecDeque<Job>,
}

impl Lane {
    pub(super) fn new(name: &'static str, at_once: usize) -> Self {
        Self {
            name,
            at_once,
            jobs: VecDeque::new(),
        }
    }
}

/// The results of the jobs that have ended.
struct Finished<'a> {
    passed: bool,
    failures: &'a mut Failures,
    timings: &'a mut Timings,
}

/// Runs the jobs of all lanes, whose outputs go into files in `logs`. What failed is added to `failures`, what each used
/// to `timings`; whether nothing failed is returned.
pub(super) fn run(
    lanes: Vec<Lane>,
    logs: &Path,
    failures: &mut Failures,
    timings: &mut Timings,
) -> Result<bool> {
    fs::create_dir_all(logs).with_context(|| format!("creating {}", logs.display()))?;
    let finished = Mutex::new(Finished {
        passed: true,
        failures,
        timings,
    });
    let lanes: Vec<(&str, usize, Mutex<VecDeque<Job>>)> = lanes
        .into_iter()
        .map(|lane| (lane.name, lane.at_once, Mutex::new(lane.jobs)))
        .collect();
    let processors = Processors::default();
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for (own, (_, at_once, _)) in lanes.iter().enumerate() {
            for number in 0..*at_once {
                let (lanes, finished, processors) = (&lanes, &finished, &processors);
                workers.push(scope.spawn(move || -> Result<()> {
                    // A worker whose lane is empty helps the others.
                    for offset in 0..lanes.len() {
                        let (name, _, jobs) = &lanes[(own + offset) % lanes.len()];
                        let has_jobs = || !lock(jobs).is_empty();
                        loop {
                            if number > 0 {
                                processors.wait_until_idle(has_jobs);
                            }
                            let Some(job) = next(jobs) else { break };
                            run_job(job, name, logs, finished)?;
                        }
                    }
                    Ok(())
                }));
            }
        }
        let ended: Vec<_> = workers
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .collect();
        ended
            .into_iter()
            .try_for_each(|worker| worker.unwrap_or_else(|_| Err(anyhow!("a worker panicked"))))
    })?;
    Ok(lock(&finished).passed)
}

fn next(jobs: &Mutex<VecDeque<Job>>) -> Option<Job> {
    lock(jobs).pop_front()
}

fn run_job(
    mut job: Job,
    lane: &'static str,
    logs: &Path,
    finished: &Mutex<Finished<'_>>,
) -> Result<()> {
    println!("     Running {}", job.title);
    // Files and not pipes: a program that outlives its parent cannot hold up the test, and the log stays.
    let log = log_file(logs, &job.title);
    let output = File::create(&log).with_context(|| format!("creating {}", log.display()))?;
    let errors = output.try_clone().context("sharing the log")?;
    let started = Instant::now();
    let mut child = job
        .command
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .with_context(|| format!("cannot run {}", job.title))?;
    let (status, used) = usage::wait(&mut child, started)?;
    let printed = fs::read(&log).with_context(|| format!("reading {}", log.display()))?;
    let printed = String::from_utf8_lossy(&printed);
    let mut finished = lock(finished);
    // A reader that has closed the pipe wants the exit code at least.
    let _ = writeln!(
        std::io::stdout().lock(),
        "\n     Finished {} in {:.1} s\n{printed}",
        job.title,
        used.elapsed.as_secs_f64()
    );
    printed
        .lines()
        .for_each(|line| finished.failures.take(line));
    if !status.success() {
        finished.passed = false;
        finished
            .failures
            .add(format!("{} ended with {status}", job.title));
    }
    finished.timings.add(Row {
        title: job.title,
        server: job.server,
        lane,
        used,
    });
    Ok(())
}

/// The file of the output of a program.
pub(super) fn log_file(logs: &Path, title: &str) -> PathBuf {
    let name = reeve_testkit::evidence::file_name(title);
    logs.join(format!("{name}.log"))
}

/// A worker that panicked while it held the lock has printed why.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
