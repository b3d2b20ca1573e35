//! Says what is new about a template, and nothing twice.

use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use reeve_api::Compliance;
use reeve_runtime::events::{ComplianceEvent, EventRecorder, unique_now};
use reeve_runtime::watch::Cached;

use crate::caches::Caches;
use crate::cluster::Cluster;
use crate::compliance_events::sent::{self, Sent, SentReports};
use crate::compliance_events::{ComplianceEvents, Report, newest_first};
use crate::replica::Replica;

/// What a finding is about.
#[derive(Clone, Debug)]
pub struct ReportedTemplate {
    /// The name under which the template is reported.
    pub template: String,
    /// The object's namespace; absent when its kind is cluster-scoped.
    pub namespace: Option<String>,
    /// The object, as far as it is known.
    pub related: Option<ObjectReference>,
}

/// What there is to say about a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The compliance that it announces.
    pub compliance: Compliance,
    /// What people read.
    pub text: String,
}

impl Finding {
    /// Says that the template is as it should be.
    pub fn compliant(text: impl Into<String>) -> Self {
        Self {
            compliance: Compliance::Compliant,
            text: text.into(),
        }
    }

    /// Says that it is not.
    pub fn violation(text: impl Into<String>) -> Self {
        Self {
            compliance: Compliance::NonCompliant,
            text: text.into(),
        }
    }

    /// As the history has it.
    pub fn message(&self) -> String {
        format!("{}; {}", self.compliance, self.text)
    }
}

/// Makes compliance events on behalf of one controller.
pub struct ComplianceReporter {
    managed: Cluster,
    events_by_policy: ComplianceEvents,
    /// Events of the controller.
    pub events: EventRecorder,
    /// What has been said.
    pub sent_reports: SentReports,
}

impl ComplianceReporter {
    /// Reports about the policies of `caches`'s managed cluster.
    pub fn new(caches: &Caches, controller: &'static str) -> Self {
        Self {
            managed: caches.managed.clone(),
            events_by_policy: caches.reports.clone(),
            events: caches.managed.events(controller),
            sent_reports: SentReports::default(),
        }
    }

    /// Whether a finding has not been made yet, or is no longer the last word.
    pub fn needs_report(
        &self,
        policy: &Replica,
        about: &ReportedTemplate,
        finding: &Finding,
    ) -> bool {
        let state = self.sent_reports.of(policy, &about.template);
        let reports = self.reports(policy, &about.template);
        sent::is_report_needed(&finding.message(), &reports, &state, Instant::now())
    }

    /// Makes a finding, which then is the last word. The compliance event is stored when this returns.
    pub async fn send(
        &self,
        policy: &Replica,
        about: &ReportedTemplate,
        finding: &Finding,
    ) -> Result<(), kube::Error> {
        let message = finding.message();
        let event = ComplianceEvent {
            policy: policy.object_ref(&()),
            template_namespace: about.namespace.clone(),
            template_name: about.template.clone(),
            related: about.related.clone(),
            compliance: finding.compliance,
            message: message.clone(),
        };
        let at = report_time(self.dated_reports(policy, &about.template).first());
        let event = self.events.emit_compliance_event_at(&event, at).await?;
        let template = about.template.as_str();
        tracing::info!(policy = policy.name(), template, "{message}");
        let at = Instant::now();
        self.sent_reports.change(policy, template, |state| {
            state.sent = Some(Sent { message, event, at });
        });
        Ok(())
    }

    /// What events and the status say about a template now, newest first.
    pub fn reports(&self, policy: &Replica, template: &str) -> Vec<Report> {
        let reports = self.dated_reports(policy, template);
        reports.into_iter().map(|(_, report)| report).collect()
    }

    fn dated_reports(&self, policy: &Replica, template: &str) -> Vec<(Timestamp, Report)> {
        let newest = match self.managed.policy(policy.name()) {
            Some(Cached::Valid(newest)) if newest.uid() == policy.uid() => newest,
            _ => return Vec::new(),
        };
        let history = newest.details(template).and_then(|details| details.history);
        let events = self.events_by_policy.of(policy.uid(), template);
        newest_first(events, &history.unwrap_or_default())
    }
}

/// The time of a finding: now, but later than what has been said so far. Clocks differ, and what is to be the last
/// word would be said again and again until ours has caught up.
fn report_time(last: Option<&(Timestamp, Report)>) -> Timestamp {
    let now = unique_now();
    let next = last.and_then(|(at, _)| at.checked_add(SignedDuration::from_nanos(1)).ok());
    next.map_or(now, |next| now.max(next))
}
