//! Prints the compliance of the policies as a table.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::time::Instant;

use reeve_api::Compliance;

use super::policies::Row;
use crate::output;

/// How many clusters get a column. The others are counted.
const MOST_COLUMNS: usize = 6;

/// The last printed table. On a terminal a new one replaces it; elsewhere every change is a line.
pub(super) struct Table {
    started: Instant,
    rows: Vec<String>,
    terminal: bool,
}

impl Table {
    pub(super) fn new(started: Instant) -> Self {
        Self {
            started,
            rows: Vec::new(),
            terminal: std::io::stdout().is_terminal(),
        }
    }

    /// Prints the changes.
    pub(super) fn show(&mut self, rows: &[Row]) {
        let rows: Vec<String> = rows.iter().map(row).collect();
        if rows == self.rows {
            return;
        }
        let seconds = self.started.elapsed().as_secs_f64();
        // Writing to a string cannot fail.
        let mut text = String::new();
        if self.terminal {
            if !self.rows.is_empty() {
                let _ = write!(text, "\x1b[{}A", self.rows.len());
            }
            for row in &rows {
                let _ = writeln!(text, "\x1b[2K{row}");
            }
            for _ in rows.len()..self.rows.len() {
                let _ = writeln!(text, "\x1b[2K");
            }
        } else {
            for row in rows.iter().filter(|row| !self.rows.contains(row)) {
                let _ = writeln!(text, "{seconds:7.2} s  {row}");
            }
        }
        output::block(format_args!("{text}"));
        self.rows = rows;
    }
}

/// One policy: its name, its compliance, and its compliance on the clusters.
fn row(row: &Row) -> String {
    let mut all = match row.clusters.as_slice() {
        [] if row.problem.is_some() => "error".to_owned(),
        [] => "no cluster".to_owned(),
        few if few.len() <= MOST_COLUMNS => {
            let cells: Vec<String> = few
                .iter()
                .map(|(cluster, compliance)| format!("{cluster}: {}", text(*compliance)))
                .collect();
            cells.join("  ")
        }
        many => {
            let count = |wanted: Option<Compliance>| {
                many.iter()
                    .filter(|(_, compliance)| *compliance == wanted)
                    .count()
            };
            format!(
                "{} Compliant, {} NonCompliant, {} Pending, {} without an answer",
                count(Some(Compliance::Compliant)),
                count(Some(Compliance::NonCompliant)),
                count(Some(Compliance::Pending)),
                count(None),
            )
        }
    };
    if let Some(problem) = &row.problem {
        all.push_str("  ");
        all.push_str(problem);
    }
    format!("{:<40}  {all}", row.name)
}

fn text(compliance: Option<Compliance>) -> &'static str {
    match compliance {
        Some(Compliance::Compliant) => "Compliant",
        Some(Compliance::NonCompliant) => "NonCompliant",
        Some(Compliance::Pending) => "Pending",
        Some(Compliance::Terminating) => "Terminating",
        None => "-",
    }
}

/// Whether every policy is bound to a cluster at least and has a compliance from each bound cluster, and whether all
/// are `Compliant` if `compliant` is set. A fleet without policies has reached nothing.
/// Compliant if that is asked for. A fleet without policies has reached nothing.
pub(super) fn is_reached(rows: &[Row], compliant: bool) -> bool {
    let enough = |compliance: Option<Compliance>| match compliance {
        Some(Compliance::Compliant) => true,
        Some(_) => !compliant,
        None => false,
    };
    let is_reached = |row: &Row| {
        let clusters = &row.clusters;
        row.problem.is_none()
            && !clusters.is_empty()
            && clusters.iter().all(|(_, compliance)| enough(*compliance))
    };
    !rows.is_empty() && rows.iter().filter(|row| !row.disabled).all(is_reached)
}
