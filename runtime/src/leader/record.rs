//! The record of a Lease: the leader, the duration, the times.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

use super::timings::LeaseTimings;

/// How long the record of a released lease is valid, in seconds: the API server requires a number above zero.
const RELEASED_SECONDS: i32 = 1;

/// The holder by this record. A Lease without a holder is free.
pub(super) fn holder(record: &LeaseSpec) -> Option<&str> {
    let holder = record.holder_identity.as_deref();
    holder.filter(|identity| !identity.is_empty())
}

/// How long the holder may lead after it has written this record. A record without a usable duration
/// was not written by a candidate: our own duration is the best guess.
pub(super) fn duration(record: &LeaseSpec, ours: &LeaseTimings) -> Duration {
    let seconds = record.lease_duration_seconds.unwrap_or_default();
    match u64::try_from(seconds) {
        Ok(seconds) if seconds > 0 => Duration::from_secs(seconds),
        Ok(_) | Err(_) => ours.lease(),
    }
}

/// The record by which `identity` takes or renews the lease. `before` is the record that it replaces, `now` the wall
/// clock's time: candidates compare it with no clock, it is for users and makes every record differ.
pub(super) fn held(
    before: Option<&LeaseSpec>,
    identity: &str,
    timings: &LeaseTimings,
    now: Timestamp,
) -> LeaseSpec {
    let now = MicroTime(renewed_at(before, now));
    let mut record = before.cloned().unwrap_or_default();
    if holder(&record) != Some(identity) {
        // A Lease without any holder so far has no transition.
        let count = |transitions: i32| transitions.max(0).saturating_add(1);
        record.lease_transitions = Some(before.map_or(0, |before| {
            count(before.lease_transitions.unwrap_or_default())
        }));
        record.acquire_time = None;
        record.holder_identity = Some(identity.to_owned());
    }
    record.acquire_time.get_or_insert_with(|| now.clone());
    record.lease_duration_seconds = i32::try_from(timings.lease().as_secs()).ok();
    record.renew_time = Some(now);
    record
}

/// The record that releases the lease: the next candidate takes it at its next try.
pub(super) fn released(before: &LeaseSpec, now: Timestamp) -> LeaseSpec {
    let now = MicroTime(renewed_at(Some(before), now));
    LeaseSpec {
        holder_identity: None,
        lease_duration_seconds: Some(RELEASED_SECONDS),
        acquire_time: Some(now.clone()),
        renew_time: Some(now),
        ..before.clone()
    }
}

/// Candidates see a renewal as a change of the record. A wall clock that was set back may show the time of the last
/// renewal again, which would hide this one.
fn renewed_at(before: Option<&LeaseSpec>, now: Timestamp) -> Timestamp {
    // The API server stores microseconds: finer differences would be lost.
    let micros = |time: Timestamp| time.as_microsecond();
    let last = before.and_then(|before| before.renew_time.as_ref());
    if last.is_some_and(|last| micros(last.0) == micros(now)) {
        let next = now.checked_add(SignedDuration::from_micros(1));
        return next.unwrap_or(now);
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMINGS: LeaseTimings = LeaseTimings::CONTROLLER_RUNTIME;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn renewal_keeps_acquire_time_and_takeover_counts_transition() {
        let first = held(None, "a", &TIMINGS, at(1));
        assert_eq!(first.lease_transitions, Some(0));
        assert_eq!(first.lease_duration_seconds, Some(15));
        let renewed = held(Some(&first), "a", &TIMINGS, at(3));
        assert_eq!(renewed.acquire_time, Some(MicroTime(at(1))));
        assert_eq!(renewed.renew_time, Some(MicroTime(at(3))));
        assert_eq!(renewed.lease_transitions, Some(0));
        let taken = held(Some(&renewed), "b", &TIMINGS, at(30));
        assert_eq!(taken.acquire_time, Some(MicroTime(at(30))));
        assert_eq!(taken.lease_transitions, Some(1));
        let free = released(&taken, at(40));
        assert_eq!(
            (holder(&free), free.lease_duration_seconds),
            (None, Some(1))
        );
        assert_eq!(free.lease_transitions, Some(1));
        let again = held(Some(&free), "b", &TIMINGS, at(41));
        assert_eq!(again.lease_transitions, Some(2));
    }

    #[test]
    fn renewal_changes_record_even_if_wall_clock_stands_still() {
        let first = held(None, "a", &TIMINGS, at(5));
        let second = held(Some(&first), "a", &TIMINGS, at(5));
        assert_ne!(first, second);
        let earlier = held(Some(&second), "a", &TIMINGS, at(1));
        assert_eq!(earlier.renew_time, Some(MicroTime(at(1))));
    }

    #[test]
    fn invalid_record_is_free_or_valid_for_default_duration() {
        let nothing = LeaseSpec::default();
        assert_eq!(holder(&nothing), None);
        for seconds in [None, Some(0), Some(-7)] {
            let record = LeaseSpec {
                holder_identity: Some("x".to_owned()),
                lease_duration_seconds: seconds,
                lease_transitions: Some(-3),
                ..LeaseSpec::default()
            };
            assert_eq!(duration(&record, &TIMINGS).as_secs(), 15);
            let taken = held(Some(&record), "a", &TIMINGS, at(1));
            assert_eq!(taken.lease_transitions, Some(1));
        }
        let empty = LeaseSpec {
            holder_identity: Some(String::new()),
            ..LeaseSpec::default()
        };
        assert_eq!(holder(&empty), None);
    }

    #[test]
    fn fields_of_others_survive() {
        let before = LeaseSpec {
            strategy: Some("OldestEmulationVersion".to_owned()),
            ..LeaseSpec::default()
        };
        assert_eq!(
            held(Some(&before), "a", &TIMINGS, at(1)).strategy,
            before.strategy
        );
    }
}
