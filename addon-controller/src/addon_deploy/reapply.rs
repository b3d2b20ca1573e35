//! Makes the work agent apply objects again that it reports as deleted, and applies the hub's CRD whole where it does
//! not exist.
//!
//! The agent applies a work when its spec or its labels change, and otherwise every four to six minutes; after an
//! error it waits for up to a quarter of an hour. An object that is deleted in between is missing that long: for
//! example the CRD of policies that was applied onto a terminating one, without which the policy agent cannot work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use reeve_runtime::object::ObjectKey;
use serde::Serialize;
use serde_json::{Value, json};

use crate::facts::Inputs;
use crate::identity::resource;
use crate::work::Live;
use crate::work_report::HubCrd;

/// The time between two requests to the agent. The agent checks applied objects every ten to twenty seconds, so an
/// earlier report may be older than the last change.
const PAUSE: Duration = Duration::from_mins(1);

/// Sets the metadata of the hub's CRD, and nothing else. A field manager that had applied the schema, too, would
/// remove it by applying the metadata alone.
const MARKER: &str = "work-agent-mark";

/// The works to apply again, as `namespace/name`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reapplied {
    /// When each work was last applied again, in seconds of the Unix epoch.
    pub at: BTreeMap<String, i64>,
    /// The works with the whole CRD of the hub.
    pub whole: BTreeSet<String>,
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
        let is_whole = match live.report.hub_crd {
            HubCrd::None => false,
            HubCrd::Metadata { is_absent } => is_absent && is_due,
            HubCrd::Whole { is_there } => !is_there,
        };
        if is_whole {
            reapplied.whole.insert(key.to_string());
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
    let is_needed =
        live.report.is_lost || live.report.hub_crd == HubCrd::Metadata { is_absent: true };
    if !is_needed || live.is_deleting || inputs.addon.is_deleting || !answers {
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

/// How the hub's CRD is applied. It is reduced to its metadata unless it is to be `whole`: an existing CRD is only
/// marked to stay, and a whole one changes nothing.
pub fn hub_crd(object: &mut Value, is_whole: bool) -> Value {
    let strategy = if is_whole {
        json!({ "type": "CreateOnly" })
    } else {
        if let Some(fields) = object.as_object_mut() {
            fields.retain(|name, _| ["apiVersion", "kind", "metadata"].contains(&name.as_str()));
        }
        // Not with ignored fields: the agent would skip a CRD that it has applied once, even if it was deleted since.
        let how = json!({ "force": true, "fieldManager": MARKER });
        json!({ "type": "ServerSideApply", "serverSideApply": how })
    };
    json!({ "resourceIdentifier": resource(object), "updateStrategy": strategy })
}
