//! Constraints: watches the kind of each template, and loads what is valid.

use std::sync::Arc;

use reeve_gatekeeper::client::ConstraintKey;
use reeve_runtime::queue::Action;
use serde_json::{Value, json};

use crate::error::AuditError;
use crate::follow::{Change, follow};
use crate::messages;
use crate::resources::{self, is_terminating, loaded, name_of};
use crate::state::{Audit, ConstraintWatch, PLAN_WINDOW, Work};

/// Keeps the constraints of a kind in [`Audit::constraints`], and enqueues each change.
pub(crate) fn start(audit: &Arc<Audit>, kind: &str) -> ConstraintWatch {
    let task = watch(Arc::clone(audit), kind.to_owned());
    ConstraintWatch::new(tokio::spawn(task))
}

async fn watch(audit: Arc<Audit>, kind: String) {
    let (client, resource) = (audit.client.clone(), resources::constraints(&kind));
    let key_of = |name: String| ConstraintKey {
        kind: kind.clone(),
        name,
    };
    let on_change = |change| {
        let mut constraints = audit.constraints.lock();
        let key = match change {
            Change::Present(object) => {
                let key = key_of(name_of(&object));
                constraints.insert(key.clone(), Arc::new(object));
                key
            }
            Change::Gone(gone) => {
                let key = key_of(gone.name);
                constraints.remove(&key);
                key
            }
            Change::Synced => return,
        };
        audit.queue.add(Work::Constraint(key));
    };
    follow(client, resource, on_change).await;
}

impl Audit {
    /// Loads a constraint, or unloads it when it is gone or not valid.
    pub(crate) async fn constraint(&self, key: &ConstraintKey) -> Result<Action, AuditError> {
        let object = self.constraints.lock().get(key).cloned();
        let Some(object) = object.filter(|object| !is_terminating(object)) else {
            self.unload_constraint(key);
            return Ok(Action::AwaitChange);
        };
        let now = loaded(&object);
        if self.loaded_constraints.lock().get(key) == Some(&now) {
            return Ok(Action::AwaitChange);
        }
        // No status is written before the next plan has seen the constraint.
        self.unplanned.lock().insert(key.clone());
        self.results.lock().forget_constraint(key);
        let error = {
            let mut engine = self.engine.write();
            let added = engine.add_constraint(&object);
            self.mark_matched_kinds_in(&engine, key);
            self.count_constraints(&engine);
            let loaded = engine.constraint(key);
            match added {
                Err(error) => Some(messages::not_cached(&error)),
                Ok(_) => loaded
                    .and_then(|one| one.enforcement.unsupported())
                    .map(|reason| messages::not_enforceable(&reason)),
            }
        };
        match error {
            None => {
                self.queue.add_after(Work::Kinds, PLAN_WINDOW);
            }
            Some(error) => {
                self.unload_constraint(key);
                self.write_constraint_error(&object, &error).await?;
            }
        }
        self.loaded_constraints.lock().insert(key.clone(), now);
        Ok(Action::AwaitChange)
    }

    fn unload_constraint(&self, key: &ConstraintKey) {
        self.loaded_constraints.lock().remove(key);
        self.unplanned.lock().remove(key);
        let was_loaded = {
            let mut engine = self.engine.write();
            let was_loaded = engine.remove_constraint(key);
            self.count_constraints(&engine);
            was_loaded
        };
        if was_loaded {
            self.queue.add_after(Work::Kinds, PLAN_WINDOW);
        }
        self.results.lock().forget_constraint(key);
    }

    /// Writes into the status why a constraint is not audited. It has no `totalViolations`: nothing is known.
    async fn write_constraint_error(
        &self,
        object: &Value,
        message: &str,
    ) -> Result<(), AuditError> {
        let status = json!({
            "byPod": [{
                "id": self.options.id,
                "constraintUID": object["metadata"]["uid"],
                "observedGeneration": object["metadata"]["generation"],
                "operations": self.options.operations(),
                "errors": [{"code": "", "message": message}],
            }],
            "violations": null,
            "totalViolations": null,
            "auditTimestamp": null,
        });
        self.write_constraint_status(object, &status).await
    }

    /// Merges a status into a constraint, unless it was deleted meanwhile.
    pub(crate) async fn write_constraint_status(
        &self,
        object: &Value,
        status: &Value,
    ) -> Result<(), AuditError> {
        let kind = object["kind"].as_str().unwrap_or_default();
        self.merge_status(&resources::constraints(kind), object, status)
            .await
    }
}
