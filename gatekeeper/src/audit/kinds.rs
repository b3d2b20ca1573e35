//! Which kinds an audit lists.

use crate::constraint::Constraint;
use crate::enforcement::EnforcementPoint;

/// A kind that the API server serves and that can be listed and watched, in its preferred version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The preferred version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl ResourceKind {
    /// Whether its objects change all the time, or are only requests: it is audited, or put into an inventory, only where something names it.
    pub fn is_noise(&self) -> bool {
        NOISE.contains(&(self.group.as_str(), self.kind.as_str()))
    }

    /// Group and version, as objects have them.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// Kinds that change all the time, or that only ask: a constraint must name them.
const NOISE: [(&str, &str); 13] = [
    ("", "Event"),
    ("events.k8s.io", "Event"),
    ("coordination.k8s.io", "Lease"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("authentication.k8s.io", "TokenReview"),
    ("authentication.k8s.io", "SelfSubjectReview"),
    ("authorization.k8s.io", "SubjectAccessReview"),
    ("authorization.k8s.io", "SelfSubjectAccessReview"),
    ("authorization.k8s.io", "SelfSubjectRulesReview"),
    ("authorization.k8s.io", "LocalSubjectAccessReview"),
    ("admission.k8s.io", "AdmissionReview"),
    ("", "Binding"),
    ("", "ComponentStatus"),
];

/// The discovered kinds that some constraint may match at the audit, themselves or by what is made of their objects, which
/// `is_expanded_for` answers.
pub fn kinds_to_list<'a>(
    constraints: impl IntoIterator<Item = &'a Constraint>,
    discovered: &[ResourceKind],
    is_expanded_for: impl Fn(&ResourceKind, &Constraint) -> bool,
) -> Vec<ResourceKind> {
    let audited: Vec<&Constraint> = constraints
        .into_iter()
        .filter(|one| {
            let actions = one.enforcement.scoped_actions(EnforcementPoint::Audit);
            actions.is_some()
        })
        .collect();
    let mut kinds: Vec<ResourceKind> = discovered
        .iter()
        .filter(|kind| {
            audited.iter().any(|constraint| {
                is_listed_for(kind, constraint) || is_expanded_for(kind, constraint)
            })
        })
        .cloned()
        .collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

fn is_listed_for(kind: &ResourceKind, constraint: &Constraint) -> bool {
    let matches = &constraint.matches;
    if !matches.matches_kind(&kind.group, &kind.kind) {
        return false;
    }
    let is_named = matches
        .kinds()
        .iter()
        .any(|entry| entry.kinds.contains(&kind.kind) && entry.matches(&kind.group, &kind.kind));
    is_named || !kind.is_noise()
}
