//! What each part of the whole test takes, as a table.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::usage::Usage;

/// One program, or one command that builds or checks.
pub(super) struct Row {
    pub title: String,
    /// The kind of API server that it runs on, if it is a suite of scenarios.
    pub server: Option<&'static str>,
    pub lane: &'static str,
    pub used: Usage,
}

/// Everything that has ended so far.
pub(super) struct Timings {
    started: Instant,
    rows: Vec<Row>,
}

impl Timings {
    pub(super) fn start() -> Self {
        Self {
            started: Instant::now(),
            rows: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Adds a command that is no test program.
    pub(super) fn add_command(&mut self, title: &str, lane: &'static str, used: Usage) {
        self.add(Row {
            title: title.to_owned(),
            server: None,
            lane,
            used,
        });
    }

    /// A Markdown table: commands in their order, then the programs that take longest first.
    pub(super) fn table(&self) -> String {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        // The sort is stable.
        rows.sort_by_key(|row| {
            let is_command = row.lane == COMMANDS;
            let elapsed = if is_command {
                Duration::MAX
            } else {
                row.used.elapsed
            };
            std::cmp::Reverse(elapsed)
        });
        let mut table = String::from(
            "| what | server | lane | seconds | CPU seconds | peak MiB |\n|---|---|---|---:|---:|---:|\n",
        );
        for row in rows {
            push_row(
                &mut table,
                &row.title,
                row.server.unwrap_or(""),
                row.lane,
                row.used,
            );
        }
        let sum = Usage {
            elapsed: self.started.elapsed(),
            cpu: self.rows.iter().map(|row| row.used.cpu).sum(),
            peak_memory: self
                .rows
                .iter()
                .map(|row| row.used.peak_memory)
                .max()
                .unwrap_or(0),
        };
        push_row(&mut table, "all", "", "", sum);
        table
    }
}

/// The lane of the commands that run one after the other before any program.
pub(super) const COMMANDS: &str = "first";

fn push_row(table: &mut String, title: &str, server: &str, lane: &str, used: Usage) {
    // Writing to a text cannot fail.
    let _ = writeln!(
        table,
        "| {title} | {server} | {lane} | {:.1} | {:.1} | {} |",
        used.elapsed.as_secs_f64(),
        used.cpu.as_secs_f64(),
        used.peak_memory.div_ceil(1024 * 1024)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_commands_in_order_and_programs_by_their_time() {
        let mut timings = Timings::start();
        for (title, lane, seconds) in [
            ("check", COMMANDS, 2),
            ("build", COMMANDS, 9),
            ("quick", "crates", 1),
            ("slow", "real", 8),
        ] {
            timings.add(Row {
                title: title.to_owned(),
                server: (lane == "real").then_some("kube-apiserver"),
                lane,
                used: Usage {
                    elapsed: Duration::from_secs(seconds),
                    cpu: Duration::from_millis(500),
                    peak_memory: 3 << 20,
                },
            });
        }
        let table = timings.table();
        let titles: Vec<&str> = table
            .lines()
            .skip(2)
            .filter_map(|line| line.split('|').nth(1).map(str::trim))
            .collect();
        assert_eq!(titles, ["check", "build", "slow", "quick", "all"]);
        assert!(
            table.contains("| slow | kube-apiserver | real | 8.0 | 0.5 | 3 |"),
            "{table}"
        );
        assert!(
            table.lines().last().unwrap().contains("| 2.0 | 3 |"),
            "{table}"
        );
    }
}
