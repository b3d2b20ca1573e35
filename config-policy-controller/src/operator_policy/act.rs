//! Performs the steps of a reconcile, and records what came of them.

use std::collections::HashSet;
use std::sync::Arc;

use reeve_runtime::discovery::ServedKind;
use reeve_runtime::object::error_chain;
use reeve_runtime::secrets::Secrets;
use reeve_runtime::strict::Write as Strict;
use serde_json::{Value, json};

use super::decide::object::{location, name};
use super::decide::state::{Interim, Part, Related, State, Step, Write};
use super::decide::{Mode, Plan};
use super::status::StatusBuilder;
use crate::evaluate::cluster::{Cluster, Live, WriteError, text};
use crate::messages::operator as messages;
use crate::status::finding::Location;
use kube::core::GroupVersionKind;

/// Writes to the target cluster.
pub trait Writer: Sync {
    /// Performs a write on an object of a part, and returns the object as it is then.
    fn write(
        &self,
        part: Part,
        write: &Write,
    ) -> impl Future<Output = Result<Option<Value>, WriteError>> + Send;

    /// Creates a namespace. One that exists is fine.
    fn create_namespace(&self, name: &str) -> impl Future<Output = Result<(), WriteError>> + Send;
}

/// What came of the steps.
#[derive(Debug, Default)]
pub struct Acted {
    /// Why writes failed.
    pub errors: Vec<String>,
    /// Another client wrote in between: the watch is about to deliver its write.
    pub conflict: bool,
    /// Whether something was written.
    pub wrote: bool,
}

/// Performs the steps in the given mode.
pub async fn act(
    writer: &impl Writer,
    (mode, secrets): (Mode, &Secrets),
    plan: Plan,
    status: &mut StatusBuilder<'_>,
) -> Acted {
    let mut acted = Acted {
        errors: plan.errors,
        ..Acted::default()
    };
    // Parts with a state that is new, and parts whose writes failed.
    let (mut new, mut failed) = (HashSet::new(), HashSet::new());
    for step in plan.steps {
        if let Some(before) = &step.before
            && status.set(before)
        {
            new.insert(step.part);
        }
        let is_held = step.needs.iter().any(|part| failed.contains(part));
        if mode == Mode::Inform || step.writes.is_empty() {
            continue;
        }
        if is_held {
            failed.insert(step.part);
            continue;
        }
        if step.interim == Interim::Reported && new.contains(&step.part) {
            status.report_interim();
        }
        match perform(writer, &step, &mut acted).await {
            Ok(written) => {
                if let Some(after) = step.after {
                    status.set(&with_identity(after, written.as_ref()));
                }
            }
            Err(error) => {
                failed.insert(step.part);
                acted.conflict |= matches!(error, WriteError::Conflict(_));
                if !matches!(error, WriteError::Conflict(_)) {
                    let error = error.redacted(secrets);
                    acted.errors.push(describe(&step, error.text()));
                }
            }
        }
    }
    acted
}

/// Performs the writes of a step until one fails. Returns the last written object.
async fn perform(
    writer: &impl Writer,
    step: &Step,
    acted: &mut Acted,
) -> Result<Option<Value>, WriteError> {
    let mut written = None;
    for write in &step.writes {
        let mut result = writer.write(step.part, write).await;
        if let (Err(WriteError::NoNamespace(_)), Write::Create(object)) = (&result, write) {
            let namespace = text(object, "/metadata/namespace");
            writer.create_namespace(namespace).await?;
            result = writer.write(step.part, write).await;
        }
        written = match (result, write) {
            // It is gone already.
            (Err(WriteError::NotFound(_)), Write::Delete(_)) => None,
            (result, _) => result?,
        };
        acted.wrote = true;
    }
    Ok(written)
}

/// The state with name and UID of the object that was created.
fn with_identity(mut state: State, written: Option<&Value>) -> State {
    if let (Related::Set(objects), Some(written)) = (&mut state.related, written) {
        for object in objects {
            let Some(properties) = &mut object.properties else {
                continue;
            };
            if properties.created_by_policy == Some(true) && properties.uid.is_none() {
                properties.uid = Some(text(written, "/metadata/uid").to_owned());
                let metadata = object
                    .object
                    .as_mut()
                    .and_then(|object| object.metadata.as_mut());
                if let Some(metadata) = metadata {
                    metadata.name = Some(name(written).to_owned());
                }
            }
        }
    }
    state
}

fn describe(step: &Step, error: &str) -> String {
    let kind = step.part.kind();
    match step.writes.first() {
        Some(Write::Create(_)) => messages::creating(kind, error),
        Some(Write::Delete(_)) => messages::deleting_object(&format!("the {kind}"), error),
        Some(Write::ReplaceStatus(_)) => {
            messages::updating("the Subscription status to point to the CSV", error)
        }
        Some(Write::Replace(_)) if step.part == Part::InstallPlan => {
            messages::updating("approved InstallPlan", error)
        }
        _ => messages::updating(&format!("the {kind}"), error),
    }
}

impl Writer for Live {
    async fn write(&self, part: Part, write: &Write) -> Result<Option<Value>, WriteError> {
        let kind = served(self, &part.gvk()).await?;
        let at = |object: &Value| {
            let (name, namespace) = location(object);
            Location::new(namespace, name)
        };
        match write {
            Write::Create(object) => self
                .create(&kind, &at(object), object, None)
                .await
                .map(Some),
            Write::Replace(object) => self
                .replace(&kind, &at(object), object, Strict::Real)
                .await
                .map(Some),
            Write::ReplaceStatus(object) => self
                .replace_status(&kind, &at(object), object)
                .await
                .map(Some),
            Write::Delete(object) => delete(self, &kind, object).await.map(|()| None),
        }
    }

    async fn create_namespace(&self, name: &str) -> Result<(), WriteError> {
        let kind = served(self, &GroupVersionKind::gvk("", "v1", "Namespace")).await?;
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name},
        });
        let location = Location::new("", name);
        match self.create(&kind, &location, &namespace, None).await {
            Ok(_) | Err(WriteError::Conflict(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Deletes the object that was read. Without a UID it could be another one of its name.
async fn delete(cluster: &Live, kind: &ServedKind, object: &Arc<Value>) -> Result<(), WriteError> {
    let uid = text(object, "/metadata/uid");
    let (name, namespace) = location(object);
    if uid.is_empty() {
        return Err(WriteError::Other(messages::no_uid(namespace, name)));
    }
    let location = Location::new(namespace, name);
    cluster.delete(kind, &location, uid).await.map(drop)
}

async fn served(cluster: &Live, kind: &GroupVersionKind) -> Result<ServedKind, WriteError> {
    let served = cluster.kind(kind).await;
    served.map_err(|error| WriteError::Other(error_chain(&error)))
}
