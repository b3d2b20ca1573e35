//! What the controller counts about policies.

use std::hash::Hash;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use reeve_api::Compliance;
use reeve_api::configuration_policy::ConfigurationPolicy;
use reeve_runtime::metrics::{Description, Metrics, OwnedFamily};
use reeve_runtime::object::ObjectKey;

type Seconds = Counter<f64, AtomicU64>;

const GOVERNANCE: Description = Description::gauge(
    "cluster_policy_governance_info",
    &["kind", "policy", "policy_namespace", "severity"],
    "The compliance status of the policy. 0 == Compliant. 1 == NonCompliant. -1 == Unknown/Pending",
);
const EVALUATIONS: Description = Description::counter(
    "config_policy_evaluation",
    &["name"],
    "The total number of evaluations of the policy",
);
const EVALUATION_SECONDS: Description = Description::counter(
    "config_policy_evaluation_seconds",
    &["name"],
    "The total seconds taken while evaluating the policy",
);
const COMPARISONS: Description = Description::counter(
    "compare_objects_evaluation",
    &["config_policy_name", "namespace", "object"],
    "The total number of comparisons of an object with a policy",
);
const COMPARISON_SECONDS: Description = Description::counter(
    "compare_objects_seconds",
    &["config_policy_name", "namespace", "object"],
    "The total seconds taken while comparing an object with a policy",
);
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
pub const METRICS: &[Description] = &[
    GOVERNANCE,
    EVALUATIONS,
    EVALUATION_SECONDS,
    COMPARISONS,
    COMPARISON_SECONDS,
    USER_ERRORS,
    SYSTEM_ERRORS,
];

// Labels are written in the order of the fields; scripts expect the alphabet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Governed {
    kind: &'static str,
    policy: String,
    policy_namespace: String,
    severity: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Named {
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Compared {
    config_policy_name: String,
    namespace: String,
    object: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Failed {
    policy: String,
    template: String,
    r#type: &'static str,
}

type Series<L, M = Counter> = OwnedFamily<ObjectKey, L, M>;

/// The controller's series, which end with their policy; clones share them.
#[derive(Clone, Default)]
pub struct PolicyMetrics {
    governance: OwnedFamily<(PolicyKind, ObjectKey), Governed, Gauge>,
    evaluations: Series<Named>,
    evaluation_seconds: Series<Named, Seconds>,
    comparisons: Series<Compared>,
    comparison_seconds: Series<Compared, Seconds>,
    user_errors: Series<Failed>,
    system_errors: Series<Failed>,
}

/// A kind of policy. Policies of different kinds may have the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyKind {
    Configuration,
    Operator,
}

/// A policy of either kind.
pub type PolicyRef = (PolicyKind, ObjectKey);

impl PolicyKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "ConfigurationPolicy",
            Self::Operator => "OperatorPolicy",
        }
    }
}

/// The error series that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The policy is invalid.
    InvalidTemplate,
    /// The cluster does not serve a kind of the policy.
    NoSuchKind,
    /// The status could not be written.
    StatusUpdate,
}

impl PolicyMetrics {
    /// The series, in a process's registry.
    pub fn new(metrics: &Metrics) -> Self {
        let ours = Self::default();
        metrics.register(&GOVERNANCE, ours.governance.family());
        metrics.register(&EVALUATIONS, ours.evaluations.family());
        metrics.register(&EVALUATION_SECONDS, ours.evaluation_seconds.family());
        metrics.register(&COMPARISONS, ours.comparisons.family());
        metrics.register(&COMPARISON_SECONDS, ours.comparison_seconds.family());
        metrics.register(&USER_ERRORS, ours.user_errors.family());
        metrics.register(&SYSTEM_ERRORS, ours.system_errors.family());
        ours
    }

    /// A policy was evaluated.
    pub fn evaluated(&self, policy: &ObjectKey, took: Duration) {
        let labels = Named {
            name: policy.name.clone(),
        };
        count(&self.evaluations, policy, labels.clone());
        add_seconds(&self.evaluation_seconds, policy, labels, took);
    }

    /// The state of a policy after an evaluation.
    pub fn state(
        &self,
        (kind, policy): (PolicyKind, &ObjectKey),
        severity: &str,
        state: Option<Compliance>,
    ) {
        let labels = Governed {
            kind: kind.as_str(),
            policy: policy.name.clone(),
            policy_namespace: policy.namespace.clone(),
            severity: severity.to_owned(),
        };
        let value = match state {
            Some(Compliance::Compliant) => 0,
            Some(Compliance::NonCompliant) => 1,
            _ => -1,
        };
        // A changed severity makes another series; the old one would stay as it was forever.
        let owner = (kind, policy.clone());
        self.governance.record_only(&owner, labels, |gauge| {
            gauge.set(value);
        });
    }

    /// An object was compared. `object` is `<resource>.<name>`.
    pub fn compared(&self, policy: &ObjectKey, namespace: &str, object: String, took: Duration) {
        let labels = Compared {
            config_policy_name: policy.name.clone(),
            namespace: namespace.to_owned(),
            object,
        };
        count(&self.comparisons, policy, labels.clone());
        add_seconds(&self.comparison_seconds, policy, labels, took);
    }

    /// Counts an error of a policy, under the name of its first owner, which is its parent policy.
    pub fn failed(&self, policy: &ConfigurationPolicy, fault: Fault) {
        let owners = policy.metadata.owner_references.as_deref();
        let parent = owners.and_then(|owners| owners.first());
        let key = ObjectKey::of(policy);
        let (family, kind) = match fault {
            Fault::InvalidTemplate => (&self.user_errors, "invalid-template"),
            Fault::NoSuchKind => (&self.user_errors, "no-object-CRD"),
            Fault::StatusUpdate => (&self.system_errors, "status-update-failed"),
        };
        let labels = Failed {
            policy: parent.map_or_else(String::new, |owner| owner.name.clone()),
            template: key.name.clone(),
            r#type: kind,
        };
        count(family, &key, labels);
    }

    /// Removes the series of an `OperatorPolicy` that is gone.
    pub fn forget_operator_policy(&self, policy: &ObjectKey) {
        self.governance
            .remove(&(PolicyKind::Operator, policy.clone()));
    }

    /// Removes every series of a `ConfigurationPolicy` that is gone.
    pub fn forget(&self, policy: &ObjectKey) {
        self.governance
            .remove(&(PolicyKind::Configuration, policy.clone()));
        self.evaluations.remove(policy);
        self.evaluation_seconds.remove(policy);
        self.comparisons.remove(policy);
        self.comparison_seconds.remove(policy);
        self.user_errors.remove(policy);
        self.system_errors.remove(policy);
    }
}

fn count<L>(series: &Series<L>, policy: &ObjectKey, labels: L)
where
    L: Clone + Eq + Hash + EncodeLabelSet,
{
    series.record(policy, labels, |counter| {
        counter.inc();
    });
}

fn add_seconds<L>(series: &Series<L, Seconds>, policy: &ObjectKey, labels: L, took: Duration)
where
    L: Clone + Eq + Hash + EncodeLabelSet,
{
    series.record(policy, labels, |counter| {
        counter.inc_by(took.as_secs_f64());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cfg_175_series_are_removed_with_their_policy() {
        let metrics = Metrics::default();
        let ours = PolicyMetrics::new(&metrics);
        let policy = ObjectKey::new("managed", "p");
        ours.evaluated(&policy, Duration::from_millis(1));
        let ours_as = (PolicyKind::Configuration, &policy);
        ours.state(ours_as, "low", Some(Compliance::Compliant));
        ours.state(ours_as, "high", Some(Compliance::NonCompliant));
        ours.compared(&policy, "n", "pods.a".to_owned(), Duration::from_millis(1));
        let owned = serde_json::json!({
            "metadata": {"name": "p", "namespace": "managed", "ownerReferences": [
                {"apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy", "name": "parent.x", "uid": "u"},
            ]},
            "spec": {},
        });
        let owned = serde_json::from_value(owned).unwrap();
        ours.failed(&owned, Fault::NoSuchKind);
        let text = metrics.text();
        for line in [
            r#"cluster_policy_governance_info{kind="ConfigurationPolicy",policy="p",policy_namespace="managed",severity="high"} 1"#,
            r#"config_policy_evaluation_total{name="p"} 1"#,
            r#"compare_objects_evaluation_total{config_policy_name="p",namespace="n",object="pods.a"} 1"#,
            r#"policy_user_errors_total{policy="parent.x",template="p",type="no-object-CRD"} 1"#,
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "{line} is not in\n{text}"
            );
        }
        assert!(!text.contains(r#"severity="low""#));
        ours.forget(&policy);
        assert!(!metrics.text().contains(r#""p""#), "{}", metrics.text());
    }

    #[test]
    fn op_24_33_changed_severity_leaves_no_series() {
        let metrics = Metrics::default();
        let ours = PolicyMetrics::new(&metrics);
        let policy = ObjectKey::new("managed", "p");
        let operator = (PolicyKind::Operator, &policy);
        ours.state(operator, "low", Some(Compliance::Compliant));
        ours.state(operator, "high", Some(Compliance::Compliant));
        let text = metrics.text();
        let series = text.lines().filter(|line| line.contains(r#"policy="p""#));
        let line = r#"cluster_policy_governance_info{kind="OperatorPolicy",policy="p",policy_namespace="managed",severity="high"} 0"#;
        assert_eq!(series.collect::<Vec<_>>(), [line]);
        ours.forget_operator_policy(&policy);
        assert!(!metrics.text().contains(r#""p""#), "{}", metrics.text());
    }

    #[test]
    fn series_stay_while_a_policy_of_the_same_name_has_them() {
        let metrics = Metrics::default();
        let ours = PolicyMetrics::new(&metrics);
        let (one, other) = (ObjectKey::new("one", "p"), ObjectKey::new("other", "p"));
        ours.evaluated(&one, Duration::from_millis(1));
        ours.evaluated(&other, Duration::from_millis(1));
        ours.forget(&one);
        let line = r#"config_policy_evaluation_total{name="p"} 2"#;
        assert!(metrics.text().lines().any(|found| found == line));
        ours.forget(&other);
        assert!(!metrics.text().contains(r#""p""#), "{}", metrics.text());
    }
}
