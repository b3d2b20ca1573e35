//! The cells of an event. Those of clients of `events.k8s.io` have an `eventTime`, and null for the older times.

use serde_json::Value;

use super::{Row, age};

pub(super) fn cells(row: &Row<'_>) -> Vec<Value> {
    let first = first_given(row, ["/firstTimestamp", "/eventTime"]);
    let is_series = row.0.get("series").is_some_and(Value::is_object);
    let (last, count) = if is_series {
        let last = row.text("/series/lastObservedTime");
        (last, row.number("/series/count"))
    } else {
        let last = Some(row.text("/lastTimestamp")).filter(|text| !text.is_empty());
        // An event of `events.k8s.io` that happened once has no count.
        let count = Some(row.number("/count")).filter(|count| *count != 0);
        (last.unwrap_or_else(|| first.clone()), count.unwrap_or(1))
    };
    let object = joined(
        row.text("/involvedObject/kind").to_lowercase(),
        "/",
        &row.text("/involvedObject/name"),
    );
    let source = joined(
        first_given(row, ["/source/component", "/reportingComponent"]),
        ", ",
        &first_given(row, ["/source/host", "/reportingInstance"]),
    );
    vec![
        age(&last).into(),
        row.or("/type", ""),
        row.or("/reason", ""),
        object.into(),
        row.or("/involvedObject/fieldPath", ""),
        source.into(),
        row.text("/message").trim().into(),
        age(&first).into(),
        count.into(),
        row.name(),
    ]
}

/// The first of some fields that is not empty.
fn first_given(row: &Row<'_>, paths: [&str; 2]) -> String {
    let texts = paths.map(|path| row.text(path));
    let given = texts.into_iter().find(|text| !text.is_empty());
    given.unwrap_or_default()
}

fn joined(first: String, between: &str, second: &str) -> String {
    if second.is_empty() {
        first
    } else {
        format!("{first}{between}{second}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The last and the first time, and the count.
    fn times(event: &Value) -> [String; 3] {
        let cells = cells(&Row(event));
        [0, 7, 8].map(|place| {
            cells
                .get(place)
                .map_or_else(String::new, super::super::plain)
        })
    }

    #[test]
    fn event_without_timestamps_shows_its_event_time() {
        let event = json!({ "firstTimestamp": null, "lastTimestamp": null, "eventTime": "2015-01-01T00:00:00.000000Z" });
        let [last, first, count] = times(&event);
        assert!(first.ends_with('y'), "{first}");
        assert_eq!((last, count.as_str()), (first, "1"));
    }

    #[test]
    fn event_series_shows_last_observation_and_count() {
        let event = json!({
            "eventTime": "2015-01-01T00:00:00.000000Z", "lastTimestamp": "2015-01-01T00:00:00Z", "count": 2,
            "series": { "count": 7, "lastObservedTime": jiff::Timestamp::now().to_string() },
        });
        let [last, first, count] = times(&event);
        assert!(last.ends_with('s'), "{last}");
        assert!(first.ends_with('y'), "{first}");
        assert_eq!(count, "7");
    }

    #[test]
    fn event_without_any_time_has_unknown_age() {
        assert_eq!(
            times(&json!({ "eventTime": null })),
            ["<unknown>", "<unknown>", "1"]
        );
    }
}
