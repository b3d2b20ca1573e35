//! Decides which shards move to which process, so that each holds about as many as the others: pure.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// The leases of the shards as this process has last seen them, by shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SeenLeases(pub(super) Vec<SeenLease>);

/// One shard's lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SeenLease {
    /// The identity of its holder, which may have died since.
    pub(super) holder: Option<String>,
    /// The last request to hand it over.
    pub(super) request: Option<SeenRequest>,
}

/// A request to hand a shard over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SeenRequest {
    /// The annotation: identity and time, so that a repeated request differs.
    pub(super) text: String,
    /// When this process saw it first, by its own clock.
    pub(super) first_seen: Instant,
}

impl SeenRequest {
    /// The identity of the process that asks.
    pub(super) fn identity(&self) -> &str {
        self.text.split(' ').next().unwrap_or_default()
    }

    /// Whether its sender is taken to be alive: it repeats its request.
    fn is_recent(&self, now: Instant, valid: Duration) -> bool {
        now.saturating_duration_since(self.first_seen) <= valid
    }
}

impl SeenLeases {
    /// Of `count` shards without holders.
    pub(super) fn of(count: u16) -> Self {
        Self(vec![SeenLease::default(); usize::from(count)])
    }

    /// The holder of a shard.
    pub(super) fn holder(&self, shard: u16) -> Option<&str> {
        self.0.get(usize::from(shard))?.holder.as_deref()
    }

    /// Records a Lease as it was read or written: its holder, and the text of the request in it. Returns whether it has changed.
    pub(super) fn record(
        &mut self,
        shard: u16,
        holder: Option<&str>,
        request: Option<&str>,
        now: Instant,
    ) -> bool {
        let Some(lease) = self.0.get_mut(usize::from(shard)) else {
            return false;
        };
        let known = lease.request.as_ref().map(|request| request.text.as_str());
        if lease.holder.as_deref() == holder && known == request {
            return false;
        }
        if known != request {
            lease.request = request.map(|text| SeenRequest {
                text: text.to_owned(),
                first_seen: now,
            });
        }
        lease.holder = holder.map(str::to_owned);
        true
    }

    /// How many shards a process holds.
    fn held_by(&self, identity: &str) -> usize {
        let holds = |lease: &&SeenLease| lease.holder.as_deref() == Some(identity);
        self.0.iter().filter(holds).count()
    }

    /// The shard that `identity` requests: of the process that holds most, if that is at least two more than it holds itself.
    /// `None` while an earlier request may be granted.
    pub(super) fn to_request(&self, identity: &str, now: Instant, valid: Duration) -> Option<u16> {
        let recent = |lease: &SeenLease| {
            let request = lease.request.as_ref();
            let request = request.filter(|request| request.is_recent(now, valid))?;
            Some(request.identity().to_owned())
        };
        let is_waiting = |lease: &SeenLease| recent(lease).as_deref() == Some(identity);
        if self.0.iter().any(is_waiting) {
            return None;
        }
        let mut held: BTreeMap<&str, usize> = BTreeMap::new();
        for lease in &self.0 {
            if let Some(holder) = &lease.holder {
                *held.entry(holder).or_default() += 1;
            }
        }
        let (most, count) = held.into_iter().max_by_key(|(_, count)| *count)?;
        if count < self.held_by(identity) + 2 {
            return None;
        }
        let requestable =
            |lease: &SeenLease| lease.holder.as_deref() == Some(most) && recent(lease).is_none();
        let shard = self.0.iter().rposition(requestable)?;
        u16::try_from(shard).ok()
    }

    /// The process that `identity` hands a shard over to; `None` if it keeps the shard.
    pub(super) fn to_hand_over(
        &self,
        shard: u16,
        identity: &str,
        now: Instant,
        valid: Duration,
    ) -> Option<String> {
        let lease = self.0.get(usize::from(shard))?;
        let request = lease.request.as_ref()?;
        let to = request.identity();
        let is_fair = self.held_by(identity) >= self.held_by(to) + 2;
        let is_mine = lease.holder.as_deref() == Some(identity) && to != identity;
        (is_mine && is_fair && request.is_recent(now, valid)).then(|| to.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: Duration = Duration::from_secs(15);

    fn leases(holders: &[&str]) -> SeenLeases {
        let lease = |holder: &&str| SeenLease {
            holder: Some((*holder).to_owned()).filter(|holder| !holder.is_empty()),
            request: None,
        };
        SeenLeases(holders.iter().map(lease).collect())
    }

    fn requested(mut leases: SeenLeases, shard: usize, by: &str, at: Instant) -> SeenLeases {
        leases.0[shard].request = Some(SeenRequest {
            text: format!("{by} 2026-11-24T17:00:00Z"),
            first_seen: at,
        });
        leases
    }

    #[tokio::test(start_paused = true)]
    async fn process_with_fewer_shards_requests_one_of_who_holds_most() {
        let now = Instant::now();
        let ask = |holders: &[&str], by| leases(holders).to_request(by, now, VALID);
        assert_eq!(ask(&["a", "a"], "b"), Some(1));
        assert_eq!(ask(&["a", "a", "a", "b"], "b"), Some(2));
        assert_eq!(ask(&["a", "b"], "c"), None, "there are too few shards");
        assert_eq!(ask(&["a", "a", "b"], "b"), None, "this is fair");
        assert_eq!(ask(&["", ""], "b"), None, "it takes these itself");
        assert_eq!(ask(&["a", "a"], "a"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_of_several_processes_are_for_different_shards() {
        let now = Instant::now();
        let held = leases(&["a", "a", "a", "a"]);
        let one = requested(held, 3, "b", now);
        assert_eq!(one.to_request("b", now, VALID), None, "it waits");
        assert_eq!(one.to_request("c", now, VALID), Some(2));
        let late = now + VALID + Duration::from_secs(1);
        assert_eq!(one.to_request("b", late, VALID), Some(3), "it asks again");
    }

    #[tokio::test(start_paused = true)]
    async fn holder_hands_over_what_is_requested_fairly_and_recently() {
        let now = Instant::now();
        let grant = |holders: &[&str], by, at| {
            requested(leases(holders), 1, by, now).to_hand_over(1, "a", at, VALID)
        };
        assert_eq!(grant(&["a", "a"], "b", now).as_deref(), Some("b"));
        assert_eq!(
            grant(&["a", "a", "b"], "b", now),
            None,
            "it was granted another"
        );
        assert_eq!(
            grant(&["a", "b"], "c", now),
            None,
            "it holds the shard no more"
        );
        assert_eq!(grant(&["a", "a", "a"], "a", now), None);
        let late = now + VALID + Duration::from_secs(1);
        assert_eq!(
            grant(&["a", "a"], "b", late),
            None,
            "the sender may be dead"
        );
        assert_eq!(leases(&["a", "a"]).to_hand_over(1, "a", now, VALID), None);
    }
}
