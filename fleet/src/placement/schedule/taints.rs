//! The second filter: drops clusters with taints that are not tolerated.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use reeve_api::ocm::{ManagedCluster, Taint, Toleration};

use super::super::messages;
use super::earliest;

pub(super) const NAME: &str = "TaintToleration";

/// The expiry of a toleration that never expires.
const FOR_EVER: Timestamp = Timestamp::MAX;

/// The result of the filter.
pub(super) struct Tolerated {
    pub(super) clusters: Vec<Arc<ManagedCluster>>,
    /// The earliest expiry of a toleration that keeps a chosen cluster.
    pub(super) again_at: Option<Timestamp>,
}

/// Returns the error of the first invalid toleration.
pub(super) fn check(tolerations: &[Toleration]) -> Result<(), &'static str> {
    for toleration in tolerations {
        let exists = toleration.operator == "Exists";
        if toleration.key.is_empty() && !exists {
            return Err(messages::KEY_IS_EMPTY);
        }
        if exists && !toleration.value.is_empty() {
            return Err(messages::VALUE_IS_GIVEN);
        }
    }
    Ok(())
}

/// The clusters all of whose taints are tolerated; `placed` are the decisions so far.
pub(super) fn filter(
    clusters: &[Arc<ManagedCluster>],
    tolerations: &[Toleration],
    placed: &BTreeSet<String>,
    now: Timestamp,
) -> Tolerated {
    let mut tolerated = Tolerated {
        clusters: Vec::with_capacity(clusters.len()),
        again_at: None,
    };
    for cluster in clusters {
        let stays = placed.contains(cluster.name());
        let Some(until) = all_tolerated(&cluster.spec.taints, tolerations, stays, now) else {
            continue;
        };
        if stays {
            let ends = Some(until).filter(|until| *until != FOR_EVER);
            tolerated.again_at = earliest(tolerated.again_at, ends);
        }
        tolerated.clusters.push(Arc::clone(cluster));
    }
    tolerated
}

/// `None` if a taint is not tolerated, else the earliest expiry of the tolerations.
fn all_tolerated(
    taints: &[Taint],
    tolerations: &[Toleration],
    stays: bool,
    now: Timestamp,
) -> Option<Timestamp> {
    let mut until = FOR_EVER;
    for taint in taints {
        let harmless = match taint.effect.as_str() {
            "PreferNoSelect" => true,
            "NoSelectIfNew" => stays,
            _ => false,
        };
        if !harmless {
            let tolerated = tolerations
                .iter()
                .find_map(|one| tolerates(one, taint, now))?;
            until = until.min(tolerated);
        }
    }
    Some(until)
}

/// `None` if this toleration does not match the taint or has expired; else its expiry.
fn tolerates(toleration: &Toleration, taint: &Taint, now: Timestamp) -> Option<Timestamp> {
    let value_fits = match toleration.operator.as_str() {
        "" | "Equal" => toleration.value == taint.value,
        "Exists" => true,
        _ => false,
    };
    let fits = value_fits
        && (toleration.effect.is_empty() || toleration.effect == taint.effect)
        && (toleration.key.is_empty() || toleration.key == taint.key);
    if !fits {
        return None;
    }
    let Some(seconds) = toleration.toleration_seconds else {
        return Some(FOR_EVER);
    };
    // Only admission sets the time of a taint: a taint without it is not tolerated for a limited time.
    if seconds <= 0 {
        return None;
    }
    let added = taint.time_added?;
    let Ok(until) = added.checked_add(SignedDuration::from_secs(seconds)) else {
        return Some(FOR_EVER);
    };
    (now < until).then_some(until)
}
