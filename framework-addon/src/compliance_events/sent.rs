//! The reports and writes of this process, so that none is repeated while the watch has not delivered its effect. After a restart
//! the events and the policy's status have the same information.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::api::DynamicObject;
use parking_lot::Mutex;

use super::Report;
use crate::messages::STALE;
use crate::replica::Replica;

/// How long the watch may take to deliver a report before it counts as lost.
const SENT_TIMEOUT: Duration = Duration::from_mins(1);

/// A report that was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// `<compliance>; <text>`.
    pub message: String,
    /// The event's name.
    pub event: String,
    /// When it was sent.
    pub at: Instant,
}

/// The state of a template's object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TemplateObjectState {
    /// It has not been reconciled since the process started.
    #[default]
    Unknown,
    /// It is in error, or its dependencies are not met: template sync reports the compliance.
    NotReady,
    /// It equals the desired object: its controller reports the compliance.
    Applied,
}

/// The state of one template.
#[derive(Clone, Debug, Default)]
pub struct TemplateState {
    /// The state of its object at the last reconcile.
    pub object_state: TemplateObjectState,
    /// When template sync began to wait for Gatekeeper.
    pub waiting_since: Option<Instant>,
    /// The last report that was sent, until the object is applied.
    pub sent: Option<Sent>,
    /// The report after which the object's compliance was cleared, so that its controller reports again.
    pub reset_for: Option<String>,
    /// The digest of an update that changed nothing in the object.
    pub unchanged_update: Option<u64>,
}

#[derive(Default)]
struct PolicyState {
    uid: String,
    templates: HashMap<String, TemplateState>,
}

/// The state of the templates of all policies; clones share it.
#[derive(Clone, Default)]
pub struct SentReports(Arc<Mutex<HashMap<String, PolicyState>>>);

impl SentReports {
    fn with_policy<T>(&self, policy: &Replica, change: impl FnOnce(&mut PolicyState) -> T) -> T {
        let mut all = self.0.lock();
        let policy_state = all.entry(policy.name().to_owned()).or_default();
        if policy_state.uid != policy.uid() {
            // A new policy of the same name.
            *policy_state = PolicyState {
                uid: policy.uid().to_owned(),
                ..PolicyState::default()
            };
        }
        change(policy_state)
    }

    /// The state of a template.
    pub fn of(&self, policy: &Replica, template: &str) -> TemplateState {
        self.with_policy(policy, |policy_state| {
            policy_state
                .templates
                .get(template)
                .cloned()
                .unwrap_or_default()
        })
    }

    /// Changes the state of a template, and returns the result of `change`.
    pub fn change<T>(
        &self,
        policy: &Replica,
        template: &str,
        change: impl FnOnce(&mut TemplateState) -> T,
    ) -> T {
        self.with_policy(policy, |policy_state| {
            change(
                policy_state
                    .templates
                    .entry(template.to_owned())
                    .or_default(),
            )
        })
    }

    /// The rest of `limit` since the first call of this function for a template; `None` when it is over.
    pub fn remaining_wait(
        &self,
        policy: &Replica,
        template: &str,
        limit: Duration,
    ) -> Option<Duration> {
        let now = Instant::now();
        let since = self.change(policy, template, |state| {
            *state.waiting_since.get_or_insert(now)
        });
        let left = limit.saturating_sub(now.saturating_duration_since(since));
        (!left.is_zero()).then_some(left)
    }

    /// Ends the wait for a template.
    pub fn clear_wait(&self, policy: &Replica, template: &str) {
        self.change(policy, template, |state| state.waiting_since = None);
    }

    /// Drops the state of templates that the policy no longer has.
    pub fn retain(&self, policy: &Replica, has: impl Fn(&str) -> bool) {
        self.with_policy(policy, |policy_state| {
            policy_state.templates.retain(|name, _| has(name));
        });
    }

    /// Drops the state of a deleted policy.
    pub fn forget(&self, policy: &str) {
        self.0.lock().remove(policy);
    }
}

/// Whether a message has to be reported. It has not while the same message is in flight, nor if nothing is in flight and it is
/// the newest report of events and status. It has to be reported again when another report is newer. `reports` is newest first.
///
/// The events are needed after a restart, when this process has sent nothing and the status may not have the last report of its
/// predecessor yet.
pub fn is_report_needed(
    message: &str,
    reports: &[Report],
    state: &TemplateState,
    now: Instant,
) -> bool {
    let is_recent = |sent: &&Sent| now.saturating_duration_since(sent.at) < SENT_TIMEOUT;
    if let Some(sent) = in_flight(reports, state).filter(is_recent) {
        return sent.message != message;
    }
    let last = reports.first();
    last.is_none_or(|last| last.message.trim() != message.trim())
}

fn in_flight<'a>(reports: &[Report], state: &'a TemplateState) -> Option<&'a Sent> {
    let sent = state.sent.as_ref()?;
    let arrived = reports.iter().any(|report| report.event_name == sent.event);
    (!arrived).then_some(sent)
}

/// The name of the newest report's event, if that report is an error or waits for dependencies, and the object's compliance was
/// not cleared after it. `reports` is newest first.
pub fn stale_report(reports: &[Report], state: &TemplateState) -> Option<String> {
    let (message, event) = match (in_flight(reports, state), reports.first()) {
        (Some(sent), _) => (&sent.message, &sent.event),
        (None, Some(last)) => (&last.message, &last.event_name),
        (None, None) => return None,
    };
    (is_stale_message(message) && state.reset_for.as_deref() != Some(event)).then(|| event.clone())
}

/// Whether a message reports an error of a template, or that it waits for dependencies.
pub fn is_stale_message(message: &str) -> bool {
    STALE.iter().any(|part| message.contains(part))
}

/// The digest of an update: of the live and the changed object, without status and server-side metadata.
pub fn digest(live: &DynamicObject, changed: &DynamicObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    for object in [live, changed] {
        object.metadata.uid.hash(&mut hasher);
        object.metadata.labels.hash(&mut hasher);
        object.metadata.annotations.hash(&mut hasher);
        let spec = object.data.get("spec").map(ToString::to_string);
        spec.hash(&mut hasher);
        let owners = object.metadata.owner_references.iter().flatten();
        owners.for_each(|owner| owner.uid.hash(&mut hasher));
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use reeve_api::policy::ComplianceHistory;
    use reeve_runtime::events::event_name;

    use super::*;
    use crate::compliance_events::newest_first;

    fn entry(event: &str, message: &str) -> Report {
        Report {
            event_name: event.to_owned(),
            at: Timestamp::UNIX_EPOCH,
            message: message.to_owned(),
        }
    }

    fn sent(event: &str, message: &str, at: Instant) -> TemplateState {
        let sent = Sent {
            message: message.to_owned(),
            event: event.to_owned(),
            at,
        };
        TemplateState {
            sent: Some(sent),
            ..TemplateState::default()
        }
    }

    const ERROR: &str = "NonCompliant; template-error; x";

    #[test]
    fn fwk_101_only_an_equal_message_is_the_same_report() {
        let now = Instant::now();
        let longer = [entry("e", "NonCompliant; template-error; x and more")];
        assert!(is_report_needed(
            ERROR,
            &longer,
            &TemplateState::default(),
            now
        ));
        let equal = [entry("e", &format!(" {ERROR}\n"))];
        assert!(!is_report_needed(
            ERROR,
            &equal,
            &TemplateState::default(),
            now
        ));
        let contained = [entry("e", "NonCompliant; X")];
        assert!(is_report_needed(
            "Compliant; X",
            &contained,
            &TemplateState::default(),
            now
        ));
    }

    #[test]
    fn fwk_101_report_in_flight_is_not_sent_again() {
        let now = Instant::now();
        let state = sent("e2", ERROR, now);
        let before = [entry("e1", "Compliant; fine")];
        assert!(!is_report_needed(ERROR, &before, &state, now));
        assert!(is_report_needed("Pending; y", &before, &state, now));
        let covered = [
            entry("e3", "Compliant; late"),
            entry("e2", ERROR),
            entry("e1", "Compliant; fine"),
        ];
        assert!(is_report_needed(ERROR, &covered, &state, now));
        assert!(
            is_report_needed("Compliant; fine", &before, &state, now),
            "it is about to be covered"
        );
        let much_later = now + SENT_TIMEOUT;
        assert!(
            is_report_needed(ERROR, &before, &state, much_later),
            "it was lost"
        );
    }

    #[test]
    fn report_from_before_a_restart_is_not_repeated_while_the_status_lags() {
        let start = Timestamp::from_second(1_700_000_000).unwrap();
        let event = |second: i64, message: &str| {
            let at = start + SignedDuration::from_secs(second);
            let mut report = entry(&event_name("ns.p", at), message);
            report.at = at;
            report
        };
        // The status is behind, and the one event it shows has expired.
        let old = event(0, "Compliant; fine");
        let status = [ComplianceHistory {
            event_name: Some(old.event_name),
            last_timestamp: Some(old.at.to_string()),
            message: Some(old.message),
        }];
        let reported_after_a_restart = |events: Vec<Report>| {
            let reports = newest_first(events, &status);
            let reports: Vec<_> = reports.into_iter().map(|(_, report)| report).collect();
            is_report_needed(ERROR, &reports, &TemplateState::default(), Instant::now())
        };
        assert!(reported_after_a_restart(Vec::new()));
        assert!(!reported_after_a_restart(vec![event(5, ERROR)]));
        let late_answer = vec![event(9, "Compliant; late"), event(5, ERROR)];
        assert!(reported_after_a_restart(late_answer));
        assert!(reported_after_a_restart(vec![event(-5, ERROR)]), "older");
    }

    #[test]
    fn compliance_is_cleared_once_for_each_stale_report() {
        let pending = [entry("e", "Pending; waits")];
        assert_eq!(
            stale_report(&pending, &TemplateState::default()).as_deref(),
            Some("e")
        );
        let asked = TemplateState {
            reset_for: Some("e".to_owned()),
            ..TemplateState::default()
        };
        assert_eq!(stale_report(&pending, &asked), None);
        assert_eq!(
            stale_report(&[entry("e", "Compliant; fine")], &TemplateState::default()),
            None
        );
        assert_eq!(stale_report(&[], &TemplateState::default()), None);
        let on_the_way = sent("e2", ERROR, Instant::now());
        let fine = [entry("e1", "Compliant; fine")];
        assert_eq!(stale_report(&fine, &on_the_way).as_deref(), Some("e2"));
    }

    #[test]
    fn new_policy_of_the_same_name_has_no_state() {
        let policy = |uid: &str| {
            let mut policy = Replica::new(kube::core::ObjectMeta::default(), serde_json::json!({}));
            policy.metadata.name = Some("ns.p".to_owned());
            policy.metadata.uid = Some(uid.to_owned());
            policy
        };
        let sent_reports = SentReports::default();
        sent_reports.change(&policy("1"), "t", |state| state.unchanged_update = Some(7));
        assert_eq!(sent_reports.of(&policy("1"), "t").unchanged_update, Some(7));
        assert_eq!(sent_reports.of(&policy("2"), "t").unchanged_update, None);
    }
}
