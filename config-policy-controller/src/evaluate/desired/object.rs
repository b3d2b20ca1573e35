//! One object that a policy wants, or wants to be absent, with all templates resolved.

use kube::core::GroupVersionKind;
use reeve_template_reads::Secrets;
use serde_json::{Map, Value};

use crate::evaluate::compare::{ComplianceType, Desired};
use crate::evaluate::diff::{Origin, RecordDiff};
use crate::status::finding::Place;

/// One object that is wanted, or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The position of its template in the policy, from 0.
    pub index: usize,
    /// The object as the policy describes it, all templates resolved, with name and kind trimmed.
    pub definition: Map<String, Value>,
    /// Its kind.
    pub kind: GroupVersionKind,
    /// Its name, empty if any object that fits the description will do, and its namespace, empty for a kind
    /// without.
    pub place: Place,
    /// How the description is meant.
    pub compliance: ComplianceType,
    /// How its labels and annotations are meant, if differently.
    pub metadata_compliance: Option<ComplianceType>,
    /// What to do if the object cannot be updated.
    pub recreate: Recreate,
    /// What becomes of differences.
    pub record_diff: RecordDiff,
    /// Whether values of the description may be shown.
    pub origin: Origin,
    /// Those that must not be, for texts that the API server makes of them.
    pub secrets: Secrets,
    /// Identifies what is wanted of the object.
    pub digest: [u8; 32],
}

impl Wanted {
    /// What is compared with live objects.
    pub fn desired(&self) -> Desired<'_> {
        Desired {
            definition: &self.definition,
            compliance: self.compliance,
            metadata_compliance: self.metadata_compliance,
        }
    }
}

/// Whether an object is deleted and created in place of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recreate {
    /// The object is never recreated.
    Never,
    /// If the API server calls the update invalid.
    IfRequired,
    /// For every change.
    Always,
}
