//! Figures of both servers side by side.

/// One figure of one server.
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) value: f64,
}

impl Figure {
    pub(crate) fn new(what: impl Into<String>, value: f64) -> Self {
        Self {
            what: what.into(),
            value,
        }
    }
}

/// A count as a number to calculate with.
pub(crate) fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

pub(crate) fn heading() {
    println!(
        "\n{:<56} {:>15} {:>10} {:>7}",
        "", "kube-apiserver", "reeve", "ratio"
    );
}

/// The same figures of both, in the same order.
pub(crate) fn rows(real: &[Figure], reeve: &[Figure]) {
    for (real, reeve) in real.iter().zip(reeve) {
        row(real, reeve);
    }
}

pub(crate) fn row(real: &Figure, reeve: &Figure) {
    let ratio = if real.value > 0.0 && reeve.value >= 0.0 {
        format!("{:.2}", reeve.value / real.value)
    } else {
        // The ratio of a delay to zero has no meaning.
        String::new()
    };
    println!(
        "{:<56} {:>15} {:>10} {ratio:>7}",
        real.what,
        text(real.value),
        text(reeve.value)
    );
}

fn text(value: f64) -> String {
    if value.abs() >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}
