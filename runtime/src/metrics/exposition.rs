//! Converts the library's `OpenMetrics` text to the text format 0.0.4, which scripts and dashboards of Go programs
//! parse.

use std::fmt::Write as _;

/// The content type of this text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The same series as Go's library writes them: counters are described under the name of their samples, integers have
/// no fraction, and there is no end mark.
pub(super) fn classic(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            // The name in it depends on the type, which follows.
            help = described.split_once(' ');
        } else if let Some(typed) = line.strip_prefix("# TYPE ") {
            describe(&mut text, help.take(), typed);
        } else if !line.starts_with('#') {
            sample(&mut text, line);
        }
    }
    text
}

fn describe(text: &mut String, help: Option<(&str, &str)>, typed: &str) {
    let (name, kind) = typed.rsplit_once(' ').unwrap_or((typed, "untyped"));
    let (suffix, kind) = match kind {
        "counter" => ("_total", kind),
        "unknown" => ("", "untyped"),
        other => ("", other),
    };
    // Writing to a string cannot fail.
    if let Some((_, help)) = help {
        // The library appends a dot to every text.
        let help = help.strip_suffix('.').unwrap_or(help);
        let _ = writeln!(text, "# HELP {name}{suffix} {help}");
    }
    let _ = writeln!(text, "# TYPE {name}{suffix} {kind}");
}

fn sample(text: &mut String, line: &str) {
    let (series, value) = line.rsplit_once(' ').unwrap_or((line, ""));
    let value = value.strip_suffix(".0").unwrap_or(value);
    let _ = match bound(series) {
        Some((before, after)) => writeln!(text, "{before}{after} {value}"),
        None => writeln!(text, "{series} {value}"),
    };
}

/// The text around the `.0` of a bucket's bound: it is the first label, as the library writes it.
fn bound(series: &str) -> Option<(&str, &str)> {
    const LABEL: &str = "_bucket{le=\"";
    let start = series.find('{')?.checked_sub("_bucket".len())?;
    let bound = series.get(start..)?.strip_prefix(LABEL)?;
    let end = start + LABEL.len() + bound.find('"')?;
    let (before, after) = series.split_at(end);
    Some((before.strip_suffix(".0")?, after))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::family::Family;
    use prometheus_client::metrics::gauge::Gauge;
    use prometheus_client::metrics::histogram::Histogram;

    use crate::metrics::{Description, Metrics};

    #[test]
    fn series_are_written_as_by_gos_library() {
        let metrics = Metrics(Arc::default());
        let (failures, seconds) = (
            Family::<Vec<(String, String)>, Counter>::default(),
            Counter::<f64, std::sync::atomic::AtomicU64>::default(),
        );
        let (watches, took) = (Gauge::<i64>::default(), Histogram::new([0.005, 2.5, 10.0]));
        let failed = Description::counter("failures", &["kind"], "How many failed");
        metrics.register(&failed, failures.clone());
        let spent = Description::counter("spent_seconds", &[], "Time spent");
        metrics.register(&spent, seconds.clone());
        let watching = Description::gauge("watches", &[], "How many watch.");
        metrics.register(&watching, watches.clone());
        let taken = Description::histogram("took", &[], "How long it took");
        metrics.register(&taken, took.clone());
        let timed = Family::<Vec<(String, String)>, Histogram>::new_with_constructor(|| {
            Histogram::new([3.0])
        });
        metrics.register(
            &Description::histogram("timed", &[], "Timed"),
            timed.clone(),
        );
        let label = |value: &str| vec![("name".to_owned(), value.to_owned())];
        failures.get_or_create(&label("a b.0")).inc_by(3);
        failures.get_or_create(&label("le=\"1.0")).inc();
        seconds.inc_by(2.0);
        watches.set(-1);
        timed.get_or_create(&label("b")).observe(1.5);
        took.observe(0.25);
        let text = metrics.text();
        let mut lines: Vec<&str> = text.lines().collect();
        // The order within a family is not defined.
        lines[2..4].sort_unstable();
        let want = [
            "# HELP failures_total How many failed",
            "# TYPE failures_total counter",
            "failures_total{name=\"a b.0\"} 3",
            "failures_total{name=\"le=\\\"1.0\"} 1",
            "# HELP spent_seconds_total Time spent",
            "# TYPE spent_seconds_total counter",
            "spent_seconds_total 2",
            "# HELP watches How many watch.",
            "# TYPE watches gauge",
            "watches -1",
            "# HELP took How long it took",
            "# TYPE took histogram",
            "took_sum 0.25",
            "took_count 1",
            "took_bucket{le=\"0.005\"} 0",
            "took_bucket{le=\"2.5\"} 1",
            "took_bucket{le=\"10\"} 1",
            "took_bucket{le=\"+Inf\"} 1",
            "# HELP timed Timed",
            "# TYPE timed histogram",
            "timed_sum{name=\"b\"} 1.5",
            "timed_count{name=\"b\"} 1",
            "timed_bucket{le=\"3\",name=\"b\"} 1",
            "timed_bucket{le=\"+Inf\",name=\"b\"} 1",
        ];
        assert_eq!(lines, want);
    }
}
