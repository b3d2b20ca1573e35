//! Kubernetes events: the compliance events that carry results from evaluators to the status sync, and the
//! informational ones for users.
//!
//! The client library's recorder is not used: it folds events that differ only in their text into one series with the
//! first text, which would lose a compliance change.

mod broadcaster;
mod correlation;

use std::sync::atomic::{AtomicI64, Ordering};

use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::api::events::v1 as events_v1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use kube::Client;
use kube::api::{Api, ListParams, PostParams};
use reeve_api::Compliance;

use crate::hostname::hostname;

pub use broadcaster::{EventBroadcaster, EventBroadcasterMetrics, INFORMATIONAL_EVENTS};

/// The longest note that events.k8s.io accepts, in bytes.
const LONGEST_NOTE: usize = 1024;

/// The compliance of one template of a policy.
#[derive(Clone, Debug)]
pub struct ComplianceEvent {
    /// The `Policy` of the template: kind, apiVersion, name, namespace and uid.
    pub policy: ObjectReference,
    /// The template object's namespace, absent for cluster-scoped ones.
    pub template_namespace: Option<String>,
    /// The template object's name.
    pub template_name: String,
    /// The template object, when it is known.
    pub related: Option<ObjectReference>,
    /// The compliance; decides the event's type.
    pub compliance: Compliance,
    /// The whole message, `<compliance>; <text>`.
    pub message: String,
}

impl ComplianceEvent {
    /// The event as it is stored. This is a wire format: `framework-addon` reads the template from the reason, the time
    /// from the name, and the compliance from the message.
    #[must_use]
    pub fn event(&self, controller: &str, at: Timestamp) -> Event {
        let policy = self.policy.name.as_deref().unwrap_or_default();
        let of_template = match &self.template_namespace {
            Some(namespace) => format!("policy: {namespace}/{}", self.template_name),
            None => format!("policy: {}", self.template_name),
        };
        Event {
            metadata: ObjectMeta {
                name: Some(event_name(policy, at)),
                namespace: self.policy.namespace.clone(),
                ..ObjectMeta::default()
            },
            involved_object: self.policy.clone(),
            reason: Some(of_template),
            message: Some(self.message.clone()),
            type_: Some(kind_of(self.compliance).to_owned()),
            count: Some(1),
            first_timestamp: Some(Time(at)),
            last_timestamp: Some(Time(at)),
            action: Some("ComplianceStateUpdate".to_owned()),
            source: Some(EventSource {
                component: Some(controller.to_owned()),
                host: Some(hostname().to_owned()),
            }),
            reporting_component: Some(controller.to_owned()),
            reporting_instance: Some(hostname().to_owned()),
            related: self.related.clone(),
            ..Event::default()
        }
    }
}

/// Writes events on behalf of one controller.
#[derive(Clone)]
pub struct EventRecorder {
    client: Client,
    controller: &'static str,
    broadcaster: EventBroadcaster,
}

impl EventRecorder {
    /// Events reported by `controller` from this host: compliance events through `client`,
    /// informational ones through `broadcaster`.
    pub fn new(client: Client, controller: &'static str, broadcaster: EventBroadcaster) -> Self {
        Self {
            client,
            controller,
            broadcaster,
        }
    }

    /// Creates a compliance event and returns its name. It is stored when this returns: the caller must retry a
    /// failure, or the compliance would be lost.
    pub async fn compliance(&self, event: &ComplianceEvent) -> Result<String, kube::Error> {
        self.emit_compliance_event_at(event, unique_now()).await
    }

    /// Like [`Self::compliance`], for a compliance that is also stored elsewhere with its time: readers match the two
    /// by the time. `at` comes from [`unique_now`].
    pub fn emit_compliance_event_at<'a>(
        &'a self,
        event: &'a ComplianceEvent,
        at: Timestamp,
    ) -> BoxFuture<'a, Result<String, kube::Error>> {
        Box::pin(async move {
            let body = event.event(self.controller, at);
            let namespace = event.policy.namespace.as_deref().unwrap_or_default();
            let events: Api<Event> = Api::namespaced(self.client.clone(), namespace);
            let created = events.create(&PostParams::default(), &body).await?;
            Ok(created.metadata.name.unwrap_or_default())
        })
    }

    /// The time of the newest compliance event about a template, if it has this message. A process that was killed
    /// between creating an event and recording it finds the event by this.
    pub async fn already_emitted(
        &self,
        event: &ComplianceEvent,
    ) -> Result<Option<Timestamp>, kube::Error> {
        let body = event.event(self.controller, Timestamp::UNIX_EPOCH);
        let namespace = event.policy.namespace.as_deref().unwrap_or_default();
        let events: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        let selector = format!(
            "involvedObject.uid={},reason={}",
            event.policy.uid.as_deref().unwrap_or_default(),
            body.reason.as_deref().unwrap_or_default()
        );
        let found = events
            .list(&ListParams::default().fields(&selector))
            .await?;
        let timed = found.items.into_iter().filter_map(|event| {
            let at = time_in_event_name(event.metadata.name.as_deref()?)?;
            Some((at, event.message))
        });
        let newest = timed.max_by_key(|(at, _)| *at);
        Ok(newest
            .filter(|(_, message)| *message == body.message)
            .map(|(at, _)| at))
    }

    /// Queues an informational event, without waiting for it. Many that are alike become one: see [`SimilarEvents`].
    pub fn emit_event(&self, about: &ObjectReference, event: &InformationalEvent<'_>) {
        self.queue_event(about, None, event, None);
    }

    /// Like [`Self::emit_event`], for an event that is about a second object too.
    pub fn emit_event_with_related(
        &self,
        about: &ObjectReference,
        related: Option<ObjectReference>,
        event: &InformationalEvent<'_>,
    ) {
        self.queue_event(about, related, event, None);
    }

    /// Like [`Self::emit_event`], for an event that comes for many subjects, such as clusters.
    pub fn emit_similar_event(
        &self,
        about: &ObjectReference,
        event: &InformationalEvent<'_>,
        similar: SimilarEvents,
    ) {
        self.queue_event(about, None, event, Some(similar));
    }

    fn queue_event(
        &self,
        about: &ObjectReference,
        related: Option<ObjectReference>,
        event: &InformationalEvent<'_>,
        similar: Option<SimilarEvents>,
    ) {
        let now = unique_now();
        let name = event_name(about.name.as_deref().unwrap_or_default(), now);
        // Events about cluster-scoped objects live in `default`, as client-go has it.
        let namespace = about.namespace.as_deref().unwrap_or("default");
        let event = events_v1::Event {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(now)),
            regarding: Some(about.clone()),
            related,
            reason: Some(event.reason.to_owned()),
            action: Some(event.action.to_owned()),
            note: Some(at_most(event.note, LONGEST_NOTE).to_owned()),
            type_: Some(if event.warning { "Warning" } else { "Normal" }.to_owned()),
            reporting_controller: Some(self.controller.to_owned()),
            reporting_instance: Some(format!("{}-{}", self.controller, hostname())),
            ..events_v1::Event::default()
        };
        self.broadcaster.send(event, similar);
    }
}

/// How the events for many subjects become one: of an object, a type and a reason, ten in ten minutes are events of
/// their own, and what follows is held until it is quiet. `Policy p was propagated to cluster c11` and those that follow
/// become `Policy p was propagated to 290 clusters: c11, c12, c13 and 287 more`.
#[derive(Clone, Debug)]
pub struct SimilarEvents {
    /// What distinguishes the event from the others, such as the name of a cluster.
    pub subject: String,
    /// The note up to the subjects. Events with different ones are not combined.
    pub before: String,
    /// What several subjects are, such as `clusters`.
    pub plural: &'static str,
    /// The note behind the subjects, such as an error; the newest event's becomes that of all.
    pub after: String,
}

/// An informational event.
#[derive(Clone, Copy, Debug)]
pub struct InformationalEvent<'a> {
    /// The reason in upper camel case.
    pub reason: &'a str,
    /// The action in upper camel case.
    pub action: &'a str,
    /// The note; cut at 1024 bytes.
    pub note: &'a str,
    /// Whether its type is `Warning`.
    pub warning: bool,
}

fn kind_of(compliance: Compliance) -> &'static str {
    if compliance == Compliance::Compliant {
        "Normal"
    } else {
        "Warning"
    }
}

/// The name of an event on `object`: its name and the time in hex nanoseconds. The time is read
/// back from there, because the event's own timestamps have only seconds.
pub fn event_name(object: &str, at: Timestamp) -> String {
    let nanoseconds = i64::try_from(at.as_nanosecond()).unwrap_or(i64::MAX);
    format!("{object}.{nanoseconds:x}")
}

/// The time in an event name. `None` for a name that other software chose: a suffix of fewer than
/// 14 hex digits (a time before 1971 with them, such as `…cafe`) is a word, not a time.
pub fn time_in_event_name(name: &str) -> Option<Timestamp> {
    let (_, suffix) = name.rsplit_once('.')?;
    if suffix.len() < 14 {
        return None;
    }
    let nanoseconds = i64::from_str_radix(suffix, 16).ok()?;
    Timestamp::from_nanosecond(i128::from(nanoseconds)).ok()
}

/// Now, but later than every time this has returned before, so that event names never collide and
/// sort in the order of creation.
pub fn unique_now() -> Timestamp {
    static LAST: AtomicI64 = AtomicI64::new(0);
    let now = i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
    let next = |last: i64| Some(now.max(last.saturating_add(1)));
    let last = LAST
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, next)
        .unwrap_or(now);
    let unique = now.max(last.saturating_add(1));
    Timestamp::from_nanosecond(i128::from(unique)).unwrap_or(Timestamp::MAX)
}

/// The longest prefix of `text` that has at most `bytes` bytes and ends between characters.
pub fn at_most(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_contains_time_that_can_be_parsed() {
        let at = Timestamp::from_nanosecond(1_709_130_939_198_988_588).unwrap();
        assert_eq!(event_name("event", at), "event.17b80d88a995e12c");
        assert_eq!(time_in_event_name("event.17b80d88a995e12c"), Some(at));
        assert_eq!(time_in_event_name("event.with-no-timestamp"), None);
        assert_eq!(time_in_event_name("none"), None);
    }

    #[test]
    fn suffix_of_few_hex_digits_is_not_a_time() {
        assert_eq!(time_in_event_name("policy.cafe"), None);
        assert_eq!(time_in_event_name("policy.deadbeef"), None);
    }

    #[test]
    fn times_are_unique_and_ascend() {
        let times: Vec<_> = (0..10_000).map(|_| unique_now()).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(at_most("aä", 2), "a");
        assert_eq!(at_most("aä", 3), "aä");
        assert_eq!(at_most("aä", 99), "aä");
    }
}
