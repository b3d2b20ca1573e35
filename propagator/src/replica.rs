//! The cached fields of a replica.

use std::borrow::Cow;

use kube::ResourceExt;
use reeve_api::names::{ENCRYPTION_IV_ANNOTATION, LAST_APPLIED_ANNOTATION};
use reeve_api::policy::{PolicyDependency, PolicySpec};
use reeve_api::{Compliance, Policy};
use sha2::{Digest as _, Sha256};

/// The cached fields of a replica: enough to compare it with the desired one. With ten thousand clusters whole replicas would be
/// most of the process's memory.
#[derive(Clone, Debug)]
pub struct ReplicaFacts {
    /// The digest of annotations, labels and spec.
    pub digest: Digest,
    /// Guards a delete against removing a successor of the same name.
    pub uid: Box<str>,
    /// The compliance that the cluster has reported.
    pub compliance: Option<Compliance>,
    /// The initialization vector in its annotations, base64.
    pub vector: Option<Box<str>>,
}

impl ReplicaFacts {
    /// The cached fields of a live replica.
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

/// The digest of the annotations, labels and spec of a replica, which all follow from the root policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of a policy. Absent and empty lists and maps are the same; the record that
    /// `kubectl apply` keeps on an object is no part of it.
    pub fn of(policy: &Policy) -> Self {
        let mut annotations = Cow::Borrowed(policy.annotations());
        if annotations.contains_key(LAST_APPLIED_ANNOTATION) {
            annotations.to_mut().remove(LAST_APPLIED_ANNOTATION);
        }
        let mut spec = Cow::Borrowed(&policy.spec);
        if has_empty_lists(&spec) {
            drop_empty_lists(spec.to_mut());
        }
        // Fields are serialized in the order of their types and maps in that of their keys, so equal values have equal JSON.
        // Serializing what was read from JSON cannot fail.
        let whole = serde_json::to_vec(&(&annotations, policy.labels(), &spec));
        Self(Sha256::digest(whole.unwrap_or_default()).into())
    }
}

fn has_empty_lists(spec: &PolicySpec) -> bool {
    let is_empty = |list: &Option<Vec<PolicyDependency>>| list.as_ref().is_some_and(Vec::is_empty);
    let mut templates = spec.policy_templates.iter();
    is_empty(&spec.dependencies) || templates.any(|template| is_empty(&template.extra_dependencies))
}

fn drop_empty_lists(spec: &mut PolicySpec) {
    let drop = |list: &mut Option<Vec<PolicyDependency>>| {
        *list = list.take().filter(|list| !list.is_empty());
    };
    drop(&mut spec.dependencies);
    for template in &mut spec.policy_templates {
        drop(&mut template.extra_dependencies);
    }
}
