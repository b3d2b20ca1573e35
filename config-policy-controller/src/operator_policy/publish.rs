//! Writes the status of a policy, after the compliance events for its parent.

use jiff::Timestamp;
use kube::Client;
use reeve_api::operator_policy::{OperatorPolicy, OperatorPolicyStatus};
use reeve_runtime::events::{EventRecorder, unique_now};
use reeve_runtime::object::ObjectKey;

use super::status::{Report, add_history};
use crate::error::PolicyError;
use crate::status::publisher::compliance_event;
use crate::status::reports::Reports;
use crate::status::write::write_status;

/// Writes statuses and events.
pub struct Publisher {
    client: Client,
    events: EventRecorder,
    history_length: usize,
    /// What was reported.
    pub reports: Reports<OperatorPolicyStatus>,
}

impl Publisher {
    pub fn new(client: Client, events: EventRecorder, history_length: usize) -> Self {
        Self {
            client,
            events,
            history_length,
            reports: Reports::default(),
        }
    }

    /// Emits the reports, then writes the status with them in its history, if it differs from the one before.
    pub async fn publish(
        &self,
        policy: &OperatorPolicy,
        before: &OperatorPolicyStatus,
        (mut status, reports): (OperatorPolicyStatus, Vec<Report>),
    ) -> Result<(), PolicyError> {
        let uid = policy.metadata.uid.as_deref().unwrap_or_default();
        let messages: Vec<&str> = reports
            .iter()
            .map(|report| report.message.as_str())
            .collect();
        let known = self.reports.newest_emitted(uid, &messages);
        for (index, report) in reports.iter().enumerate() {
            let at = match known.get(index) {
                Some(at) => *at,
                None => self.emit(policy, before, report).await?,
            };
            add_history(&mut status, &report.message, (at, self.history_length));
        }
        if status == *before {
            return Ok(());
        }
        let written = write_status(&self.client, policy, &status).await;
        let written = written.map_err(|error| error.of(policy))?;
        if let Some(written) = written {
            self.reports.remember(&written, &status);
        }
        Ok(())
    }

    /// Emits a report, unless a process before this one did so and could not write the status. Returns when it was emitted.
    async fn emit(
        &self,
        policy: &OperatorPolicy,
        before: &OperatorPolicyStatus,
        report: &Report,
    ) -> Result<Timestamp, PolicyError> {
        let event = compliance_event(policy, report.compliance, report.message.clone());
        let Some(event) = event else {
            return Ok(unique_now());
        };
        let failed = |source| PolicyError::Event {
            policy: ObjectKey::of(policy),
            source,
        };
        let uid = policy.metadata.uid.as_deref().unwrap_or_default();
        let latest = (uid, before.history.as_deref());
        let emitted = self
            .reports
            .emitted_by_predecessor(latest, &event, &self.events);
        if let Some(at) = emitted.await.map_err(failed)? {
            return Ok(at);
        }
        let at = unique_now();
        self.events
            .emit_compliance_event_at(&event, at)
            .await
            .map_err(failed)?;
        self.reports.emitted(uid, event.message, at);
        Ok(at)
    }
}
