//! How long a key that somebody deleted stays away.
//!
//! Whoever deletes a key wants to see it gone: a script that asks once a second must find that it is. The propagator
//! makes another one when that time is over, if a replica needs it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a deleted key stays away.
pub const ABSENT_FOR: Duration = Duration::from_secs(5);

/// The keys that the watch has shown, by cluster.
#[derive(Default)]
pub struct Absences(HashMap<String, Last>);

/// What the watch has shown of a key last.
enum Last {
    Present,
    DeletedAt(Instant),
}

impl Absences {
    /// The key of a cluster is there.
    pub fn note_present(&mut self, cluster: &str) {
        self.0.insert(cluster.to_owned(), Last::Present);
    }

    /// The key of a cluster is gone.
    pub fn note_deleted(&mut self, cluster: &str, now: Instant) {
        self.0.retain(|_, last| !last.is_over(now));
        self.0.insert(cluster.to_owned(), Last::DeletedAt(now));
    }

    /// Whether the key of a cluster exists is not known: its Secret cannot be decoded.
    pub fn forget(&mut self, cluster: &str) {
        self.0.remove(cluster);
    }

    /// How long to wait until a key may be made for a cluster of which none is known.
    pub fn wait(&self, cluster: &str, now: Instant) -> Option<Duration> {
        match self.0.get(cluster)? {
            // It has just gone, and the deletion is about to be noted.
            Last::Present => Some(ABSENT_FOR),
            Last::DeletedAt(at) => {
                let wait = ABSENT_FOR.saturating_sub(now.saturating_duration_since(*at));
                (!wait.is_zero()).then_some(wait)
            }
        }
    }
}

impl Last {
    fn is_over(&self, now: Instant) -> bool {
        matches!(self, Self::DeletedAt(at) if now.saturating_duration_since(*at) >= ABSENT_FOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn deleted_key_stays_away_for_five_seconds() {
        let (mut absences, start) = (Absences::default(), Instant::now());
        absences.note_present("c1");
        absences.note_deleted("c1", start);
        assert_eq!(absences.wait("c1", start), Some(ABSENT_FOR));
        assert_eq!(absences.wait("c1", start + 4 * SECOND), Some(SECOND));
        assert_eq!(absences.wait("c1", start + 5 * SECOND), None);
        assert_eq!(absences.wait("c2", start), None, "another cluster");
    }

    #[test]
    fn key_that_was_never_there_is_made_at_once() {
        assert_eq!(Absences::default().wait("c1", Instant::now()), None);
    }

    #[test]
    fn key_whose_deletion_is_not_noted_yet_is_waited_for() {
        let mut absences = Absences::default();
        absences.note_present("c1");
        assert_eq!(absences.wait("c1", Instant::now()), Some(ABSENT_FOR));
        absences.forget("c1");
        assert_eq!(absences.wait("c1", Instant::now()), None, "unreadable");
    }

    #[test]
    fn nothing_is_kept_of_an_absence_that_is_over() {
        let (mut absences, start) = (Absences::default(), Instant::now());
        absences.note_deleted("c1", start);
        absences.note_deleted("c2", start + 6 * SECOND);
        assert_eq!(absences.0.len(), 1);
    }
}
