//! The CRD of a template's constraints.

use serde_json::json;

use super::ConstraintTemplate;
use crate::{CONSTRAINT_GROUP, Json};

const WILDCARD: &str = r"^\*?[-:a-z0-9]*\*?$";

/// The `CustomResourceDefinition` of the constraints of a template.
pub fn crd(template: &ConstraintTemplate) -> Json {
    let plural = template.kind.to_lowercase();
    let mut labels = template.labels.clone();
    if !labels.is_object() {
        labels = json!({});
    }
    labels["gatekeeper.sh/constraint"] = json!("yes");
    let mut names = json!({
        "categories": ["constraint", "constraints"],
        "kind": template.kind,
        "listKind": format!("{}List", template.kind),
        "plural": plural,
        "singular": plural,
    });
    if !template.short_names.is_empty() {
        names["shortNames"] = json!(template.short_names);
    }
    let version = |name: &str, is_stored: bool| {
        json!({
            "name": name,
            "served": true,
            "storage": is_stored,
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": constraint_schema(template)},
            "additionalPrinterColumns": [
                {"name": "enforcement-action", "type": "string", "jsonPath": ".spec.enforcementAction",
                 "description": "Type of enforcement action"},
                {"name": "total-violations", "type": "integer", "jsonPath": ".status.totalViolations",
                 "description": "Total number of violations"},
            ],
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{CONSTRAINT_GROUP}"), "labels": labels},
        "spec": {
            "group": CONSTRAINT_GROUP,
            "names": names,
            "scope": "Cluster",
            "conversion": {"strategy": "None"},
            "versions": [version("v1beta1", true), version("v1alpha1", false)],
        },
    })
}

/// The schema of a constraint.
pub(crate) fn constraint_schema(template: &ConstraintTemplate) -> Json {
    let mut spec = json!({
        "enforcementAction": {"type": "string", "default": "deny"},
        "scopedEnforcementActions": {"type": "array", "items": {
            "type": "object",
            "properties": {
                "action": {"type": "string"},
                "enforcementPoints": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}},
                }},
            },
        }},
        "match": match_schema(),
    });
    if let Some(parameters) = &template.parameters {
        spec["parameters"] = parameters.clone();
    }
    json!({
        "type": "object",
        "properties": {
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 63}}},
            "spec": {"type": "object", "properties": spec},
            "status": {"x-kubernetes-preserve-unknown-fields": true},
        },
    })
}

fn match_schema() -> Json {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let wildcards = json!({"type": "array", "items": {"type": "string", "pattern": WILDCARD}});
    json!({
        "type": "object",
        "properties": {
            "kinds": {"type": "array", "items": {"type": "object", "properties": {
                "apiGroups": texts, "kinds": texts,
            }}},
            "scope": {"type": "string"},
            "namespaces": wildcards,
            "excludedNamespaces": wildcards,
            "labelSelector": selector_schema(),
            "namespaceSelector": selector_schema(),
            "name": {"type": "string", "pattern": WILDCARD},
            "source": {"type": "string", "enum": ["All", "Generated", "Original"]},
        },
    })
}

fn selector_schema() -> Json {
    json!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
            "matchExpressions": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {
                "type": "object",
                "required": ["key", "operator"],
                "properties": {
                    "key": {"type": "string"},
                    "operator": {"type": "string"},
                    "values": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "string"}},
                },
            }},
        },
    })
}
