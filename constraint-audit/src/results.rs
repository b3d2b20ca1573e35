//! The violations that the reviews have found, by constraint and object. Compliant objects take no room.

use std::collections::{BTreeMap, HashMap, HashSet};

use reeve_gatekeeper::audit::{ConstraintAudit, Resource, ResourceKind};
use reeve_gatekeeper::client::{Cause, ConstraintKey, Violation};

use crate::messages;

/// The violations of one object against one constraint.
#[derive(Debug, PartialEq)]
struct Found {
    pass: u64,
    violations: Vec<Violation>,
}

/// What all reviews have found.
#[derive(Debug, Default)]
pub(crate) struct Results {
    by_constraint: HashMap<ConstraintKey, BTreeMap<Resource, Found>>,
    /// The constraints that an object violates.
    violated: BTreeMap<Resource, Vec<ConstraintKey>>,
    /// Objects that could not be reviewed, with the pass that found them.
    failed: BTreeMap<Resource, u64>,
    /// Kinds that could not be listed, with the reason.
    refused: BTreeMap<ResourceKind, String>,
    /// How often the evaluation of a constraint took too long.
    timeouts: HashMap<ConstraintKey, u32>,
    pass: u64,
}

/// A constraint whose evaluation takes too long so often is evaluated no more until it changes: others would wait for it.
const TOO_SLOW: u32 = 3;

impl Results {
    /// Begins a pass over all objects of a kind; its number is for [`Self::end_pass`].
    pub(crate) fn begin_pass(&mut self) -> u64 {
        self.pass += 1;
        self.pass
    }

    /// Removes what earlier passes have found about objects of a kind. Returns the constraints whose violations have changed.
    pub(crate) fn end_pass(&mut self, kind: &ResourceKind, pass: u64) -> HashSet<ConstraintKey> {
        self.listed(kind);
        self.failed
            .retain(|resource, seen| !is_of(resource, kind) || *seen >= pass);
        let stale: Vec<Resource> = self
            .violated
            .iter()
            .filter(|(resource, violated)| {
                is_of(resource, kind) && violated.iter().any(|key| self.seen(key, resource) < pass)
            })
            .map(|(resource, _)| resource.clone())
            .collect();
        let mut changed = HashSet::new();
        for resource in stale {
            let keys = self.violated.remove(&resource).unwrap_or_default();
            let (left, gone): (Vec<_>, Vec<_>) = keys
                .into_iter()
                .partition(|key| self.seen(key, &resource) >= pass);
            for key in gone {
                self.remove(&key, &resource);
                changed.insert(key);
            }
            if !left.is_empty() {
                self.violated.insert(resource, left);
            }
        }
        changed
    }

    /// Replaces what is known about an object. Returns the constraints whose violations have changed.
    pub(crate) fn set(
        &mut self,
        resource: &Resource,
        violations: Vec<Violation>,
    ) -> HashSet<ConstraintKey> {
        self.failed.remove(resource);
        for slow in violations
            .iter()
            .filter(|one| one.cause == Cause::TimeLimit)
        {
            let count = self.timeouts.entry(slow.constraint.clone()).or_default();
            *count += 1;
        }
        let mut by_key: BTreeMap<ConstraintKey, Vec<Violation>> = BTreeMap::new();
        for violation in violations {
            let key = violation.constraint.clone();
            by_key.entry(key).or_default().push(violation);
        }
        let mut changed = HashSet::new();
        for key in self.violated.remove(resource).unwrap_or_default() {
            if !by_key.contains_key(&key) {
                self.remove(&key, resource);
                changed.insert(key);
            }
        }
        if by_key.is_empty() {
            return changed;
        }
        let keys = by_key.keys().cloned().collect();
        self.violated.insert(resource.clone(), keys);
        for (key, violations) in by_key {
            let found = Found {
                pass: self.pass,
                violations,
            };
            let of_constraint = self.by_constraint.entry(key.clone()).or_default();
            let before = of_constraint.insert(resource.clone(), found);
            let is_same = before.is_some_and(|before| {
                of_constraint
                    .get(resource)
                    .is_some_and(|now| now.violations == before.violations)
            });
            if !is_same {
                changed.insert(key);
            }
        }
        changed
    }

    /// An object cannot be reviewed. What was known about it stays: it is not known to comply.
    pub(crate) fn fail(&mut self, resource: Resource) {
        self.failed.insert(resource, self.pass);
    }

    /// A kind cannot be listed.
    pub(crate) fn refuse(&mut self, kind: &ResourceKind, reason: String) {
        self.refused.insert(kind.clone(), reason);
    }

    /// A kind can be listed.
    pub(crate) fn listed(&mut self, kind: &ResourceKind) {
        self.refused.remove(kind);
    }

    /// Forgets the objects of a kind. Returns the constraints whose violations have changed.
    pub(crate) fn forget_kind(&mut self, kind: &ResourceKind) -> HashSet<ConstraintKey> {
        let pass = self.begin_pass();
        self.end_pass(kind, pass)
    }

    /// The constraints that are evaluated no more.
    pub(crate) fn too_slow(&self) -> HashSet<ConstraintKey> {
        let slow = self
            .timeouts
            .iter()
            .filter(|(_, count)| **count >= TOO_SLOW);
        slow.map(|(key, _)| key.clone()).collect()
    }

    /// Forgets a constraint.
    pub(crate) fn forget_constraint(&mut self, key: &ConstraintKey) {
        self.timeouts.remove(key);
        for resource in self.by_constraint.remove(key).unwrap_or_default().keys() {
            if let Some(violated) = self.violated.get_mut(resource) {
                violated.retain(|one| one != key);
                if violated.is_empty() {
                    self.violated.remove(resource);
                }
            }
        }
    }

    /// The audit of a constraint, which `concerns` kinds.
    pub(crate) fn audit(
        &self,
        key: &ConstraintKey,
        limit: usize,
        concerns: impl Fn(&ResourceKind) -> bool,
    ) -> ConstraintAudit {
        let mut audit = ConstraintAudit::new(limit);
        for (resource, found) in self.by_constraint.get(key).into_iter().flatten() {
            for violation in &found.violations {
                audit.add(resource, violation);
            }
        }
        let failed = self.failed.keys().map(kind_of);
        for _ in failed.filter(|kind| concerns(kind)) {
            audit.add_failed_object();
        }
        if self
            .timeouts
            .get(key)
            .is_some_and(|count| *count >= TOO_SLOW)
        {
            audit.add_error(messages::TOO_SLOW.to_owned());
        }
        let found = self.by_constraint.get(key).into_iter().flatten();
        let mut violations = found.flat_map(|(_, found)| &found.violations);
        if let Some(one) = violations.find(|one| one.cause == Cause::Quarantine) {
            audit.add_error(one.message.clone());
        }
        for (kind, reason) in &self.refused {
            if concerns(kind) {
                audit.add_unlisted_kind(reason);
            }
        }
        audit
    }

    fn seen(&self, key: &ConstraintKey, resource: &Resource) -> u64 {
        let found = self
            .by_constraint
            .get(key)
            .and_then(|all| all.get(resource));
        found.map_or(0, |found| found.pass)
    }

    fn remove(&mut self, key: &ConstraintKey, resource: &Resource) {
        if let Some(all) = self.by_constraint.get_mut(key) {
            all.remove(resource);
            if all.is_empty() {
                self.by_constraint.remove(key);
            }
        }
    }
}

/// The kind of an object.
pub(crate) fn kind_of(resource: &Resource) -> ResourceKind {
    ResourceKind {
        group: resource.group.clone(),
        version: resource.version.clone(),
        kind: resource.kind.clone(),
    }
}

fn is_of(resource: &Resource, kind: &ResourceKind) -> bool {
    resource.group == kind.group && resource.kind == kind.kind
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(name: &str) -> ConstraintKey {
        ConstraintKey {
            kind: "NoTea".to_owned(),
            name: name.to_owned(),
        }
    }

    fn pod(name: &str) -> Resource {
        Resource {
            version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            namespace: "default".to_owned(),
            name: name.to_owned(),
            ..Resource::default()
        }
    }

    fn pods() -> ResourceKind {
        ResourceKind {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "Pod".to_owned(),
        }
    }

    fn violation(constraint: &str, message: &str) -> Violation {
        Violation {
            constraint: key(constraint),
            message: message.to_owned(),
            details: json!({}),
            enforcement_action: "deny".to_owned(),
            scoped_actions: Vec::new(),
            cause: Cause::Violation,
        }
    }

    fn total(results: &Results, name: &str) -> usize {
        results.audit(&key(name), 20, |_| true).total()
    }

    #[test]
    fn only_changed_violations_are_a_change() {
        let mut results = Results::default();
        let both = || vec![violation("a", "x"), violation("b", "x")];
        assert_eq!(results.set(&pod("p"), both()).len(), 2);
        assert!(results.set(&pod("p"), both()).is_empty());
        let changed = results.set(&pod("p"), vec![violation("a", "y"), violation("b", "x")]);
        assert_eq!(changed, HashSet::from([key("a")]));
        let changed = results.set(&pod("p"), vec![violation("a", "y")]);
        assert_eq!(changed, HashSet::from([key("b")]));
        assert_eq!((total(&results, "a"), total(&results, "b")), (1, 0));
        assert_eq!(results.set(&pod("p"), Vec::new()).len(), 1);
        assert!(results.violated.is_empty() && results.by_constraint.is_empty());
    }

    #[test]
    fn object_that_a_pass_does_not_list_is_gone() {
        let mut results = Results::default();
        results.begin_pass();
        results.set(&pod("stays"), vec![violation("a", "x")]);
        results.set(&pod("goes"), vec![violation("a", "x")]);
        results.fail(pod("odd"));
        let pass = results.begin_pass();
        results.set(&pod("stays"), vec![violation("a", "x")]);
        assert_eq!(results.end_pass(&pods(), pass), HashSet::from([key("a")]));
        assert_eq!(total(&results, "a"), 1);
        assert!(results.failed.is_empty());
    }

    #[test]
    fn pass_over_a_kind_leaves_the_others() {
        let mut results = Results::default();
        let service = Resource {
            kind: "Service".to_owned(),
            ..pod("s")
        };
        results.begin_pass();
        results.set(&service, vec![violation("a", "x")]);
        assert!(results.forget_kind(&pods()).is_empty());
        assert_eq!(total(&results, "a"), 1);
    }

    #[test]
    fn forgotten_constraint_leaves_the_others() {
        let mut results = Results::default();
        results.set(&pod("p"), vec![violation("a", "x"), violation("b", "x")]);
        results.forget_constraint(&key("a"));
        assert_eq!((total(&results, "a"), total(&results, "b")), (0, 1));
        results.forget_constraint(&key("b"));
        assert!(results.violated.is_empty());
    }

    #[test]
    fn gk_133_refused_kind_and_failed_object_make_an_audit_incomplete() {
        let mut results = Results::default();
        results.refuse(&pods(), "Pod: forbidden".to_owned());
        results.fail(pod("odd"));
        let audit = |matches: bool| results.audit(&key("a"), 20, |_| matches).incomplete();
        assert_eq!(audit(true).len(), 2);
        assert!(audit(false).is_empty());
    }
}
