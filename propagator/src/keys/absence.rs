//! The delay before a deleted key is created again.
//!
//! A script that deletes a key and polls once a second must see that it is absent. After the delay the propagator creates
//! another key, if a replica needs one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a deleted key stays absent.
pub const RECREATE_DELAY: Duration = Duration::from_secs(5);

/// The last state of each key that the watch has delivered, by cluster.
#[derive(Default)]
pub struct KeyDeletions(HashMap<String, KeyState>);

/// The last state of a key.
enum KeyState {
    Present,
    DeletedAt(Instant),
}

impl KeyDeletions {
    /// Records that the key of a cluster exists.
    pub fn record_present(&mut self, cluster: &str) {
        self.0.insert(cluster.to_owned(), KeyState::Present);
    }

    /// Records that the key of a cluster was deleted.
    pub fn record_deleted(&mut self, cluster: &str, now: Instant) {
        self.0.retain(|_, state| !state.is_over(now));
        self.0.insert(cluster.to_owned(), KeyState::DeletedAt(now));
    }

    /// Drops the state of a key whose Secret cannot be decoded: whether it exists is not known.
    pub fn remove(&mut self, cluster: &str) {
        self.0.remove(cluster);
    }

    /// How long to wait until a key may be created for a cluster without a cached one.
    pub fn creation_delay(&self, cluster: &str, now: Instant) -> Option<Duration> {
        match self.0.get(cluster)? {
            // It has just been deleted, and the deletion is about to be recorded.
            KeyState::Present => Some(RECREATE_DELAY),
            KeyState::DeletedAt(at) => {
                let wait = RECREATE_DELAY.saturating_sub(now.saturating_duration_since(*at));
                (!wait.is_zero()).then_some(wait)
            }
        }
    }
}

impl KeyState {
    fn is_over(&self, now: Instant) -> bool {
        matches!(self, Self::DeletedAt(at) if now.saturating_duration_since(*at) >= RECREATE_DELAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn deleted_key_is_not_created_for_five_seconds() {
        let (mut deletions, start) = (KeyDeletions::default(), Instant::now());
        deletions.record_present("c1");
        deletions.record_deleted("c1", start);
        assert_eq!(deletions.creation_delay("c1", start), Some(RECREATE_DELAY));
        assert_eq!(
            deletions.creation_delay("c1", start + 4 * SECOND),
            Some(SECOND)
        );
        assert_eq!(deletions.creation_delay("c1", start + 5 * SECOND), None);
        assert_eq!(
            deletions.creation_delay("c2", start),
            None,
            "another cluster"
        );
    }

    #[test]
    fn key_that_never_existed_is_created_at_once() {
        assert_eq!(
            KeyDeletions::default().creation_delay("c1", Instant::now()),
            None
        );
    }

    #[test]
    fn key_whose_deletion_is_not_recorded_yet_is_not_created() {
        let mut deletions = KeyDeletions::default();
        deletions.record_present("c1");
        assert_eq!(
            deletions.creation_delay("c1", Instant::now()),
            Some(RECREATE_DELAY)
        );
        deletions.remove("c1");
        assert_eq!(
            deletions.creation_delay("c1", Instant::now()),
            None,
            "undecodable"
        );
    }

    #[test]
    fn deletion_is_dropped_after_the_delay() {
        let (mut deletions, start) = (KeyDeletions::default(), Instant::now());
        deletions.record_deleted("c1", start);
        deletions.record_deleted("c2", start + 6 * SECOND);
        assert_eq!(deletions.0.len(), 1);
    }
}
