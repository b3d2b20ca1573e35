//! Writes statuses.

use jiff::{Timestamp, Unit};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::ApiResource;
use reeve_gatekeeper::audit::{Auditor, ResourceKind};
use reeve_gatekeeper::client::ConstraintKey;
use reeve_runtime::object::not_found_as_none;
use reeve_runtime::queue::Action;
use serde_json::{Value, json};

use crate::error::AuditError;
use crate::resources::name_of;
use crate::state::Audit;

impl Audit {
    /// Merges a status into an object, unless it was deleted meanwhile.
    pub(crate) async fn merge_status(
        &self,
        resource: &ApiResource,
        object: &Value,
        status: &Value,
    ) -> Result<(), AuditError> {
        let name = name_of(object);
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), resource);
        let patch = json!({"metadata": {"uid": object["metadata"]["uid"]}, "status": status});
        let written = api
            .patch_status(&name, &PatchParams::default(), &Patch::Merge(&patch))
            .await;
        let action = format!("write the status of {} {name}", resource.kind);
        not_found_as_none(written).map_err(AuditError::new(action))?;
        Ok(())
    }

    /// Writes the status of a constraint, once everything that it matches was reviewed, if it differs.
    pub(crate) async fn publish(&self, key: &ConstraintKey) -> Result<Action, AuditError> {
        let object = self.constraints.lock().get(key).cloned();
        let Some(object) = object else {
            return Ok(Action::AwaitChange);
        };
        let Some(status) = self.status(key, &object) else {
            return Ok(Action::AwaitChange);
        };
        if is_same(&object["status"], &status) {
            return Ok(Action::AwaitChange);
        }
        let mut written = status;
        if written.get("violations").is_none() {
            // A merge leaves what is not named.
            written["violations"] = Value::Null;
        }
        self.write_constraint_status(&object, &written).await?;
        Ok(Action::AwaitChange)
    }

    /// The status of now; absent while reviews are missing, whose end enqueues the constraint.
    fn status(&self, key: &ConstraintKey, object: &Value) -> Option<Value> {
        if self.unplanned.lock().contains(key) {
            return None;
        }
        let engine = self.engine.read();
        let constraint = engine.constraint(key)?;
        let effect = self.effect();
        let is_referential = engine.is_referential(&key.kind);
        let is_audited = |kind: &ResourceKind| effect.concerns(constraint, kind);
        let is_complete = {
            let watches = self.kind_watches.lock();
            let mut audited = watches
                .iter()
                .filter(|(kind, watch)| watch.duties.is_audited && is_audited(kind));
            audited.all(|(_, watch)| watch.is_complete())
        };
        let waits_for_inventory = is_referential && !self.is_inventory_complete();
        if !is_complete || waits_for_inventory {
            return None;
        }
        let limit = self.options.violations_limit;
        let read = is_referential.then(|| self.feeding_kinds());
        let read = read.unwrap_or_default();
        let concerns = |kind: &ResourceKind| is_audited(kind) || read.contains(kind);
        let audit = self.results.lock().audit(key, limit, concerns);
        let auditor = Auditor {
            id: self.options.id.clone(),
            constraint_uid: text(&object["metadata"]["uid"]),
            observed_generation: object["metadata"]["generation"]
                .as_i64()
                .unwrap_or_default(),
        };
        let mut status = audit.status(&now(), &auditor);
        status["byPod"][0]["operations"] = json!(self.options.operations());
        Some(status)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The time in seconds, as Gatekeeper writes it.
pub(crate) fn now() -> String {
    let now = Timestamp::now();
    now.round(Unit::Second).unwrap_or(now).to_string()
}

/// Whether a status has the same content, whenever it was written.
fn is_same(written: &Value, computed: &Value) -> bool {
    let members = ["totalViolations", "violations", "byPod"];
    members
        .iter()
        .all(|member| written.get(member) == computed.get(member))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_a_status_is_no_difference() {
        let at = |time: &str, total: u64| json!({"auditTimestamp": time, "totalViolations": total, "byPod": []});
        assert!(is_same(&at("a", 1), &at("b", 1)));
        assert!(!is_same(&at("a", 1), &at("a", 2)));
        assert!(!is_same(&Value::Null, &at("a", 0)));
    }

    #[test]
    fn time_has_seconds_in_utc() {
        let now = now();
        assert!(
            now.len() == "2026-01-01T00:00:00Z".len() && now.ends_with('Z'),
            "{now}"
        );
    }
}
