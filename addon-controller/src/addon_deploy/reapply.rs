//! Having the work agent apply again what it reports as gone, and the hub's CRD whole where there is none.
//!
//! The agent applies a work when its spec or its labels change, and otherwise every four to six minutes; after an error it
//! waits for up to a quarter of an hour. An object that vanishes in between is missed: the CRD of policies, for example,
//! that was applied onto one that was being deleted, without which the policy agent cannot work.

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

/// How long the agent is left alone after that. It looks at what it has applied every ten to twenty seconds, so what it
/// reported before the last change may have been true earlier.
const PAUSE: Duration = Duration::from_mins(1);

/// Sets the metadata of the hub's CRD, and nothing else. One who has applied the schema, too, would take that away by
/// applying the metadata alone.
const MARKER: &str = "work-agent-mark";

/// What is to be applied again, by the works' `namespace/name`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reapplied {
    /// When each work was last to be applied again, in seconds of the Unix epoch.
    pub at: BTreeMap<String, i64>,
    /// The works that are to hold the hub's CRD whole.
    pub whole: BTreeSet<String>,
}

/// What is to be applied again at `now`, in seconds of the Unix epoch.
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

/// When to reconcile again, to see whether what is absent now has come back.
pub fn requeue_after(
    inputs: &Inputs,
    works: &BTreeMap<ObjectKey, Arc<Live>>,
    now: i64,
) -> Option<Duration> {
    let remaining = works
        .iter()
        .filter_map(|(key, live)| remaining(inputs, key, live, now));
    // What is due now has been asked for, and counts from now on.
    let pauses = remaining.map(|left| if left.is_zero() { PAUSE } else { left });
    pauses.min()
}

/// How long to wait until a work is to be applied again; `None` where that is not needed, or nobody would do it: the agent
/// of a cluster that does not answer reports what was so once.
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
    // A time that is yet to come was written by another clock.
    let since = since.try_into().map_or(Duration::MAX, Duration::from_secs);
    Some(PAUSE.saturating_sub(since))
}

/// How the hub's CRD is applied. It is reduced to its metadata unless it is to be `whole`: where one is there, it is only
/// marked to stay, and a whole one changes nothing.
pub fn hub_crd(object: &mut Value, is_whole: bool) -> Value {
    let strategy = if is_whole {
        json!({ "type": "CreateOnly" })
    } else {
        if let Some(fields) = object.as_object_mut() {
            fields.retain(|name, _| ["apiVersion", "kind", "metadata"].contains(&name.as_str()));
        }
        // Not with ignored fields: the agent would skip a CRD that has been applied once, whatever has become of it.
        let how = json!({ "force": true, "fieldManager": MARKER });
        json!({ "type": "ServerSideApply", "serverSideApply": how })
    };
    json!({ "resourceIdentifier": resource(object), "updateStrategy": strategy })
}
