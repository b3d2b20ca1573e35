//! Gatekeeper's kinds, and which policies have templates of them.

use std::sync::Arc;

use kube::core::GroupVersionKind;
use reeve_runtime::watch::Change;

use crate::replica::Replica;
use crate::templates;

const TEMPLATES: &str = "templates.gatekeeper.sh";
const TEMPLATE_KIND: &str = "ConstraintTemplate";
/// The group of all constraints.
pub const CONSTRAINTS: &str = "constraints.gatekeeper.sh";

/// Whether policies may have templates of Gatekeeper's kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integration {
    /// They may.
    Enabled,
    /// They may not, whether or not Gatekeeper is installed.
    Disabled,
}

/// Whether a kind is one of Gatekeeper's that policies may have templates of.
pub fn is_policy(kind: &GroupVersionKind) -> bool {
    is_constraint_template(kind) || is_constraint(kind)
}

/// Whether a kind is that of constraint templates.
pub fn is_constraint_template(kind: &GroupVersionKind) -> bool {
    kind.group == TEMPLATES && kind.kind == TEMPLATE_KIND
}

/// Whether a kind is one of constraints.
pub fn is_constraint(kind: &GroupVersionKind) -> bool {
    kind.group == CONSTRAINTS
}

/// Whether a change of a policy affects constraints, so that the relay reconciles the policy.
pub fn affects_constraints(change: &Change<Replica>) -> bool {
    let (old, new) = change.valid();
    let generation = |policy: Option<&Arc<Replica>>| {
        policy.map(|it| (it.metadata.uid.clone(), it.metadata.generation))
    };
    // Most changes are of statuses: their specs need not be decoded.
    generation(old) != generation(new)
        && old
            .into_iter()
            .chain(new)
            .any(|policy| has_constraints(policy))
}

/// Whether a policy has a template that is a constraint.
pub fn has_constraints(policy: &Replica) -> bool {
    let spec = policy.typed_spec().unwrap_or_default();
    let mut templates = spec.policy_templates.iter();
    templates.any(|template| {
        let identity = templates::identify(&template.object_definition);
        identity.is_some_and(|identity| is_constraint(&identity.kind))
    })
}
