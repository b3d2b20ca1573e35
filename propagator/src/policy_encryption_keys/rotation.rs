//! Decides when a key is rotated. It does no I/O.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use zeroize::Zeroizing;

use crate::keys::{KeyFacts, is_key_size};

/// The decision about a cluster's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// The user rotates them: have the replicas encrypted again, as the key may have changed.
    Disabled,
    /// The rotation is due after this time.
    NotDue(Duration),
    /// The previous key has an invalid size: empty it. The rotation is due after this time.
    DropPrevious(Duration),
    /// Create a new key; the current one becomes the previous one (empty if it has an invalid size).
    Now {
        /// The key to keep for values that are still encrypted with it.
        previous: Zeroizing<Vec<u8>>,
    },
}

/// Decides about the keys of a cluster, given the time and the rotation period.
pub fn decide(facts: &KeyFacts, now: Timestamp, rotation_period: SignedDuration) -> Rotation {
    if facts.rotation_disabled {
        return Rotation::Disabled;
    }
    let valid = is_key_size(facts.key.len());
    let rotated = facts.last_rotated.as_deref();
    let rotated = rotated.and_then(|text| text.parse::<Timestamp>().ok());
    // The rotation period may exceed the range of timestamps.
    let due = rotated.map(|rotated| {
        rotated
            .checked_add(rotation_period)
            .unwrap_or(Timestamp::MAX)
    });
    match due {
        Some(due) if valid && due > now => {
            let again = Duration::try_from(due.duration_since(now)).unwrap_or_default();
            if facts.previous.is_empty() || is_key_size(facts.previous.len()) {
                Rotation::NotDue(again)
            } else {
                Rotation::DropPrevious(again)
            }
        }
        _ => Rotation::Now {
            previous: if valid {
                facts.key.clone()
            } else {
                Zeroizing::default()
            },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAYS_30: SignedDuration = SignedDuration::from_hours(30 * 24);

    fn now() -> Timestamp {
        "2026-11-21T10:00:00Z".parse().unwrap()
    }

    fn keys(last_rotated: Option<&str>) -> KeyFacts {
        KeyFacts {
            key: Zeroizing::new(vec![1; 32]),
            previous: Zeroizing::new(vec![2; 32]),
            last_rotated: last_rotated.map(str::to_owned),
            rotation_disabled: false,
        }
    }

    fn after(facts: &KeyFacts) -> Rotation {
        decide(facts, now(), DAYS_30)
    }

    #[test]
    fn prop_137_key_of_unknown_or_great_age_is_rotated() {
        for last_rotated in [None, Some("2020-04-28T23:03:13+02:00"), Some("yesterday")] {
            let previous = Zeroizing::new(vec![1; 32]);
            assert_eq!(
                after(&keys(last_rotated)),
                Rotation::Now { previous },
                "{last_rotated:?}"
            );
        }
    }

    #[test]
    fn prop_137_fresh_key_is_kept_for_the_rotation_period() {
        let wait = Duration::from_hours(30 * 24);
        assert_eq!(
            after(&keys(Some("2026-11-21T10:00:00Z"))),
            Rotation::NotDue(wait)
        );
        let wait = Duration::from_hours(24);
        assert_eq!(
            after(&keys(Some("2026-10-23T10:00:00Z"))),
            Rotation::NotDue(wait)
        );
    }

    #[test]
    fn key_with_a_huge_rotation_period_is_not_rotated_at_once() {
        let days = SignedDuration::from_hours(24 * i64::from(u32::MAX));
        let facts = keys(Some("2026-11-21T10:00:00Z"));
        let rotation = decide(&facts, now(), days);
        assert!(matches!(rotation, Rotation::NotDue(_)), "{rotation:?}");
    }

    #[test]
    fn prop_136_key_with_disabled_rotation_is_not_rotated() {
        let facts = KeyFacts {
            rotation_disabled: true,
            ..keys(Some("2020-04-28T23:03:13Z"))
        };
        assert_eq!(after(&facts), Rotation::Disabled);
    }

    #[test]
    fn prop_137_key_of_invalid_size_is_replaced_and_not_kept() {
        for size in [0, 5, 31, 33] {
            let facts = KeyFacts {
                key: Zeroizing::new(vec![1; size]),
                ..keys(Some("2026-11-21T10:00:00Z"))
            };
            let previous = Zeroizing::default();
            assert_eq!(after(&facts), Rotation::Now { previous }, "{size}");
        }
    }

    #[test]
    fn prop_138_previous_key_of_invalid_size_is_emptied() {
        let facts = KeyFacts {
            previous: Zeroizing::new(vec![2; 5]),
            ..keys(Some("2026-11-21T10:00:00Z"))
        };
        let wait = Duration::from_hours(30 * 24);
        assert_eq!(after(&facts), Rotation::DropPrevious(wait));
    }
}
