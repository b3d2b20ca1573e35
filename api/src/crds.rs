//! The `CustomResourceDefinition`s of the kinds that Reeve owns.

use kube::CustomResourceExt;
use serde_json::{Map, Value, json};

use crate::{
    ConfigurationPolicy, OperatorPolicy, PlacementBinding, Policy, PolicyAutomation, PolicySet,
    names,
};

/// All CRDs as JSON, each with the file name it has under `deploy/crds`.
///
/// # Errors
/// When a generated definition is not the JSON object that it should be, or when a part of it that
/// is amended here is missing: both mean that the types and this module have drifted apart.
pub fn all() -> Result<Vec<(String, Value)>, CrdError> {
    [
        Policy::crd_json().and_then(policy_rules),
        PlacementBinding::crd_json().and_then(binding_rules),
        PolicySet::crd_json(),
        PolicyAutomation::crd_json(),
        ConfigurationPolicy::crd_json().and_then(configuration_policy_rules),
        OperatorPolicy::crd_json().and_then(operator_policy_rules),
    ]
    .into_iter()
    .map(|crd| {
        let mut crd = crd?;
        drop_nullable(&mut crd);
        whole_numbers(&mut crd);
        let plural = text(&crd, "/spec/names/plural")?;
        Ok((format!("{}_{plural}.yaml", names::GROUP), crd))
    })
    .collect()
}

/// The kinds of [`all`] that a hub has. Those of managed clusters come with the add-ons.
const ON_HUB: [&str; 4] = [
    "Policy",
    "PlacementBinding",
    "PolicySet",
    "PolicyAutomation",
];

/// The CRDs of a hub, as [`all`] returns them.
///
/// # Errors
/// As [`all`].
pub fn on_hub() -> Result<Vec<(String, Value)>, CrdError> {
    let mut definitions = all()?;
    definitions.retain(|(_, crd)| {
        let kind = crd["spec"]["names"]["kind"].as_str();
        kind.is_some_and(|kind| ON_HUB.contains(&kind))
    });
    Ok(definitions)
}

/// The types and the amendments of this module are out of sync.
#[derive(Debug, thiserror::Error)]
pub enum CrdError {
    /// The derived definition cannot be written as JSON.
    #[error("cannot serialize a custom resource definition")]
    Serialize(#[from] serde_json::Error),
    /// A part that this module amends is not in the derived definition.
    #[error("the custom resource definition has nothing at {0}")]
    Missing(String),
}

trait CrdJson: CustomResourceExt {
    fn crd_json() -> Result<Value, CrdError> {
        Ok(serde_json::to_value(Self::crd())?)
    }
}
impl<K: CustomResourceExt> CrdJson for K {}

const SCHEMA: &str = "/spec/versions/0/schema/openAPIV3Schema";

/// Kinds in the managed cluster's namespace must have names without a namespace.
fn policy_rules(mut crd: Value) -> Result<Value, CrdError> {
    let pattern = "^(?:(?:Certificate|Configuration)Policy)$";
    let one_of = json!([
        { "properties": {
            "kind": { "enum": ["CertificatePolicy", "ConfigurationPolicy"] },
            "namespace": { "maxLength": 0 }
        } },
        { "properties": { "kind": { "not": { "pattern": pattern } } } }
    ]);
    for list in [
        "/properties/spec/properties/dependencies/items",
        "/properties/spec/properties/policy-templates/items/properties/extraDependencies/items",
    ] {
        set(&mut crd, list, "oneOf", one_of.clone())?;
    }
    Ok(crd)
}

fn binding_rules(mut crd: Value) -> Result<Value, CrdError> {
    let one_of = json!([
        { "properties": {
            "apiGroup": { "enum": [names::CLUSTER_GROUP] }, "kind": { "enum": ["Placement"] }
        } },
        { "properties": {
            "apiGroup": { "enum": [names::APPS_GROUP] }, "kind": { "enum": ["PlacementRule"] }
        } }
    ]);
    set(&mut crd, "/properties/placementRef", "oneOf", one_of)?;
    Ok(crd)
}

fn configuration_policy_rules(mut crd: Value) -> Result<Value, CrdError> {
    let one_of = json!([
        { "required": ["object-templates"] },
        { "required": ["object-templates-raw"] }
    ]);
    set(&mut crd, "/properties/spec", "oneOf", one_of)?;
    // The derive omits fields that have a default; upstream requires them all the same.
    set(
        &mut crd,
        "/properties/spec",
        "required",
        json!(["remediationAction"]),
    )?;
    Ok(crd)
}

/// Upstream requires fields that have a default, and lets the whole spec be missing.
fn operator_policy_rules(mut crd: Value) -> Result<Value, CrdError> {
    set(
        &mut crd,
        "/properties/spec",
        "required",
        json!([
            "complianceType",
            "remediationAction",
            "subscription",
            "upgradeApproval"
        ]),
    )?;
    object(&mut crd, "")?.remove("required");
    // The default of a missing field on decoding is not a default of the API server.
    for field in [
        "/properties/spec/properties/complianceType",
        "/properties/spec/properties/subscription",
        "/properties/spec/properties/upgradeApproval",
        "/properties/status/properties/relatedObjects",
    ] {
        object(&mut crd, field)?.remove("default");
    }
    Ok(crd)
}

fn set(crd: &mut Value, pointer: &str, key: &str, value: Value) -> Result<(), CrdError> {
    object(crd, pointer)?.insert(key.to_owned(), value);
    Ok(())
}

/// A part of the schema.
fn object<'a>(crd: &'a mut Value, pointer: &str) -> Result<&'a mut Map<String, Value>, CrdError> {
    let pointer = format!("{SCHEMA}{pointer}");
    let part = crd.pointer_mut(&pointer).and_then(Value::as_object_mut);
    part.ok_or(CrdError::Missing(pointer))
}

fn text(crd: &Value, pointer: &str) -> Result<String, CrdError> {
    let found = crd.pointer(pointer).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .ok_or_else(|| CrdError::Missing(pointer.to_owned()))
}

/// Optional fields of Reeve are absent, never null, and the API server prunes a null where the schema does not allow
/// it: with `nullable` it would store the null and then reject the enum.
fn drop_nullable(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.get("nullable") == Some(&Value::Bool(true)) {
                map.remove("nullable");
            }
            map.values_mut().for_each(drop_nullable);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nullable),
        _ => {}
    }
}

/// Bounds such as `0.0` become `0`, as in all tools that read and write the manifests.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Number(number) => {
            let whole = number.as_f64().filter(|_| number.is_f64());
            let whole = whole.and_then(|whole| format!("{whole:.0}").parse::<i64>().ok());
            if let Some(whole) = whole.filter(|whole| format!("{whole}.0") == number.to_string()) {
                *value = json!(whole);
            }
        }
        _ => {}
    }
}
