//! What the clusters say of the policies, as text.

use std::io::{IsTerminal as _, Write as _};
use std::time::Instant;

use reeve_api::Compliance;

use super::policies::RootPolicy;

/// How many clusters have a column of their own. More are counted.
const MOST_COLUMNS: usize = 6;

/// The table that was shown last. On a terminal a new one takes its place; elsewhere every change is a line.
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

    /// Shows what has changed.
    pub(super) fn show(&mut self, policies: &[RootPolicy]) {
        let rows: Vec<String> = policies.iter().map(row).collect();
        if rows == self.rows {
            return;
        }
        let mut out = std::io::stdout().lock();
        let seconds = self.started.elapsed().as_secs_f64();
        // What cannot be shown (nobody reads any more) is no reason to end.
        if self.terminal {
            if !self.rows.is_empty() {
                let _ = write!(out, "\x1b[{}A", self.rows.len());
            }
            for row in &rows {
                let _ = writeln!(out, "\x1b[2K{row}");
            }
            for _ in rows.len()..self.rows.len() {
                let _ = writeln!(out, "\x1b[2K");
            }
        } else {
            for row in rows.iter().filter(|row| !self.rows.contains(row)) {
                let _ = writeln!(out, "{seconds:7.2} s  {row}");
            }
        }
        let _ = out.flush();
        self.rows = rows;
    }
}

/// One policy: its name, its compliance, and the clusters'.
fn row(policy: &RootPolicy) -> String {
    let name = policy.metadata.name.as_deref().unwrap_or_default();
    let namespace = policy.metadata.namespace.as_deref().unwrap_or_default();
    let answers = answers(policy);
    let all = match answers.as_slice() {
        [] => "no cluster".to_owned(),
        few if few.len() <= MOST_COLUMNS => {
            let cells: Vec<String> = few
                .iter()
                .map(|(cluster, said)| format!("{cluster}: {}", text(*said)))
                .collect();
            cells.join("  ")
        }
        many => {
            let count = |wanted: Option<Compliance>| {
                many.iter().filter(|(_, said)| *said == wanted).count()
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
    format!("{:<40}  {all}", format!("{namespace}/{name}"))
}

fn text(said: Option<Compliance>) -> &'static str {
    match said {
        Some(Compliance::Compliant) => "Compliant",
        Some(Compliance::NonCompliant) => "NonCompliant",
        Some(Compliance::Pending) => "Pending",
        Some(Compliance::Terminating) => "Terminating",
        None => "-",
    }
}

/// What each cluster says of a policy.
fn answers(policy: &RootPolicy) -> Vec<(&str, Option<Compliance>)> {
    let status = policy.status.as_ref();
    let clusters = status
        .and_then(|status| status.status.as_deref())
        .unwrap_or_default();
    clusters
        .iter()
        .map(|one| {
            let name = one.clustername.as_deref().unwrap_or_default();
            (name, one.compliant.as_deref().and_then(Compliance::parse))
        })
        .collect()
}

/// Whether every policy has an answer from every cluster that it is bound to, of which there is one, and whether all are
/// Compliant if that is asked for. A fleet without policies has reached nothing.
pub(super) fn is_reached(policies: &[RootPolicy], compliant: bool) -> bool {
    let enough = |said: Option<Compliance>| match said {
        Some(Compliance::Compliant) => true,
        Some(_) => !compliant,
        None => false,
    };
    !policies.is_empty()
        && policies
            .iter()
            .filter(|policy| !policy.spec.disabled)
            .all(|policy| {
                let answers = answers(policy);
                !answers.is_empty() && answers.iter().all(|(_, said)| enough(*said))
            })
}
