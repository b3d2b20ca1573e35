//! Writes the status of a policy, after the compliance events for its parent.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use kube::Client;
use parking_lot::Mutex;
use reeve_api::operator_policy::{OperatorPolicy, OperatorPolicyStatus};
use reeve_runtime::events::{ComplianceEvent, EventRecorder, unique_now};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::Cached;

use super::status::{Report, add_history, is_newer_than_history};
use crate::error::PolicyError;
use crate::status::publisher::compliance_event;
use crate::status::write::write_status;
use crate::status::written::WrittenStatuses;

/// Writes statuses and events.
pub struct Publisher {
    client: Client,
    events: EventRecorder,
    history_length: usize,
    /// The statuses written last: the watch may not have delivered them yet.
    written: WrittenStatuses<OperatorPolicyStatus>,
    /// Policies that another process may have reported on, by UID, until this one has written their status.
    predecessor: Mutex<HashSet<String>>,
    /// The messages that were emitted but are not in the status yet, by UID: while the status cannot be written, each
    /// retry would emit them again.
    unwritten: Mutex<HashMap<String, Vec<(String, Timestamp)>>>,
}

impl Publisher {
    pub fn new(client: Client, events: EventRecorder, history_length: usize) -> Self {
        Self {
            client,
            events,
            history_length,
            written: WrittenStatuses::default(),
            predecessor: Mutex::default(),
            unwritten: Mutex::default(),
        }
    }

    /// A policy as `read` finds it, and its latest status: the one in it, or the one that was written since.
    pub fn latest(
        &self,
        read: impl FnOnce() -> Option<Cached<OperatorPolicy>>,
    ) -> Option<(Cached<OperatorPolicy>, OperatorPolicyStatus)> {
        self.written.latest(read)
    }

    /// Removes the status of a policy once the watch has delivered it.
    pub fn caught_up(&self, policy: &OperatorPolicy) {
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

    /// Emits the reports, then writes the status with them in its history, if it differs from the one before.
    pub async fn publish(
        &self,
        policy: &OperatorPolicy,
        before: &OperatorPolicyStatus,
        (mut status, reports): (OperatorPolicyStatus, Vec<Report>),
    ) -> Result<(), PolicyError> {
        for report in &reports {
            let at = self.emit(policy, before, report).await?;
            add_history(&mut status, &report.message, (at, self.history_length));
        }
        if status == *before {
            return Ok(());
        }
        let written = write_status(&self.client, policy, &status).await;
        let written = written.map_err(|error| error.of(policy))?;
        if let Some(written) = written {
            let uid = written.metadata.uid.as_deref().unwrap_or_default();
            self.predecessor.lock().remove(uid);
            self.unwritten.lock().remove(uid);
            self.written.remember(&written, &status);
        }
        Ok(())
    }

    /// Emits a report, unless that was done before the status could be written. Returns when it was emitted.
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
        let before = self.emitted_before((uid, before), &event).await;
        if let Some(at) = before.map_err(failed)? {
            return Ok(at);
        }
        let at = unique_now();
        self.events
            .emit_compliance_event_at(&event, at)
            .await
            .map_err(failed)?;
        let mut unwritten = self.unwritten.lock();
        let emitted = unwritten.entry(uid.to_owned()).or_default();
        emitted.push((event.message, at));
        Ok(at)
    }

    /// When this report was emitted without a status write: by this process, whose write failed, or by one before it.
    async fn emitted_before(
        &self,
        (uid, before): (&str, &OperatorPolicyStatus),
        event: &ComplianceEvent,
    ) -> Result<Option<Timestamp>, kube::Error> {
        let own = self.unwritten.lock().get(uid).and_then(|emitted| {
            let mut emitted = emitted.iter();
            let found = emitted.find(|(message, _)| *message == event.message);
            found.map(|(_, at)| *at)
        });
        if own.is_some() || !self.predecessor.lock().contains(uid) {
            return Ok(own);
        }
        let emitted = self.events.already_emitted(event).await?;
        Ok(emitted.filter(|at| is_newer_than_history(before, *at)))
    }
}
