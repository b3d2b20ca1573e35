//! The status of a Pod, computed without I/O.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::Blocked;
use super::probes::Probes;
use super::processes::ProcessId;

/// How a container is.
#[derive(Debug)]
pub(super) enum State {
    /// Not started, or not started again.
    Waiting(Blocked),
    Running {
        since: Timestamp,
        process: ProcessId,
        probes: Box<Probes>,
    },
    /// Ended for good.
    Ended(Ended),
}

/// How a process ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    /// The exit code, or 128 and the signal.
    pub(super) code: i32,
    pub(super) started: Timestamp,
    pub(super) finished: Timestamp,
}

/// A container with its past.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) state: State,
    pub(super) last: Option<Ended>,
    pub(super) restarts: u32,
}

impl Seen {
    fn ready(&self) -> bool {
        matches!(&self.state, State::Running { probes, .. } if probes.ready)
    }

    fn json(&self) -> Value {
        let mut status = json!({
            "name": self.name, "image": self.image, "imageID": "",
            "ready": self.ready(), "restartCount": self.restarts,
            "started": matches!(&self.state, State::Running { probes, .. } if probes.started),
            "lastState": {},
        });
        status["state"] = match &self.state {
            State::Waiting(blocked) => {
                json!({ "waiting": { "reason": blocked.reason, "message": blocked.message } })
            }
            State::Running { since, .. } => json!({ "running": { "startedAt": seconds(*since) } }),
            State::Ended(ended) => ended.json(),
        };
        if let Some(last) = &self.last {
            status["lastState"] = last.json();
        }
        status
    }
}

impl Ended {
    fn json(&self) -> Value {
        let reason = if self.code == 0 { "Completed" } else { "Error" };
        json!({ "terminated": {
            "exitCode": self.code, "reason": reason,
            "startedAt": seconds(self.started), "finishedAt": seconds(self.finished),
        } })
    }
}

/// When each condition last changed, and to what.
pub(super) type Changes = BTreeMap<&'static str, (bool, Timestamp)>;

/// The status of a Pod whose containers are as `seen`.
pub(super) fn status(pod: &Pod, seen: &[Seen], changes: &mut Changes, now: Timestamp) -> Value {
    let phase = phase(seen);
    let over = matches!(phase, "Succeeded" | "Failed");
    let ready = !over && seen.iter().all(Seen::ready);
    let conditions = [
        ("PodScheduled", true),
        ("Initialized", true),
        ("ContainersReady", ready),
        ("Ready", ready),
    ];
    let conditions = conditions.map(|(type_, value)| {
        let change = changes.entry(type_).or_insert((value, now));
        if change.0 != value {
            *change = (value, now);
        }
        let mut condition = json!({
            "type": type_, "status": if value { "True" } else { "False" },
            "lastTransitionTime": seconds(change.1),
        });
        if !value {
            condition["reason"] = json!(if phase == "Succeeded" {
                "PodCompleted"
            } else {
                "ContainersNotReady"
            });
        }
        condition
    });
    let started = pod
        .status
        .as_ref()
        .and_then(|status| status.start_time.clone());
    json!({
        "phase": phase,
        "conditions": conditions,
        "containerStatuses": seen.iter().map(Seen::json).collect::<Vec<_>>(),
        "hostIP": "127.0.0.1",
        "podIP": "127.0.0.1",
        "podIPs": [{ "ip": "127.0.0.1" }],
        "startTime": started.map_or_else(|| seconds(now), |time| seconds(time.0)),
    })
}

fn phase(seen: &[Seen]) -> &'static str {
    let mut failed = false;
    let mut over = true;
    for container in seen {
        match &container.state {
            State::Ended(ended) => failed |= ended.code != 0,
            // Between two starts the Pod runs.
            State::Waiting(_) if container.last.is_none() => return "Pending",
            State::Waiting(_) | State::Running { .. } => over = false,
        }
    }
    match (over, failed) {
        (false, _) => "Running",
        (true, true) => "Failed",
        (true, false) => "Succeeded",
    }
}

fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
