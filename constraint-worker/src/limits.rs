//! What a process may take.

use std::time::Duration;

/// What a process may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerLimits {
    /// The most processor time of one evaluation, or of compiling one template. The engine itself ends most evaluations earlier.
    pub processor_time: Duration,
    /// The longest that a process may take for one, however busy the machine is.
    pub wall_time: Duration,
    /// How many bytes of memory an evaluation may take besides what the templates and the inventory take.
    pub memory: u64,
    /// How many processes there are at most.
    pub processes: usize,
    /// How long a process stays without work.
    pub idle: Duration,
}

impl Default for WorkerLimits {
    fn default() -> Self {
        Self {
            processor_time: Duration::from_millis(1250),
            wall_time: Duration::from_secs(30),
            memory: 192 << 20,
            processes: std::thread::available_parallelism().map_or(1, usize::from),
            idle: Duration::from_mins(1),
        }
    }
}
