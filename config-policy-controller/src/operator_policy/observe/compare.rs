//! Compares the object on the cluster with the desired one, by the rules of `musthave` and a dry run.

use std::sync::Arc;

use reeve_runtime::discovery::ServedKind;
use reeve_runtime::strict::Write;
use serde_json::{Map, Value};

use crate::evaluate::cluster::{Cluster, WriteError};
use crate::evaluate::compare::{ComplianceType, DesiredContent, compare, matches, without_noise};
use crate::operator_policy::decide::object::{Object, location};
use crate::operator_policy::decide::observed::Update;
use crate::operator_policy::decide::state::Part;
use crate::status::finding::Location;

/// How often the comparison is tried when another client writes in between.
const TRIES: u32 = 2;

/// The result of merging the desired object into the one on the cluster.
#[derive(Debug, PartialEq)]
pub enum Merged {
    /// It has everything.
    Same,
    /// It may differ; only the API server knows what it would store.
    Undecided(Value),
    /// It differs in a field that the policy determines as a whole.
    Different(Value),
}

/// Merges the desired object into the one on the cluster. The error is the text for the log.
pub fn merge(part: Part, desired: &Value, existing: &Value) -> Result<Merged, String> {
    let mut live = existing.clone();
    let replaced = replace_whole_fields(part, desired, &mut live);
    let Some(definition) = desired.as_object() else {
        return Ok(Merged::Same);
    };
    let mut definition = definition.clone();
    definition.remove("metadata");
    let comparison = compare(content(&definition, ComplianceType::MustHave), &live);
    if let Some(error) = &comparison.error {
        return Err(error.to_string());
    }
    let merged = comparison.to_write(existing);
    if replaced {
        return Ok(Merged::Different(merged));
    }
    if comparison.is_conclusive() {
        return Ok(Merged::Same);
    }
    Ok(Merged::Undecided(merged))
}

fn content(definition: &Map<String, Value>, compliance: ComplianceType) -> DesiredContent<'_> {
    DesiredContent {
        definition,
        compliance,
        metadata_compliance: None,
    }
}

/// Replaces the fields of the spec that the policy determines as a whole, where they differ. Returns whether any did.
fn replace_whole_fields(part: Part, desired: &Value, live: &mut Value) -> bool {
    let fields: &[&str] = match part {
        Part::OperatorGroup => &["targetNamespaces", "selector"],
        _ => &["config"],
    };
    let mut replaced = false;
    for field in fields {
        let wanted = desired.get("spec").and_then(|spec| spec.get(field));
        let Some(wanted) = wanted.filter(|wanted| is_given(part, wanted)) else {
            continue;
        };
        let found = live.get("spec").and_then(|spec| spec.get(field));
        let is_same = match part {
            // The order of namespaces counts.
            Part::OperatorGroup => found == Some(wanted),
            _ => found.is_some_and(|found| is_same_config(wanted, found)),
        };
        if is_same {
            continue;
        }
        replaced = true;
        let spec = live.as_object_mut().map(|live| {
            live.entry("spec")
                .or_insert_with(|| Value::Object(Map::new()))
        });
        if let Some(Value::Object(spec)) = spec {
            spec.insert((*field).to_owned(), wanted.clone());
        }
    }
    replaced
}

/// Empty lists and maps determine nothing, nor does a selector without requirements.
fn is_given(part: Part, value: &Value) -> bool {
    match (part, value) {
        (_, Value::Array(items)) => !items.is_empty(),
        (Part::OperatorGroup, Value::Object(fields)) => {
            fields.values().any(|field| !is_zero(field))
        }
        (_, Value::Object(fields)) => fields.values().any(|field| !field.is_null()),
        _ => false,
    }
}

/// Whether two configurations are the same but for the order of lists and for zero values.
fn is_same_config(wanted: &Value, found: &Value) -> bool {
    let of = |config: &Value| Map::from_iter([("config".to_owned(), without_zeros(config))]);
    let (wanted, found) = (of(wanted), of(found));
    matches(
        content(&wanted, ComplianceType::MustOnlyHave),
        &Value::Object(found),
    )
}

/// Maps whose keys are the user's: a key with an empty text is another thing than no key.
const TEXT_MAPS: &[&str] = &["nodeSelector", "annotations", "matchLabels"];

/// The value without fields that are the same as absent ones in Go.
fn without_zeros(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| {
                let is_text_map = TEXT_MAPS.contains(&name.as_str());
                let field = if is_text_map {
                    field.clone()
                } else {
                    without_zeros(field)
                };
                (name.clone(), field)
            });
            Value::Object(fields.filter(|(_, field)| !is_zero(field)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_zeros).collect()),
        other => other.clone(),
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) => false,
    }
}

/// Compares by merging, and by a dry run of the update where the result is not certain.
pub async fn compare_with_cluster<C: Cluster>(
    cluster: &C,
    (part, kind): (Part, &ServedKind),
    desired: &Value,
    existing: &Object,
) -> Update {
    let (name, namespace) = location(existing);
    let location = Location::new(namespace, name);
    let mut existing = Arc::clone(existing);
    let mut tries = 1;
    loop {
        let (merged, is_certain) = match merge(part, desired, &existing) {
            Ok(Merged::Same) => return Update::None,
            Ok(Merged::Undecided(merged)) => (merged, false),
            Ok(Merged::Different(merged)) => (merged, true),
            Err(error) => return Update::Failed(error),
        };
        let dry_run = cluster
            .replace(kind, &location, &merged, Write::DryRun)
            .await;
        match dry_run {
            Ok(stored) if is_certain || differs(&stored, &existing) => {
                return Update::Needed(Box::new(merged));
            }
            Ok(_) => return Update::None,
            Err(WriteError::Forbidden(_)) => return Update::Forbidden,
            Err(WriteError::Conflict(_)) if tries < TRIES => tries += 1,
            Err(error) => return Update::Failed(error.text().to_owned()),
        }
        // The watch lags behind another client's write.
        match cluster.get_uncached(kind, &location).await {
            Ok(Some(fresh)) => existing = Arc::new(fresh),
            Ok(None) => return Update::None,
            Err(error) => return Update::Failed(error.text().to_owned()),
        }
    }
}

/// Whether the API server would store something else than it has.
fn differs(stored: &Value, existing: &Value) -> bool {
    let comparable = |object: &Value| {
        let mut object = without_noise(object);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
            if metadata.get("annotations").is_some_and(is_empty) {
                metadata.remove("annotations");
            }
            metadata.remove("resourceVersion");
        }
        object
    };
    comparable(stored) != comparable(existing)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn group(spec: &Value) -> Value {
        json!({"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup", "spec": spec})
    }

    #[rstest]
    #[case::same(json!({"targetNamespaces": ["a", "b"]}), json!({"targetNamespaces": ["a", "b"]}), None)]
    #[case::order_counts(
        json!({"targetNamespaces": ["a", "b"]}), json!({"targetNamespaces": ["b", "a"]}),
        Some(json!({"targetNamespaces": ["a", "b"]}))
    )]
    #[case::replaced_not_merged(
        json!({"targetNamespaces": ["a"]}), json!({"targetNamespaces": ["b"]}),
        Some(json!({"targetNamespaces": ["a"]}))
    )]
    #[case::empty_determines_nothing(
        json!({"targetNamespaces": []}), json!({"targetNamespaces": ["b"]}), None
    )]
    #[case::selector_without_requirements_determines_nothing(
        json!({"selector": {"matchLabels": {}}}), json!({"selector": {"matchLabels": {"b": "c"}}}), None
    )]
    #[case::selector_is_replaced(
        json!({"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}),
        json!({"selector": {"matchLabels": {"b": "c"}}}),
        Some(json!({"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}))
    )]
    fn op_8_whole_fields_of_operator_groups(
        #[case] wanted: Value,
        #[case] found: Value,
        #[case] different: Option<Value>,
    ) {
        let merged = merge(Part::OperatorGroup, &group(&wanted), &group(&found)).unwrap();
        let expected = match different {
            None => Merged::Same,
            Some(spec) => Merged::Different(group(&spec)),
        };
        assert_eq!(merged, expected);
    }

    #[rstest]
    #[case::order_of_lists(
        json!({"env": [{"name": "a"}, {"name": "b"}]}),
        json!({"env": [{"name": "b", "value": ""}, {"name": "a"}]}),
        true
    )]
    #[case::more_on_the_cluster(
        json!({"nodeSelector": {"a": "b"}}), json!({"nodeSelector": {"a": "b", "c": "d"}}), false
    )]
    #[case::more_keys_with_empty_texts(
        json!({"nodeSelector": {"node-role.kubernetes.io/infra": ""}}),
        json!({"nodeSelector": {"node-role.kubernetes.io/infra": "", "node-role.kubernetes.io/old": ""}}),
        false
    )]
    #[case::other_key_with_an_empty_text(
        json!({"nodeSelector": {"node-role.kubernetes.io/infra": ""}}), json!({"nodeSelector": {}}), false
    )]
    #[case::zero_values_of_the_api_server(
        json!({"nodeSelector": {"a": ""}}), json!({"nodeSelector": {"a": ""}, "resources": {}}), true
    )]
    #[case::other_value(json!({"nodeSelector": {"a": "b"}}), json!({"nodeSelector": {"a": "c"}}), false)]
    fn op_9_config_is_determined_as_a_whole(
        #[case] wanted: Value,
        #[case] found: Value,
        #[case] is_same: bool,
    ) {
        let subscription =
            |config: &Value| json!({"kind": "Subscription", "spec": {"config": config}});
        let merged = merge(
            Part::Subscription,
            &subscription(&wanted),
            &subscription(&found),
        );
        let expected = if is_same {
            Merged::Same
        } else {
            Merged::Different(subscription(&wanted))
        };
        assert_eq!(merged.unwrap(), expected);
    }

    #[test]
    fn op_24_24_and_op_24_43_unknown_fields_and_last_applied_annotation_stay() {
        let existing = json!({
            "kind": "Subscription",
            "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
            "spec": {"channel": "a", "newField": 1}, "status": {"lastUpdated": "t"},
        });
        let desired = json!({"kind": "Subscription", "spec": {"channel": "b"}});
        let mut expected = existing.clone();
        expected["spec"]["channel"] = json!("b");
        let merged = merge(Part::Subscription, &desired, &existing).unwrap();
        assert_eq!(merged, Merged::Undecided(expected));
    }
}
