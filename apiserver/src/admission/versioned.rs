//! A write as expressions of policies and webhooks see it.

use serde_json::{Value, json};

use super::{Attributes, request_resource};
use crate::kinds::Kind;
use crate::schema::scope::{Scope, compile};

/// A write in the version that a policy or a webhook matches.
pub(super) struct VersionedAttributes<'a> {
    pub(super) of: &'a Attributes<'a>,
    /// As what it is shown.
    pub(super) kind: &'a Kind,
    pub(super) new: &'a Value,
    pub(super) old: &'a Value,
    /// The object's namespace; null if it has none.
    pub(super) namespace: &'a Value,
    pub(super) dry_run: bool,
}

impl VersionedAttributes<'_> {
    /// The variables of expressions.
    pub(super) fn scope(&self) -> Scope {
        let mut scope = Scope::new();
        scope.add("object", self.new);
        scope.add("oldObject", self.old);
        scope.add("request", &self.request());
        scope.add("namespaceObject", self.namespace);
        scope
    }

    fn request(&self) -> Value {
        let of = self.of;
        json!({
            "kind": of.request_kind(self.kind), "requestKind": of.request_kind(of.kind),
            "resource": request_resource(self.kind), "requestResource": request_resource(of.kind),
            "subResource": of.subresource.unwrap_or_default(),
            "requestSubResource": of.subresource.unwrap_or_default(),
            "name": of.name, "namespace": of.request_namespace(),
            "operation": of.operation.as_str(), "dryRun": self.dry_run,
            "userInfo": {
                "username": of.user.user, "uid": of.user.uid,
                "groups": of.user.groups, "extra": of.user.extra,
            },
        })
    }
}

/// Whether all `matchConditions` hold. The error names the one that cannot be evaluated.
pub(super) fn hold<'a>(
    conditions: impl Iterator<Item = &'a Value>,
    scope: &Scope,
) -> Result<bool, String> {
    let mut wrong = None;
    for condition in conditions {
        let expression = condition["expression"].as_str().unwrap_or_default();
        match scope.holds(&compile(expression)) {
            Ok(true) => {}
            // One that does not hold decides, whatever is wrong with the others.
            Ok(false) => return Ok(false),
            Err(error) => {
                wrong.get_or_insert_with(|| {
                    format!("expression '{expression}' resulted in error: {error}")
                });
            }
        }
    }
    wrong.map_or(Ok(true), Err)
}
