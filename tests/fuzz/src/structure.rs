//! Damage to JSON that leaves it JSON.

use serde_json::{Map, Value as Json, json};

use crate::mutate::Random;

/// How deep a nest is that is thrown in.
const DEEP: usize = 90;

/// Changes a few places of a value; some of what it puts there is from `others`.
pub(crate) fn damage(value: &mut Json, random: &mut Random, others: &[Json]) {
    for _ in 0..=random.below(3) {
        let places = count(value);
        let mut at = random.below(places);
        if let Some(place) = find(value, &mut at) {
            change(place, random, others);
        }
    }
}

fn count(value: &Json) -> usize {
    1 + match value {
        Json::Object(fields) => fields.values().map(count).sum(),
        Json::Array(items) => items.iter().map(count).sum(),
        _ => 0_usize,
    }
}

fn find<'a>(value: &'a mut Json, at: &mut usize) -> Option<&'a mut Json> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Json::Object(fields) => fields.values_mut().find_map(|inner| find(inner, at)),
        Json::Array(items) => items.iter_mut().find_map(|inner| find(inner, at)),
        _ => None,
    }
}

fn change(place: &mut Json, random: &mut Random, others: &[Json]) {
    match (random.below(8), &mut *place) {
        (0 | 1, Json::Object(fields)) => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let Some(name) = random.pick(&names) else {
                return;
            };
            let taken = fields.remove(name).unwrap_or_default();
            if random.below(2) == 0 {
                let other = part(random, others);
                let name = other.as_object().and_then(|other| other.keys().next());
                let name = name.cloned().unwrap_or_else(|| word(random).to_owned());
                fields.insert(name, taken);
            }
        }
        (2 | 3, Json::Object(fields)) => {
            let name = word(random).to_owned();
            fields.insert(name, part(random, others));
        }
        (0 | 1, Json::Array(items)) if !items.is_empty() => {
            items.remove(random.below(items.len()));
        }
        (2 | 3, Json::Array(items)) => {
            let copy = random.pick(items).cloned().unwrap_or_default();
            items.extend(vec![copy; 1 + random.below(4)]);
        }
        (4, _) => *place = part(random, others),
        (5, _) => {
            let inner = place.take();
            *place = if random.below(2) == 0 {
                Json::Array(vec![inner])
            } else {
                Json::Object(Map::from_iter([(word(random).to_owned(), inner)]))
            };
        }
        (6, _) if random.below(8) == 0 => {
            for _ in 0..DEEP {
                let inner = place.take();
                *place = json!({ "properties": inner });
            }
        }
        _ => *place = scalar(random),
    }
}

/// A part of another value.
fn part(random: &mut Random, others: &[Json]) -> Json {
    let Some(other) = random.pick(others) else {
        return scalar(random);
    };
    let mut other = other.clone();
    let mut at = random.below(count(&other));
    find(&mut other, &mut at)
        .map(Json::take)
        .unwrap_or_default()
}

fn scalar(random: &mut Random) -> Json {
    let scalars = [
        Json::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1e300),
        json!(0.1),
        json!(""),
        json!("a"),
        json!("\0"),
        json!("ä😀"),
        json!("9".repeat(300)),
        json!("a".repeat(70_000)),
        json!("1e99999999"),
        json!("-1Ei"),
        json!("2026-13-40T99:99:99Z"),
        json!("(((((((a*)*)*)*)*)*)*b{999}{999}"),
        json!("[[:alpha:"),
        json!("$patch"),
        json!("delete"),
        json!("/metadata/name/-/0/~1~2"),
        json!("00000000-0000-0000-0000-000000000000"),
        json!([]),
        json!({}),
    ];
    random.pick(&scalars).cloned().unwrap_or_default()
}

fn word(random: &mut Random) -> &'static str {
    const WORDS: &[&str] = &[
        "metadata",
        "name",
        "namespace",
        "generateName",
        "resourceVersion",
        "managedFields",
        "ownerReferences",
        "finalizers",
        "deletionTimestamp",
        "labels",
        "annotations",
        "spec",
        "status",
        "data",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$deleteFromPrimitiveList/finalizers",
        "items",
        "properties",
        "additionalProperties",
        "default",
        "type",
        "format",
        "pattern",
        "enum",
        "nullable",
        "allOf",
        "not",
        "$ref",
        "x-kubernetes-validations",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-int-or-string",
        "x-kubernetes-embedded-resource",
        "rule",
        "op",
        "path",
        "value",
        "from",
        "",
        "a/b",
        "~0",
    ];
    random.pick(WORDS).copied().unwrap_or_default()
}
