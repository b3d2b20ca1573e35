//! Settings and secrets, namespaces, events and leases.

use base64::Engine as _;
use reeve_go_compat::labels;

use super::field::{Errors, FieldValue, immutable, not_negative};
use crate::names;
use crate::status_error::{Cause, FieldError};

/// The most that a `ConfigMap` or Secret holds.
const LARGEST: usize = 1024 * 1024;
const SEALED: &str = "field is immutable when `immutable` is set";

/// Types of Secrets and what has to be in them.
const KEYS: [(&str, &[&str]); 4] = [
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
];

/// A `ConfigMap` or Secret.
pub(super) fn settings(
    resource: &str,
    object: &FieldValue<'_>,
    old: Option<&FieldValue<'_>>,
    errors: &mut Errors,
) {
    let mut size = 0;
    for field in ["data", "binaryData"] {
        let map = object.get(field);
        for (key, value) in map.entries() {
            errors.extend(
                names::config_key(key)
                    .iter()
                    .map(|why| FieldError::of_value(Cause::Invalid, &value.path, &key.into(), why)),
            );
            let is_encoded = field == "binaryData" || resource == "secrets";
            let length = value.text().len();
            size += if is_encoded { length / 4 * 3 } else { length };
            if field == "binaryData" && object.get("data").key(key).is_set() {
                let twice = object.get("data").key(key);
                let why = "duplicate of key present in binaryData";
                errors.push(FieldError::of_value(
                    Cause::Invalid,
                    &twice.path,
                    &key.into(),
                    why,
                ));
            }
        }
    }
    if size > LARGEST {
        let whole = if resource == "secrets" {
            object.get("data")
        } else {
            object.clone()
        };
        errors.push(whole.too_long(LARGEST));
    }
    if resource == "secrets" {
        secret(object, errors);
    }
    if let Some(old) = old {
        if resource == "secrets" {
            immutable(&object.get("type"), &old.get("type"), errors);
        }
        sealed(object, old, errors);
    }
}

fn secret(object: &FieldValue<'_>, errors: &mut Errors) {
    let data = object.get("data");
    let kind = object.get("type").text();
    let wanted = KEYS.iter().find(|(known, _)| *known == kind);
    for key in wanted.into_iter().flat_map(|(_, keys)| keys.iter()) {
        let value = data.key(key);
        let has = if kind == "kubernetes.io/ssh-auth" {
            !value.is_empty()
        } else {
            value.is_set()
        };
        if has {
            if kind.starts_with("kubernetes.io/dockerc") {
                json(&value, errors);
            }
        } else {
            errors.push(value.required(""));
        }
    }
    match kind {
        "kubernetes.io/basic-auth" => {
            let both = ["username", "password"].map(|key| data.key(key));
            if both.iter().all(|value| !value.is_set()) {
                errors.extend(both.iter().map(|value| value.required("")));
            }
        }
        "kubernetes.io/service-account-token" => {
            let name = object
                .get("metadata")
                .get("annotations")
                .key("kubernetes.io/service-account.name");
            if name.is_empty() {
                errors.push(name.required(""));
            }
        }
        _ => {}
    }
}

/// A value that is JSON; it is not shown.
fn json(value: &FieldValue<'_>, errors: &mut Errors) {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(value.text())
        .unwrap_or_default();
    if !crate::json::parse(&bytes).is_ok_and(|read| read.is_object()) {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            &value.path,
            &"<secret contents redacted>".into(),
            &no_json(&bytes),
        ));
    }
}

/// The error of Go for bytes that are not JSON, for the common cases.
fn no_json(bytes: &[u8]) -> String {
    let mut letters = bytes.iter().filter(|byte| !byte.is_ascii_whitespace());
    let first = letters.next().copied();
    let second = letters.next().copied();
    let (letter, place) = match (first, second) {
        (Some(b'{'), Some(letter)) if letter != b'"' && letter != b'}' => {
            (letter, "object key string")
        }
        (Some(letter), _) if !b"{[\"-0123456789tfn".contains(&letter) => (letter, "value"),
        _ => return "unexpected end of JSON input".to_owned(),
    };
    format!(
        "invalid character '{}' looking for beginning of {place}",
        char::from(letter)
    )
}

/// A sealed `ConfigMap` or Secret does not change.
fn sealed(object: &FieldValue<'_>, old: &FieldValue<'_>, errors: &mut Errors) {
    if !old.get("immutable").is_true() {
        return;
    }
    if !object.get("immutable").is_true() {
        errors.push(object.get("immutable").forbidden(SEALED));
    }
    for field in ["data", "binaryData"] {
        if object.get(field).value != old.get(field).value {
            errors.push(object.get(field).forbidden(SEALED));
        }
    }
}

/// A Namespace.
pub(super) fn namespace(object: &FieldValue<'_>, errors: &mut Errors) {
    for finalizer in object.get("spec.finalizers").items() {
        let at = object.get("spec.finalizers").with(finalizer.value);
        super::field::named(&at, labels::key_errors, errors);
        let text = finalizer.text();
        if !text.contains('/') && text != "kubernetes" {
            errors.push(
                at.invalid("name is neither a standard finalizer name nor is it fully qualified"),
            );
        }
    }
    let labels = object.get("metadata").get("labels");
    for mode in ["enforce", "audit", "warn"] {
        let level = labels.key(&format!("pod-security.kubernetes.io/{mode}"));
        let known = ["privileged", "baseline", "restricted"];
        if level.is_set() && !known.contains(&level.text()) {
            errors.push(level.invalid("must be one of privileged, baseline, restricted"));
        }
        let version = labels.key(&format!("pod-security.kubernetes.io/{mode}-version"));
        if version.is_set() && !is_security_version(version.text()) {
            errors.push(version.invalid("must be \"latest\" or \"v1.x\""));
        }
    }
}

fn is_security_version(text: &str) -> bool {
    let minor = text.strip_prefix("v1.").unwrap_or_default();
    text == "latest" || (!minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A Lease.
pub(super) fn lease(object: &FieldValue<'_>, errors: &mut Errors) {
    let spec = object.get("spec");
    let seconds = spec.get("leaseDurationSeconds");
    if seconds.number().is_some_and(|seconds| seconds <= 0) {
        errors.push(seconds.invalid("must be greater than 0"));
    }
    not_negative(&spec.get("leaseTransitions"), errors);
}

/// An Event.
pub(super) fn event(object: &FieldValue<'_>, is_new: bool, errors: &mut Errors) {
    let own = object.get("metadata.namespace").text();
    let involved = object.get("involvedObject.namespace");
    if !involved.is_empty() && involved.text() != own {
        errors.push(involved.invalid("does not match event.namespace"));
    }
    if !is_new || !object.get("eventTime").is_set() {
        return;
    }
    for field in [
        "reportingComponent",
        "reportingInstance",
        "action",
        "reason",
    ] {
        let at = object.get(field);
        if at.is_empty() {
            errors.push(at.required(""));
        }
    }
    super::field::named(
        &object.get("reportingComponent"),
        labels::key_errors,
        errors,
    );
}
