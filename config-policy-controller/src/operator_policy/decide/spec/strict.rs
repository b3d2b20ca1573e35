//! Decodes the fields of OLM's specs as Go's strict decoder does: an unknown field or a value of another type is an
//! error that names the first one in alphabetical order. Pure.

use k8s_openapi::api::core::v1 as corev1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use reeve_go_compat::json;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::messages::operator as messages;

/// The type of a field.
#[derive(Clone, Copy, Debug)]
enum Type {
    Text,
    /// A text of a named Go type.
    NamedText(&'static str),
    Flag,
    Texts,
    TextMap,
    Struct(&'static str, &'static [Field]),
    /// A value of a Kubernetes type, which is checked by reading it as that type.
    Kubernetes(&'static str, fn(&Value) -> Result<Value, String>),
    /// A list of such values.
    KubernetesList(&'static str, fn(&Value) -> Result<Value, String>),
}

type Field = (&'static str, Type);

const SUBSCRIPTION: &[Field] = &[
    ("source", Type::Text),
    ("sourceNamespace", Type::Text),
    ("name", Type::Text),
    ("channel", Type::Text),
    ("startingCSV", Type::Text),
    ("installPlanApproval", Type::NamedText("v1alpha1.Approval")),
    (
        "config",
        Type::Struct("v1alpha1.SubscriptionConfig", CONFIG),
    ),
];

const CONFIG: &[Field] = &[
    (
        "selector",
        Type::Kubernetes("v1.LabelSelector", round_trip::<LabelSelector>),
    ),
    ("nodeSelector", Type::TextMap),
    (
        "tolerations",
        Type::KubernetesList("v1.Toleration", round_trip::<corev1::Toleration>),
    ),
    (
        "resources",
        Type::Kubernetes(
            "v1.ResourceRequirements",
            round_trip::<corev1::ResourceRequirements>,
        ),
    ),
    (
        "envFrom",
        Type::KubernetesList("v1.EnvFromSource", round_trip::<corev1::EnvFromSource>),
    ),
    (
        "env",
        Type::KubernetesList("v1.EnvVar", round_trip::<corev1::EnvVar>),
    ),
    (
        "volumes",
        Type::KubernetesList("v1.Volume", round_trip::<corev1::Volume>),
    ),
    (
        "volumeMounts",
        Type::KubernetesList("v1.VolumeMount", round_trip::<corev1::VolumeMount>),
    ),
    (
        "affinity",
        Type::Kubernetes("v1.Affinity", round_trip::<corev1::Affinity>),
    ),
    ("annotations", Type::TextMap),
];

const OPERATOR_GROUP: &[Field] = &[
    (
        "selector",
        Type::Kubernetes("v1.LabelSelector", round_trip::<LabelSelector>),
    ),
    ("targetNamespaces", Type::Texts),
    ("serviceAccountName", Type::Text),
    ("staticProvidedAPIs", Type::Flag),
    ("upgradeStrategy", Type::NamedText("v1.UpgradeStrategy")),
];

/// The spec of a Subscription, with the field names as OLM writes them.
pub fn subscription_spec(fields: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    decode(fields, SUBSCRIPTION, "SubscriptionSpec")
}

/// The spec of an `OperatorGroup`, with the field names as OLM writes them.
pub fn operator_group_spec(fields: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    decode(fields, OPERATOR_GROUP, "OperatorGroupSpec")
}

fn decode(
    fields: &Map<String, Value>,
    known: &[Field],
    path: &str,
) -> Result<Map<String, Value>, String> {
    let mut sorted: Vec<_> = fields.iter().collect();
    sorted.sort_by_key(|(name, _)| *name);
    let mut decoded = Map::new();
    for (name, value) in sorted {
        // Go prefers the exact name, and takes any case.
        let exact = known.iter().find(|(field, _)| field == name);
        let field = exact.or_else(|| {
            let mut known = known.iter();
            known.find(|(field, _)| field.eq_ignore_ascii_case(name))
        });
        let Some((field, expected)) = field else {
            return Err(messages::unknown_field(name));
        };
        // Null leaves a Go field as it is.
        if value.is_null() {
            continue;
        }
        let value = check(value, *expected, &format!("{path}.{field}"))?;
        decoded.insert((*field).to_owned(), value);
    }
    Ok(decoded)
}

fn check(value: &Value, expected: Type, path: &str) -> Result<Value, String> {
    let wrong = |value: &Value, expected: &str| {
        Err(messages::wrong_type(json::kind(value), path, expected))
    };
    match (expected, value) {
        (Type::Text | Type::NamedText(_), Value::String(_)) | (Type::Flag, Value::Bool(_)) => {
            Ok(value.clone())
        }
        (Type::Text, _) => wrong(value, "string"),
        (Type::Flag, _) => wrong(value, "bool"),
        (Type::Texts, Value::Array(items)) => match items.iter().find(|item| !item.is_string()) {
            Some(item) => wrong(item, "string"),
            None => Ok(value.clone()),
        },
        (Type::Texts, _) => wrong(value, "[]string"),
        (Type::TextMap, Value::Object(items)) => {
            match items.values().find(|item| !item.is_string()) {
                Some(item) => wrong(item, "string"),
                None => Ok(value.clone()),
            }
        }
        (Type::TextMap, _) => wrong(value, "map[string]string"),
        (Type::Struct(_, known), Value::Object(fields)) => {
            Ok(Value::Object(decode(fields, known, path)?))
        }
        (Type::Kubernetes(_, read), Value::Object(_)) => read_as(value, read, path),
        (Type::NamedText(name) | Type::Struct(name, _) | Type::Kubernetes(name, _), _) => {
            wrong(value, name)
        }
        (Type::KubernetesList(name, read), Value::Array(items)) => {
            for item in items {
                if !item.is_object() {
                    return wrong(item, name);
                }
                read_as(item, read, path)?;
            }
            Ok(value.clone())
        }
        (Type::KubernetesList(name, _), _) => wrong(value, &format!("[]{name}")),
    }
}

/// Reads a value as a Kubernetes type. A field that the type does not have is not in the result.
fn read_as(
    value: &Value,
    read: fn(&Value) -> Result<Value, String>,
    path: &str,
) -> Result<Value, String> {
    let known = read(&quantities_as_text(value)).map_err(|error| format!("{path}: {error}"))?;
    match unknown_field(value, &known) {
        Some(field) => Err(messages::unknown_field(field)),
        None => Ok(value.clone()),
    }
}

fn round_trip<T: DeserializeOwned + Serialize>(value: &Value) -> Result<Value, String> {
    let typed: T = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    serde_json::to_value(typed).map_err(|error| error.to_string())
}

/// Amounts may be numbers in JSON, and are texts in the types.
fn quantities_as_text(value: &Value) -> Value {
    let mut value = value.clone();
    for amounts in ["requests", "limits"] {
        let Some(amounts) = value.get_mut(amounts).and_then(Value::as_object_mut) else {
            continue;
        };
        for amount in amounts.values_mut().filter(|amount| amount.is_number()) {
            *amount = Value::String(amount.to_string());
        }
    }
    value
}

/// The first field of `value`, in alphabetical order, that the type dropped.
fn unknown_field<'v>(value: &'v Value, known: &Value) -> Option<&'v str> {
    match (value, known) {
        (Value::Object(value), Value::Object(known)) => {
            let mut fields: Vec<_> = value.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            fields
                .into_iter()
                .find_map(|(name, value)| match known.get(name) {
                    Some(known) => unknown_field(value, known),
                    // Types leave out what is empty.
                    None if is_empty(value) => None,
                    None => Some(name.as_str()),
                })
        }
        (Value::Array(value), Value::Array(known)) => {
            let mut pairs = value.iter().zip(known);
            pairs.find_map(|(value, known)| unknown_field(value, known))
        }
        _ => None,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
