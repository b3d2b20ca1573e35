//! Runs suites again and again on a loaded machine, and counts which tests fail how often.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};

use super::selection::Selection;
use super::timings::Timings;
use super::{Built, Failures, Which, jobs, lanes};
use crate::run;

/// What `cargo xtask flakes` runs.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these suites of scenarios and packages.
    names: Vec<String>,
    /// How often each of them runs.
    #[arg(long, default_value_t = 20)]
    runs: u32,
    /// What else the machine does meanwhile.
    #[arg(long, value_enum, default_value_t = Load::Build)]
    load: Load,
    /// Each suite of scenarios that can on the API server in memory.
    #[arg(long)]
    embedded: bool,
}

/// The load beside the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Load {
    /// cargo builds the workspace in a folder of its own, again and again.
    Build,
    /// Each processor computes.
    Cpu,
    /// Nothing.
    None,
}

/// How often a test has run, and the logs of the runs that it failed in.
#[derive(Default)]
struct Tally {
    runs: u32,
    failed_in: Vec<PathBuf>,
}

/// Runs everything as often as asked for, then prints each test that has failed.
pub(crate) fn run(options: &Options) -> Result<()> {
    let selection = match &options.names[..] {
        [] => Selection::All,
        names => Selection::named(names)?,
    };
    let which = if options.embedded {
        Which::Embedded
    } else {
        Which::All
    };
    let folder = run::target_folder().join("flakes");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let mut timings = Timings::start();
    let built = Built::new(&mut timings)?;
    if which == Which::All {
        // The first test that needs one of them would take longer than the others.
        reeve_testkit::build_go_programs(|_, _| {})?;
    }
    let load = RunningLoad::start(options.load, &folder.join("load"))?;
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for number in 1..=options.runs {
        println!("run {number} of {}", options.runs);
        let logs = folder.join(format!("run-{number}"));
        let (real, others) = lanes(which, &selection, &built)?;
        let mut lanes = vec![real, others];
        for job in lanes.iter_mut().flat_map(|lane| &mut lane.jobs) {
            job.command.env("REEVE_FAILURES", logs.join("failures"));
        }
        jobs::run(lanes, &logs, &mut Failures::default(), &mut timings)?;
        if !count(&logs, &mut tallies)? {
            fs::remove_dir_all(&logs).with_context(|| format!("removing {}", logs.display()))?;
        }
    }
    drop(load);
    let (table, failed) = summary(&tallies);
    print!("{table}");
    ensure!(failed == 0, "{failed} tests have failed at least once");
    Ok(())
}

/// Reads what the programs of a run have printed. Returns whether anything failed.
fn count(logs: &Path, tallies: &mut BTreeMap<String, Tally>) -> Result<bool> {
    let mut is_failed = false;
    let entries = fs::read_dir(logs).with_context(|| format!("reading {}", logs.display()))?;
    for entry in entries {
        let path = entry.context("reading the folder of the logs")?.path();
        let Some(program) = path.file_stem().filter(|_| path.is_file()) else {
            continue;
        };
        let program = program.to_string_lossy();
        let printed = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let printed = String::from_utf8_lossy(&printed);
        let mut has_ended = false;
        for line in printed.lines() {
            has_ended |= line.starts_with("test result:");
            let Some((test, failed)) = outcome(line) else {
                continue;
            };
            let tally = tallies.entry(format!("{program}: {test}")).or_default();
            tally.runs += 1;
            if failed {
                is_failed = true;
                tally.failed_in.push(path.clone());
            }
        }
        // A program that was killed or whose world did not start names no test.
        if !has_ended {
            is_failed = true;
            let tally = tallies.entry(format!("{program}: (all)")).or_default();
            tally.runs += 1;
            tally.failed_in.push(path.clone());
        }
    }
    Ok(is_failed)
}

/// The test that a line is about, and whether it failed: `test name ... ok`.
fn outcome(line: &str) -> Option<(&str, bool)> {
    let (test, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    match outcome.split_whitespace().next()? {
        "ok" => Some((test.trim_end(), false)),
        "FAILED" => Some((test.trim_end(), true)),
        _ => None,
    }
}

/// Each test that failed, those that failed most often first, and their number.
fn summary(tallies: &BTreeMap<String, Tally>) -> (String, usize) {
    let mut failed: Vec<_> = tallies
        .iter()
        .filter(|(_, tally)| !tally.failed_in.is_empty())
        .collect();
    failed.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.failed_in.len()));
    let mut text = String::new();
    for (test, tally) in &failed {
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "{} of {} failed: {test}",
            tally.failed_in.len(),
            tally.runs
        );
        for log in &tally.failed_in {
            let _ = writeln!(text, "    {}", log.display());
        }
    }
    let runs: u32 = tallies.values().map(|tally| tally.runs).sum();
    let _ = writeln!(
        text,
        "{} tests ran {runs} times, {} of them failed at least once",
        tallies.len(),
        failed.len()
    );
    (text, failed.len())
}

/// Something that uses the processors until it is dropped.
struct RunningLoad {
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<()>>,
}

impl RunningLoad {
    fn start(load: Load, folder: &Path) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut workers = Vec::new();
        match load {
            Load::None => {}
            Load::Cpu => {
                let processors = std::thread::available_parallelism()?.get();
                for _ in 0..processors {
                    let stop = Arc::clone(&stop);
                    workers.push(std::thread::spawn(move || {
                        while !stop.load(Ordering::Relaxed) {
                            std::hint::spin_loop();
                        }
                    }));
                }
            }
            Load::Build => {
                let (stop, folder) = (Arc::clone(&stop), folder.to_owned());
                workers.push(std::thread::spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        if let Err(error) = build_once(&folder, &stop) {
                            eprintln!("there is no load beside the tests: {error:#}");
                            return;
                        }
                    }
                }));
            }
        }
        Ok(Self { stop, workers })
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for worker in self.workers.drain(..) {
            // A panic of it was printed, and concerns no test.
            let _ = worker.join();
        }
    }
}

/// Builds the workspace from nothing, or until it is stopped.
fn build_once(folder: &Path, stop: &AtomicBool) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let mut cargo: Command = run::cargo_command(&["build", "--quiet", "--workspace"]);
    let mut child: Child = cargo
        .env("CARGO_TARGET_DIR", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot run cargo build")?;
    while child
        .try_wait()
        .context("waiting for cargo build")?
        .is_none()
    {
        if stop.load(Ordering::Relaxed) {
            // It may end by itself at the same time.
            let _ = child.kill();
            let _ = child.wait();
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_read_from_the_lines_of_both_harnesses() {
        for (line, expected) in [
            ("test a::b ... ok", Some(("a::b", false))),
            ("test prop_12_x   ... FAILED", Some(("prop_12_x", true))),
            ("test slow ... ok <1.2s>", Some(("slow", false))),
            ("test left_out ... ignored", None),
            ("test result: ok. 3 passed", None),
        ] {
            assert_eq!(outcome(line), expected, "{line}");
        }
    }

    #[test]
    fn failed_tests_are_counted_over_all_runs() {
        let folder = tempfile::tempdir().unwrap();
        let mut tallies = BTreeMap::new();
        let log = folder.path().join("suite-hub.log");
        fs::write(
            &log,
            "test a ... ok\ntest b ... FAILED\ntest result: FAILED.\n",
        )
        .unwrap();
        assert!(count(folder.path(), &mut tallies).unwrap());
        fs::write(&log, "test a ... ok\ntest b ... ok\ntest result: ok.\n").unwrap();
        assert!(!count(folder.path(), &mut tallies).unwrap());
        fs::write(&log, "the world could not be started\n").unwrap();
        assert!(count(folder.path(), &mut tallies).unwrap());
        let (text, failed) = summary(&tallies);
        assert_eq!(failed, 2, "{text}");
        assert!(text.contains("1 of 2 failed: suite-hub: b"), "{text}");
        assert!(text.contains("1 of 1 failed: suite-hub: (all)"), "{text}");
        assert!(
            text.contains("3 tests ran 5 times, 2 of them failed"),
            "{text}"
        );
    }
}
