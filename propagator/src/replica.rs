//! What is remembered of a replica.

use kube::ResourceExt;
use reeve_api::names::{ENCRYPTION_IV_ANNOTATION, LAST_APPLIED_ANNOTATION};
use reeve_api::policy::PolicyDependency;
use reeve_api::{Compliance, Policy};
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// What is kept of a replica: enough to see that it is as it should be. With ten thousand clusters
/// whole replicas would be most of the process's memory.
#[derive(Clone, Debug)]
pub struct ReplicaFacts {
    /// Of annotations, labels and spec.
    pub digest: Digest,
    /// Guards a delete against removing a successor of the same name.
    pub uid: Box<str>,
    /// What the cluster answers.
    pub compliance: Option<Compliance>,
    /// The initialisation vector in its annotations, base64.
    pub vector: Option<Box<str>>,
}

impl ReplicaFacts {
    /// What is kept of a live replica.
    pub fn of(policy: Policy) -> Self {
        let vector = policy.annotations().get(ENCRYPTION_IV_ANNOTATION);
        Self {
            digest: Digest::of(&policy),
            vector: vector.map(|vector| vector.as_str().into()),
            uid: policy.metadata.uid.unwrap_or_default().into(),
            compliance: policy.status.and_then(|status| status.compliance()),
        }
    }
}

/// Stands for the annotations, labels and spec of a replica: all that a root decides of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of a policy. Absent and empty lists and maps are the same; the record that
    /// `kubectl apply` keeps on an object is no part of it.
    pub fn of(policy: &Policy) -> Self {
        let mut annotations = policy.annotations().clone();
        annotations.remove(LAST_APPLIED_ANNOTATION);
        let mut spec = policy.spec.clone();
        drop_empty(&mut spec.dependencies);
        for template in &mut spec.policy_templates {
            drop_empty(&mut template.extra_dependencies);
        }
        let whole = json!([annotations, policy.labels(), spec]);
        // Maps are ordered by key, so equal values have equal text.
        Self(Sha256::digest(whole.to_string()).into())
    }
}

fn drop_empty(list: &mut Option<Vec<PolicyDependency>>) {
    if list.as_ref().is_some_and(Vec::is_empty) {
        *list = None;
    }
}
