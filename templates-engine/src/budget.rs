//! How much a template may do: steps, output, depth and time, so that one that would run away
//! ends with an error that names the limit.

use std::time::{Duration, Instant};

use reeve_go_compat::value::Value;
use rustix::time::{ClockId, clock_gettime};

/// The limits of one render. The defaults are far above real use.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Nodes visited, calls made and items produced.
    pub steps: u64,
    /// Bytes written or built by functions.
    pub bytes: u64,
    /// Nested template calls and parentheses.
    pub depth: u32,
    /// Wall-clock time, with that of reads.
    pub time: Duration,
    /// Processor time of the thread: what a template takes from all others.
    pub processor_time: Duration,
}

/// Code that is not optimized takes many times as long.
const PROCESSOR_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 5 } else { 2 });

impl Default for Budget {
    fn default() -> Self {
        Self {
            steps: 10_000_000,
            bytes: 64 * 1024 * 1024,
            depth: 10_000,
            time: Duration::from_mins(1),
            processor_time: PROCESSOR_TIME,
        }
    }
}

/// A limit that was run into.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    /// Too many steps.
    #[error("the template exceeded the limit of {0} evaluation steps")]
    Steps(u64),
    /// Too many bytes.
    #[error("the template exceeded the limit of {0} bytes of output")]
    Bytes(u64),
    /// Too deep.
    #[error("exceeded maximum template depth ({0})")]
    Depth(u32),
    /// Too long.
    #[error("the template exceeded the limit of {0:?} of evaluation time")]
    Time(Duration),
    /// Too much computed.
    #[error("the template exceeded the limit of {0:?} of processor time")]
    ProcessorTime(Duration),
}

/// Counts what a render uses.
#[derive(Debug)]
pub struct Meter {
    budget: Budget,
    steps: u64,
    bytes: u64,
    next_clock_check: u64,
    started: Instant,
    /// The processor time of the thread at the beginning; a render stays on its thread.
    spent_before: Duration,
}

/// The processor time of this thread since it began.
pub fn processor_time() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(spent).unwrap_or_default()
}

/// How many steps pass between two reads of the clock, which cost more than a step.
const STEPS_BETWEEN_CLOCK_CHECKS: u64 = 4096;

impl Meter {
    /// A fresh meter.
    pub fn new(budget: Budget) -> Self {
        Self {
            budget,
            steps: 0,
            bytes: 0,
            next_clock_check: STEPS_BETWEEN_CLOCK_CHECKS,
            started: Instant::now(),
            spent_before: processor_time(),
        }
    }

    /// Charges steps: one a node, and one an item that a function is about to produce or visit.
    pub fn steps(&mut self, count: u64) -> Result<(), Exceeded> {
        self.steps = self.steps.saturating_add(count);
        if self.steps > self.budget.steps {
            return Err(Exceeded::Steps(self.budget.steps));
        }
        if self.steps >= self.next_clock_check {
            self.next_clock_check = self.steps.saturating_add(STEPS_BETWEEN_CLOCK_CHECKS);
            return self.clock();
        }
        Ok(())
    }

    /// Charges bytes that a function is about to build or the template to write.
    pub fn bytes(&mut self, count: u64) -> Result<(), Exceeded> {
        self.bytes = self.bytes.saturating_add(count);
        if self.bytes > self.budget.bytes {
            return Err(Exceeded::Bytes(self.budget.bytes));
        }
        Ok(())
    }

    /// How many bytes are left.
    pub fn bytes_left(&self) -> usize {
        usize::try_from(self.budget.bytes.saturating_sub(self.bytes)).unwrap_or(usize::MAX)
    }

    /// The limit error for bytes.
    pub fn bytes_exceeded(&self) -> Exceeded {
        Exceeded::Bytes(self.budget.bytes)
    }

    /// Checks the time now; for functions that are slow by themselves.
    pub fn clock(&self) -> Result<(), Exceeded> {
        if self.started.elapsed() > self.budget.time {
            return Err(Exceeded::Time(self.budget.time));
        }
        let limit = self.budget.processor_time;
        if processor_time().saturating_sub(self.spent_before) > limit {
            return Err(Exceeded::ProcessorTime(limit));
        }
        Ok(())
    }

    /// Charges for walking all of a value: a step for each node, and its depth. Fails, too, where
    /// its text is longer than what may still be written; that text itself is not charged.
    pub fn walk(&mut self, value: &Value) -> Result<(), Exceeded> {
        self.walk_text(value).map(|_| ())
    }

    /// Like [`Meter::walk`]; returns how many bytes the value's texts have.
    pub fn walk_text(&mut self, value: &Value) -> Result<u64, Exceeded> {
        match value {
            Value::List(_) | Value::Map(_) => {}
            Value::Str(text) => return Ok(u64::try_from(text.len()).unwrap_or(u64::MAX)),
            _ => return Ok(0),
        }
        let left = self.budget.steps.saturating_sub(self.steps);
        let Some(extent) = value.extent(left) else {
            return Err(Exceeded::Steps(self.budget.steps));
        };
        self.depth(extent.depth)?;
        if extent.bytes > self.budget.bytes.saturating_sub(self.bytes) {
            return Err(self.bytes_exceeded());
        }
        self.steps(extent.nodes)?;
        Ok(extent.bytes)
    }

    /// Checks a depth.
    pub fn depth(&self, depth: u32) -> Result<(), Exceeded> {
        if depth >= self.budget.depth {
            return Err(Exceeded::Depth(self.budget.depth));
        }
        Ok(())
    }
}
