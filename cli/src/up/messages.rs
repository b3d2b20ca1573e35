//! Texts of `reeve up`.

use std::path::Path;

use reeve_report::plural;

/// The fleet is not ready yet.
pub(super) fn starting(clusters: usize) -> String {
    format!("starting a hub and {} ...", plural(clusters, "cluster"))
}

/// The fleet runs.
pub(super) fn ready(seconds: f64, kubeconfig: &Path, logs: Option<&Path>) -> String {
    let logs = logs.map_or_else(String::new, |path| format!("   logs {}", relative(path)));
    format!(
        "fleet ready {seconds:.2} s   kubeconfig {}{logs}",
        relative(kubeconfig)
    )
}

/// A relative path as users type it: as it was given where it begins with a dot.
fn relative(path: &Path) -> String {
    if path.is_absolute() || path.starts_with(".") || path.starts_with("..") {
        path.display().to_string()
    } else {
        format!("./{}", path.display())
    }
}

/// Objects were applied to the hub.
pub(super) fn applied(count: usize) -> String {
    format!("applied {}", plural(count, "object"))
}

/// The time is up.
pub(super) fn time_is_up(seconds: u64, waiting: &[String]) -> String {
    const NAMED: usize = 5;
    let more = waiting.len().saturating_sub(NAMED);
    let mut named: Vec<String> = waiting.iter().take(NAMED).cloned().collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    if named.is_empty() {
        named.push("a controller whose work fails (see the logs)".to_owned());
    }
    format!(
        "time is up after {seconds} s; waiting for {}",
        named.join("; ")
    )
}

/// There is nothing to wait for.
pub(super) const NO_POLICY: &str = "a policy";

/// Inputs were read again.
pub(super) fn changed(applied: usize, deleted: usize) -> String {
    format!(
        "inputs changed: applied {}, deleted {deleted}",
        plural(applied, "object")
    )
}

/// An object that inputs no longer have is still on the hub.
pub(super) fn not_deleted(kind: &str, name: &str, why: &str) -> String {
    format!("{kind} {name} cannot be deleted: {why}")
}
