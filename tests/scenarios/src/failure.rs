//! The folder that a failed scenario leaves: what failed, the logs of all processes, the objects of all planes, and what
//! ran beside it.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};

use anyhow::{Context as _, Result};
use parking_lot::Mutex;
use reeve_testkit::{evidence, planes_are_embedded, target_folder};

/// Names the folder of the folders of all suites.
const VARIABLE: &str = "REEVE_FAILURES";

/// How many of the slowest scenarios are printed.
const SLOWEST: usize = 5;

/// The failures of one run of a suite.
pub(crate) struct Failures {
    folder: PathBuf,
    started: Instant,
    scenarios: Mutex<Vec<Timing>>,
    is_kept: AtomicBool,
}

/// When a scenario ran.
struct Timing {
    name: &'static str,
    started: Instant,
    ended: Option<Instant>,
}

/// A scenario that runs.
pub(crate) struct Running {
    pub(crate) name: &'static str,
    started: SystemTime,
}

impl Failures {
    /// Removes what an earlier run of the suite has left, and has all logs kept from now on.
    pub(crate) fn of_suite(name: &str) -> Result<Self> {
        let folder = match env::var_os(VARIABLE) {
            Some(folder) => PathBuf::from(folder),
            None => target_folder().join("test/failures"),
        };
        // The suite may run on the other kind of server at the same time.
        let folder = if planes_are_embedded() {
            folder.join(format!("{name}-embedded"))
        } else {
            folder.join(name)
        };
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("removing {}", folder.display()))?;
        }
        evidence::keep_logs(&folder.join("logs"))?;
        Ok(Self {
            folder,
            started: Instant::now(),
            scenarios: Mutex::default(),
            is_kept: AtomicBool::new(false),
        })
    }

    pub(crate) fn start(&self, name: &'static str) -> Running {
        self.scenarios.lock().push(Timing {
            name,
            started: Instant::now(),
            ended: None,
        });
        Running {
            name,
            started: SystemTime::now(),
        }
    }

    pub(crate) fn end(&self, name: &'static str) {
        let mut scenarios = self.scenarios.lock();
        if let Some(timing) = scenarios.iter_mut().find(|timing| timing.name == name) {
            timing.ended = Some(Instant::now());
        }
    }

    /// Writes the folder of a failed scenario, and returns a sentence that names it.
    pub(crate) async fn write(&self, scenario: &Running, error: &str) -> String {
        self.keep();
        let folder = self.folder.join(evidence::file_name(scenario.name));
        match self.write_into(&folder, scenario, error).await {
            Ok(()) => format!("objects, logs and timings are in {}", folder.display()),
            Err(error) => format!("{} is incomplete: {error:#}", folder.display()),
        }
    }

    async fn write_into(&self, folder: &Path, scenario: &Running, error: &str) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        let write = |name: &str, text: &str| {
            fs::write(folder.join(name), text).with_context(|| format!("writing {name}"))
        };
        // First: what follows changes the load.
        write("timings.txt", &self.timings())?;
        write("failure.txt", error)?;
        evidence::collect(folder, scenario.started).await
    }

    /// When the scenarios of this suite started and ended, in seconds from its start, and the load of the machine.
    fn timings(&self) -> String {
        let mut text = String::from("start     end  scenario\n");
        let now = Instant::now();
        for timing in self.scenarios.lock().iter() {
            let seconds = |time: Instant| time.duration_since(self.started).as_secs_f64();
            let ended = match timing.ended {
                Some(ended) => format!("{:7.1}", seconds(ended)),
                None => "running".to_owned(),
            };
            // Writing to a text cannot fail.
            let _ = writeln!(
                text,
                "{:5.1} {ended}  {}",
                seconds(timing.started),
                timing.name
            );
        }
        let _ = writeln!(
            text,
            "\nwritten {:.1} s after the start",
            now.duration_since(self.started).as_secs_f64()
        );
        for file in ["/proc/loadavg", "/proc/meminfo"] {
            if let Ok(content) = fs::read_to_string(file) {
                let _ = write!(text, "\n{file}\n{content}");
            }
        }
        text
    }

    /// Prints the scenarios that took longest, with their seconds.
    pub(crate) fn print_slowest(&self) {
        let scenarios = self.scenarios.lock();
        let mut ended: Vec<_> = scenarios
            .iter()
            .filter_map(|timing| Some((timing.ended?.duration_since(timing.started), timing.name)))
            .collect();
        ended.sort_unstable();
        for (took, name) in ended.iter().rev().take(SLOWEST) {
            println!("{:7.1} s  {name}", took.as_secs_f64());
        }
    }

    /// Keeps the logs of this run when it ends.
    pub(crate) fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Failures {
    fn drop(&mut self) {
        if !self.is_kept.load(Ordering::Relaxed) {
            // What is left is in the way of nothing.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
