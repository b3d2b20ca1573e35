//! Shows the states of policies: on a terminal a table that is redrawn, elsewhere a line for each change.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Instant;

use reeve_report::table::{self, Detail, Row};
use reeve_report::{Counts, Report, Style};

use crate::{output, terminal};

/// Where the states are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A terminal.
    Table,
    /// A pipe or a file.
    Lines,
    /// Nowhere: only the result counts.
    Hidden,
}

/// What was shown last.
pub(super) struct Screen {
    started: Instant,
    kind: Kind,
    /// The rows of lines, or the text of the table.
    rows: Vec<Row>,
    text: String,
    /// When something last changed.
    changed: f64,
}

impl Screen {
    pub(super) fn new(started: Instant, kind: Kind) -> Self {
        Self {
            started,
            kind,
            rows: Vec::new(),
            text: String::new(),
            changed: 0.0,
        }
    }

    /// Shows what has changed.
    pub(super) fn show(&mut self, report: &Report) {
        match self.kind {
            Kind::Table => self.draw(report),
            Kind::Lines => self.lines(report),
            Kind::Hidden => {}
        }
    }

    /// Prints a line among the changes, or above the table.
    pub(super) fn note(&mut self, note: &str) {
        let text = match self.kind {
            Kind::Table => {
                let text = format!("{}{note}\n", self.erase());
                self.text.clear();
                text
            }
            _ => format!("{note}\n"),
        };
        output::block(format_args!("{text}"));
    }

    /// The sequence that takes the cursor to the first line of the table and clears what follows.
    fn erase(&self) -> String {
        match self.text.lines().count() {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\x1b[J"),
        }
    }

    /// Takes the table away: the result follows.
    pub(super) fn clear(&mut self) {
        if self.kind == Kind::Table {
            output::block(format_args!("{}", self.erase()));
            self.text.clear();
        }
    }

    fn draw(&mut self, report: &Report) {
        let (width, height) = terminal::size();
        let style = Style {
            width: Some(width),
            // The line above, the titles, the counts and the cursor have lines of their own.
            rows: Some(height.saturating_sub(5).max(3)),
            color: terminal::color(),
        };
        let rows = table::rows(report, Detail::Summary);
        let mut text = String::new();
        table::body(&mut text, &rows, style);
        let counts = Counts::of(report).words(report.subject);
        let is_same = self.text.rsplit_once("   ").map(|(before, _)| before)
            == Some(&format!("{text}{counts}"));
        if is_same {
            return;
        }
        self.changed = self.started.elapsed().as_secs_f64();
        let seconds = self.changed;
        let _ = writeln!(text, "{counts}   {seconds:.1} s");
        output::block(format_args!("{}{text}", self.erase()));
        self.text = text;
    }

    fn lines(&mut self, report: &Report) {
        let rows = table::rows(report, Detail::Rows);
        let seconds = self.started.elapsed().as_secs_f64();
        let mut text = String::new();
        for row in rows.iter().filter(|row| !self.rows.contains(row)) {
            let Row {
                policy,
                cluster,
                state,
                why,
            } = row;
            let line = format!(
                "{seconds:7.2} s  {policy}  {cluster}  {}  {why}",
                state.word()
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let policies: BTreeSet<&str> = rows.iter().map(|row| row.policy.as_str()).collect();
        let before: BTreeSet<&str> = self.rows.iter().map(|row| row.policy.as_str()).collect();
        for gone in before.difference(&policies) {
            let _ = writeln!(text, "{seconds:7.2} s  {gone}  deleted");
        }
        if !text.is_empty() {
            output::block(format_args!("{text}"));
        }
        self.rows = rows;
    }
}
