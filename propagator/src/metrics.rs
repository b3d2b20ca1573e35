//! What the propagator counts.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use reeve_api::names::RootPolicyName;
use reeve_api::policy::PolicyStatus;
use reeve_api::{Compliance, Policy};
use reeve_runtime::metrics::Metrics;

use crate::index::Pair;
use crate::replica::ReplicaFacts;

// Labels are written in the order of the fields; scripts expect the alphabet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Governed {
    cluster_namespace: String,
    policy: String,
    policy_namespace: String,
    r#type: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Named {
    name: String,
    namespace: String,
}

/// The propagator's series; clones share them.
#[derive(Clone, Default)]
pub struct PropagatorMetrics {
    governance: Family<Governed, Gauge>,
    failures: Family<Named, Counter>,
}

impl PropagatorMetrics {
    /// The series, in a process's registry.
    pub fn new(metrics: &Metrics) -> Self {
        let ours = Self::default();
        metrics.register(|registry| {
            registry.register(
                "policy_governance_info",
                "The compliance status of the named policy. 0 == Compliant. 1 == NonCompliant. -1 == Unknown/Pending",
                ours.governance.clone(),
            );
            registry.register(
                "policy_propagation_failure",
                "The number of failed policy propagation attempts per policy",
                ours.failures.clone(),
            );
        });
        ours
    }

    /// A root policy changed, or is gone.
    pub fn root(&self, root: &RootPolicyName, policy: Option<&Policy>) {
        let labels = Governed {
            cluster_namespace: "<null>".to_owned(),
            policy: root.name.clone(),
            policy_namespace: root.namespace.clone(),
            r#type: "root",
        };
        match policy.filter(|policy| !policy.spec.disabled) {
            Some(policy) => {
                let says = policy.status.as_ref().and_then(PolicyStatus::compliance);
                self.governance.get_or_create(&labels).set(value(says));
            }
            None => {
                self.governance.remove(&labels);
            }
        }
        if policy.is_none() {
            self.failures.remove(&named(root));
        }
    }

    /// A replica changed, or is gone.
    pub fn replica(&self, pair: &Pair, replica: Option<&ReplicaFacts>) {
        let labels = Governed {
            cluster_namespace: pair.cluster.clone(),
            policy: pair.root.name.clone(),
            policy_namespace: pair.root.namespace.clone(),
            r#type: "propagated",
        };
        match replica {
            Some(replica) => {
                self.governance
                    .get_or_create(&labels)
                    .set(value(replica.compliance));
            }
            None => {
                self.governance.remove(&labels);
            }
        }
    }

    /// An attempt to bring a policy in line failed.
    pub fn failed(&self, root: &RootPolicyName) {
        self.failures.get_or_create(&named(root)).inc();
    }
}

fn named(root: &RootPolicyName) -> Named {
    Named {
        name: root.name.clone(),
        namespace: root.namespace.clone(),
    }
}

fn value(says: Option<Compliance>) -> i64 {
    match says {
        Some(Compliance::Compliant) => 0,
        Some(Compliance::NonCompliant) => 1,
        _ => -1,
    }
}
