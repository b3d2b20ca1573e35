//! What a violation of a constraint leads to, and where (GK-110).

use std::collections::BTreeSet;

use crate::Json;
use crate::messages;

/// A place where constraints are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EnforcementPoint {
    /// The validating webhook.
    Webhook,
    /// The audit.
    Audit,
    /// The command line.
    Gator,
    /// A `ValidatingAdmissionPolicy` generated from the constraint.
    AdmissionPolicy,
}

impl EnforcementPoint {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Webhook,
        Self::Audit,
        Self::Gator,
        Self::AdmissionPolicy,
    ];

    /// Whether a name is that of a point, or of all.
    fn is_name(name: &str) -> bool {
        name == "*" || Self::ALL.iter().any(|point| point.name() == name)
    }

    /// The name in `spec.scopedEnforcementActions[].enforcementPoints[].name`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Webhook => "validation.gatekeeper.sh",
            Self::Audit => "audit.gatekeeper.sh",
            Self::Gator => "gator.gatekeeper.sh",
            Self::AdmissionPolicy => "vap.k8s.io",
        }
    }
}

/// The action that admission and audit take as `deny`.
pub const DENY: &str = "deny";
/// The action that admission answers with a warning.
pub const WARN: &str = "warn";
/// The action that only the audit reports.
pub const DRYRUN: &str = "dryrun";
/// The action that is another one at each enforcement point.
pub const SCOPED: &str = "scoped";
/// The actions that need no scopes.
pub(crate) const ACTIONS: [&str; 3] = [DENY, DRYRUN, WARN];

/// The enforcement actions of a constraint. An unknown action is kept as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enforcement {
    /// `spec.enforcementAction`, `deny` where it is absent; an empty one stays.
    pub action: String,
    scopes: Vec<Scope>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Scope {
    action: String,
    points: Vec<String>,
}

impl Enforcement {
    /// Reads `spec` of a constraint.
    pub fn of_spec(spec: &Json) -> Self {
        let action = spec["enforcementAction"].as_str().unwrap_or(DENY);
        let scopes = spec["scopedEnforcementActions"].as_array();
        let scopes = scopes.into_iter().flatten().map(|scope| Scope {
            action: scope["action"].as_str().unwrap_or_default().to_owned(),
            points: scope["enforcementPoints"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|point| point["name"].as_str().map(str::to_owned))
                .collect(),
        });
        Self {
            action: action.to_owned(),
            scopes: scopes.collect(),
        }
    }

    /// What of it Gatekeeper's processes do not support, though its libraries keep it: a constraint with it is not evaluated.
    pub fn unsupported(&self) -> Option<String> {
        if !self.is_scoped() {
            let is_known = self.action.is_empty() || ACTIONS.contains(&self.action.as_str());
            // Gatekeeper's audit names the class of the action instead of the action.
            return (!is_known).then(|| messages::unknown_action("unrecognized"));
        }
        // A scope without points counts as one with a point that has no name.
        let points = self.scopes.iter().flat_map(|scope| {
            let nameless = scope.points.is_empty().then_some("");
            scope.points.iter().map(String::as_str).chain(nameless)
        });
        let actions = self.scopes.iter().map(|scope| scope.action.as_str());
        unsupported_scopes(points, actions)
    }

    /// Whether the actions depend on the enforcement point.
    pub fn is_scoped(&self) -> bool {
        self.action == SCOPED
    }

    /// The scoped actions at an enforcement point: empty unless the action is `scoped`; none when the constraint is not
    /// evaluated there.
    pub fn scoped_actions(&self, point: EnforcementPoint) -> Option<Vec<String>> {
        if !self.is_scoped() {
            return Some(Vec::new());
        }
        let names = |name: &String| name == "*" || name == point.name();
        let actions: BTreeSet<&String> = self
            .scopes
            .iter()
            .filter(|scope| scope.points.iter().any(names))
            .map(|scope| &scope.action)
            .collect();
        let actions: Vec<String> = actions.into_iter().cloned().collect();
        (!actions.is_empty()).then_some(actions)
    }
}

/// Why the points and actions of scopes are not supported; none when all are.
pub(crate) fn unsupported_scopes<'s>(
    points: impl Iterator<Item = &'s str>,
    actions: impl Iterator<Item = &'s str>,
) -> Option<String> {
    let points: Vec<&str> = points
        .filter(|name| !EnforcementPoint::is_name(name))
        .collect();
    let actions: Vec<&str> = actions.filter(|one| !ACTIONS.contains(one)).collect();
    let known = EnforcementPoint::ALL.map(EnforcementPoint::name);
    let of_points = (!points.is_empty()).then(|| messages::unknown_points(&points, &known));
    let of_actions = (!actions.is_empty()).then(|| messages::unknown_scoped_actions(&actions));
    let reasons: Vec<String> = of_points.into_iter().chain(of_actions).collect();
    (!reasons.is_empty()).then(|| reasons.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn gk_110_absent_action_is_deny_at_every_point() {
        let enforcement = Enforcement::of_spec(&json!({}));
        assert_eq!(enforcement.action, DENY);
        assert_eq!(
            enforcement.scoped_actions(EnforcementPoint::Audit),
            Some(Vec::new())
        );
    }

    #[test]
    fn unknown_action_is_kept() {
        assert_eq!(
            Enforcement::of_spec(&json!({"enforcementAction": "foo"})).action,
            "foo"
        );
    }

    #[test]
    fn gk_165_unknown_actions_and_points_are_not_supported() {
        let unsupported = |spec: Json| Enforcement::of_spec(&spec).unsupported();
        for action in ["", "deny", "dryrun", "warn"] {
            assert_eq!(unsupported(json!({"enforcementAction": action})), None);
        }
        assert_eq!(unsupported(json!({})), None);
        let scoped = |entries: Json| {
            unsupported(json!({"enforcementAction": "scoped", "scopedEnforcementActions": entries}))
        };
        let point = |name: &str| json!([{"name": name}]);
        assert_eq!(
            scoped(json!([{"action": "warn", "enforcementPoints": point("*")}])),
            None
        );
        assert_eq!(
            unsupported(json!({"enforcementAction": "DENY"})).unwrap(),
            "unrecognized enforcementAction: \"unrecognized\" is not within the supported list [deny dryrun warn scoped]"
        );
        assert_eq!(
            scoped(json!([{"action": "block", "enforcementPoints": point("*")}])).unwrap(),
            "unrecognized enforcementAction: [block] is not within the supported list [deny dryrun warn]"
        );
        assert_eq!(
            scoped(json!([{"action": "warn", "enforcementPoints": point("other.example")}]))
                .unwrap(),
            "unrecognized enforcement points: constraint will not be enforced for enforcement points [other.example], \
             supported enforcement points are [validation.gatekeeper.sh audit.gatekeeper.sh gator.gatekeeper.sh vap.k8s.io]"
        );
        let both = scoped(json!([
            {"enforcementPoints": [{"name": "audit.gatekeeper.sh"}, {"name": "a.example"}]},
            {"action": "warn", "enforcementPoints": []},
        ]));
        let both = both.unwrap();
        assert!(both.contains("points [a.example ],"), "{both}");
        assert!(
            both.contains("\nunrecognized enforcementAction: [] is"),
            "{both}"
        );
        assert!(
            scoped(json!([{"action": "warn"}]))
                .unwrap()
                .contains("points [],")
        );
    }

    #[test]
    fn gk_110_scoped_actions_are_those_of_the_point_and_of_the_asterisk() {
        let enforcement = Enforcement::of_spec(&json!({
            "enforcementAction": "scoped",
            "scopedEnforcementActions": [
                {"action": "warn", "enforcementPoints": [{"name": "*"}]},
                {"action": "deny", "enforcementPoints": [{"name": "validation.gatekeeper.sh"}]},
            ],
        }));
        assert_eq!(
            enforcement.scoped_actions(EnforcementPoint::Webhook),
            Some(vec!["deny".into(), "warn".into()])
        );
        assert_eq!(
            enforcement.scoped_actions(EnforcementPoint::Audit),
            Some(vec!["warn".into()])
        );
    }

    #[test]
    fn scoped_without_the_point_is_not_evaluated_there() {
        let enforcement = Enforcement::of_spec(&json!({
            "enforcementAction": "scoped",
            "scopedEnforcementActions": [{"action": "deny", "enforcementPoints": [{"name": "audit.gatekeeper.sh"}]}],
        }));
        assert_eq!(enforcement.scoped_actions(EnforcementPoint::Gator), None);
    }

    #[test]
    fn scopes_are_ignored_unless_the_action_is_scoped() {
        let enforcement = Enforcement::of_spec(&json!({
            "enforcementAction": "warn",
            "scopedEnforcementActions": [{"action": "deny", "enforcementPoints": [{"name": "*"}]}],
        }));
        assert_eq!(
            enforcement.scoped_actions(EnforcementPoint::Gator),
            Some(Vec::new())
        );
    }
}
