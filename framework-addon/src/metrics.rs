//! Errors by policy: the users' own, and those of the system under it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use reeve_runtime::metrics::Metrics;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Series {
    policy: String,
    template: String,
    r#type: &'static str,
}

/// Whose fault an error is, and the value of the metric's label `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The policy's author can mend it.
    User(&'static str),
    /// The cluster's administrator can, or time.
    System(&'static str),
}

/// The error counters; clones share them.
#[derive(Clone, Default)]
pub struct ErrorMetrics {
    user: Family<Series, Counter>,
    system: Family<Series, Counter>,
    /// The series of each policy, as a family cannot be asked for them.
    of_policy: Arc<Mutex<HashMap<String, HashSet<Series>>>>,
}

impl ErrorMetrics {
    /// The series, in a process's registry.
    pub fn new(metrics: &Metrics) -> Self {
        let ours = Self::default();
        metrics.register(|registry| {
            registry.register(
                "policy_user_errors",
                "The number of user errors encountered while processing policies",
                ours.user.clone(),
            );
            registry.register(
                "policy_system_errors",
                "The number of system errors encountered while processing policies",
                ours.system.clone(),
            );
        });
        ours
    }

    /// An error of a policy; `template` is empty when no template is to blame.
    pub fn count(&self, policy: &str, template: &str, blame: Blame) {
        let (family, kind) = match blame {
            Blame::User(kind) => (&self.user, kind),
            Blame::System(kind) => (&self.system, kind),
        };
        let series = Series {
            policy: policy.to_owned(),
            template: template.to_owned(),
            r#type: kind,
        };
        family.get_or_create(&series).inc();
        let mut of_policy = self.of_policy.lock();
        of_policy
            .entry(policy.to_owned())
            .or_default()
            .insert(series);
    }

    /// Removes the series of a policy that is gone.
    pub fn forget(&self, policy: &str) {
        for series in self.of_policy.lock().remove(policy).unwrap_or_default() {
            self.user.remove(&series);
            self.system.remove(&series);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_an_error_and_none_after_the_policy_is_gone() {
        let metrics = Metrics::default();
        let errors = ErrorMetrics::new(&metrics);
        errors.count("ns.p", "t", Blame::User("format-error"));
        errors.count("ns.p", "t", Blame::User("format-error"));
        let lines = || -> Vec<String> {
            let text = metrics.text();
            text.lines()
                .filter(|line| line.contains("ns.p"))
                .map(str::to_owned)
                .collect()
        };
        let line = r#"policy_user_errors_total{policy="ns.p",template="t",type="format-error"} 2"#;
        assert_eq!(lines(), [line]);
        errors.forget("ns.p");
        assert_eq!(lines(), [""; 0]);
    }
}
