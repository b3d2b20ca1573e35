//! Constraint templates: compiles them, installs the kinds of their constraints, and writes their statuses.

use std::sync::Arc;

use reeve_gatekeeper::client::ConstraintKey;
use reeve_gatekeeper::evaluator::Compiled;
use reeve_gatekeeper::template::{ConstraintTemplate, ErrorCode, TemplateError};
use reeve_runtime::queue::Action;
use serde_json::Value;

use crate::definitions::KindError;
use crate::error::AuditError;
use crate::follow::{Change, follow};
use crate::resources::{self, is_terminating, loaded, name_of};
use crate::state::{Audit, Work};
use crate::template_status::StatusError;
use crate::{constraints, definitions, messages, quarantine};

/// Keeps the templates, and enqueues each change.
pub(crate) async fn watch(audit: &Arc<Audit>) {
    let (client, resource) = (audit.client.clone(), resources::templates());
    let on_change = |change| {
        let mut templates = audit.templates.lock();
        let name = match change {
            Change::Present(object) => {
                let name = name_of(&object);
                templates.insert(name.clone(), Arc::new(object));
                name
            }
            Change::Gone(key) => {
                templates.remove(&key.name);
                key.name
            }
            Change::Synced => return,
        };
        audit.queue.add(Work::Template(name));
    };
    follow(client, resource, on_change).await;
}

impl Audit {
    /// Loads a template, or unloads it when it is gone.
    pub(crate) async fn template(self: &Arc<Self>, name: &str) -> Result<Action, AuditError> {
        let object = self.templates.lock().get(name).cloned();
        let Some(object) = object.filter(|object| !is_terminating(object)) else {
            self.unload_template(name);
            return Ok(Action::AwaitChange);
        };
        let now = loaded(&object);
        if self.loaded_templates.lock().get(name) == Some(&now) {
            return Ok(Action::AwaitChange);
        }
        let errors = match self.load_template(&object).await {
            Ok((template, quarantine)) => {
                match definitions::apply_kind(&self.client, &template, &object).await {
                    Ok(()) => {
                        self.watch_constraints(&template.kind);
                        quarantine.into_iter().collect()
                    }
                    Err(KindError::Refused(reason)) => vec![StatusError {
                        code: ErrorCode::Create.as_str(),
                        message: messages::refused_definition(&reason),
                    }],
                    Err(KindError::Request(error)) => return Err(error),
                }
            }
            Err(error) if error.code == ErrorCode::Unavailable => {
                return Err(AuditError::Unavailable {
                    name: name.to_owned(),
                    reason: error.message,
                });
            }
            Err(error) => vec![StatusError {
                code: error.code.as_str(),
                message: error.status_message(),
            }],
        };
        self.write_template_status(&object, &errors).await?;
        self.loaded_templates.lock().insert(name.to_owned(), now);
        Ok(Action::AwaitChange)
    }

    /// Compiles a template and replaces the one before. Its constraints are reviewed anew. One that was quarantined is so again until
    /// it is changed, and its code does not run. Also returns whether it is quarantined.
    async fn load_template(
        &self,
        object: &Arc<Value>,
    ) -> Result<(ConstraintTemplate, Option<StatusError>), TemplateError> {
        let template = ConstraintTemplate::parse(object)?;
        let evaluator = self.engine.read().evaluator();
        let compiled = if let Some(reason) = quarantine::remembered(object) {
            evaluator.quarantine(&template.kind, &reason);
            Compiled {
                is_referential: false,
            }
        } else {
            let (evaluator, template) = (Arc::clone(&evaluator), template.clone());
            // Compiling takes as long as the limits allow: it must hold neither the lock of the engine nor a thread of the runtime.
            let compiled = tokio::task::spawn_blocking(move || evaluator.load(&template));
            let compiled = compiled.await;
            compiled.map_err(|error| TemplateError::ingest(error.to_string()))??
        };
        let quarantine = evaluator.quarantined(&template.kind);
        let dropped = {
            let mut engine = self.engine.write();
            let dropped = engine.put_template(template.clone(), compiled);
            self.count_constraints(&engine);
            self.count_quarantined(&engine);
            dropped
        };
        for (key, error) in dropped {
            tracing::warn!(kind = key.kind, constraint = key.name, %error, "constraint is no longer valid");
        }
        let of_kind = self.constraints.lock();
        let of_kind = of_kind.keys().filter(|key| key.kind == template.kind);
        for key in of_kind {
            self.loaded_constraints.lock().remove(key);
            self.queue.add(Work::Constraint(key.clone()));
        }
        Ok((template, quarantine.map(StatusError::quarantine)))
    }

    fn unload_template(&self, name: &str) {
        self.loaded_templates.lock().remove(name);
        let kind = {
            let engine = self.engine.read();
            let mut templates = engine.templates();
            let template = templates.find(|template| template.name == name);
            template.map(|template| template.kind.clone())
        };
        let Some(kind) = kind else {
            return;
        };
        {
            let mut engine = self.engine.write();
            engine.remove_template(&kind);
            self.count_constraints(&engine);
            self.count_quarantined(&engine);
        }
        self.constraint_watches.lock().remove(&kind);
        let mut gone: Vec<ConstraintKey> = Vec::new();
        self.constraints.lock().retain(|key, _| {
            if key.kind == kind {
                gone.push(key.clone());
            }
            key.kind != kind
        });
        for key in gone {
            self.loaded_constraints.lock().remove(&key);
            self.results.lock().forget_constraint(&key);
        }
        self.queue.add(Work::Kinds);
    }

    fn watch_constraints(self: &Arc<Self>, kind: &str) {
        let mut watches = self.constraint_watches.lock();
        watches
            .entry(kind.to_owned())
            .or_insert_with(|| constraints::start(self, kind));
    }
}
