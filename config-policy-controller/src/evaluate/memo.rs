//! What earlier evaluations found, so that an object that did not change is not compared again.

use std::collections::HashMap;

use parking_lot::Mutex;
use reeve_api::configuration_policy::FieldDifference;
use reeve_runtime::object::ObjectKey;

/// The remembered result of comparing an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparisonMemo {
    /// The object's UID.
    pub uid: String,
    /// The version that was compared.
    pub resource_version: String,
    /// Whether the object complied.
    pub compliant: bool,
    /// The reason for a violation, where the reason has its own text.
    pub message: String,
    /// The difference as the status shows it.
    pub diff: Option<String>,
    /// Field by field, what differs.
    pub fields: Vec<FieldDifference>,
    /// The object differs from the policy, but a dry-run update changed nothing.
    pub matches_after_dry_run: bool,
}

/// Identifies a comparison: the object and the template.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ComparisonKey {
    /// The object's location and kind.
    pub object: (String, ObjectKey),
    /// The template's content.
    pub template: [u8; 32],
}

/// The comparisons of all policies.
#[derive(Default)]
pub struct ComparisonCache(Mutex<HashMap<ObjectKey, PolicyMemos>>);

#[derive(Default)]
struct PolicyMemos {
    /// The policy's UID and generation: a change of either invalidates the memos.
    version: (String, Option<i64>),
    known: HashMap<ComparisonKey, ComparisonMemo>,
}

/// Which version of a policy is being evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyVersion {
    pub key: ObjectKey,
    pub uid: String,
    pub generation: Option<i64>,
}

impl ComparisonCache {
    /// The memo of an object, for this version of the policy.
    pub fn get(
        &self,
        policy: &PolicyVersion,
        comparison: &ComparisonKey,
    ) -> Option<ComparisonMemo> {
        let comparisons = self.0.lock();
        let known = comparisons.get(&policy.key)?;
        if known.version != (policy.uid.clone(), policy.generation) {
            return None;
        }
        known.known.get(comparison).cloned()
    }

    /// Replaces all memos of a policy by those of its latest evaluation.
    pub fn replace(&self, policy: &PolicyVersion, known: HashMap<ComparisonKey, ComparisonMemo>) {
        let version = (policy.uid.clone(), policy.generation);
        self.0
            .lock()
            .insert(policy.key.clone(), PolicyMemos { version, known });
    }

    /// Removes the entries of a deleted policy.
    pub fn forget(&self, policy: &ObjectKey) {
        self.0.lock().remove(policy);
    }
}
