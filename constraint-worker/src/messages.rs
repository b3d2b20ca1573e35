//! The texts of this crate that users see.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use reeve_gatekeeper::constraint::ConstraintKey;
use rustix::process::Signal;

use crate::process::WorkerFailure;

/// Why a template is evaluated no more.
pub(crate) fn quarantined(kind: &str, failure: &WorkerFailure) -> String {
    format!("template {kind} is quarantined: {failure}; it is not evaluated until it is changed")
}

/// Why a constraint was not evaluated.
pub(crate) fn unavailable(error: &str) -> String {
    format!("no process can evaluate constraints: {error}")
}

/// A worker has not been sent a constraint that it is to evaluate.
pub(crate) fn unknown_constraint(key: &ConstraintKey) -> String {
    format!("{} {} is not known", key.kind, key.name)
}

impl fmt::Display for WorkerFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProcessorTime(limit) => {
                let milliseconds = limit.as_millis();
                write!(f, "it took more than {milliseconds} ms of processor time")
            }
            Self::WallTime(limit) => write!(f, "it took more than {} s", limit.as_secs()),
            Self::Ended(status) => f.write_str(&ended(*status)),
            Self::Broken(error) => write!(f, "its result cannot be read: {error}"),
        }
    }
}

fn ended(status: ExitStatus) -> String {
    match status.signal() {
        // Rust aborts when memory cannot be allocated, and at the end of the stack.
        Some(signal)
            if [Signal::ABORT, Signal::SEGV]
                .map(Signal::as_raw)
                .contains(&signal) =>
        {
            "it took too much memory or stack".to_owned()
        }
        Some(signal) => format!("its process was ended by signal {signal}"),
        None => format!("its process ended with {status}"),
    }
}
