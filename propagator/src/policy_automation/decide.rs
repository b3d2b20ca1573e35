//! Whether an automation has to run a job, and for which clusters. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use reeve_api::policy_automation::ClusterEvent;
use reeve_api::{Compliance, Policy, PolicyAutomation};

use crate::automation_mode::Mode;

/// What has happened to each cluster.
pub type Events = BTreeMap<String, ClusterEvent>;

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nothing is to be done.
    Nothing,
    /// Run a job for these clusters, possibly none, and take the user's word back.
    Manual(Vec<String>),
    /// Run a job for these clusters, and switch the automation off.
    Once(Vec<String>),
    /// Run a job for these clusters, if there are any; then remember these events, those of the targets aside.
    EveryEvent {
        /// The clusters to run for, sorted.
        targets: Vec<String>,
        /// What to remember of the others.
        events: Events,
        /// When an event falls due with nothing to tell of it.
        again: Option<Duration>,
    },
}

/// What to do about an automation, given its policy and the time.
pub fn decide(automation: &PolicyAutomation, policy: &Policy, now: Timestamp) -> Plan {
    let violating = violating(policy);
    match Mode::of(automation) {
        Mode::Manual => Plan::Manual(violating),
        Mode::Disabled => Plan::Nothing,
        _ if policy.spec.disabled => Plan::Nothing,
        Mode::Once if violating.is_empty() => Plan::Nothing,
        Mode::Once => Plan::Once(violating),
        Mode::EveryEvent => every_event(automation, &violating, now),
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

fn every_event(automation: &PolicyAutomation, violating: &[String], now: Timestamp) -> Plan {
    let delay = automation.spec.delay_after_run_seconds.unwrap_or(0).max(0);
    let status = automation.status.as_ref();
    let known = status.and_then(|status| status.clusters_with_event.as_ref());
    let mut events = Events::new();
    let mut targets = Vec::new();
    let mut again: Option<SignedDuration> = None;
    for (cluster, event) in known.into_iter().flatten() {
        let is_violating = violating.contains(cluster);
        match step(event, is_violating, delay, now) {
            Step::Drop => {}
            Step::Target => targets.push(cluster.clone()),
            Step::Keep(kept) => drop(events.insert(cluster.clone(), kept)),
            Step::Wait(kept, wait) => {
                events.insert(cluster.clone(), kept);
                again = Some(again.map_or(wait, |again| again.min(wait)));
            }
        }
    }
    let new = violating
        .iter()
        .filter(|cluster| known.is_none_or(|known| !known.contains_key(*cluster)));
    targets.extend(new.cloned());
    // An entry of which nothing can be read is none.
    let unreadable = violating.iter().filter(|cluster| {
        known.is_some_and(|known| known.contains_key(*cluster))
            && !events.contains_key(*cluster)
            && !targets.contains(cluster)
    });
    let unreadable: Vec<_> = unreadable.cloned().collect();
    targets.extend(unreadable);
    targets.sort();
    let same = known.cloned().unwrap_or_default() == events;
    if targets.is_empty() && same && again.is_none() {
        return Plan::Nothing;
    }
    Plan::EveryEvent {
        targets,
        events,
        again: again.map(|again| Duration::try_from(again).unwrap_or_default()),
    }
}

/// What becomes of one entry.
enum Step {
    Drop,
    Target,
    Keep(ClusterEvent),
    Wait(ClusterEvent, SignedDuration),
}

fn step(event: &ClusterEvent, is_violating: bool, delay: i64, now: Timestamp) -> Step {
    let time = |text: &str| text.parse::<Timestamp>().ok();
    let times = (time(&event.automation_start_time), time(&event.event_time));
    let (Some(started), Some(changed)) = times else {
        return Step::Drop;
    };
    let until = started
        .checked_add(SignedDuration::from_secs(delay))
        .unwrap_or(Timestamp::MAX);
    let touched = || ClusterEvent {
        event_time: text(now),
        ..event.clone()
    };
    if is_violating {
        // Times have whole seconds: a change in the second of the start counts.
        if delay == 0 || changed < started {
            return Step::Keep(event.clone());
        }
        if now > until {
            return Step::Target;
        }
        let wait = until.duration_since(now) + SignedDuration::from_secs(1);
        return Step::Wait(touched(), wait);
    }
    if delay > 0 && now < until {
        return Step::Keep(touched());
    }
    Step::Drop
}

/// The entry of a cluster for which a job was started just now. Its event location before the start, so that any later one
/// is seen to be another.
pub fn started(now: Timestamp) -> ClusterEvent {
    let before = now.checked_sub(SignedDuration::from_secs(1)).unwrap_or(now);
    ClusterEvent {
        automation_start_time: text(now),
        event_time: text(before),
    }
}

/// RFC 3339 in UTC, in whole seconds.
pub fn text(at: Timestamp) -> String {
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

    fn automation(mode: &str, delay: i64, events: &Events) -> PolicyAutomation {
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

    /// What everyEvent does for `c`, started at 0, changed at `changed`.
    fn of_one(delay: i64, changed: i64, violating: bool, now: i64) -> (Vec<String>, Vec<String>) {
        let event = ClusterEvent {
            automation_start_time: text(at(0)),
            event_time: text(at(changed)),
        };
        let events: Events = [("c".to_owned(), event)].into();
        let violating: &[&str] = if violating { &["c"] } else { &[] };
        let plan = decide(
            &automation("everyEvent", delay, &events),
            &policy(violating),
            at(now),
        );
        match plan {
            Plan::Nothing => (Vec::new(), vec![text(at(changed))]),
            Plan::EveryEvent {
                targets, events, ..
            } => (
                targets,
                events.into_values().map(|e| e.event_time).collect(),
            ),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_violation_that_lasts_runs_nothing_again() {
        for now in [1, 1000] {
            assert_eq!(of_one(240, -1, true, now), (vec![], vec![text(at(-1))]));
            assert_eq!(of_one(0, 5, true, now), (vec![], vec![text(at(5))]));
        }
    }

    #[test]
    fn a_cluster_that_recovered_is_forgotten_after_the_delay() {
        assert_eq!(of_one(0, -1, false, 1), (vec![], vec![]));
        assert_eq!(of_one(240, -1, false, 10), (vec![], vec![text(at(10))]));
        assert_eq!(of_one(240, 10, false, 241), (vec![], vec![]));
    }

    #[test]
    fn a_new_violation_waits_for_the_end_of_the_delay() {
        assert_eq!(of_one(240, 10, true, 20), (vec![], vec![text(at(20))]));
        assert_eq!(of_one(240, 20, true, 241), (vec!["c".to_owned()], vec![]));
        let events: Events = [(
            "c".to_owned(),
            ClusterEvent {
                automation_start_time: text(at(0)),
                event_time: text(at(10)),
            },
        )]
        .into();
        let plan = decide(
            &automation("everyEvent", 240, &events),
            &policy(&["c"]),
            at(20),
        );
        let Plan::EveryEvent { again, .. } = plan else {
            panic!("{plan:?}")
        };
        assert_eq!(again, Some(Duration::from_secs(221)));
    }

    #[test]
    fn rough_edge_51_a_change_in_the_second_of_the_start_is_seen() {
        let event = started(at(0));
        assert_eq!(event.automation_start_time, text(at(0)));
        assert_eq!(event.event_time, text(at(-1)));
        // Recovered and violated again within that second: the delay is waited for, then it runs.
        assert_eq!(of_one(240, 0, true, 0), (vec![], vec![text(at(0))]));
        assert_eq!(of_one(240, 0, true, 241), (vec!["c".to_owned()], vec![]));
        let plan = decide(
            &automation("everyEvent", 0, &Events::new()),
            &policy(&["z", "a"]),
            at(0),
        );
        let Plan::EveryEvent { targets, .. } = plan else {
            panic!("{plan:?}")
        };
        assert_eq!(targets, ["a", "z"]);
    }

    #[test]
    fn an_entry_that_cannot_be_read_counts_as_none() {
        let broken: Events = [("c".to_owned(), ClusterEvent::default())].into();
        let plan = |violating: &[&str]| {
            let automation = automation("everyEvent", 240, &broken);
            decide(&automation, &policy(violating), at(0))
        };
        let run = |targets: Vec<String>| Plan::EveryEvent {
            targets,
            events: Events::new(),
            again: None,
        };
        assert_eq!(plan(&["c"]), run(vec!["c".to_owned()]));
        assert_eq!(plan(&[]), run(vec![]));
    }

    #[test]
    fn once_waits_for_a_violation_and_a_disabled_policy_runs_nothing_but_by_hand() {
        let once = automation("once", 0, &Events::new());
        assert_eq!(decide(&once, &policy(&[]), at(0)), Plan::Nothing);
        let violating = Plan::Once(vec!["c".to_owned()]);
        assert_eq!(decide(&once, &policy(&["c"]), at(0)), violating);
        let mut off = policy(&["c"]);
        off.spec.disabled = true;
        assert_eq!(decide(&once, &off, at(0)), Plan::Nothing);
        let mut by_hand = automation("disabled", 0, &Events::new());
        assert_eq!(decide(&by_hand, &policy(&["c"]), at(0)), Plan::Nothing);
        let rerun = (
            crate::automation_mode::RERUN_ANNOTATION.to_owned(),
            "true".to_owned(),
        );
        by_hand.metadata.annotations = Some([rerun].into());
        let manual = Plan::Manual(vec!["c".to_owned()]);
        assert_eq!(decide(&by_hand, &off, at(0)), manual);
    }
}
