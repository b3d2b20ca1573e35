//! One object that a policy wants, or wants to be absent, with all templates resolved.

use kube::core::GroupVersionKind;
use reeve_runtime::secrets::Secrets;
use serde_json::{Map, Value};

use crate::evaluate::compare::{ComplianceType, DesiredContent};
use crate::evaluate::diff::{RecordDiff, Sensitivity};
use crate::status::finding::Location;

/// One object that a policy wants to exist or to be absent.
#[derive(Debug, Clone, PartialEq)]
pub struct DesiredObject {
    /// The position of its template in the policy, from 0.
    pub index: usize,
    /// The object as the policy describes it, all templates resolved, with name and kind trimmed.
    pub definition: Map<String, Value>,
    pub kind: GroupVersionKind,
    /// Its name, empty if any object that matches the definition will do, and its namespace, empty for a kind
    /// without.
    pub location: Location,
    /// The compliance type.
    pub compliance: ComplianceType,
    /// The compliance type of labels and annotations, if it is another one.
    pub metadata_compliance: Option<ComplianceType>,
    /// What to do if the object cannot be updated.
    pub recreate: Recreate,
    /// Where the diff is recorded.
    pub record_diff: RecordDiff,
    /// Whether values of the description may be shown.
    pub sensitivity: Sensitivity,
    /// Secret values of the definition, to be redacted from messages of the API server.
    pub secrets: Secrets,
    /// A digest of the definition and of how it is enforced.
    pub digest: [u8; 32],
}

impl DesiredObject {
    /// What is compared with live objects.
    pub fn content(&self) -> DesiredContent<'_> {
        DesiredContent {
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
