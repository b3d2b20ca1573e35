//! Decides whether an automation has to run a job, and for which clusters. It does no I/O.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use reeve_api::policy_automation::ClusterEvent;
use reeve_api::{Compliance, Policy, PolicyAutomation};

use crate::automation_mode::AutomationMode;

/// The entries of `status.clustersWithEvent`, by cluster.
pub type ClusterEvents = BTreeMap<String, ClusterEvent>;

/// The decision about an automation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AutomationDecision {
    /// Run no job.
    Nothing,
    /// Run a job for these clusters, possibly none, and remove the `rerun` annotation.
    Manual(Vec<String>),
    /// Run a job for these clusters, and disable the automation.
    Once(Vec<String>),
    /// Run a job for the targets, if there are any, and write the events to the status.
    EveryEvent {
        /// The target clusters, sorted.
        targets: Vec<String>,
        /// The events of all other clusters.
        events: ClusterEvents,
        /// When the earliest delay ends: no watch event follows.
        requeue_after: Option<Duration>,
    },
}

/// Decides about an automation, given its policy and the time.
pub fn decide(
    automation: &PolicyAutomation,
    policy: &Policy,
    now: Timestamp,
) -> AutomationDecision {
    let violating = violating(policy);
    match AutomationMode::of(automation) {
        AutomationMode::Manual => AutomationDecision::Manual(violating),
        AutomationMode::Disabled => AutomationDecision::Nothing,
        _ if policy.spec.disabled => AutomationDecision::Nothing,
        AutomationMode::Once if violating.is_empty() => AutomationDecision::Nothing,
        AutomationMode::Once => AutomationDecision::Once(violating),
        AutomationMode::EveryEvent => every_event(automation, &violating, now),
    }
}

/// The clusters that violate a policy, in the order of its status.
pub fn violating(policy: &Policy) -> Vec<String> {
    let status = policy.status.iter();
    let clusters = status.flat_map(|status| status.status.iter().flatten());
    let wrong = Compliance::NonCompliant.to_string();
    clusters
        .filter(|cluster| cluster.compliant.as_ref() == Some(&wrong))
        .filter_map(|cluster| cluster.clustername.clone())
        .collect()
}

fn every_event(
    automation: &PolicyAutomation,
    violating: &[String],
    now: Timestamp,
) -> AutomationDecision {
    let delay = automation.spec.delay_after_run_seconds.unwrap_or(0).max(0);
    let status = automation.status.as_ref();
    let known = status.and_then(|status| status.clusters_with_event.as_ref());
    let mut events = ClusterEvents::new();
    let mut targets = Vec::new();
    let mut requeue_after: Option<SignedDuration> = None;
    for (cluster, event) in known.into_iter().flatten() {
        let is_violating = violating.contains(cluster);
        match decide_event(event, is_violating, delay, now) {
            EventDecision::Remove => {}
            EventDecision::Target => targets.push(cluster.clone()),
            EventDecision::Keep(kept) => drop(events.insert(cluster.clone(), kept)),
            EventDecision::Wait(kept, wait) => {
                events.insert(cluster.clone(), kept);
                requeue_after =
                    Some(requeue_after.map_or(wait, |requeue_after| requeue_after.min(wait)));
            }
        }
    }
    let new = violating
        .iter()
        .filter(|cluster| known.is_none_or(|known| !known.contains_key(*cluster)));
    targets.extend(new.cloned());
    // An entry with a time that cannot be parsed counts as none.
    let undecodable = violating.iter().filter(|cluster| {
        known.is_some_and(|known| known.contains_key(*cluster))
            && !events.contains_key(*cluster)
            && !targets.contains(cluster)
    });
    let undecodable: Vec<_> = undecodable.cloned().collect();
    targets.extend(undecodable);
    targets.sort();
    let same = known.cloned().unwrap_or_default() == events;
    if targets.is_empty() && same && requeue_after.is_none() {
        return AutomationDecision::Nothing;
    }
    AutomationDecision::EveryEvent {
        targets,
        events,
        requeue_after: requeue_after
            .map(|requeue_after| Duration::try_from(requeue_after).unwrap_or_default()),
    }
}

/// The decision about the entry of one cluster.
enum EventDecision {
    Remove,
    Target,
    Keep(ClusterEvent),
    Wait(ClusterEvent, SignedDuration),
}

fn decide_event(
    event: &ClusterEvent,
    is_violating: bool,
    delay: i64,
    now: Timestamp,
) -> EventDecision {
    let time = |text: &str| text.parse::<Timestamp>().ok();
    let times = (time(&event.automation_start_time), time(&event.event_time));
    let (Some(started), Some(changed)) = times else {
        return EventDecision::Remove;
    };
    let until = started
        .checked_add(SignedDuration::from_secs(delay))
        .unwrap_or(Timestamp::MAX);
    let touched = || ClusterEvent {
        event_time: format_time(now),
        ..event.clone()
    };
    if is_violating {
        // Times have whole seconds: a change in the second of the start counts.
        if delay == 0 || changed < started {
            return EventDecision::Keep(event.clone());
        }
        if now > until {
            return EventDecision::Target;
        }
        let wait = until.duration_since(now) + SignedDuration::from_secs(1);
        return EventDecision::Wait(touched(), wait);
    }
    if delay > 0 && now < until {
        return EventDecision::Keep(touched());
    }
    EventDecision::Remove
}

/// The entry of a cluster whose job starts now. Its event time is before the start, so that any later event differs.
pub fn event_of_started_job(now: Timestamp) -> ClusterEvent {
    let before = now.checked_sub(SignedDuration::from_secs(1)).unwrap_or(now);
    ClusterEvent {
        automation_start_time: format_time(now),
        event_time: format_time(before),
    }
}

/// RFC 3339 in UTC, in whole seconds.
pub fn format_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const START: &str = "2026-11-21T10:00:00Z";

    fn at(seconds: i64) -> Timestamp {
        let start: Timestamp = START.parse().unwrap();
        start + SignedDuration::from_secs(seconds)
    }

    fn policy(violating: &[&str]) -> Policy {
        let clusters: Vec<_> = violating
            .iter()
            .map(|name| json!({ "clustername": name, "compliant": "NonCompliant" }))
            .collect();
        serde_json::from_value(json!({
            "metadata": { "name": "p", "namespace": "n" },
            "spec": { "disabled": false, "policy-templates": [] },
            "status": { "status": clusters },
        }))
        .unwrap()
    }

    fn automation(mode: &str, delay: i64, events: &ClusterEvents) -> PolicyAutomation {
        serde_json::from_value(json!({
            "metadata": { "name": "a", "namespace": "n" },
            "spec": {
                "mode": mode, "policyRef": "p", "delayAfterRunSeconds": delay,
                "automationDef": { "name": "job", "secret": "s" },
            },
            "status": { "clustersWithEvent": events },
        }))
        .unwrap()
    }

    /// The targets and event times that `everyEvent` decides for a cluster, with a job started at 0 and an event at `changed`.
    fn decided_for_one(
        delay: i64,
        changed: i64,
        violating: bool,
        now: i64,
    ) -> (Vec<String>, Vec<String>) {
        let event = ClusterEvent {
            automation_start_time: format_time(at(0)),
            event_time: format_time(at(changed)),
        };
        let events: ClusterEvents = [("c".to_owned(), event)].into();
        let violating: &[&str] = if violating { &["c"] } else { &[] };
        let decision = decide(
            &automation("everyEvent", delay, &events),
            &policy(violating),
            at(now),
        );
        match decision {
            AutomationDecision::Nothing => (Vec::new(), vec![format_time(at(changed))]),
            AutomationDecision::EveryEvent {
                targets, events, ..
            } => (
                targets,
                events.into_values().map(|e| e.event_time).collect(),
            ),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lasting_violation_runs_no_second_job() {
        for now in [1, 1000] {
            assert_eq!(
                decided_for_one(240, -1, true, now),
                (vec![], vec![format_time(at(-1))])
            );
            assert_eq!(
                decided_for_one(0, 5, true, now),
                (vec![], vec![format_time(at(5))])
            );
        }
    }

    #[test]
    fn entry_of_a_recovered_cluster_is_removed_after_the_delay() {
        assert_eq!(decided_for_one(0, -1, false, 1), (vec![], vec![]));
        assert_eq!(
            decided_for_one(240, -1, false, 10),
            (vec![], vec![format_time(at(10))])
        );
        assert_eq!(decided_for_one(240, 10, false, 241), (vec![], vec![]));
    }

    #[test]
    fn new_violation_waits_for_the_end_of_the_delay() {
        assert_eq!(
            decided_for_one(240, 10, true, 20),
            (vec![], vec![format_time(at(20))])
        );
        assert_eq!(
            decided_for_one(240, 20, true, 241),
            (vec!["c".to_owned()], vec![])
        );
        let events: ClusterEvents = [(
            "c".to_owned(),
            ClusterEvent {
                automation_start_time: format_time(at(0)),
                event_time: format_time(at(10)),
            },
        )]
        .into();
        let decision = decide(
            &automation("everyEvent", 240, &events),
            &policy(&["c"]),
            at(20),
        );
        let AutomationDecision::EveryEvent { requeue_after, .. } = decision else {
            panic!("{decision:?}")
        };
        assert_eq!(requeue_after, Some(Duration::from_secs(221)));
    }

    #[test]
    fn prop_169_event_in_the_second_of_the_start_is_not_lost() {
        let event = event_of_started_job(at(0));
        assert_eq!(event.automation_start_time, format_time(at(0)));
        assert_eq!(event.event_time, format_time(at(-1)));
        // Recovered and violated again within that second: the delay is waited for, then it runs.
        assert_eq!(
            decided_for_one(240, 0, true, 0),
            (vec![], vec![format_time(at(0))])
        );
        assert_eq!(
            decided_for_one(240, 0, true, 241),
            (vec!["c".to_owned()], vec![])
        );
        let decision = decide(
            &automation("everyEvent", 0, &ClusterEvents::new()),
            &policy(&["z", "a"]),
            at(0),
        );
        let AutomationDecision::EveryEvent { targets, .. } = decision else {
            panic!("{decision:?}")
        };
        assert_eq!(targets, ["a", "z"]);
    }

    #[test]
    fn entry_with_invalid_times_counts_as_none() {
        let broken: ClusterEvents = [("c".to_owned(), ClusterEvent::default())].into();
        let decision = |violating: &[&str]| {
            let automation = automation("everyEvent", 240, &broken);
            decide(&automation, &policy(violating), at(0))
        };
        let run = |targets: Vec<String>| AutomationDecision::EveryEvent {
            targets,
            events: ClusterEvents::new(),
            requeue_after: None,
        };
        assert_eq!(decision(&["c"]), run(vec!["c".to_owned()]));
        assert_eq!(decision(&[]), run(vec![]));
    }

    #[test]
    fn once_waits_for_a_violation_and_a_disabled_policy_runs_only_manual_jobs() {
        let once = automation("once", 0, &ClusterEvents::new());
        assert_eq!(
            decide(&once, &policy(&[]), at(0)),
            AutomationDecision::Nothing
        );
        let violating = AutomationDecision::Once(vec!["c".to_owned()]);
        assert_eq!(decide(&once, &policy(&["c"]), at(0)), violating);
        let mut off = policy(&["c"]);
        off.spec.disabled = true;
        assert_eq!(decide(&once, &off, at(0)), AutomationDecision::Nothing);
        let mut by_hand = automation("disabled", 0, &ClusterEvents::new());
        assert_eq!(
            decide(&by_hand, &policy(&["c"]), at(0)),
            AutomationDecision::Nothing
        );
        let rerun = (
            crate::automation_mode::RERUN_ANNOTATION.to_owned(),
            "true".to_owned(),
        );
        by_hand.metadata.annotations = Some([rerun].into());
        let manual = AutomationDecision::Manual(vec!["c".to_owned()]);
        assert_eq!(decide(&by_hand, &off, at(0)), manual);
    }
}
