//! Writes the status of a policy, the compliance event for its parent, and events on the policy itself.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Client, Resource, ResourceExt};
use reeve_api::Compliance;
use reeve_api::configuration_policy::{ConfigurationPolicy, ConfigurationPolicyStatus};
use reeve_runtime::events::{ComplianceEvent, EventRecorder, InformationalEvent, unique_now};
use reeve_runtime::object::ObjectKey;

use crate::error::PolicyError;
use crate::messages;
use crate::metrics::{Fault, PolicyMetrics};
use crate::status::publish::{PublishStatus, StatusBefore};
use crate::status::reports::Reports;
use crate::status::update::{
    self, ConditionChange, EvaluatedPolicy, StatusUpdate, condition_messages, status_update,
};
use crate::status::write::write_status;

/// Writes statuses and events.
pub struct Publisher {
    client: Client,
    events: EventRecorder,
    metrics: PolicyMetrics,
    /// What was reported.
    pub reports: Reports<ConfigurationPolicyStatus>,
}

impl PublishStatus for Publisher {
    async fn report_interim(
        &self,
        evaluated: EvaluatedPolicy<'_>,
        before: &ConfigurationPolicyStatus,
        after: ConfigurationPolicyStatus,
    ) -> Result<ConfigurationPolicyStatus, PolicyError> {
        let update = self
            .report_compliance(evaluated, before, after, ConditionChange::Changed)
            .await?;
        self.emit_status_event(evaluated.policy, &update.status);
        Ok(update.status)
    }

    async fn publish_status(
        &self,
        evaluated: EvaluatedPolicy<'_>,
        before: StatusBefore<'_>,
        after: ConfigurationPolicyStatus,
        verdicts: ConditionChange,
    ) -> Result<ConfigurationPolicyStatus, PolicyError> {
        let policy = evaluated.policy;
        let update = self
            .report_compliance(evaluated, before.latest, after, verdicts)
            .await?;
        if !update.write && !before.has_unwritten() {
            return Ok(before.latest.clone());
        }
        self.write(policy, &update.status).await?;
        if update.events {
            self.emit_status_event(policy, &update.status);
        }
        Ok(update.status)
    }

    fn emit_policy_event(&self, policy: &ConfigurationPolicy, status: &ConfigurationPolicyStatus) {
        let state = status.compliance().or_else(|| update::overall(status));
        let event = InformationalEvent {
            reason: messages::INFO_EVENT,
            action: &messages::info_action(&policy.name_any()),
            note: &update::default_message(status, state),
            warning: state != Some(Compliance::Compliant),
        };
        self.events.emit_event(&policy.object_ref(&()), &event);
    }
}

impl Publisher {
    /// Computes the new status and creates the compliance event for it, if one is due.
    async fn report_compliance(
        &self,
        evaluated: EvaluatedPolicy<'_>,
        before: &ConfigurationPolicyStatus,
        after: ConfigurationPolicyStatus,
        verdicts: ConditionChange,
    ) -> Result<StatusUpdate, PolicyError> {
        let policy = evaluated.policy;
        let mut update = status_update(evaluated, before, after.clone(), verdicts, unique_now());
        if update.events
            && let Some(event) = parent_event(policy, &update)
        {
            let uid = policy.metadata.uid.as_deref().unwrap_or_default();
            let latest = (uid, before.history.as_deref());
            let emitted = self.reports.emitted_before(latest, &event, &self.events);
            let failed = |source| PolicyError::Event {
                policy: ObjectKey::of(policy),
                source,
            };
            match emitted.await.map_err(failed)? {
                Some(at) => update = status_update(evaluated, before, after, verdicts, at),
                None => {
                    self.emit_compliance_event(policy, &event, update.at)
                        .await?;
                }
            }
        }
        Ok(update)
    }

    /// Writes on behalf of a controller.
    pub fn new(client: Client, events: EventRecorder, metrics: PolicyMetrics) -> Self {
        Self {
            client,
            events,
            metrics,
            reports: Reports::default(),
        }
    }

    async fn emit_compliance_event(
        &self,
        policy: &ConfigurationPolicy,
        event: &ComplianceEvent,
        at: Timestamp,
    ) -> Result<(), PolicyError> {
        let failed = |source| PolicyError::Event {
            policy: ObjectKey::of(policy),
            source,
        };
        // The status gets the same time: those who read both see one report, not two.
        self.events
            .emit_compliance_event_at(event, at)
            .await
            .map_err(failed)?;
        let uid = policy.metadata.uid.as_deref().unwrap_or_default();
        self.reports.emitted_only(uid, event.message.clone(), at);
        Ok(())
    }

    fn emit_status_event(&self, policy: &ConfigurationPolicy, status: &ConfigurationPolicyStatus) {
        let (reason, action) = messages::STATUS_EVENT;
        let state = status.compliant.as_deref().unwrap_or_default();
        let event = InformationalEvent {
            reason,
            action,
            note: &messages::status_note(state, &condition_messages(status)),
            warning: state == Compliance::NonCompliant.as_str(),
        };
        self.events.emit_event(&policy.object_ref(&()), &event);
    }

    async fn write(
        &self,
        policy: &ConfigurationPolicy,
        status: &ConfigurationPolicyStatus,
    ) -> Result<(), PolicyError> {
        let written = write_status(&self.client, policy, status).await;
        let written = written
            .map_err(|error| error.of(policy))
            .inspect_err(|error| {
                if matches!(error, PolicyError::Status { .. }) {
                    self.metrics.failed(policy, Fault::StatusUpdate);
                }
            })?;
        if let Some(written) = written {
            self.reports.remember(&written, status);
        }
        Ok(())
    }
}

fn parent_event(policy: &ConfigurationPolicy, update: &StatusUpdate) -> Option<ComplianceEvent> {
    let compliance = update.status.compliance();
    let compliance = compliance.unwrap_or(Compliance::NonCompliant);
    compliance_event(policy, compliance, update.message.clone())
}

/// The compliance event for the policy that owns this one; `None` for a policy that stands alone.
pub fn compliance_event<P: Resource<DynamicType = ()>>(
    policy: &P,
    compliance: Compliance,
    message: String,
) -> Option<ComplianceEvent> {
    let owner = policy.meta().owner_references.as_ref()?.first()?;
    Some(ComplianceEvent {
        policy: ObjectReference {
            api_version: Some(owner.api_version.clone()),
            kind: Some(owner.kind.clone()),
            name: Some(owner.name.clone()),
            namespace: policy.namespace(),
            uid: Some(owner.uid.clone()),
            ..ObjectReference::default()
        },
        template_namespace: policy.namespace(),
        template_name: policy.name_any(),
        related: Some(ObjectReference {
            resource_version: None,
            ..policy.object_ref(&())
        }),
        compliance,
        message,
    })
}

#[cfg(test)]
mod tests;
