//! Checks definitions of custom resources, as far as their authors meet the checks of the API server.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::resources::mixed_case;
use super::structural;
use crate::names;
use crate::status_error::{Cause, FieldError};

/// Validates a `CustomResourceDefinition`.
pub fn check_crd(crd: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let text = |pointer: &str| {
        crd.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let group = text("/spec/group");
    let plural = text("/spec/names/plural");
    let name = text("/metadata/name");
    if name != format!("{plural}.{group}") {
        let why = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", &name.into(), why));
    }
    check_group(crd, group, &mut errors);
    match text("/spec/scope") {
        "" => errors.push(FieldError::new(Cause::Required, "spec.scope", "")),
        "Cluster" | "Namespaced" => {}
        other => errors.push(FieldError::not_supported(
            "spec.scope",
            &other.into(),
            &["Cluster", "Namespaced"],
        )),
    }
    let unknown = crd.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true));
    if unknown {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid(
            "spec.preserveUnknownFields",
            &true.into(),
            why,
        ));
    }
    match text("/spec/conversion/strategy") {
        "" | "None" | "Webhook" => {}
        other => errors.push(FieldError::not_supported(
            "spec.conversion.strategy",
            &other.into(),
            &["None", "Webhook"],
        )),
    }
    check_names(&crd["spec"]["names"], &mut errors);
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    check_versions(versions.map_or(&[], Vec::as_slice), &mut errors);
    errors
}

fn check_group(crd: &Value, group: &str, errors: &mut Vec<FieldError>) {
    let field = "spec.group";
    if group.is_empty() {
        errors.push(FieldError::new(Cause::Required, field, ""));
        return;
    }
    let wrong = names::subdomain(group);
    if wrong.is_empty() && !group.contains('.') {
        let why = "should be a domain with at least one dot";
        errors.push(FieldError::invalid(field, &group.into(), why));
    }
    for why in wrong {
        errors.push(FieldError::invalid(field, &group.into(), &why));
    }
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.ends_with(&format!(".{domain}")));
    let approval = "api-approved.kubernetes.io";
    if protected && crd["metadata"]["annotations"][approval].is_null() {
        let why = format!(
            "protected groups must have approval annotation \"{approval}\", see https://github.com/kubernetes/enhancements/pull/1111"
        );
        let field = format!("metadata.annotations[{approval}]");
        errors.push(FieldError::new(Cause::Required, field, &why));
    }
}

fn check_names(names: &Value, errors: &mut Vec<FieldError>) {
    let text = |key: &str| names.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = text("kind");
    let singular = match text("singular") {
        "" => kind.to_lowercase(),
        given => given.to_owned(),
    };
    let list_kind = match text("listKind") {
        "" if !kind.is_empty() => format!("{kind}List"),
        given => given.to_owned(),
    };
    let mut check = |field: &str, text: &str, rule: fn(&str) -> Vec<String>| {
        let field = format!("spec.names.{field}");
        if text.is_empty() {
            errors.push(FieldError::new(Cause::Required, field, ""));
            return;
        }
        for why in rule(text) {
            errors.push(FieldError::invalid(&field, &text.into(), &why));
        }
    };
    check("plural", text("plural"), names::label_1035);
    check("kind", kind, mixed_case);
    // Errors that follow from the kind are not reported separately.
    if !kind.is_empty() {
        if !text("singular").is_empty() {
            check("singular", &singular, names::label_1035);
        }
        if !text("listKind").is_empty() {
            check("listKind", &list_kind, mixed_case);
        }
    }
    for list in ["shortNames", "categories"] {
        let all = names.get(list).and_then(Value::as_array);
        for (index, one) in all.into_iter().flatten().enumerate() {
            let one = one.as_str().unwrap_or_default();
            check(&format!("{list}[{index}]"), one, names::label_1035);
        }
    }
    if !kind.is_empty() && kind == list_kind {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(
            "spec.names.listKind",
            &list_kind.into(),
            why,
        ));
    }
}

/// The versions as the server shows them.
fn shown(versions: &[Value]) -> String {
    let flag = |version: &Value, key: &str| version.get(key) == Some(&Value::Bool(true));
    let all: Vec<String> = versions
        .iter()
        .map(|version| {
            format!(
                "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":null,\
                 \"Subresources\":null,\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}}",
                version["name"],
                flag(version, "served"),
                flag(version, "storage"),
                flag(version, "deprecated"),
                version["deprecationWarning"]
            )
        })
        .collect();
    format!("[{}]", all.join(","))
}

fn check_versions(versions: &[Value], errors: &mut Vec<FieldError>) {
    let name = |version: &Value| version["name"].as_str().unwrap_or_default().to_owned();
    let mut seen = HashSet::new();
    let mut of_all = |why: &str| {
        errors.push(FieldError {
            cause: Cause::Invalid,
            field: "spec.versions".to_owned(),
            message: format!("Invalid value: {}: {why}", shown(versions)),
        });
    };
    if versions.iter().any(|version| !seen.insert(name(version))) {
        of_all("must contain unique version names");
    }
    let storage: Vec<String> = versions
        .iter()
        .filter(|version| version["storage"] == true)
        .map(name)
        .collect();
    if storage.len() != 1 {
        of_all("must have exactly one version marked as storage version");
        let (stored, why) = match storage.first() {
            None => (
                Value::Null,
                "must have at least one stored version".to_owned(),
            ),
            Some(first) => (
                json!([first]),
                format!("must have the storage version {first}"),
            ),
        };
        errors.push(FieldError::invalid("status.storedVersions", &stored, &why));
    }
    // An error that is the same in all versions is reported once, at the path where the server stores it.
    let same = |key: &str| {
        let first = versions.first().map(|version| &version[key]);
        versions.iter().all(|version| Some(&version[key]) == first)
    };
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{index}]");
        for why in names::label_1035(&name(version)) {
            let value = &version["name"];
            errors.push(FieldError::invalid(format!("{path}.name"), value, &why));
            if index == 0 {
                errors.push(FieldError::invalid("spec.version", value, &why));
            }
        }
        let schema = &version["schema"]["openAPIV3Schema"];
        let in_version = format!("{path}.schema.openAPIV3Schema");
        if !schema.is_object() {
            errors.push(FieldError::new(Cause::Required, in_version, ""));
        } else if !same("schema") {
            structural::check(schema, &in_version, errors);
        } else if index == 0 {
            structural::check(schema, "spec.validation.openAPIV3Schema", errors);
        }
        for (key, check) in [
            (
                "subresources",
                check_subresources as fn(&Value, &str, &mut Vec<FieldError>),
            ),
            ("additionalPrinterColumns", check_columns),
        ] {
            if !same(key) {
                check(&version[key], &format!("{path}.{key}"), errors);
            } else if index == 0 {
                check(&version[key], &format!("spec.{key}"), errors);
            }
        }
    }
}

const SIMPLE_PATH: &str = "must be a simple json path starting with .";

fn check_subresources(subresources: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let scale = &subresources["scale"];
    if !scale.is_object() {
        return;
    }
    for (key, start) in [
        ("specReplicasPath", ".spec."),
        ("statusReplicasPath", ".status."),
    ] {
        let field = format!("{path}.scale.{key}");
        let given = scale[key].as_str().unwrap_or_default();
        if given.is_empty() {
            errors.push(FieldError::new(Cause::Required, field, ""));
        } else if !given.starts_with('.') {
            errors.push(FieldError::invalid(field, &scale[key], SIMPLE_PATH));
        } else if !given.starts_with(start) {
            let why = format!(
                "should be a json path under {}",
                start.trim_end_matches('.')
            );
            errors.push(FieldError::invalid(field, &scale[key], &why));
        }
    }
}

fn check_columns(columns: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (index, column) in columns.as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}[{index}]");
        let text = |key: &str| column[key].as_str().unwrap_or_default();
        if text("name").is_empty() {
            errors.push(FieldError::new(Cause::Required, format!("{path}.name"), ""));
        }
        let kinds = ["boolean", "date", "integer", "number", "string"];
        if text("type").is_empty() {
            errors.push(FieldError::new(Cause::Required, format!("{path}.type"), ""));
        } else if !kinds.contains(&text("type")) {
            let why = format!("must be one of {}", kinds.join(","));
            errors.push(FieldError::invalid(
                format!("{path}.type"),
                &column["type"],
                &why,
            ));
        }
        if text("jsonPath").is_empty() {
            errors.push(FieldError::new(
                Cause::Required,
                format!("{path}.JSONPath"),
                "",
            ));
        } else if !text("jsonPath").starts_with('.') {
            errors.push(FieldError::invalid(
                format!("{path}.JSONPath"),
                &column["jsonPath"],
                SIMPLE_PATH,
            ));
        }
    }
}
