//! The metrics of the propagator.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use reeve_api::names::RootPolicyName;
use reeve_api::policy::PolicyStatus;
use reeve_api::{Compliance, Policy};
use reeve_runtime::metrics::{Description, Metrics};

use crate::index::Pair;
use crate::replica::ReplicaFacts;

const GOVERNANCE: Description = Description::gauge(
    "policy_governance_info",
    &["cluster_namespace", "policy", "policy_namespace", "type"],
    "The compliance status of the named policy. 0 == Compliant. 1 == NonCompliant. -1 == Unknown/Pending",
);
const PROPAGATION_FAILURES: Description = Description::counter(
    "policy_propagation_failure",
    &["name", "namespace"],
    "The number of failed policy propagation attempts per policy",
);
// The odd name is upstream's, and dashboards have it.
const ROOT_DURATION: Description = Description::histogram(
    "ocm_handle_root_policy_duration_seconds_bucket",
    &[],
    "Time the handleRootPolicy function takes to complete.",
);

/// The objects that hub templates watch.
pub(crate) const ACTIVE_WATCHES: Description = Description::gauge(
    "hub_templates_active_watches",
    &[],
    "The number of active watch API requests for Hub policy templates",
);

/// The metrics that only this component has.
pub const METRICS: &[Description] = &[
    GOVERNANCE,
    PROPAGATION_FAILURES,
    ROOT_DURATION,
    ACTIVE_WATCHES,
];

// Labels are encoded in the order of the fields; scripts expect the alphabetical order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GovernanceLabels {
    cluster_namespace: String,
    policy: String,
    policy_namespace: String,
    r#type: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FailureLabels {
    name: String,
    namespace: String,
}

/// Upper bounds of the buckets in seconds: the defaults of Go's Prometheus client.
const DURATION_BUCKETS: [f64; 11] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// The propagator's series; clones share them.
#[derive(Clone)]
pub struct PropagatorMetrics {
    /// `None` if compliance is not reported.
    governance: Option<Family<GovernanceLabels, Gauge>>,
    failures: Family<FailureLabels, Counter>,
    root_duration: Histogram,
}

impl PropagatorMetrics {
    /// The series, in a process's registry.
    pub fn new(metrics: &Metrics) -> Self {
        let governance = Family::default();
        metrics.register(&GOVERNANCE, governance.clone());
        Self {
            governance: Some(governance),
            ..Self::without_compliance(metrics)
        }
    }

    /// The series without those of each policy's compliance.
    pub fn without_compliance(metrics: &Metrics) -> Self {
        let ours = Self {
            governance: None,
            failures: Family::default(),
            root_duration: Histogram::new(DURATION_BUCKETS),
        };
        metrics.register(&PROPAGATION_FAILURES, ours.failures.clone());
        metrics.register(&ROOT_DURATION, ours.root_duration.clone());
        ours
    }

    /// Records how long the reconcile of a root policy's status took.
    pub fn observe_root_duration(&self, duration: Duration) {
        self.root_duration.observe(duration.as_secs_f64());
    }

    /// Sets the compliance of a root policy; removes its series if it is deleted or disabled.
    pub fn set_root_compliance(&self, root: &RootPolicyName, policy: Option<&Policy>) {
        let labels = GovernanceLabels {
            cluster_namespace: "<null>".to_owned(),
            policy: root.name.clone(),
            policy_namespace: root.namespace.clone(),
            r#type: "root",
        };
        let enabled = policy.filter(|policy| !policy.spec.disabled);
        let compliance =
            |policy: &Policy| policy.status.as_ref().and_then(PolicyStatus::compliance);
        self.set_compliance(&labels, enabled.map(|policy| value(compliance(policy))));
        if policy.is_none() {
            self.failures.remove(&failure_labels(root));
        }
    }

    /// Sets the compliance of a replica; removes its series if it is deleted.
    pub fn set_replica_compliance(&self, pair: &Pair, replica: Option<&ReplicaFacts>) {
        let labels = GovernanceLabels {
            cluster_namespace: pair.cluster.clone(),
            policy: pair.root.name.clone(),
            policy_namespace: pair.root.namespace.clone(),
            r#type: "propagated",
        };
        self.set_compliance(&labels, replica.map(|replica| value(replica.compliance)));
    }

    /// Sets the series; `None` removes it.
    fn set_compliance(&self, labels: &GovernanceLabels, value: Option<i64>) {
        let Some(governance) = &self.governance else {
            return;
        };
        match value {
            Some(value) => {
                governance.get_or_create(labels).set(value);
            }
            None => {
                governance.remove(labels);
            }
        }
    }

    /// Counts a failed write of a replica or of a root policy's status.
    pub fn record_propagation_failure(&self, root: &RootPolicyName) {
        self.failures.get_or_create(&failure_labels(root)).inc();
    }
}

fn failure_labels(root: &RootPolicyName) -> FailureLabels {
    FailureLabels {
        name: root.name.clone(),
        namespace: root.namespace.clone(),
    }
}

fn value(compliance: Option<Compliance>) -> i64 {
    match compliance {
        Some(Compliance::Compliant) => 0,
        Some(Compliance::NonCompliant) => 1,
        _ => -1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn has(metrics: &Metrics, line: &str) -> bool {
        metrics.text().lines().any(|found| found == line)
    }

    #[test]
    fn prop_179_duration_histogram_is_exported_from_the_start() {
        let metrics = Metrics::default();
        let ours = PropagatorMetrics::new(&metrics);
        let text = metrics.text();
        let bucket = "ocm_handle_root_policy_duration_seconds_bucket_bucket{le=\"10\"}";
        assert!(has(&metrics, &format!("{bucket} 0")), "{text}");
        let help = "# HELP ocm_handle_root_policy_duration_seconds_bucket Time the handleRootPolicy function takes to complete.";
        assert!(has(&metrics, help), "{text}");
        ours.observe_root_duration(Duration::from_millis(3));
        let text = metrics.text();
        assert!(has(&metrics, &format!("{bucket} 1")), "{text}");
        ours.record_propagation_failure(&RootPolicyName::new("policies", "p"));
        let failed = "policy_propagation_failure_total{name=\"p\",namespace=\"policies\"} 1";
        assert!(has(&metrics, failed), "{}", metrics.text());
    }

    fn policy(disabled: bool, compliant: &str) -> Policy {
        let spec = json!({ "disabled": disabled, "policy-templates": [] });
        let value = json!({
            "apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy",
            "metadata": {}, "spec": spec, "status": { "compliant": compliant }
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn prop_177_root_policy_has_a_series_while_it_exists_and_is_enabled() {
        let metrics = Metrics::default();
        let ours = PropagatorMetrics::new(&metrics);
        let root = RootPolicyName::new("policies", "p");
        let series = r#"policy_governance_info{cluster_namespace="<null>",policy="p",policy_namespace="policies",type="root"}"#;
        let states = [("Compliant", 0), ("NonCompliant", 1), ("Pending", -1)];
        for (state, value) in states {
            ours.set_root_compliance(&root, Some(&policy(false, state)));
            assert!(has(&metrics, &format!("{series} {value}")), "{state}");
        }
        ours.set_root_compliance(&root, Some(&policy(true, "Compliant")));
        assert!(!metrics.text().contains(series), "disabled");
        ours.set_root_compliance(&root, Some(&policy(false, "Compliant")));
        ours.set_root_compliance(&root, None);
        assert!(!metrics.text().contains(series), "deleted");
    }

    #[test]
    fn replica_series_has_labels_in_alphabetical_order() {
        let metrics = Metrics::default();
        let ours = PropagatorMetrics::new(&metrics);
        let pair = Pair {
            root: RootPolicyName::new("policies", "p"),
            cluster: "c1".to_owned(),
        };
        let facts = ReplicaFacts {
            compliance: Some(Compliance::NonCompliant),
            ..ReplicaFacts::of(policy(false, "NonCompliant"))
        };
        ours.set_replica_compliance(&pair, Some(&facts));
        let line = r#"policy_governance_info{cluster_namespace="c1",policy="p",policy_namespace="policies",type="propagated"} 1"#;
        assert!(
            metrics.text().lines().any(|found| found == line),
            "{}",
            metrics.text()
        );
        ours.set_replica_compliance(&pair, None);
        assert!(!metrics.text().contains("propagated\"}"));
    }

    #[test]
    fn compliance_series_are_absent_when_disabled() {
        let metrics = Metrics::default();
        let ours = PropagatorMetrics::without_compliance(&metrics);
        let root = RootPolicyName::new("policies", "p");
        ours.set_root_compliance(&root, Some(&policy(false, "Compliant")));
        assert!(!metrics.text().contains("policy_governance_info"));
    }
}
