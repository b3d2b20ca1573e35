//! `reeve-fuzz <minutes> [seed] [target]`: runs until the time is up, or something panics, hangs or takes
//! more memory than it may. The input that it was at is then kept in a file, which the error names.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use reeve_fuzz::{Corpus, run};
use rustix::process::{Resource, Rlimit, setrlimit};

/// All of the process: every target's budget is far below it.
const MEMORY: u64 = 2 * 1024 * 1024 * 1024;
/// No input may take longer.
const HANG: Duration = Duration::from_secs(20);
const BATCH: u64 = 100;

static CURRENT: Mutex<(String, Vec<u8>)> = Mutex::new((String::new(), Vec::new()));
static DONE: AtomicU64 = AtomicU64::new(0);

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let minutes: u64 = arguments
        .next()
        .context("usage: reeve-fuzz <minutes> [seed] [target]")?
        .parse()?;
    let seed = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let only = arguments.next().unwrap_or_default();
    setrlimit(
        Resource::As,
        Rlimit {
            current: Some(MEMORY),
            maximum: Some(MEMORY),
        },
    )
    .context("cannot limit the memory")?;
    let corpus = Corpus::load()?;
    let (templates, documents) = corpus.sizes();
    println!("{templates} templates, {documents} documents, seed {seed}");
    let until = Instant::now() + Duration::from_secs(minutes * 60);
    let worker = std::thread::spawn(move || -> u64 {
        let mut runs = 0;
        let mut number = 0;
        while Instant::now() < until {
            runs += run(&corpus, seed, number..number + BATCH, &only, &mut note);
            number += BATCH;
        }
        runs
    });
    watch(&worker)?;
    let Ok(runs) = worker.join() else {
        let path = keep()?;
        bail!("a target panicked; its input is in {}", path.display())
    };
    println!("{runs} inputs in {minutes} minutes: no panic, no hang, below 2 GiB");
    Ok(())
}

/// Remembers what is about to run.
fn note(target: &str, input: &[u8]) {
    DONE.fetch_add(1, Ordering::Relaxed);
    if let Ok(mut current) = CURRENT.lock() {
        target.clone_into(&mut current.0);
        current.1.clear();
        current.1.extend_from_slice(input);
    }
}

/// Ends with an error when one input takes too long.
fn watch(worker: &std::thread::JoinHandle<u64>) -> Result<()> {
    let mut last = (DONE.load(Ordering::Relaxed), Instant::now());
    while !worker.is_finished() {
        std::thread::sleep(Duration::from_millis(200));
        let done = DONE.load(Ordering::Relaxed);
        if done != last.0 {
            last = (done, Instant::now());
        } else if last.1.elapsed() > HANG {
            let path = keep()?;
            bail!("a target hangs; its input is in {}", path.display());
        }
    }
    Ok(())
}

fn keep() -> Result<PathBuf> {
    let path = std::env::temp_dir().join("reeve-fuzz-input");
    if let Ok(current) = CURRENT.lock() {
        println!("target: {}", current.0);
        std::fs::write(&path, &current.1)?;
    }
    Ok(path)
}
