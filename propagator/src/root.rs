//! The cached fields of a root policy.

use std::sync::Arc;

use reeve_api::policy::{CompliancePerCluster, PolicyStatus};
use reeve_api::{Compliance, Policy};
use sha2::{Digest as _, Sha256};

/// A root policy in the cache, with a small part of its status: with ten thousand clusters whole statuses would be most of the
/// process's memory.
#[derive(Clone, Debug)]
pub struct CachedRoot {
    /// The policy. Its status has only the compliance, the conditions and the names of the clusters that violate the policy.
    pub policy: Arc<Policy>,
    /// The digest of the status without its conditions.
    pub status: StatusDigest,
    /// The length of the policy without its status as JSON, in bytes.
    pub length_without_status: usize,
}

impl CachedRoot {
    /// The cached form of a live root policy.
    pub fn of(mut policy: Policy) -> Self {
        let status = policy.status.take().unwrap_or_default();
        let digest = StatusDigest::of(&status);
        let violating = Compliance::NonCompliant.to_string();
        let clusters = status.status.into_iter().flatten();
        let clusters: Vec<CompliancePerCluster> = clusters
            .filter(|cluster| cluster.compliant.as_ref() == Some(&violating))
            .map(|cluster| CompliancePerCluster {
                clustername: cluster.clustername,
                compliant: cluster.compliant,
                clusternamespace: None,
                remaining_bindings: None,
            })
            .collect();
        let length_without_status = json_length(&policy);
        policy.status = Some(PolicyStatus {
            compliant: status.compliant,
            conditions: status.conditions,
            status: Some(clusters).filter(|list| !list.is_empty()),
            placement: None,
            details: None,
        });
        Self {
            policy: Arc::new(policy),
            status: digest,
            length_without_status,
        }
    }
}

/// The digest of a root policy's status. Empty lists and absent ones have the same digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusDigest {
    /// The digest of the clusters with their compliance.
    pub clusters: [u8; 32],
    /// The digest of the compliance and the placements.
    rest: [u8; 32],
}

impl Default for StatusDigest {
    fn default() -> Self {
        Self::of(&PolicyStatus::default())
    }
}

impl StatusDigest {
    /// The digest of a status.
    pub fn of(status: &PolicyStatus) -> Self {
        let clusters = status.status.as_deref().unwrap_or_default();
        let placement = status.placement.as_deref().unwrap_or_default();
        Self {
            clusters: digest(&clusters),
            rest: digest(&(&status.compliant, placement)),
        }
    }
}

/// The length of a value as JSON, in bytes.
pub fn json_length(value: &impl serde::Serialize) -> usize {
    let mut length = Length(0);
    // Counting cannot fail, nor can serializing what was read from JSON.
    let _ = serde_json::to_writer(&mut length, value);
    length.0
}

/// Counts the bytes that are written to it.
struct Length(usize);

impl std::io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn digest(part: &impl serde::Serialize) -> [u8; 32] {
    let mut hasher = Sha256::new();
    // Writing to a digest cannot fail, nor can serializing what was read from JSON.
    let _ = serde_json::to_writer(Writer(&mut hasher), part);
    hasher.finalize().into()
}

/// Writes to a digest.
struct Writer<'a>(&'a mut Sha256);

impl std::io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn kept(status: &Value) -> CachedRoot {
        let policy = json!({
            "metadata": { "name": "p", "namespace": "n" }, "spec": { "disabled": false, "policy-templates": [] },
            "status": status,
        });
        CachedRoot::of(serde_json::from_value(policy).unwrap())
    }

    fn clusters(count: usize, violating: usize) -> Value {
        let clusters = (0..count).map(|place| {
            let compliance = if place < violating {
                "NonCompliant"
            } else {
                "Compliant"
            };
            let name = format!("cluster-{place}");
            json!({ "clustername": name, "clusternamespace": name, "compliant": compliance })
        });
        clusters.collect()
    }

    #[test]
    fn cached_root_has_only_compliance_and_violating_clusters() {
        let root = kept(&json!({
            "compliant": "NonCompliant", "status": clusters(10_000, 2),
            "placement": [{ "placement": "p", "placementBinding": "b" }],
        }));
        let status = root.policy.status.clone().unwrap();
        assert_eq!(status.compliant.as_deref(), Some("NonCompliant"));
        assert_eq!(status.status.map(|list| list.len()), Some(2));
        assert_eq!(status.placement, None);
    }

    #[test]
    fn length_is_that_of_the_json_text() {
        let root = kept(&json!({ "compliant": "NonCompliant", "status": clusters(3, 0) }));
        let mut policy = Policy::clone(&root.policy);
        policy.status = None;
        let text = serde_json::to_string(&policy).unwrap();
        assert_eq!(root.length_without_status, text.len());
    }

    #[test]
    fn digest_differs_for_other_statuses_and_not_for_empty_and_absent_lists() {
        let digest = |status: Value| kept(&status).status;
        let one = digest(json!({ "compliant": "Compliant", "status": clusters(3, 0) }));
        assert_eq!(
            one,
            digest(json!({ "compliant": "Compliant", "status": clusters(3, 0), "placement": [] }))
        );
        assert_ne!(
            one,
            digest(json!({ "compliant": "NonCompliant", "status": clusters(3, 0) }))
        );
        let other = digest(json!({ "compliant": "Compliant", "status": clusters(3, 1) }));
        assert_ne!(one.clusters, other.clusters);
        assert_eq!(digest(json!({})), digest(json!({ "status": [] })));
        assert_eq!(digest(Value::Null), StatusDigest::default());
    }
}
