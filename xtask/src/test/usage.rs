//! The processor time and memory of a child process and of everything that it starts, read from `/proc`.
//!
//! Elsewhere than on Linux only the elapsed time is known.

use std::collections::HashMap;
use std::fs;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// The time between two readings of the memory.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(500);

/// One tick of the kernel's accounts, on Linux.
const TICK: Duration = Duration::from_millis(10);

/// The resources that a process used, with those of its descendants.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// From its start to its end.
    pub elapsed: Duration,
    /// The time on a processor, without descendants that no process waited for.
    pub cpu: Duration,
    /// The most anonymous memory of all of them together, in bytes, sampled twice per second.
    pub peak_memory: u64,
}

/// Waits until a child ends, and returns what it used.
///
/// # Errors
/// When it cannot be waited for.
pub(crate) fn wait(child: &mut Child, started: Instant) -> Result<(ExitStatus, Usage)> {
    let id = child.id();
    let mut usage = Usage::default();
    let ended = std::thread::scope(|scope| {
        let waiter = scope.spawn(move || wait_without_reaping(id));
        while !waiter.is_finished() {
            usage.peak_memory = usage.peak_memory.max(memory_of_tree(id));
            // A short program ends between two samples: do not make it wait for the next.
            let sampled = Instant::now();
            while !waiter.is_finished() && sampled.elapsed() < SAMPLE_INTERVAL {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        waiter.join()
    });
    ended.map_err(|_| anyhow::anyhow!("the thread that waits for process {id} panicked"))??;
    usage.elapsed = started.elapsed();
    // The kernel keeps the accounts of a process that has ended until its parent reaps it.
    usage.cpu = cpu_of_process_and_children(id).unwrap_or_default();
    let status = child
        .wait()
        .with_context(|| format!("waiting for process {id}"))?;
    Ok((status, usage))
}

fn wait_without_reaping(id: u32) -> Result<()> {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    let pid = pid.with_context(|| format!("{id} is no process id"))?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid), options).with_context(|| format!("waiting for process {id}"))?;
    Ok(())
}

/// User and system time of a process and of the children that it has waited for.
fn cpu_of_process_and_children(id: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let fields = fields_after_name(&stat)?;
    // Fields 14 to 17 of `proc_pid_stat(5)`; the first of these is field 3.
    let ticks: Option<u64> = fields
        .get(11..15)?
        .iter()
        .map(|field| field.parse::<u64>().ok())
        .sum();
    Some(TICK * u32::try_from(ticks?).unwrap_or(u32::MAX))
}

/// The anonymous memory of a process and its descendants, in bytes. Pages of files are shared by processes of one
/// program, so that their sum says nothing.
fn memory_of_tree(root: u32) -> u64 {
    let processes = processes();
    let mut total = 0;
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        total += anonymous_memory(id).unwrap_or(0);
        pending.extend(processes.get(&id).into_iter().flatten());
    }
    total
}

/// The children of each process that has any.
fn processes() -> HashMap<u32, Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        if let Some(parent) = parent(id) {
            children.entry(parent).or_default().push(id);
        }
    }
    children
}

fn parent(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    fields_after_name(&stat)?.get(1)?.parse().ok()
}

/// The fields of `/proc/PID/stat` from the third on: the second is the name in parentheses, which may hold anything.
fn fields_after_name(stat: &str) -> Option<Vec<&str>> {
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.split_whitespace().collect())
}

fn anonymous_memory(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn usage_of(script: &str) -> Usage {
        let started = Instant::now();
        let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let (status, usage) = wait(&mut child, started).unwrap();
        assert!(status.success());
        usage
    }

    #[test]
    fn cpu_time_of_a_grandchild_is_counted() {
        let usage = usage_of("sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; true");
        assert!(usage.cpu >= TICK, "{usage:?}");
        assert!(usage.elapsed >= Duration::from_millis(20), "{usage:?}");
    }

    #[test]
    fn idle_child_has_memory_and_hardly_any_cpu_time() {
        let usage = usage_of("sleep 0.1; true");
        assert!(usage.cpu < Duration::from_millis(100), "{usage:?}");
        assert!(usage.peak_memory > 0, "{usage:?}");
    }
}
