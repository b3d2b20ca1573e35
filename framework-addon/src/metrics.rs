//! The error metrics by policy, for user errors and system errors.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use reeve_runtime::metrics::{Description, Metrics, OwnedFamily};

const USER_ERRORS: Description = Description::counter(
    "policy_user_errors",
    &["policy", "template", "type"],
    "The number of user errors encountered while processing policies",
);
const SYSTEM_ERRORS: Description = Description::counter(
    "policy_system_errors",
    &["policy", "template", "type"],
    "The number of system errors encountered while processing policies",
);

/// The metrics that only this component has.
pub const METRICS: &[Description] = &[USER_ERRORS, SYSTEM_ERRORS];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Series {
    policy: String,
    template: String,
    r#type: &'static str,
}

/// The class of an error, with the value of the metric's label `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The policy's author can fix it.
    User(&'static str),
    /// The cluster's administrator can fix it, or it is transient.
    System(&'static str),
}

/// The error counters; clones share them.
#[derive(Clone, Default)]
pub struct ErrorMetrics {
    user: OwnedFamily<String, Series, Counter>,
    system: OwnedFamily<String, Series, Counter>,
}

impl ErrorMetrics {
    /// The series, in a process's registry.
    pub fn new(metrics: &Metrics) -> Self {
        let ours = Self::default();
        metrics.register(&USER_ERRORS, ours.user.family());
        metrics.register(&SYSTEM_ERRORS, ours.system.family());
        ours
    }

    /// Counts an error of a policy; `template` is empty if the error is about no template.
    pub fn count(&self, policy: &str, template: &str, error_class: ErrorClass) {
        let (family, kind) = match error_class {
            ErrorClass::User(kind) => (&self.user, kind),
            ErrorClass::System(kind) => (&self.system, kind),
        };
        let series = Series {
            policy: policy.to_owned(),
            template: template.to_owned(),
            r#type: kind,
        };
        family.record(&policy.to_owned(), series, |counter| {
            counter.inc();
        });
    }

    /// Removes the series of a deleted policy.
    pub fn forget(&self, policy: &str) {
        self.user.remove(&policy.to_owned());
        self.system.remove(&policy.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_count_errors_and_end_with_the_policy() {
        let metrics = Metrics::default();
        let errors = ErrorMetrics::new(&metrics);
        errors.count("ns.p", "t", ErrorClass::User("format-error"));
        errors.count("ns.p", "t", ErrorClass::User("format-error"));
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
