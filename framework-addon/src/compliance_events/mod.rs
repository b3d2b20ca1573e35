//! The compliance events of the managed cluster, indexed by policy and template. [`sent`] has the state of those that this process
//! has sent.

pub mod sent;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Event;
use parking_lot::RwLock;
use reeve_api::names::POLICY_API_VERSION;
use reeve_api::policy::ComplianceHistory;
use reeve_runtime::events::time_in_event_name;
use reeve_runtime::watch::{Cached, Change};

/// Selects events about policies, without the informational events of the sync controllers.
pub const FIELD_SELECTOR: &str = "involvedObject.kind=Policy,reason!=PolicySpecSync,reason!=PolicyTemplateSync,reason!=PolicyStatusSync";

/// The prefix of the message of an event that combines several.
const COMBINED_PREFIX: &str = "(combined from similar events):";

/// An event whose own time is later than that in its name by this much was reported again under the same name.
const REPEATED_AFTER: SignedDuration = SignedDuration::from_secs(1);

/// One report of the compliance of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The name of the event that carries it.
    pub event_name: String,
    /// When the event was last observed, according to its own fields.
    pub at: Timestamp,
    /// `<compliance>; <text>`.
    pub message: String,
}

impl Report {
    /// A report from the history in a policy's status.
    fn from_history(entry: &ComplianceHistory) -> Self {
        let at = entry
            .last_timestamp
            .as_deref()
            .and_then(|text| text.parse().ok());
        Self {
            event_name: entry.event_name.clone().unwrap_or_default(),
            at: at.unwrap_or(Timestamp::UNIX_EPOCH),
            message: entry.message.clone().unwrap_or_default(),
        }
    }

    /// The time to sort by: that in the name, which has nanoseconds, unless the event was reported again under the same name.
    fn sort_time(&self) -> Timestamp {
        match time_in_event_name(&self.event_name) {
            Some(named) if self.at.duration_since(named) < REPEATED_AFTER => named,
            _ => self.at,
        }
    }
}

/// The reports of events and of a status history, each once, with the time to sort by.
pub fn newest_first(
    mut reports: Vec<Report>,
    history: &[ComplianceHistory],
) -> Vec<(Timestamp, Report)> {
    let known_names: HashSet<String> = reports.iter().map(|r| r.event_name.clone()).collect();
    let from_history = history.iter().map(Report::from_history);
    reports.extend(from_history.filter(|old| !known_names.contains(&old.event_name)));
    let mut dated: Vec<(Timestamp, Report)> = reports
        .into_iter()
        .map(|report| (report.sort_time(), report))
        .collect();
    // The name decides between equal times, so that the order does not depend on the order of reads.
    dated.sort_by(|(one_at, one), (two_at, two)| {
        Reverse((one_at, &one.event_name)).cmp(&Reverse((two_at, &two.event_name)))
    });
    dated
}

/// An event that reports about a template of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyEvent {
    /// The policy's uid: a policy of the same name before it is another one.
    pub uid: String,
    /// The policy's name.
    pub policy: String,
    /// The template's name.
    pub template: String,
    /// The report.
    pub report: Report,
}

impl PolicyEvent {
    /// Reads an event; `None` if it is no report about a template.
    pub fn of(event: Event) -> Option<Self> {
        let about = event.involved_object;
        if about.api_version.as_deref() != Some(POLICY_API_VERSION) {
            return None;
        }
        let template = template_in_reason(event.reason.as_deref()?)?.to_owned();
        let series = event.series.and_then(|series| series.last_observed_time);
        let at = event
            .last_timestamp
            .map(|time| time.0)
            .or(series.map(|time| time.0))
            .or(event.event_time.map(|time| time.0))
            .or(event.metadata.creation_timestamp.map(|time| time.0));
        Some(Self {
            uid: about.uid.filter(|uid| !uid.is_empty())?,
            policy: about.name?,
            template,
            report: Report {
                event_name: event.metadata.name.unwrap_or_default(),
                at: at.unwrap_or(Timestamp::UNIX_EPOCH),
                message: clean_message(event.message.as_deref().unwrap_or_default()).to_owned(),
            },
        })
    }
}

/// The message without the prefix that event recorders add.
fn clean_message(message: &str) -> &str {
    message
        .strip_prefix(COMBINED_PREFIX)
        .unwrap_or(message)
        .trim()
}

/// The template's name in `policy: <namespace>/<name>` or `policy: <name>`.
fn template_in_reason(reason: &str) -> Option<&str> {
    let (policy, rest) = reason.split_at_checked("policy:".len())?;
    if !policy.eq_ignore_ascii_case("policy:") {
        return None;
    }
    let in_namespace = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let name = match rest.split_once('/') {
        Some((namespace, name)) if namespace.trim().chars().all(in_namespace) => name,
        _ => rest,
    };
    Some(name.trim()).filter(|name| !name.is_empty())
}

/// The events of one policy, by template and by their own names.
type ByTemplate = HashMap<String, BTreeMap<String, Arc<Option<PolicyEvent>>>>;

/// The events of each policy, by the policy's uid; clones share them.
#[derive(Clone, Default)]
pub struct ComplianceEvents(Arc<RwLock<HashMap<String, ByTemplate>>>);

impl ComplianceEvents {
    /// Applies a watch event, and returns the policy to enqueue. The expiry of an event enqueues nothing: its report is in the
    /// policy's status.
    pub fn changed(&self, change: &Change<Option<PolicyEvent>>) -> Option<String> {
        let mut events = self.0.write();
        let (old, _) = change.valid();
        if let Some(old) = old.and_then(|event| event.as_ref().as_ref())
            && let Some(by_template) = events.get_mut(&old.uid)
            && let Some(by_name) = by_template.get_mut(&old.template)
        {
            by_name.remove(&change.key.name);
            if by_name.is_empty() {
                by_template.remove(&old.template);
            }
            if by_template.is_empty() {
                events.remove(&old.uid);
            }
        }
        let new = change.new.as_ref().and_then(Cached::valid)?;
        let event = new.as_ref().as_ref()?;
        let by_template = events.entry(event.uid.clone()).or_default();
        let by_name = by_template.entry(event.template.clone()).or_default();
        by_name.insert(change.key.name.clone(), Arc::clone(new));
        Some(event.policy.clone())
    }

    /// The reports about one template of a policy, by the names of their events.
    pub fn of(&self, uid: &str, template: &str) -> Vec<Report> {
        let events = self.0.read();
        let by_name = events
            .get(uid)
            .and_then(|of_policy| of_policy.get(template));
        let of_template = by_name.into_iter().flat_map(BTreeMap::values);
        of_template
            .filter_map(|event| event.as_ref().as_ref())
            .map(|event| event.report.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ObjectReference;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
    use reeve_api::Compliance;
    use reeve_runtime::events::ComplianceEvent;
    use reeve_runtime::object::ObjectKey;
    use rstest::rstest;

    fn event(reason: &str, message: &str) -> Event {
        Event {
            metadata: ObjectMeta {
                name: Some("ns.p.1".to_owned()),
                ..ObjectMeta::default()
            },
            involved_object: ObjectReference {
                api_version: Some(POLICY_API_VERSION.to_owned()),
                kind: Some("Policy".to_owned()),
                name: Some("ns.p".to_owned()),
                uid: Some("u".to_owned()),
                ..ObjectReference::default()
            },
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            ..Event::default()
        }
    }

    #[rstest]
    #[case("policy: c1/tmpl", Some("tmpl"))]
    #[case("Policy:c1 /tmpl", Some("tmpl"))]
    #[case("policy: tmpl", Some("tmpl"))]
    #[case("policy:", None)]
    #[case("PolicyTemplateSync", None)]
    #[case("pölicy: c1/tmpl", None)]
    fn reasons(#[case] reason: &str, #[case] template: Option<&str>) {
        assert_eq!(template_in_reason(reason), template);
    }

    #[rstest]
    #[case::namespaced(Some("c1"))]
    #[case::cluster_scoped(None)]
    fn event_of_an_evaluator_is_read_back(#[case] namespace: Option<&str>) {
        let about = event("", "").involved_object;
        let written = ComplianceEvent {
            policy: about,
            template_namespace: namespace.map(str::to_owned),
            template_name: "my.tmpl-1".to_owned(),
            related: None,
            compliance: Compliance::NonCompliant,
            message: "NonCompliant; violation - no such pod".to_owned(),
        };
        let at = Timestamp::from_nanosecond(1_709_130_939_198_988_588).unwrap();
        let read = PolicyEvent::of(written.event("any-controller", at)).unwrap();
        assert_eq!((read.uid.as_str(), read.policy.as_str()), ("u", "ns.p"));
        assert_eq!(read.template, written.template_name);
        assert_eq!(read.report.message, written.message);
        assert_eq!(read.report.sort_time(), at, "to the nanosecond");
        assert_eq!(
            Compliance::of_message(&read.report.message),
            written.compliance
        );
    }

    #[rstest]
    #[case("(combined from similar events): NonCompliant; x", "NonCompliant; x")]
    #[case(" Compliant ", "Compliant")]
    fn messages_are_cleaned(#[case] message: &str, #[case] expected: &str) {
        let event = PolicyEvent::of(event("policy: a/b", message)).unwrap();
        assert_eq!(event.report.message, expected);
    }

    #[test]
    fn fwk_40_event_without_last_timestamp_has_a_time() {
        let at = Timestamp::from_second(1_700_000_000).unwrap();
        let created = Timestamp::from_second(1_800_000_000).unwrap();
        let mut event = event("policy: a/b", "Compliant");
        event.metadata.creation_timestamp = Some(Time(created));
        assert_eq!(PolicyEvent::of(event.clone()).unwrap().report.at, created);
        event.event_time = Some(MicroTime(at));
        assert_eq!(PolicyEvent::of(event).unwrap().report.at, at);
    }

    #[test]
    fn index_follows_the_watch() {
        let reports = ComplianceEvents::default();
        let valid = |event| Some(Cached::Valid(Arc::new(PolicyEvent::of(event))));
        let key = ObjectKey::new("c1", "ns.p.1");
        let first = event("policy: c1/a", "Compliant");
        let second = event("policy: c1/a", "NonCompliant");
        let change = |old, new| Change {
            key: key.clone(),
            old,
            new,
        };
        let enqueued = reports.changed(&change(None, valid(first.clone())));
        assert_eq!(enqueued.as_deref(), Some("ns.p"));
        reports.changed(&change(valid(first), valid(second.clone())));
        let messages: Vec<_> = reports
            .of("u", "a")
            .into_iter()
            .map(|r| r.message)
            .collect();
        assert_eq!(messages, ["NonCompliant"]);
        assert_eq!(reports.changed(&change(valid(second), None)), None);
        assert!(reports.of("u", "a").is_empty());
    }
}
