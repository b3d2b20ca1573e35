//! What the stand-ins could not do, for a failed test to print.

use std::sync::{Arc, Mutex, PoisonError};

/// Lines kept: the last ones are those that matter.
const MAX_LINES: usize = 200;

/// A log that repeats no line. Clones write to the same one.
#[derive(Debug, Clone, Default)]
pub(super) struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    pub(super) fn record(&self, line: impl Into<String>) {
        let line = line.into();
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.iter().rev().take(10).any(|old| *old == line) {
            return;
        }
        if lines.len() >= MAX_LINES {
            lines.remove(0);
        }
        lines.push(line);
    }

    pub(super) fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.join("\n")
    }
}
