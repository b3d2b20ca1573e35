//! What this process remembers of its own reports and writes, so that none is repeated while its
//! effect is on the way. After a restart the events and the policy's status say the same.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::api::DynamicObject;
use parking_lot::Mutex;

use super::Report;
use crate::messages::STALE;
use crate::replica::Replica;

/// How long a report may take to be seen before it counts as lost.
const ON_THE_WAY: Duration = Duration::from_mins(1);

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

/// Where template sync stands with a template's object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TemplateObject {
    /// It has not been looked at since the process started.
    #[default]
    Unknown,
    /// Something is wrong, or waited for: template sync has the word.
    NotReady,
    /// The object is as it should be: what others say of it counts.
    Applied,
}

/// What is remembered of one template.
#[derive(Clone, Debug, Default)]
pub struct Memo {
    /// How its object was when it was last looked at.
    pub stance: TemplateObject,
    /// Since when somebody else's answer is waited for.
    pub waits_since: Option<Instant>,
    /// The last report, until the template is fine again.
    pub sent: Option<Sent>,
    /// The report after which the object was asked for a new answer.
    pub reset_for: Option<String>,
    /// The update that the API server answered without changing anything.
    pub settled: Option<u64>,
}

#[derive(Default)]
struct OfPolicy {
    uid: String,
    templates: HashMap<String, Memo>,
}

/// What is remembered of all policies; clones share it.
#[derive(Clone, Default)]
pub struct SentReports(Arc<Mutex<HashMap<String, OfPolicy>>>);

impl SentReports {
    fn with<T>(&self, policy: &Replica, change: impl FnOnce(&mut OfPolicy) -> T) -> T {
        let mut all = self.0.lock();
        let known = all.entry(policy.name().to_owned()).or_default();
        if known.uid != policy.uid() {
            // A successor of the same name.
            *known = OfPolicy {
                uid: policy.uid().to_owned(),
                ..OfPolicy::default()
            };
        }
        change(known)
    }

    /// What is remembered of a template.
    pub fn of(&self, policy: &Replica, template: &str) -> Memo {
        self.with(policy, |known| {
            known.templates.get(template).cloned().unwrap_or_default()
        })
    }

    /// Changes what is remembered of a template, and passes on what `change` answers.
    pub fn change<T>(
        &self,
        policy: &Replica,
        template: &str,
        change: impl FnOnce(&mut Memo) -> T,
    ) -> T {
        self.with(policy, |known| {
            change(known.templates.entry(template.to_owned()).or_default())
        })
    }

    /// How long an answer about a template may still take, if it may take `patience` from when this was asked first.
    pub fn patience(
        &self,
        policy: &Replica,
        template: &str,
        patience: Duration,
    ) -> Option<Duration> {
        let now = Instant::now();
        let since = self.change(policy, template, |memo| {
            *memo.waits_since.get_or_insert(now)
        });
        let left = patience.saturating_sub(now.saturating_duration_since(since));
        (!left.is_zero()).then_some(left)
    }

    /// The answer has come: the next one may take as long again.
    pub fn answered(&self, policy: &Replica, template: &str) {
        self.change(policy, template, |memo| memo.waits_since = None);
    }

    /// Forgets the templates of a policy that it does not have any more.
    pub fn retain(&self, policy: &Replica, has: impl Fn(&str) -> bool) {
        self.with(policy, |known| known.templates.retain(|name, _| has(name)));
    }

    /// Forgets a policy that is gone.
    pub fn forget(&self, policy: &str) {
        self.0.lock().remove(policy);
    }
}

/// Whether a message has to be reported: not while it is on the way, nor, when nothing is, if it is the
/// last word of the events and the status together. When something else has become the last word
/// since, or is about to, it has to be again. `seen` is newest first.
///
/// The events matter after a restart: then nothing is remembered, and the status may not show yet
/// what this process's predecessor has reported.
pub fn must_report(message: &str, seen: &[Report], memo: &Memo, now: Instant) -> bool {
    let is_recent = |sent: &&Sent| now.saturating_duration_since(sent.at) < ON_THE_WAY;
    if let Some(sent) = in_flight(seen, memo).filter(is_recent) {
        return sent.message != message;
    }
    let last = seen.first();
    last.is_none_or(|last| last.message.trim() != message.trim())
}

fn in_flight<'a>(seen: &[Report], memo: &'a Memo) -> Option<&'a Sent> {
    let sent = memo.sent.as_ref()?;
    let arrived = seen.iter().any(|report| report.event_name == sent.event);
    (!arrived).then_some(sent)
}

/// The event that says, as the last word, that the template is in error or waits; `None` if the
/// last word is another, or the object was asked for a new answer after it. `seen` is newest first.
pub fn stale_report(seen: &[Report], memo: &Memo) -> Option<String> {
    let (message, event) = match (in_flight(seen, memo), seen.first()) {
        (Some(sent), _) => (&sent.message, &sent.event),
        (None, Some(last)) => (&last.message, &last.event_name),
        (None, None) => return None,
    };
    (is_trouble(message) && memo.reset_for.as_deref() != Some(event)).then(|| event.clone())
}

/// Whether a message says that something is wrong with a template itself, or that it waits.
pub fn is_trouble(message: &str) -> bool {
    STALE.iter().any(|part| message.contains(part))
}

/// Stands for an update: what the object is and what it would become, less status and metadata
/// that the API server writes.
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

    fn sent(event: &str, message: &str, at: Instant) -> Memo {
        let sent = Sent {
            message: message.to_owned(),
            event: event.to_owned(),
            at,
        };
        Memo {
            sent: Some(sent),
            ..Memo::default()
        }
    }

    const ERROR: &str = "NonCompliant; template-error; x";

    #[test]
    fn rough_edge_17_only_an_equal_message_is_the_same_report() {
        let now = Instant::now();
        let longer = [entry("e", "NonCompliant; template-error; x and more")];
        assert!(must_report(ERROR, &longer, &Memo::default(), now));
        let equal = [entry("e", &format!(" {ERROR}\n"))];
        assert!(!must_report(ERROR, &equal, &Memo::default(), now));
        let contained = [entry("e", "NonCompliant; X")];
        assert!(must_report(
            "Compliant; X",
            &contained,
            &Memo::default(),
            now
        ));
    }

    #[test]
    fn rough_edge_19_a_report_on_its_way_is_not_sent_again() {
        let now = Instant::now();
        let memo = sent("e2", ERROR, now);
        let before = [entry("e1", "Compliant; fine")];
        assert!(!must_report(ERROR, &before, &memo, now));
        assert!(must_report("Pending; y", &before, &memo, now));
        let covered = [
            entry("e3", "Compliant; late"),
            entry("e2", ERROR),
            entry("e1", "Compliant; fine"),
        ];
        assert!(must_report(ERROR, &covered, &memo, now));
        assert!(
            must_report("Compliant; fine", &before, &memo, now),
            "it is about to be covered"
        );
        let much_later = now + ON_THE_WAY;
        assert!(
            must_report(ERROR, &before, &memo, much_later),
            "it was lost"
        );
    }

    #[test]
    fn a_report_from_before_a_restart_is_not_repeated_though_the_status_does_not_show_it_yet() {
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
            let seen = newest_first(events, &status);
            let seen: Vec<_> = seen.into_iter().map(|(_, report)| report).collect();
            must_report(ERROR, &seen, &Memo::default(), Instant::now())
        };
        assert!(reported_after_a_restart(Vec::new()));
        assert!(!reported_after_a_restart(vec![event(5, ERROR)]));
        let late_answer = vec![event(9, "Compliant; late"), event(5, ERROR)];
        assert!(reported_after_a_restart(late_answer));
        assert!(reported_after_a_restart(vec![event(-5, ERROR)]), "older");
    }

    #[test]
    fn an_object_is_asked_once_for_each_stale_report() {
        let pending = [entry("e", "Pending; waits")];
        assert_eq!(
            stale_report(&pending, &Memo::default()).as_deref(),
            Some("e")
        );
        let asked = Memo {
            reset_for: Some("e".to_owned()),
            ..Memo::default()
        };
        assert_eq!(stale_report(&pending, &asked), None);
        assert_eq!(
            stale_report(&[entry("e", "Compliant; fine")], &Memo::default()),
            None
        );
        assert_eq!(stale_report(&[], &Memo::default()), None);
        let on_the_way = sent("e2", ERROR, Instant::now());
        let fine = [entry("e1", "Compliant; fine")];
        assert_eq!(stale_report(&fine, &on_the_way).as_deref(), Some("e2"));
    }

    #[test]
    fn a_successor_of_the_same_name_is_another_policy() {
        let policy = |uid: &str| {
            let mut policy = Replica::new(kube::core::ObjectMeta::default(), serde_json::json!({}));
            policy.metadata.name = Some("ns.p".to_owned());
            policy.metadata.uid = Some(uid.to_owned());
            policy
        };
        let memory = SentReports::default();
        memory.change(&policy("1"), "t", |memo| memo.settled = Some(7));
        assert_eq!(memory.of(&policy("1"), "t").settled, Some(7));
        assert_eq!(memory.of(&policy("2"), "t").settled, None);
    }
}
