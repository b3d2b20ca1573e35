//! When a key has to be replaced, and by what. Pure.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use zeroize::Zeroizing;

use crate::keys::{KeyFacts, is_key_size};

/// What to do about a cluster's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// The user rotates them: encrypt again, as they may have changed.
    Disabled,
    /// Look again after this time.
    Later(Duration),
    /// The previous key is none: empty it. Look again after this time.
    DropPrevious(Duration),
    /// Make a new key; this one becomes the previous one (empty if it is no key).
    Now {
        /// The key to keep for what is still encrypted with it.
        previous: Zeroizing<Vec<u8>>,
    },
}

/// What to do, given the time and how long a key lives.
pub fn decide(facts: &KeyFacts, now: Timestamp, lives: SignedDuration) -> Rotation {
    if facts.rotation_disabled {
        return Rotation::Disabled;
    }
    let valid = is_key_size(facts.key.len());
    let rotated = facts.last_rotated.as_deref();
    let rotated = rotated.and_then(|text| text.parse::<Timestamp>().ok());
    // A key may live until the end of time.
    let due = rotated.map(|rotated| rotated.checked_add(lives).unwrap_or(Timestamp::MAX));
    match due {
        Some(due) if valid && due > now => {
            let again = Duration::try_from(due.duration_since(now)).unwrap_or_default();
            if facts.previous.is_empty() || is_key_size(facts.previous.len()) {
                Rotation::Later(again)
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
    fn case_u20_a_key_of_unknown_or_great_age_is_rotated() {
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
    fn case_u21_a_fresh_key_stays_for_its_whole_life() {
        let wait = Duration::from_hours(30 * 24);
        assert_eq!(
            after(&keys(Some("2026-11-21T10:00:00Z"))),
            Rotation::Later(wait)
        );
        let wait = Duration::from_hours(24);
        assert_eq!(
            after(&keys(Some("2026-10-23T10:00:00Z"))),
            Rotation::Later(wait)
        );
    }

    #[test]
    fn a_key_that_is_to_live_for_ever_is_not_rotated_at_once() {
        let days = SignedDuration::from_hours(24 * i64::from(u32::MAX));
        let facts = keys(Some("2026-11-21T10:00:00Z"));
        let rotation = decide(&facts, now(), days);
        assert!(matches!(rotation, Rotation::Later(_)), "{rotation:?}");
    }

    #[test]
    fn case_u23_the_user_may_keep_a_key() {
        let facts = KeyFacts {
            rotation_disabled: true,
            ..keys(Some("2020-04-28T23:03:13Z"))
        };
        assert_eq!(after(&facts), Rotation::Disabled);
    }

    #[test]
    fn case_u24_what_is_no_key_is_replaced_and_not_kept() {
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
    fn case_u25_a_previous_key_that_is_none_is_emptied() {
        let facts = KeyFacts {
            previous: Zeroizing::new(vec![2; 5]),
            ..keys(Some("2026-11-21T10:00:00Z"))
        };
        let wait = Duration::from_hours(30 * 24);
        assert_eq!(after(&facts), Rotation::DropPrevious(wait));
    }
}
