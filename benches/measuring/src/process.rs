//! The resources that processes use, from the statistics of the kernel.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// One tick of the kernel's accounts, on Linux.
const TICK: Duration = Duration::from_millis(10);

/// What a process has used so far.
#[derive(Clone, Copy, Default)]
pub struct Used {
    /// Time on a processor.
    pub cpu: Duration,
    /// The most memory that was resident at once, in KiB.
    pub peak_kib: u64,
}

impl Used {
    /// Of the process of this id.
    pub fn by(pid: u32) -> Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The name in parentheses may hold anything.
        let (_, fields) = stat.rsplit_once(')').context("no end of the name")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        // Fields 14 and 15 of the whole line.
        let user = fields.get(11).context("a short line")?;
        let system = fields.get(12).context("a short line")?;
        Ok(Self {
            cpu: ticks(user)? + ticks(system)?,
            peak_kib: kib(
                &fs::read_to_string(format!("/proc/{pid}/status"))?,
                "VmHWM:",
            )?,
        })
    }
}

/// The memory of a process that is resident now, in KiB.
pub fn resident_kib(pid: u32) -> Result<u64> {
    // Exact, which the counters in `status` are not.
    kib(
        &fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?,
        "Rss:",
    )
}

fn kib(text: &str, name: &str) -> Result<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    let value = value.and_then(|text| text.trim().strip_suffix(" kB"));
    let value = value.with_context(|| format!("no {name}"))?;
    Ok(value.trim().parse()?)
}

fn ticks(text: &str) -> Result<Duration> {
    let count: u32 = text.parse()?;
    Ok(TICK * count)
}

/// The machine at a moment: what else it does makes every figure worse.
pub struct Machine {
    at: Instant,
    busy: Duration,
    load: String,
}

impl Machine {
    /// As it is now.
    pub fn now() -> Result<Self> {
        let stat = fs::read_to_string("/proc/stat")?;
        let line = stat.lines().next().context("an empty /proc/stat")?;
        let mut busy = Duration::ZERO;
        // user, nice, system, idle, iowait, irq, softirq, steal; the guests are in user.
        for (at, field) in line.split_whitespace().skip(1).take(8).enumerate() {
            if at != 3 && at != 4 {
                busy += ticks(field)?;
            }
        }
        let load = fs::read_to_string("/proc/loadavg")?;
        let load = load.split_whitespace().next().context("no load")?;
        Ok(Self {
            at: Instant::now(),
            busy,
            load: load.to_owned(),
        })
    }

    /// Prints what the machine has done since: `own` is what the measured processes have used meanwhile. This process
    /// is one of its own.
    pub fn print(&self, own: Duration) -> Result<()> {
        let now = Self::now()?;
        let own = own + Used::by(std::process::id())?.cpu;
        let others = (now.busy.saturating_sub(self.busy)).saturating_sub(own);
        let cores = std::thread::available_parallelism()?;
        println!(
            "machine: {cores} cores, of which {:.2} were busy with other things; load average {} at the start, {} at the end",
            others.as_secs_f64() / (now.at - self.at).as_secs_f64(),
            self.load,
            now.load
        );
        Ok(())
    }
}
