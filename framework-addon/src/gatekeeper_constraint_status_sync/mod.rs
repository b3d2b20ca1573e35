//! Gatekeeper's part: what its audit finds, told as the compliance of the policies that the constraints come from.
//!
//! The constraints themselves are template sync's business, as all templates are. Once a constraint is in place this
//! controller reads what the audit has written into its status, and passes it on whenever it says something new. It never
//! evaluates anything.

mod error;
mod finding;
mod messages;
pub mod webhook;

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use reeve_runtime::dependencies::{Batch, ReadError};
use reeve_runtime::object::StatusReason;
use reeve_runtime::queue::Action;
use reeve_runtime::watch::Cached;
use serde::Deserialize;
use serde_json::Value;

use crate::caches::{Caches, Reader};
use crate::compliance_events::sent::{SentReports, TemplateObject};
use crate::gatekeeper;
use crate::kinds::KIND_IS_COMING;
use crate::replica::Replica;
use crate::reporter::{ComplianceReporter, ReportedTemplate};
use crate::templates::{self, Identity};
use error::RelayError;
use webhook::Webhook;

/// The controller's name in logs, metrics and events.
pub const CONTROLLER: &str = "gatekeeper-constraint-status-sync";

/// Passes on what the audit finds.
pub struct ConstraintStatusSync {
    caches: Caches,
    reporter: ComplianceReporter,
    webhook: Webhook,
    /// What template sync remembers.
    placed: SentReports,
}

impl ConstraintStatusSync {
    /// Reads constraints of `caches`'s managed cluster. `placed` is template sync's memory, which tells which constraints
    /// are as they should be.
    pub fn new(caches: Caches, webhook: Webhook, placed: SentReports) -> Arc<Self> {
        Arc::new(Self {
            reporter: ComplianceReporter::new(&caches, CONTROLLER),
            caches,
            webhook,
            placed,
        })
    }

    /// Passes on what is new about the constraints of one policy.
    pub async fn reconcile(self: Arc<Self>, name: String) -> Result<Action, RelayError> {
        let policy = match self.caches.managed.policy(&name) {
            Some(Cached::Valid(policy)) if policy.metadata.deletion_timestamp.is_none() => policy,
            // The watch has logged it.
            Some(Cached::Invalid(_)) => return Ok(Action::AwaitChange),
            _ => {
                self.reporter.memory.forget(&name);
                self.caches.objects.unwatch(&Reader::Constraints(name));
                return Ok(Action::AwaitChange);
            }
        };
        if self.caches.uninstalling.is_on() {
            return Ok(Action::AwaitChange);
        }
        // Template sync says what is wrong with a spec that is none.
        let Ok(spec) = policy.typed_spec() else {
            return Ok(Action::AwaitChange);
        };
        let definitions = spec.policy_templates.iter();
        let identities = definitions.filter_map(|it| templates::identify(&it.object_definition));
        let reads = self.caches.objects.begin(&Reader::Constraints(name));
        let (mut next, mut failed) = (Action::AwaitChange, None);
        for constraint in identities.filter(|identity| gatekeeper::is_constraint(&identity.kind)) {
            match self.constraint(&policy, &constraint, &reads).await {
                Ok(Action::AwaitChange) => {}
                Ok(soon) => next = soon,
                Err(error) => failed = Some(error),
            }
        }
        reads.end();
        failed.map_or(Ok(next), Err)
    }

    async fn constraint(
        &self,
        policy: &Replica,
        constraint: &Identity,
        reads: &Batch<Reader>,
    ) -> Result<Action, RelayError> {
        // Template sync speaks of templates without a name.
        let Some(name) = &constraint.name else {
            return Ok(Action::AwaitChange);
        };
        let object = match self.read(constraint, name, reads).await? {
            Read::There(object) => object,
            Read::Coming => return Ok(Action::RequeueAfter(KIND_IS_COMING)),
            Read::Absent => return Ok(Action::AwaitChange),
        };
        let metadata = ObjectMeta::deserialize(&object["metadata"]).unwrap_or_default();
        let stance = self.placed.of(policy, name).stance;
        if templates::policy_of(&metadata) != Some(policy.name())
            || stance != TemplateObject::Applied
        {
            return Ok(Action::AwaitChange);
        }
        let Some(finding) = finding::of(&object, self.webhook.validates()) else {
            return Ok(Action::AwaitChange);
        };
        let about = ReportedTemplate {
            template: name.clone(),
            namespace: None,
            related: Some(reference(constraint, &metadata)),
        };
        if self.reporter.needs_report(policy, &about, &finding) {
            let sent = self.reporter.send(policy, &about, &finding).await;
            sent.map_err(|source| RelayError::Report {
                constraint: name.clone(),
                source,
            })?;
        }
        Ok(Action::AwaitChange)
    }

    async fn read(
        &self,
        constraint: &Identity,
        name: &str,
        reads: &Batch<Reader>,
    ) -> Result<Read, RelayError> {
        let kind = match self.caches.kinds.find(&constraint.kind).await {
            Ok(kind) => kind,
            Err(error) if error.is_absent() => return Ok(self.unserved(constraint)),
            Err(source) => {
                return Err(RelayError::Discover {
                    constraint: name.to_owned(),
                    source,
                });
            }
        };
        match reads.get(&kind, "", name).await {
            Ok(object) => Ok(object.map_or(Read::Absent, Read::There)),
            // Its kind has just gone, or comes.
            Err(ReadError::Refused(error))
                if StatusReason::of(&error) == StatusReason::NotFound =>
            {
                self.caches.kinds.forget_group(&constraint.kind.group);
                Ok(self.unserved(constraint))
            }
            Err(source) => Err(RelayError::Read {
                constraint: name.to_owned(),
                source,
            }),
        }
    }

    fn unserved(&self, constraint: &Identity) -> Read {
        if self.caches.kinds.is_defined(&constraint.kind) {
            Read::Coming
        } else {
            Read::Absent
        }
    }
}

enum Read {
    There(Arc<Value>),
    /// Its kind is about to be served.
    Coming,
    Absent,
}

fn reference(constraint: &Identity, metadata: &ObjectMeta) -> ObjectReference {
    let kind = &constraint.kind;
    ObjectReference {
        api_version: Some(format!("{}/{}", kind.group, kind.version)),
        kind: Some(kind.kind.clone()),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
        ..ObjectReference::default()
    }
}
