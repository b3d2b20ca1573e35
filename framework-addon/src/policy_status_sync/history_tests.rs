use proptest::prelude::*;
use reeve_runtime::events::time_in_event_name;
use rstest::rstest;
use serde_json::json;

use super::*;

fn at(nanoseconds: i128) -> Timestamp {
    Timestamp::from_nanosecond(nanoseconds).unwrap()
}

const BASE: i128 = 1_700_000_000_000_000_000;

fn report(nanoseconds: i128, message: &str) -> Report {
    let time = at(BASE + nanoseconds);
    Report {
        event_name: event_name("ns.p", time),
        at: Timestamp::from_second(time.as_second()).unwrap(),
        message: message.to_owned(),
    }
}

fn stored(merged: &MergedHistory) -> DetailsPerTemplate {
    DetailsPerTemplate {
        compliant: merged.compliant.clone(),
        history: Some(merged.history.clone()),
        template_meta: None,
    }
}

fn messages(merged: &MergedHistory) -> Vec<&str> {
    let entries = merged.history.iter();
    entries
        .filter_map(|entry| entry.message.as_deref())
        .collect()
}

#[test]
fn nanoseconds_in_event_names_order_reports_of_one_second() {
    let reports = vec![
        report(222_222, "NonCompliant; b"),
        report(333_333, "Compliant; c"),
        report(111_111, "Compliant; a"),
    ];
    let merged = merge(reports, None);
    assert_eq!(
        messages(&merged),
        ["Compliant; c", "NonCompliant; b", "Compliant; a"]
    );
    assert_eq!(merged.compliant.as_deref(), Some("Compliant"));
    assert_eq!(
        merged.history[0].last_timestamp.as_deref(),
        Some("2023-11-14T22:13:20Z")
    );
}

#[test]
fn ten_entries_are_kept_also_of_expired_events() {
    let twelve: Vec<_> = (0..12)
        .map(|n| report(n * 1_000_000, &format!("Compliant; {n}")))
        .collect();
    let merged = merge(twelve, None);
    assert_eq!(messages(&merged).len(), 10);
    assert_eq!(messages(&merged)[0], "Compliant; 11");
    let next = merge(
        vec![report(20_000_000, "Pending; x")],
        Some(&stored(&merged)),
    );
    assert_eq!(next.compliant.as_deref(), Some("Pending"));
    assert_eq!(messages(&next)[..2], ["Pending; x", "Compliant; 11"]);
    assert_eq!(messages(&next).len(), 10);
}

#[test]
fn report_by_event_and_object_status_is_one_entry() {
    let twice = vec![report(1000, "Compliant; a"), report(4000, "Compliant; a")];
    assert_eq!(merge(twice, None).history.len(), 1);
    let apart = vec![report(1000, "Compliant; a"), report(6000, "Compliant; a")];
    assert_eq!(merge(apart, None).history.len(), 2);
    let between = vec![
        report(1000, "Compliant; a"),
        report(2000, "NonCompliant; b"),
        report(3000, "Compliant; a"),
    ];
    assert_eq!(merge(between, None).history.len(), 3);
}

#[test]
fn fwk_63_repeated_event_moves_to_its_latest_time() {
    let mut repeated = report(0, "NonCompliant; a");
    repeated.at = at(BASE + 60_000_000_000);
    let merged = merge(vec![repeated, report(30_000_000_000, "Compliant; b")], None);
    assert_eq!(messages(&merged), ["NonCompliant; a", "Compliant; b"]);
    // The same once the events have expired.
    let later = merge(Vec::new(), Some(&stored(&merged)));
    assert_eq!(later, merged);
}

#[test]
fn fwk_63_word_of_hex_digits_in_an_event_name_is_no_time() {
    let word = Report {
        event_name: "menu.cafe".to_owned(),
        at: at(BASE + 5_000_000_000),
        message: "NonCompliant; coffee".to_owned(),
    };
    let merged = merge(vec![report(0, "Compliant; tea"), word], None);
    assert_eq!(
        messages(&merged),
        ["NonCompliant; coffee", "Compliant; tea"]
    );
}

#[test]
fn fwk_63_equal_times_are_ordered_by_name() {
    let named = |name: &str| Report {
        event_name: name.to_owned(),
        at: at(BASE),
        message: format!("Compliant; {name}"),
    };
    let one = merge(vec![named("x.a"), named("x.b")], None);
    let two = merge(vec![named("x.b"), named("x.a")], None);
    assert_eq!(one, two);
}

#[test]
fn fwk_63_message_that_contains_another_is_another_report() {
    let both = vec![report(0, "Compliant; X"), report(1000, "NonCompliant; X")];
    assert_eq!(merge(both, None).history.len(), 2);
}

#[test]
fn stored_compliance_is_kept_without_reports() {
    assert_eq!(merge(Vec::new(), None), MergedHistory::default());
    let old = DetailsPerTemplate {
        compliant: Some("Pending".to_owned()),
        ..DetailsPerTemplate::default()
    };
    assert_eq!(
        merge(Vec::new(), Some(&old)).compliant.as_deref(),
        Some("Pending")
    );
}

#[rstest]
#[case::good("2024-09-04T12:00:00.123456Z", "m", true)]
#[case::milliseconds("2024-09-04T12:00:00.123Z", "m", false)]
#[case::nanoseconds("2024-09-04T12:00:00.123456789Z", "m", false)]
#[case::seconds("2024-09-04T12:00:00Z", "m", false)]
#[case::zero("0001-01-01T00:00:00.000000Z", "m", false)]
#[case::nonsense("yesterday.123456", "m", false)]
#[case::silent("2024-09-04T12:00:00.123456Z", " ", false)]
fn history_of_template_objects(#[case] time: &str, #[case] message: &str, #[case] valid: bool) {
    let object = json!({"status": {"history": [{"lastTimestamp": time, "message": message}]}});
    assert_eq!(of_object("p", &object).len(), usize::from(valid));
}

#[test]
fn malformed_histories_of_template_objects_are_ignored() {
    let odd = [
        json!({}),
        json!({"status": {"history": "x"}}),
        json!({"status": {"history": [7]}}),
    ];
    for object in odd {
        assert_eq!(of_object("p", &object), []);
    }
}

/// An event in the life of a policy.
#[derive(Clone, Debug)]
enum Step {
    /// An evaluator reports; `0` repeats the report before.
    Report(u8),
    /// All events so far expire.
    Expire,
    /// The status sync runs; a crash before its write is a run whose result is thrown away.
    Sync { written: bool },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0_u8..5).prop_map(Step::Report),
        1 => Just(Step::Expire),
        3 => any::<bool>().prop_map(|written| Step::Sync { written }),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #[test]
    fn history_is_ordered_bounded_and_complete(steps in steps(), order in any::<u64>()) {
        let (mut events, mut known, mut time) = (Vec::<Report>::new(), MergedHistory::default(), 0_i128);
        let mut newest: Option<Report> = None;
        for step in steps {
            match step {
                Step::Report(which) => {
                    time += i128::from(which) * 700_000_000 + 10_000;
                    let words = ["Compliant", "NonCompliant", "Pending", "Compliant", "odd"];
                    let new = report(time, &format!("{}; {which}", words[usize::from(which)]));
                    newest = Some(new.clone());
                    events.push(new);
                }
                // Events live for an hour; what is not synced by then is lost, so sync first.
                Step::Expire => { known = merge(events.clone(), Some(&stored(&known))); events.clear(); }
                Step::Sync { written } => {
                    let mut shuffled = events.clone();
                    let middle = usize::try_from(order % 7).unwrap().min(shuffled.len());
                    shuffled.rotate_left(middle);
                    let merged = merge(shuffled, Some(&stored(&known)));
                    if written { known = merged; }
                }
            }
        }
        let last = merge(events.clone(), Some(&stored(&known)));
        prop_assert!(last.history.len() <= MAX_HISTORY);
        let expected = newest.as_ref().map(|r| Compliance::of_message(&r.message).as_str());
        prop_assert_eq!(last.compliant.as_deref(), expected);
        prop_assert_eq!(last.history.first().and_then(|e| e.event_name.as_deref()), newest.as_ref().map(|r| r.event_name.as_str()));
        let names: Vec<_> = last.history.iter().filter_map(|e| e.event_name.clone()).collect();
        prop_assert!(names.windows(2).all(|pair| time_in_event_name(&pair[0]) > time_in_event_name(&pair[1])));
        // Merging is idempotent.
        prop_assert_eq!(&merge(events, Some(&stored(&last))), &last);
    }
}
