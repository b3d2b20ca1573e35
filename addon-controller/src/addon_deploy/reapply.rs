//! Makes the work agent apply objects again that it reports as deleted.
//!
//! The agent applies a work when its spec or its labels change, and otherwise every four to six minutes; after an
//! error it waits for up to a quarter of an hour. An object that is deleted in between is missing that long: for
//! example the CRD of policies that was applied onto a terminating one, without which the policy agent cannot work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reeve_runtime::object::ObjectKey;
use serde::Serialize;

use crate::facts::Inputs;
use crate::work::Live;

/// The time between two requests to the agent. The agent checks applied objects every ten to twenty seconds, so an
/// earlier report may be older than the last change.
const PAUSE: Duration = Duration::from_mins(1);

/// The works to apply again, as `namespace/name`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reapplied {
    /// When each work was last applied again, in seconds of the Unix epoch.
    pub at: BTreeMap<String, i64>,
}

/// The works to apply again at `now`, in seconds of the Unix epoch.
pub fn due(inputs: &Inputs, works: &BTreeMap<ObjectKey, Arc<Live>>, now: i64) -> Reapplied {
    let mut reapplied = Reapplied::default();
    for (key, live) in works {
        let is_due = remaining(inputs, key, live, now) == Some(Duration::ZERO);
        if let Some(at) = if is_due {
            Some(now)
        } else {
            live.report.reapplied_at
        } {
            reapplied.at.insert(key.to_string(), at);
        }
    }
    reapplied
}

/// When to reconcile again, to check whether a missing object exists again.
pub fn requeue_after(
    inputs: &Inputs,
    works: &BTreeMap<ObjectKey, Arc<Live>>,
    now: i64,
) -> Option<Duration> {
    let remaining = works
        .iter()
        .filter_map(|(key, live)| remaining(inputs, key, live, now));
    // For a work that is due now, the pause starts now.
    let pauses = remaining.map(|left| if left.is_zero() { PAUSE } else { left });
    pauses.min()
}

/// How long to wait until a work is applied again; `None` where that is not needed, or no agent would apply it: the
/// last report of a cluster that is not available may be out of date.
fn remaining(inputs: &Inputs, key: &ObjectKey, live: &Live, now: i64) -> Option<Duration> {
    let is_own = key.namespace == inputs.installation.cluster;
    let hosting = inputs.hosting.as_ref();
    let cluster = if is_own {
        Some(&*inputs.cluster)
    } else {
        hosting.and_then(|hosting| hosting.facts.as_deref())
    };
    let answers = cluster.is_some_and(|cluster| cluster.is_available == Some(true));
    if !live.report.is_lost || live.is_deleting || inputs.addon.is_deleting || !answers {
        return None;
    }
    let since = live
        .report
        .reapplied_at
        .map_or(i64::MAX, |at| now.saturating_sub(at));
    // A time in the future was written with another clock.
    let since = since.try_into().map_or(Duration::MAX, Duration::from_secs);
    Some(PAUSE.saturating_sub(since))
}
