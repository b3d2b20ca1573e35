//! Creates the compliance events of a controller, each report once.

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

/// The template that a finding is about.
#[derive(Clone, Debug)]
pub struct ReportedTemplate {
    /// The name under which the template is reported.
    pub template: String,
    /// The object's namespace; absent when its kind is cluster-scoped.
    pub namespace: Option<String>,
    /// The object, as far as it is known.
    pub related: Option<ObjectReference>,
}

/// A compliance with its message, before it is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The compliance of the template.
    pub compliance: Compliance,
    /// The message without the compliance.
    pub text: String,
}

impl Finding {
    /// A compliant finding.
    pub fn compliant(text: impl Into<String>) -> Self {
        Self {
            compliance: Compliance::Compliant,
            text: text.into(),
        }
    }

    /// A noncompliant finding.
    pub fn violation(text: impl Into<String>) -> Self {
        Self {
            compliance: Compliance::NonCompliant,
            text: text.into(),
        }
    }

    /// The message in events and in the history.
    pub fn message(&self) -> String {
        format!("{}; {}", self.compliance, self.text)
    }
}

/// Creates compliance events on behalf of one controller.
pub struct ComplianceReporter {
    managed: Cluster,
    events_by_policy: ComplianceEvents,
    /// Events of the controller.
    pub events: EventRecorder,
    /// The reports that this controller has sent.
    pub sent_reports: SentReports,
}

impl ComplianceReporter {
    /// Reports about the policies on the managed cluster of `caches`.
    pub fn new(caches: &Caches, controller: &'static str) -> Self {
        Self {
            managed: caches.managed.clone(),
            events_by_policy: caches.reports.clone(),
            events: caches.managed.events(controller),
            sent_reports: SentReports::default(),
        }
    }

    /// Whether a finding has not been reported yet, or another report is newer.
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

    /// Reports a finding, which then is the newest report. The compliance event is stored when this returns.
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

    /// The reports about a template in events and status, newest first.
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

/// The time of a new report: now, but later than the newest report. With a clock that is behind, the report would not be the newest
/// and would be repeated until the clock has caught up.
fn report_time(last: Option<&(Timestamp, Report)>) -> Timestamp {
    let now = unique_now();
    let next = last.and_then(|(at, _)| at.checked_add(SignedDuration::from_nanos(1)).ok());
    next.map_or(now, |next| now.max(next))
}
