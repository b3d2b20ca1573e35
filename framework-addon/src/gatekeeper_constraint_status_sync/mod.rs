//! The relay: reports the results of Gatekeeper's audit as the compliance of the policies that the constraints come from.
//!
//! Template sync applies the constraints, as all templates. Once a constraint is applied, the relay reads the audit's results
//! from its status, and reports each new result. It evaluates nothing itself.

mod error;
pub mod finding;
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
use crate::compliance_events::sent::{SentReports, TemplateObjectState};
use crate::gatekeeper;
use crate::kinds::KIND_SERVED_SOON_RETRY;
use crate::replica::Replica;
use crate::reporter::{ComplianceReporter, ReportedTemplate};
use crate::templates::{self, Identity};
use error::RelayError;
use webhook::Webhook;

/// The controller's name in logs, metrics and events.
pub const CONTROLLER: &str = "gatekeeper-constraint-status-sync";

/// The reconciler of the relay.
pub struct ConstraintStatusSync {
    caches: Caches,
    reporter: ComplianceReporter,
    webhook: Webhook,
    /// The state of templates, which template sync writes.
    template_states: SentReports,
}

impl ConstraintStatusSync {
    /// Reads constraints of the managed cluster in `caches`. `template_states` has the constraints that template sync has applied.
    pub fn new(caches: Caches, webhook: Webhook, template_states: SentReports) -> Arc<Self> {
        Arc::new(Self {
            reporter: ComplianceReporter::new(&caches, CONTROLLER),
            caches,
            webhook,
            template_states,
        })
    }

    /// Reports new results about the constraints of one policy.
    pub async fn reconcile(self: Arc<Self>, name: String) -> Result<Action, RelayError> {
        let policy = match self.caches.managed.policy(&name) {
            Some(Cached::Valid(policy)) if policy.metadata.deletion_timestamp.is_none() => policy,
            // The watch has logged it.
            Some(Cached::Invalid(_)) => return Ok(Action::AwaitChange),
            _ => {
                self.reporter.sent_reports.forget(&name);
                self.caches.objects.unwatch(&Reader::Constraints(name));
                return Ok(Action::AwaitChange);
            }
        };
        if self.caches.uninstalling.is_on() {
            return Ok(Action::AwaitChange);
        }
        // Template sync reports a spec that cannot be decoded.
        let Ok(spec) = policy.typed_spec() else {
            return Ok(Action::AwaitChange);
        };
        let definitions = spec.policy_templates.iter();
        let identities = definitions.filter_map(|it| templates::identify(&it.object_definition));
        let reads = self.caches.objects.begin(&Reader::Constraints(name));
        let (mut next, mut failed) = (Action::AwaitChange, None);
        for constraint in identities.filter(|identity| gatekeeper::is_constraint(&identity.kind)) {
            match self
                .reconcile_constraint(&policy, &constraint, &reads)
                .await
            {
                Ok(Action::AwaitChange) => {}
                Ok(soon) => next = soon,
                Err(error) => failed = Some(error),
            }
        }
        reads.end();
        failed.map_or(Ok(next), Err)
    }

    async fn reconcile_constraint(
        &self,
        policy: &Replica,
        constraint: &Identity,
        reads: &Batch<Reader>,
    ) -> Result<Action, RelayError> {
        // Template sync reports templates without a name.
        let Some(name) = &constraint.name else {
            return Ok(Action::AwaitChange);
        };
        let object = match self.read_constraint(constraint, name, reads).await? {
            ReadConstraint::Present(object) => object,
            ReadConstraint::ServedSoon => return Ok(Action::RequeueAfter(KIND_SERVED_SOON_RETRY)),
            ReadConstraint::Absent => return Ok(Action::AwaitChange),
        };
        let metadata = ObjectMeta::deserialize(&object["metadata"]).unwrap_or_default();
        let object_state = self.template_states.of(policy, name).object_state;
        if templates::policy_of(&metadata) != Some(policy.name())
            || object_state != TemplateObjectState::Applied
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

    async fn read_constraint(
        &self,
        constraint: &Identity,
        name: &str,
        reads: &Batch<Reader>,
    ) -> Result<ReadConstraint, RelayError> {
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
            Ok(object) => Ok(object.map_or(ReadConstraint::Absent, ReadConstraint::Present)),
            // Its kind is no longer served, or not yet.
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

    fn unserved(&self, constraint: &Identity) -> ReadConstraint {
        if self.caches.kinds.is_defined(&constraint.kind) {
            ReadConstraint::ServedSoon
        } else {
            ReadConstraint::Absent
        }
    }
}

enum ReadConstraint {
    Present(Arc<Value>),
    /// Its kind is about to be served.
    ServedSoon,
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
