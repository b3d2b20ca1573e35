//! What earlier evaluations found, so that an object that did not change is not compared again.

use std::collections::HashMap;

use parking_lot::Mutex;
use reeve_api::configuration_policy::FieldDifference;
use reeve_runtime::object::ObjectKey;

/// What is remembered of an object that was compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// The object's UID.
    pub uid: String,
    /// The version that was compared.
    pub resource_version: String,
    /// Whether it was as wanted.
    pub compliant: bool,
    /// Why not, where that has words of its own.
    pub message: String,
    /// The difference as the status shows it.
    pub diff: Option<String>,
    /// Field by field, what differs.
    pub fields: Vec<FieldDifference>,
    /// It differs in text only: the API server would store no difference.
    pub matches_after_dry_run: bool,
}

/// Which object and which template a memory is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Subject {
    /// The object's place and kind.
    pub object: (String, ObjectKey),
    /// The template's content.
    pub template: [u8; 32],
}

/// The memories of all policies.
#[derive(Default)]
pub struct Memories(Mutex<HashMap<ObjectKey, OfPolicy>>);

#[derive(Default)]
struct OfPolicy {
    /// The policy's UID and generation: another one and everything is forgotten.
    version: (String, Option<i64>),
    known: HashMap<Subject, Memory>,
}

/// Which version of a policy is being evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyVersion {
    /// Its name.
    pub key: ObjectKey,
    /// Its UID.
    pub uid: String,
    /// Its generation.
    pub generation: Option<i64>,
}

impl Memories {
    /// What is known of an object, for this version of the policy.
    pub fn recall(&self, policy: &PolicyVersion, subject: &Subject) -> Option<Memory> {
        let memories = self.0.lock();
        let known = memories.get(&policy.key)?;
        if known.version != (policy.uid.clone(), policy.generation) {
            return None;
        }
        known.known.get(subject).cloned()
    }

    /// Replaces everything known of a policy by what its latest evaluation found.
    pub fn replace(&self, policy: &PolicyVersion, known: HashMap<Subject, Memory>) {
        let version = (policy.uid.clone(), policy.generation);
        self.0
            .lock()
            .insert(policy.key.clone(), OfPolicy { version, known });
    }

    /// Forgets a policy that is gone.
    pub fn forget(&self, policy: &ObjectKey) {
        self.0.lock().remove(policy);
    }
}
