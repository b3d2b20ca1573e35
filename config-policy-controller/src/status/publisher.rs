//! Writes the status of a policy, the compliance event for its parent, and events on the policy itself.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Client, Resource, ResourceExt};
use parking_lot::Mutex;
use reeve_api::Compliance;
use reeve_api::configuration_policy::{ConfigurationPolicy, ConfigurationPolicyStatus};
use reeve_runtime::events::{ComplianceEvent, EventRecorder, InformationalEvent, unique_now};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::Cached;

use crate::error::PolicyError;
use crate::messages;
use crate::metrics::{Fault, PolicyMetrics};
use crate::status::publish::{PublishStatus, StatusBefore};
use crate::status::update::{
    self, ConditionChange, EvaluatedPolicy, StatusUpdate, condition_messages, status_update,
};
use crate::status::write::write_status;
use crate::status::written::WrittenStatuses;

/// Writes statuses and events.
pub struct Publisher {
    client: Client,
    events: EventRecorder,
    metrics: PolicyMetrics,
    /// The statuses written last: the watch may not have delivered them yet.
    written: WrittenStatuses<ConfigurationPolicyStatus>,
    /// Policies that another process may have reported on: those that were there before this one,
    /// by UID, until this one has written their status.
    predecessor: Mutex<HashSet<String>>,
    /// The compliance messages that were emitted but are not in the status yet, by UID: while the status cannot
    /// be written, each retry would emit them again.
    unwritten: Mutex<HashMap<String, (String, Timestamp)>>,
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
            match self.already_reported(policy, before, &event).await? {
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
            written: WrittenStatuses::default(),
            predecessor: Mutex::default(),
            unwritten: Mutex::default(),
        }
    }

    /// A policy as `read` finds it, and its latest status: the one in it, or the one that was written since.
    pub fn latest(
        &self,
        read: impl FnOnce() -> Option<Cached<ConfigurationPolicy>>,
    ) -> Option<(Cached<ConfigurationPolicy>, ConfigurationPolicyStatus)> {
        self.written.latest(read)
    }

    /// Removes the status of a policy once the watch has delivered it.
    pub fn caught_up(&self, policy: &ConfigurationPolicy) {
        self.written.caught_up(policy);
    }

    /// Adds policies that existed before this process worked, by UID.
    pub fn inherit(&self, policies: impl IntoIterator<Item = String>) {
        self.predecessor.lock().extend(policies);
    }

    /// Removes the entries of a deleted policy.
    pub fn forget(&self, uid: &str) {
        self.predecessor.lock().remove(uid);
        self.unwritten.lock().remove(uid);
        self.written.forget(uid);
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
        let uid = policy.metadata.uid.clone().unwrap_or_default();
        let emitted = (event.message.clone(), at);
        self.unwritten.lock().insert(uid, emitted);
        Ok(())
    }

    /// When the same event was emitted without a status write: by this process, whose
    /// write failed, or by one before it, which was killed in between. The API server is asked
    /// about the latter only for policies that such a process can have known.
    async fn already_reported(
        &self,
        policy: &ConfigurationPolicy,
        before: &ConfigurationPolicyStatus,
        event: &ComplianceEvent,
    ) -> Result<Option<Timestamp>, PolicyError> {
        let uid = policy.metadata.uid.as_deref().unwrap_or_default();
        let unwritten = self.unwritten.lock().get(uid).cloned();
        if let Some((_, at)) = unwritten.filter(|(message, _)| *message == event.message) {
            return Ok(Some(at));
        }
        if !self.predecessor.lock().contains(uid) {
            return Ok(None);
        }
        let failed = |source| PolicyError::Event {
            policy: ObjectKey::of(policy),
            source,
        };
        let emitted_at = self.events.already_emitted(event).await.map_err(failed)?;
        Ok(emitted_at.filter(|at| update::is_newer_than_history(before, *at)))
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
            self.remember(&written, status);
        }
        Ok(())
    }

    fn remember(&self, written: &ConfigurationPolicy, status: &ConfigurationPolicyStatus) {
        if let Some(uid) = &written.metadata.uid {
            self.predecessor.lock().remove(uid);
            self.unwritten.lock().remove(uid);
        }
        self.written.remember(written, status);
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
