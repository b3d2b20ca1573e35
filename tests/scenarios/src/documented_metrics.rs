//! Compares what a component serves with `docs/reference/metrics.md`.

use std::collections::{BTreeSet, HashMap};

use anyhow::{Result, ensure};

const PAGE: &str = include_str!("../../../docs/reference/metrics.md");

#[derive(Debug)]
struct Documented {
    kind: &'static str,
    labels: BTreeSet<&'static str>,
}

/// The rows of the tables, by the metric's name. Components that have a metric of the same name agree about it.
fn documented() -> HashMap<&'static str, Documented> {
    let rows = PAGE.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let name = cells.next()?.strip_suffix('`')?;
        let kind = cells.next()?;
        let labels = cells.next()?.split(", ");
        let labels = labels.map(|label| label.trim_matches('`'));
        let labels = labels.filter(|label| !label.is_empty()).collect();
        Some((name, Documented { kind, labels }))
    });
    rows.collect()
}

/// The names of a sample's labels.
fn labels(sample: &str) -> BTreeSet<&str> {
    let Some((_, labels)) = sample.split_once('{') else {
        return BTreeSet::new();
    };
    // A value is followed by a comma and the next name; values with quotes do not occur.
    let names = labels
        .split(',')
        .filter_map(|label| label.split_once("=\""));
    let names = names.map(|(name, _)| name);
    names.filter(|name| *name != "le").collect()
}

/// Checks that every metric on this page of a component is documented with its type and labels.
pub fn all_metrics_are_documented(served: &str) -> Result<()> {
    let documented = documented();
    let mut metric = None;
    let mut count = 0;
    for line in served.lines() {
        if let Some(typed) = line.strip_prefix("# TYPE ") {
            let (name, kind) = typed.split_once(' ').unwrap_or((typed, ""));
            let found = documented.get(name);
            ensure!(
                found.is_some_and(|found| found.kind == kind),
                "{name} is a {kind}, documented is {found:?}"
            );
            metric = found;
            count += 1;
        } else if !line.starts_with('#') {
            let expected = metric.map(|metric| &metric.labels);
            ensure!(
                expected == Some(&labels(line)),
                "{line} has other labels than {expected:?}"
            );
        }
    }
    ensure!(count > 10, "only {count} metrics on the page:\n{served}");
    Ok(())
}
