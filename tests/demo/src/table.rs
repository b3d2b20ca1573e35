//! The table of policies and clusters, printed when it changes.

use std::time::Instant;

use reeve_testkit::Object;
use serde_json::Value;

/// Remembers what was printed last.
pub(crate) struct Table {
    started: Instant,
    printed: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(started: Instant) -> Self {
        Self {
            started,
            printed: Vec::new(),
        }
    }

    /// Prints the table if it changed. True if every cell of it is `wanted`.
    pub(crate) fn update(&mut self, policies: &[Object], clusters: &[&str], wanted: &str) -> bool {
        let mut rows: Vec<Vec<String>> = policies
            .iter()
            .map(|policy| row(policy, clusters))
            .collect();
        rows.sort();
        let done = rows
            .iter()
            .all(|row| row.iter().skip(1).all(|cell| cell == wanted));
        if rows != self.printed {
            let titles = ["POLICY", "HUB"]
                .into_iter()
                .chain(clusters.iter().copied());
            print_row(
                &format!("{:>5.1} s", self.started.elapsed().as_secs_f64()),
                titles,
            );
            for row in &rows {
                print_row("", row.iter().map(String::as_str));
            }
            self.printed = rows;
        }
        done && !self.printed.is_empty()
    }
}

fn row(policy: &Object, clusters: &[&str]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let status = policy.data.get("status").unwrap_or(&Value::Null);
    let answers = status["status"].as_array();
    let of_cluster = |name: &&str| {
        let found = answers
            .into_iter()
            .flatten()
            .find(|entry| entry["clustername"] == **name);
        found.map_or_else(|| "-".to_owned(), |entry| text(&entry["compliant"]))
    };
    let name = policy.metadata.name.clone().unwrap_or_default();
    [name, text(&status["compliant"])]
        .into_iter()
        .chain(clusters.iter().map(of_cluster))
        .collect()
}

fn print_row<'a>(time: &str, cells: impl Iterator<Item = &'a str>) {
    let cells: Vec<String> = cells
        .enumerate()
        .map(|(column, cell)| format!("{cell:<width$}", width = if column == 0 { 18 } else { 14 }))
        .collect();
    println!("{time:>8}  {}", cells.concat().trim_end());
}
