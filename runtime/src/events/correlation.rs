//! Combines informational events that are alike, so that a policy on ten thousand clusters costs a few events and not
//! ten thousand.
//!
//! The limit is that of client-go's event correlator: the first ten of an object, type and reason in ten minutes are
//! events of their own. What follows is held until the object is quiet and becomes one event, where client-go would
//! patch one event again and again.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use tokio::time::Instant;

use super::{LONGEST_NOTE, SimilarEvents, at_most};

/// How many events of an object, type and reason are events of their own in one [`PERIOD`].
const INDIVIDUAL: usize = 10;
const PERIOD: Duration = Duration::from_mins(10);
/// Held events become one event when none has come for this long, ...
const QUIET: Duration = Duration::from_secs(2);
/// ... or when the first of them is this old.
const LONGEST_HOLD: Duration = Duration::from_mins(1);
/// How many subjects a combined event names.
const NAMED_SUBJECTS: usize = 3;

/// What alike events have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Group {
    namespace: Option<String>,
    kind: Option<String>,
    name: Option<String>,
    event_type: Option<String>,
    reason: Option<String>,
}

impl Group {
    fn of(event: &Event) -> Self {
        let regarding = event.regarding.as_ref();
        Self {
            namespace: regarding.and_then(|regarding| regarding.namespace.clone()),
            kind: regarding.and_then(|regarding| regarding.kind.clone()),
            name: regarding.and_then(|regarding| regarding.name.clone()),
            event_type: event.type_.clone(),
            reason: event.reason.clone(),
        }
    }
}

/// Events that will be one.
#[derive(Debug)]
struct Held {
    group: Group,
    count: i32,
    subjects: BTreeSet<String>,
    /// As the newest of the events has it.
    similar: Option<SimilarEvents>,
    newest: Event,
    since: Instant,
    changed: Instant,
}

impl Held {
    fn new(group: Group, event: Event, similar: Option<SimilarEvents>, now: Instant) -> Self {
        let subject = similar.as_ref().map(|similar| similar.subject.clone());
        Self {
            group,
            count: 1,
            subjects: subject.into_iter().collect(),
            similar,
            newest: event,
            since: now,
            changed: now,
        }
    }

    fn add(&mut self, event: Event, similar: Option<SimilarEvents>, now: Instant) {
        self.count = self.count.saturating_add(1);
        let subject = similar.as_ref().map(|similar| similar.subject.clone());
        self.subjects.extend(subject);
        self.similar = similar;
        self.newest = event;
        self.changed = now;
    }

    fn due(&self) -> Instant {
        (self.changed + QUIET).min(self.since + LONGEST_HOLD)
    }

    fn is_like(&self, group: &Group, similar: Option<&SimilarEvents>) -> bool {
        fn before(similar: &SimilarEvents) -> &str {
            &similar.before
        }
        self.group == *group && self.similar.as_ref().map(before) == similar.map(before)
    }

    fn combined(self) -> Event {
        if self.count < 2 {
            return self.newest;
        }
        let newest = self.newest.note.as_deref().unwrap_or_default();
        let note = match &self.similar {
            Some(_) if self.subjects.len() < 2 => newest.to_owned(),
            Some(SimilarEvents {
                before,
                plural,
                after,
                ..
            }) => format!("{before} {}{after}", enumerated(&self.subjects, plural)),
            // The words of client-go.
            None => format!("(combined from similar events): {newest}"),
        };
        let series = self
            .newest
            .event_time
            .clone()
            .map(|MicroTime(at)| EventSeries {
                count: self.count,
                last_observed_time: MicroTime(at),
            });
        Event {
            note: Some(at_most(&note, LONGEST_NOTE).to_owned()),
            series,
            ..self.newest
        }
    }
}

/// `300 clusters: c1, c2, c3 and 297 more`.
fn enumerated(subjects: &BTreeSet<String>, plural: &str) -> String {
    let named: Vec<&str> = subjects
        .iter()
        .take(NAMED_SUBJECTS)
        .map(String::as_str)
        .collect();
    let named = named.join(", ");
    let count = subjects.len();
    match count.saturating_sub(NAMED_SUBJECTS) {
        0 => format!("{count} {plural}: {named}"),
        more => format!("{count} {plural}: {named} and {more} more"),
    }
}

/// Decides which events are created at once and which are held.
#[derive(Debug, Default)]
pub(super) struct EventCorrelator {
    /// When the individual events of the last period came, by the hashes of their groups: there are several for each object that a
    /// controller reports on. Should two groups share a hash, some of their events are combined early.
    individual: HashMap<u64, VecDeque<Instant>>,
    hasher: RandomState,
    held: Vec<Held>,
    pruned: Option<Instant>,
}

impl EventCorrelator {
    /// Returns the event if it is one of its own, or holds it.
    pub(super) fn admit(
        &mut self,
        event: Event,
        similar: Option<SimilarEvents>,
        now: Instant,
    ) -> Option<Event> {
        self.prune(now);
        let group = Group::of(&event);
        let hash = self.hasher.hash_one(&group);
        let recent = self.individual.entry(hash).or_default();
        while recent
            .front()
            .is_some_and(|at| now.duration_since(*at) >= PERIOD)
        {
            recent.pop_front();
        }
        if recent.len() < INDIVIDUAL {
            // Most have few, and a queue makes room for four at once.
            recent.reserve_exact(1);
            recent.push_back(now);
            return Some(event);
        }
        let like = |held: &&mut Held| held.is_like(&group, similar.as_ref());
        if let Some(held) = self.held.iter_mut().find(like) {
            held.add(event, similar, now);
        } else {
            self.held.push(Held::new(group, event, similar, now));
        }
        None
    }

    /// When held events become events, if any are held.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.held.iter().map(Held::due).min()
    }

    /// The events that held ones have become.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Event> {
        let due = self.held.extract_if(.., |held| held.due() <= now);
        due.map(Held::combined).collect()
    }

    /// Drops the groups without events in the last period.
    fn prune(&mut self, now: Instant) {
        let pruned = *self.pruned.get_or_insert(now);
        if now.duration_since(pruned) < PERIOD {
            return;
        }
        self.pruned = Some(now);
        self.individual.retain(|_, recent| {
            let newest = recent.back();
            newest.is_some_and(|newest| now.duration_since(*newest) < PERIOD)
        });
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ObjectReference;

    use super::*;
    use crate::events::unique_now;

    fn event(name: &str, note: &str) -> Event {
        Event {
            event_time: Some(MicroTime(unique_now())),
            regarding: Some(ObjectReference {
                kind: Some("Policy".to_owned()),
                namespace: Some("policies".to_owned()),
                name: Some(name.to_owned()),
                ..ObjectReference::default()
            }),
            reason: Some("PolicyPropagation".to_owned()),
            note: Some(note.to_owned()),
            ..Event::default()
        }
    }

    fn similar(subject: &str, before: &str, after: &str) -> SimilarEvents {
        SimilarEvents {
            subject: subject.to_owned(),
            before: before.to_owned(),
            plural: "clusters",
            after: after.to_owned(),
        }
    }

    /// Admits an event for each cluster, and returns how many are events of their own.
    fn admitted(
        correlator: &mut EventCorrelator,
        clusters: usize,
        before: &str,
        now: Instant,
    ) -> usize {
        let individual = (0..clusters).filter(|cluster| {
            let cluster = format!("c{cluster:03}");
            let event = event("p", &format!("{before} cluster {cluster}"));
            correlator
                .admit(event, Some(similar(&cluster, before, "")), now)
                .is_some()
        });
        individual.count()
    }

    fn notes(events: &[Event]) -> Vec<&str> {
        events
            .iter()
            .filter_map(|event| event.note.as_deref())
            .collect()
    }

    #[test]
    fn many_clusters_become_one_event_when_it_is_quiet() {
        let mut correlator = EventCorrelator::default();
        let start = Instant::now();
        assert_eq!(
            admitted(&mut correlator, 300, "propagated to", start),
            INDIVIDUAL
        );
        assert_eq!(correlator.next_due(), Some(start + QUIET));
        assert!(correlator.take_due(start + QUIET / 2).is_empty());
        let combined = correlator.take_due(start + QUIET);
        assert_eq!(
            notes(&combined),
            ["propagated to 290 clusters: c010, c011, c012 and 287 more"]
        );
        let series = combined.first().and_then(|event| event.series.as_ref());
        assert_eq!(series.map(|series| series.count), Some(290));
        assert_eq!(correlator.next_due(), None);
    }

    #[test]
    fn other_changes_and_other_objects_have_events_of_their_own() {
        let mut correlator = EventCorrelator::default();
        let start = Instant::now();
        admitted(&mut correlator, 12, "propagated to", start);
        assert_eq!(admitted(&mut correlator, 2, "updated for", start), 0);
        let other = event("other", "propagated to cluster c1");
        assert!(correlator.admit(other, None, start).is_some());
        assert_eq!(
            notes(&correlator.take_due(start + QUIET)),
            [
                "propagated to 2 clusters: c010, c011",
                "updated for 2 clusters: c000, c001"
            ]
        );
    }

    #[test]
    fn combined_failures_have_the_newest_error() {
        let mut correlator = EventCorrelator::default();
        let start = Instant::now();
        admitted(&mut correlator, INDIVIDUAL, "failed for", start);
        for (cluster, error) in [("c1", ": no such map"), ("c2", ": no such key")] {
            let event = event("p", &format!("failed for cluster {cluster}{error}"));
            assert!(
                correlator
                    .admit(event, Some(similar(cluster, "failed for", error)), start)
                    .is_none()
            );
        }
        assert_eq!(
            notes(&correlator.take_due(start + QUIET)),
            ["failed for 2 clusters: c1, c2: no such key"]
        );
    }

    #[test]
    fn events_without_subjects_are_combined_with_the_newest_note() {
        let mut correlator = EventCorrelator::default();
        let start = Instant::now();
        for number in 0..INDIVIDUAL + 3 {
            let _ = correlator.admit(event("p", &format!("change {number}")), None, start);
        }
        assert_eq!(
            notes(&correlator.take_due(start + QUIET)),
            ["(combined from similar events): change 12"]
        );
    }

    #[test]
    fn single_held_event_stays_as_it_is() {
        let mut correlator = EventCorrelator::default();
        let start = Instant::now();
        admitted(&mut correlator, INDIVIDUAL + 1, "propagated to", start);
        let due = correlator.take_due(start + QUIET);
        assert_eq!(notes(&due), ["propagated to cluster c010"]);
        assert!(due.iter().all(|event| event.series.is_none()));
    }

    #[test]
    fn repeated_events_about_one_cluster_keep_their_note() {
        let mut correlator = EventCorrelator::default();
        let start = Instant::now();
        admitted(&mut correlator, INDIVIDUAL, "updated for", start);
        for _ in 0..2 {
            assert_eq!(admitted(&mut correlator, 1, "updated for", start), 0);
        }
        let combined = correlator.take_due(start + QUIET);
        assert_eq!(notes(&combined), ["updated for cluster c000"]);
    }

    #[test]
    fn continuous_events_are_combined_once_a_minute() {
        let mut correlator = EventCorrelator::default();
        let start = Instant::now();
        admitted(&mut correlator, INDIVIDUAL, "updated for", start);
        let mut combined = 0;
        for second in 0..300 {
            let now = start + Duration::from_secs(second);
            admitted(&mut correlator, 1, "updated for", now);
            combined += correlator.take_due(now).len();
        }
        assert_eq!(combined, 4);
    }

    #[test]
    fn objects_that_were_quiet_for_the_period_start_anew_and_are_forgotten() {
        let mut correlator = EventCorrelator::default();
        let start = Instant::now();
        admitted(&mut correlator, 20, "propagated to", start);
        correlator.take_due(start + QUIET);
        assert_eq!(
            admitted(&mut correlator, 20, "propagated to", start + PERIOD),
            INDIVIDUAL
        );
        let _ = correlator.admit(event("other", "x"), None, start + PERIOD * 3);
        assert_eq!(correlator.individual.len(), 1);
    }
}
