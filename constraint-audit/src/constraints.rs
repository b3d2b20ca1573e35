//! Constraints: watches the kind of each template, and loads what is valid.

use std::sync::Arc;

use futures::StreamExt as _;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use reeve_gatekeeper::client::ConstraintKey;
use reeve_runtime::object::not_found_as_none;
use reeve_runtime::object_stream::{self, ObjectEvent};
use reeve_runtime::queue::Action;
use serde_json::{Value, json};

use crate::error::AuditError;
use crate::resources::{self, is_terminating, loaded, name_of};
use crate::state::{Audit, ConstraintWatch, PLAN_WINDOW, Work};

const PAGE: u32 = 500;

/// Keeps the constraints of a kind in [`Audit::constraints`], and enqueues each change.
pub(crate) fn start(audit: &Arc<Audit>, kind: &str) -> ConstraintWatch {
    let task = watch(Arc::clone(audit), kind.to_owned());
    ConstraintWatch::new(tokio::spawn(task))
}

async fn watch(audit: Arc<Audit>, kind: String) {
    let events = object_stream::stream(audit.client.clone(), resources::constraints(&kind), PAGE);
    let mut events = std::pin::pin!(events);
    let mut listed: Option<Vec<ConstraintKey>> = None;
    let key_of = |name: String| ConstraintKey {
        kind: kind.clone(),
        name,
    };
    while let Some(event) = events.next().await {
        match event {
            Ok(ObjectEvent::Listing) => listed = Some(Vec::new()),
            Ok(ObjectEvent::Listed(object) | ObjectEvent::Applied(object)) => {
                let key = key_of(name_of(&object));
                if let Some(listed) = &mut listed {
                    listed.push(key.clone());
                }
                audit
                    .constraints
                    .lock()
                    .insert(key.clone(), Arc::new(object));
                audit.queue.add(Work::Constraint(key));
            }
            Ok(ObjectEvent::Synced) => {
                let seen = listed.take().unwrap_or_default();
                let mut constraints = audit.constraints.lock();
                let gone: Vec<ConstraintKey> = constraints
                    .keys()
                    .filter(|key| key.kind == kind && !seen.contains(key))
                    .cloned()
                    .collect();
                for key in gone {
                    constraints.remove(&key);
                    audit.queue.add(Work::Constraint(key));
                }
            }
            Ok(ObjectEvent::Deleted(key)) => {
                let key = key_of(key.name);
                audit.constraints.lock().remove(&key);
                audit.queue.add(Work::Constraint(key));
            }
            Ok(ObjectEvent::Undecodable(key)) => {
                tracing::error!(kind, constraint = key.name, "cannot decode constraint");
            }
            Err(error) => tracing::warn!(kind, %error, "watch of constraints failed"),
        }
    }
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
        let added = {
            let mut engine = self.engine.write();
            let added = engine.add_constraint(&object);
            self.mark_matched_kinds_in(&engine, key);
            added
        };
        match added {
            Ok(_) => {
                self.queue.add_after(Work::Kinds, PLAN_WINDOW);
            }
            Err(error) => {
                self.unload_constraint(key);
                self.write_constraint_error(&object, &error.to_string())
                    .await?;
            }
        }
        self.loaded_constraints.lock().insert(key.clone(), now);
        Ok(Action::AwaitChange)
    }

    fn unload_constraint(&self, key: &ConstraintKey) {
        self.loaded_constraints.lock().remove(key);
        self.unplanned.lock().remove(key);
        if self.engine.write().remove_constraint(key) {
            self.queue.add_after(Work::Kinds, PLAN_WINDOW);
        }
        self.results.lock().forget_constraint(key);
    }

    /// Says in the status why a constraint is not audited. It has no `totalViolations`: nothing is known.
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
                "operations": ["audit", "status"],
                "enforced": false,
                "errors": [{"code": "ingest_error", "message": message}],
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
        let name = name_of(object);
        let api: Api<DynamicObject> =
            Api::all_with(self.client.clone(), &resources::constraints(kind));
        let patch = json!({"metadata": {"uid": object["metadata"]["uid"]}, "status": status});
        let written = api
            .patch_status(&name, &PatchParams::default(), &Patch::Merge(&patch))
            .await;
        let action = format!("write the status of {kind} {name}");
        not_found_as_none(written).map_err(AuditError::new(action))?;
        Ok(())
    }
}
