//! What an audit writes into the status of a constraint, and which kinds it lists (GK-117 to GK-119).

mod kinds;

use std::collections::BinaryHeap;

use serde_json::json;

use crate::Json;
use crate::client::{Cause, Violation};
use crate::matching::{group_and_kind, own_name, own_namespace};
use crate::messages;

pub use kinds::{ResourceKind, kinds_to_list};

/// The longest message of a listed violation, in bytes.
pub const MESSAGE_BYTES: usize = 256;
/// How many violations are listed unless something else is asked for.
pub const VIOLATIONS_LIMIT: usize = 20;

/// The object that violates a constraint.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty without one.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Resource {
    /// The identity of an object.
    pub fn of(object: &Json) -> Self {
        let (group, kind) = group_and_kind(object);
        let version = object["apiVersion"].as_str().unwrap_or_default();
        Self {
            group: group.to_owned(),
            version: version.rsplit('/').next().unwrap_or_default().to_owned(),
            kind: kind.to_owned(),
            namespace: own_namespace(object).to_owned(),
            name: own_name(object).to_owned(),
        }
    }
}

/// In the order in which violations are chosen: the smallest are listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Listed {
    resource: Resource,
    message: String,
    action: String,
    scoped_actions: Vec<String>,
}

/// Who writes the status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Auditor {
    /// The name of the pod.
    pub id: String,
    /// The UID of the constraint that was audited.
    pub constraint_uid: String,
    /// The generation of the constraint that was audited.
    pub observed_generation: i64,
}

/// The audit of one constraint: what it has found so far. Holds no more than the violations that will be listed.
#[derive(Clone, Debug)]
pub struct ConstraintAudit {
    limit: usize,
    smallest: BinaryHeap<Listed>,
    total: usize,
    failed_objects: usize,
    unlisted_kinds: Vec<String>,
    errors: Vec<String>,
}

impl Default for ConstraintAudit {
    fn default() -> Self {
        Self::new(VIOLATIONS_LIMIT)
    }
}

impl ConstraintAudit {
    /// An audit that lists at most `limit` violations.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            smallest: BinaryHeap::new(),
            total: 0,
            failed_objects: 0,
            unlisted_kinds: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Adds a violation by an object. An error of evaluation counts as one and as an object that could not be evaluated.
    pub fn add(&mut self, resource: &Resource, violation: &Violation) {
        if matches!(violation.cause, Cause::EvaluationError | Cause::TimeLimit) {
            self.failed_objects += 1;
        }
        self.total += 1;
        if self.limit == 0 {
            return;
        }
        let listed = Listed {
            resource: resource.clone(),
            message: violation.message.clone(),
            action: violation.enforcement_action.clone(),
            scoped_actions: violation.scoped_actions.clone(),
        };
        if self.smallest.len() < self.limit {
            self.smallest.push(listed);
        } else if let Some(mut largest) = self.smallest.peek_mut()
            && listed < *largest
        {
            *largest = listed;
        }
    }

    /// Counts an object that could not be reviewed at all.
    pub fn add_failed_object(&mut self) {
        self.failed_objects += 1;
    }

    /// Notes a kind that could not be listed.
    pub fn add_unlisted_kind(&mut self, kind: &str) {
        self.unlisted_kinds.push(kind.to_owned());
    }

    /// Notes another reason why the audit is not complete.
    pub fn add_error(&mut self, reason: String) {
        self.errors.push(reason);
    }

    /// All violations, listed or not.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Why the audit is not complete; empty when it is.
    pub fn incomplete(&self) -> Vec<String> {
        let failed = self.failed_objects;
        let kinds = self.unlisted_kinds.iter();
        (failed > 0)
            .then(|| messages::audit_incomplete(failed))
            .into_iter()
            .chain(kinds.map(|kind| messages::could_not_list(kind)))
            .chain(self.errors.iter().cloned())
            .collect()
    }

    /// `status` of the constraint. `started` is when the audit began, in RFC 3339 with seconds in UTC.
    pub fn status(&self, started: &str, auditor: &Auditor) -> Json {
        let mut pod = json!({
            "id": auditor.id,
            "constraintUID": auditor.constraint_uid,
            "observedGeneration": auditor.observed_generation,
            "operations": ["audit", "status"],
            "enforced": true,
        });
        let incomplete = self.incomplete();
        if !incomplete.is_empty() {
            let errors = incomplete.iter();
            let errors = errors.map(|message| json!({"code": "audit_error", "message": message}));
            pod["errors"] = errors.collect();
        }
        let mut status = json!({
            "auditTimestamp": started,
            "totalViolations": self.total,
            "byPod": [pod],
        });
        let mut listed = self.smallest.clone().into_sorted_vec();
        listed.reverse();
        if !listed.is_empty() {
            status["violations"] = listed.iter().map(entry).collect();
        }
        status
    }
}

fn entry(listed: &Listed) -> Json {
    let resource = &listed.resource;
    let mut entry = json!({
        "group": resource.group,
        "version": resource.version,
        "kind": resource.kind,
        "name": resource.name,
        "message": truncated(&listed.message),
        "enforcementAction": listed.action,
    });
    if !resource.namespace.is_empty() {
        entry["namespace"] = json!(resource.namespace);
    }
    if !listed.scoped_actions.is_empty() {
        entry["enforcementActions"] = json!(listed.scoped_actions);
    }
    entry
}

/// A message of at most [`MESSAGE_BYTES`], cut between characters. Differs from upstream, which may cut one in two.
pub fn truncated(message: &str) -> String {
    if message.len() <= MESSAGE_BYTES {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(MESSAGE_BYTES - 3);
    format!("{}...", message.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests;
