//! Series that end with the object that they are about.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;

/// The labels of the series of each owner.
type Owners<O, S> = HashMap<O, HashSet<S>>;

/// A family whose series are recorded for owners; clones share it. A family cannot be asked for its series, so this
/// keeps the labels of each owner.
#[derive(Clone, Debug)]
pub struct OwnedFamily<O, S, M> {
    family: Family<S, M>,
    owners: Arc<Mutex<Owners<O, S>>>,
}

impl<O, S: Clone + Hash + Eq, M: Default> Default for OwnedFamily<O, S, M> {
    fn default() -> Self {
        Self {
            family: Family::default(),
            owners: Arc::default(),
        }
    }
}

impl<O, S, M> OwnedFamily<O, S, M>
where
    O: Clone + Eq + Hash,
    S: Clone + Eq + Hash + EncodeLabelSet,
    M: Default,
{
    /// The family, for a registry.
    pub fn family(&self) -> Family<S, M>
    where
        Family<S, M>: Clone,
    {
        self.family.clone()
    }

    /// Changes the metric with these labels, which ends with the owner.
    pub fn record(&self, owner: &O, labels: S, change: impl FnOnce(&M)) {
        let mut owners = self.owners.lock();
        self.add(&mut owners, owner, labels, change);
    }

    /// Like [`record`](Self::record), for an owner that has one series: one with other labels ends.
    pub fn record_only(&self, owner: &O, labels: S, change: impl FnOnce(&M)) {
        let mut owners = self.owners.lock();
        let recorded = owners.get(owner);
        if recorded.is_some_and(|recorded| !recorded.contains(&labels)) {
            self.end(&mut owners, owner);
        }
        self.add(&mut owners, owner, labels, change);
    }

    /// Removes the series of an owner that no other owner has.
    pub fn remove(&self, owner: &O) {
        self.end(&mut self.owners.lock(), owner);
    }

    fn add(&self, owners: &mut Owners<O, S>, owner: &O, labels: S, change: impl FnOnce(&M)) {
        change(&self.family.get_or_create(&labels));
        owners.entry(owner.clone()).or_default().insert(labels);
    }

    fn end(&self, owners: &mut Owners<O, S>, owner: &O) {
        for labels in owners.remove(owner).unwrap_or_default() {
            if !owners.values().any(|others| others.contains(&labels)) {
                self.family.remove(&labels);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;

    use super::*;
    use crate::metrics::{Description, Metrics};

    const SEEN: Description = Description::counter("seen", &["name"], "Seen");

    #[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
    struct Labels {
        name: &'static str,
    }

    fn lines(metrics: &Metrics) -> Vec<String> {
        let text = metrics.text();
        let lines = text.lines().filter(|line| line.starts_with("seen_total"));
        lines.map(str::to_owned).collect()
    }

    #[test]
    fn series_ends_with_its_last_owner() {
        let metrics = Metrics::default();
        let seen: OwnedFamily<&str, Labels, Counter> = OwnedFamily::default();
        metrics.register(&SEEN, seen.family());
        for owner in ["one/p", "two/p"] {
            seen.record(&owner, Labels { name: "p" }, |counter| {
                counter.inc();
            });
        }
        seen.remove(&"one/p");
        assert_eq!(lines(&metrics), [r#"seen_total{name="p"} 2"#]);
        seen.remove(&"two/p");
        assert_eq!(lines(&metrics), [""; 0]);
    }

    #[test]
    fn only_series_of_owner_replaces_the_one_before() {
        let metrics = Metrics::default();
        let seen: OwnedFamily<&str, Labels, Counter> = OwnedFamily::default();
        metrics.register(&SEEN, seen.family());
        for name in ["low", "high", "high"] {
            seen.record_only(&"p", Labels { name }, |counter| {
                counter.inc();
            });
        }
        assert_eq!(lines(&metrics), [r#"seen_total{name="high"} 2"#]);
    }
}
