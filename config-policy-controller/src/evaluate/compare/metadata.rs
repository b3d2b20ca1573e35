//! The metadata of an object: only labels and annotations are compared and written.

use serde_json::{Map, Value};

use super::equal::maps;
use super::equality::Equality;
use super::error::{CompareError, StringMapFault};
use super::merge::merge_maps;
use super::noise::{LAST_APPLIED, drop_last_applied};
use super::rules::{ComplianceType, Rules};
use super::sprint::{go_type, sprint};

/// Annotations OpenShift puts on every namespace; a policy changes them only by naming them.
const SECURITY_CONTEXT_PREFIX: &str = "openshift.io/sa.scc.";

/// The parts of metadata that a policy determines.
const COMPARED: [&str; 2] = ["annotations", "labels"];

/// The outcome of comparing metadata.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MetadataOutcome {
    /// Labels and annotations as they would be.
    pub merged: Map<String, Value>,
    /// Labels and annotations as they are, where the policy determines them.
    pub live: Map<String, Value>,
    /// How the two relate.
    pub equality: Equality,
}

/// Labels and annotations alone. Values of the wrong type are kept; `check_strings` reports them.
pub(crate) fn reduce(metadata: &Value) -> Map<String, Value> {
    let mut reduced = Map::new();
    for part in COMPARED {
        if let Some(value) = metadata.get(part) {
            reduced.insert(part.to_owned(), value.clone());
        }
    }
    drop_last_applied(&mut reduced);
    reduced
}

/// Compares the metadata of a policy's object with the live one.
pub(crate) fn compare_metadata(
    desired: &Value,
    live: &Value,
    rules: Rules,
    is_namespace: bool,
) -> Result<MetadataOutcome, CompareError> {
    let desired = reduce(desired);
    let mut live = reduce(live);
    let mut merged = match rules.compliance {
        ComplianceType::MustOnlyHave => desired,
        ComplianceType::MustHave | ComplianceType::MustNotHave => {
            merge_maps(&desired, &live, rules.absence())
        }
    };
    for part in COMPARED {
        if !merged.contains_key(part) {
            live.remove(part);
        }
    }
    if is_namespace {
        keep_security_context(&mut merged, &live);
    }
    check_strings(&merged, "annotations", |fault| {
        CompareError::InvalidAnnotation { fault }
    })?;
    check_strings(&merged, "labels", |fault| CompareError::InvalidLabel {
        fault,
    })?;
    let equality = maps(&merged, &live, rules.absence());
    Ok(MetadataOutcome {
        merged,
        live,
        equality,
    })
}

/// Writes the merged labels and annotations into an object, keeping the last-applied annotation it has.
pub(crate) fn write_into(object: &mut Value, merged: &Map<String, Value>) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    let metadata = object
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    for (part, value) in merged {
        let last_applied = metadata
            .pointer("/annotations")
            .and_then(|a| a.get(LAST_APPLIED))
            .cloned();
        let mut value = value.clone();
        if let (Some(kept), "annotations", Value::Object(annotations)) =
            (last_applied, part.as_str(), &mut value)
        {
            annotations.insert(LAST_APPLIED.to_owned(), kept);
        }
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert(part.clone(), value);
        }
    }
}

fn keep_security_context(merged: &mut Map<String, Value>, live: &Map<String, Value>) {
    let (Some(Value::Object(merged)), Some(Value::Object(live))) =
        (merged.get_mut("annotations"), live.get("annotations"))
    else {
        return;
    };
    for (key, value) in live {
        if key.starts_with(SECURITY_CONTEXT_PREFIX) && !merged.contains_key(key) {
            merged.insert(key.clone(), value.clone());
        }
    }
}

/// Labels and annotations are maps of strings; the first key (in order) that is not one is reported.
fn check_strings(
    merged: &Map<String, Value>,
    part: &str,
    wrap: fn(StringMapFault) -> CompareError,
) -> Result<(), CompareError> {
    let Some(value) = merged.get(part) else {
        return Ok(());
    };
    let Value::Object(entries) = value else {
        return Err(wrap(StringMapFault {
            key: None,
            value: sprint(value),
            go_type: go_type(value),
        }));
    };
    let mut wrong: Vec<_> = entries
        .iter()
        .filter(|(_, value)| !value.is_string())
        .collect();
    wrong.sort_by_key(|(key, _)| *key);
    match wrong.first() {
        None => Ok(()),
        Some((key, value)) => Err(wrap(StringMapFault {
            key: Some((*key).clone()),
            value: sprint(value),
            go_type: go_type(value),
        })),
    }
}
