//! `metadata`: what the server sets, what it checks, and when an object counts as changed.

use std::fmt::Write as _;

use jiff::Timestamp;
use reeve_go_compat::labels;
use reeve_go_compat::runes::quote;
use serde_json::{Map, Value};

use crate::kinds::Kind;
use crate::names;
use crate::status_error::{Cause, FieldError, StatusError};

/// Holds an owner until its dependents have been orphaned.
pub const ORPHAN: &str = "orphan";
/// Holds an owner until its dependents are gone.
pub const FOREGROUND: &str = "foregroundDeletion";
/// Finalizers of Kubernetes itself, which need no domain.
pub const STANDARD_FINALIZERS: [&str; 3] = [ORPHAN, FOREGROUND, "kubernetes"];

/// The maximum size of all annotations of an object in bytes.
const ANNOTATIONS_LENGTH: usize = 256 * 1024;

/// Now, as Kubernetes writes times: in whole seconds.
pub fn now() -> String {
    let seconds = Timestamp::now().as_second();
    Timestamp::from_second(seconds)
        .unwrap_or_default()
        .to_string()
}

/// The operating system has no random numbers. There is no fallback, which could be guessed.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the operating system has no random numbers: {0}")]
pub struct NoRandomness(getrandom::Error);

impl From<NoRandomness> for StatusError {
    fn from(error: NoRandomness) -> Self {
        Self::internal(error)
    }
}

/// A new uid: a random UUID.
pub fn uid() -> Result<String, NoRandomness> {
    let mut bytes = [0_u8; 16];
    fill(&mut bytes)?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let mut text = String::with_capacity(36);
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
thread_local! {
    /// Whether the random numbers of this thread fail.
    pub(crate) static RANDOMNESS_FAILS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

fn fill(bytes: &mut [u8]) -> Result<(), NoRandomness> {
    #[cfg(test)]
    if RANDOMNESS_FAILS.get() {
        return Err(NoRandomness(getrandom::Error::UNSUPPORTED));
    }
    getrandom::fill(bytes).map_err(NoRandomness)
}

/// A random secret.
pub fn secret() -> Result<String, NoRandomness> {
    Ok(format!("{}{}", uid()?, uid()?))
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Five letters for `generateName`.
pub fn suffix() -> Result<String, NoRandomness> {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let suffix = uid()?
        .bytes()
        .filter(|byte| *byte != b'-')
        .collect::<Vec<u8>>()
        .chunks(4)
        .take(5)
        .map(|four| {
            let number = four
                .iter()
                .fold(0_usize, |sum, byte| sum * 31 + usize::from(*byte));
            LETTERS
                .get(number % LETTERS.len())
                .copied()
                .map_or('x', char::from)
        })
        .collect();
    Ok(suffix)
}

/// The metadata of an object, made if it is not there; nothing if this is no object.
pub fn metadata(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let slot = object
        .as_object_mut()?
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut()
}

/// A text in the metadata; empty if it is not there.
pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    let found = object
        .get("metadata")
        .and_then(|metadata| metadata.get(field));
    found.and_then(Value::as_str).unwrap_or_default()
}

/// The metadata of an object as an object of its own.
pub fn partial_object(object: &Value) -> Value {
    serde_json::json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| serde_json::json!({})),
    })
}

/// The finalizers of an object.
pub fn finalizers(object: &Value) -> Vec<&str> {
    let list = object
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Sets the finalizers; none of them leaves no field.
pub fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    if let Some(metadata) = metadata(object) {
        if finalizers.is_empty() {
            metadata.remove("finalizers");
        } else {
            metadata.insert("finalizers".to_owned(), finalizers.into());
        }
    }
}

/// Whether an object is being deleted.
pub fn is_deleted(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// Removes kind and version: objects are stored without them.
pub fn strip_type(object: &mut Value) {
    if let Some(object) = object.as_object_mut() {
        object.remove("apiVersion");
        object.remove("kind");
    }
}

/// Sets kind and version.
pub fn put_type(object: &mut Value, api_version: &str, kind: &str) {
    if let Some(object) = object.as_object_mut() {
        object.insert("apiVersion".to_owned(), api_version.into());
        object.insert("kind".to_owned(), kind.into());
    }
}

/// Whether objects of a kind count their changes.
pub fn counts_changes(kind: &Kind) -> bool {
    kind.custom.is_some()
        || matches!(
            (kind.group.as_str(), kind.resource.as_str()),
            ("", "pods" | "replicationcontrollers")
                | (
                    "apps",
                    "deployments" | "replicasets" | "statefulsets" | "daemonsets"
                )
                | ("batch", "jobs" | "cronjobs")
                | (
                    "networking.k8s.io",
                    "ingresses" | "networkpolicies" | "ingressclasses"
                )
                | ("policy", "poddisruptionbudgets")
                | ("scheduling.k8s.io", "priorityclasses")
                | ("discovery.k8s.io", "endpointslices")
                | (
                    "admissionregistration.k8s.io"
                        | "apiextensions.k8s.io"
                        | "flowcontrol.apiserver.k8s.io",
                    _
                )
        )
}

/// Makes the metadata that a new object has.
pub fn begin(object: &mut Value, kind: &Kind) -> Result<(), NoRandomness> {
    let uid = uid()?;
    let Some(metadata) = metadata(object) else {
        return Ok(());
    };
    for field in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "resourceVersion",
    ] {
        metadata.remove(field);
    }
    metadata.insert("uid".to_owned(), uid.into());
    metadata.insert("creationTimestamp".to_owned(), now().into());
    if counts_changes(kind) {
        metadata.insert("generation".to_owned(), 1.into());
    }
    Ok(())
}

/// Carries over what a change cannot change.
pub fn carry(new: &mut Value, old: &Value) {
    let before = old.get("metadata");
    let Some(metadata) = metadata(new) else {
        return;
    };
    for field in [
        "uid",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "resourceVersion",
    ] {
        match before.and_then(|before| before.get(field)) {
            Some(value) => {
                metadata.insert(field.to_owned(), value.clone());
            }
            None => {
                metadata.remove(field);
            }
        }
    }
    metadata.remove("selfLink");
}

/// Counts a change of what was asked for.
pub fn count_change(object: &mut Value) {
    if let Some(metadata) = metadata(object) {
        let generation = metadata
            .get("generation")
            .and_then(Value::as_i64)
            .unwrap_or_default();
        metadata.insert("generation".to_owned(), generation.saturating_add(1).into());
    }
}

/// Validates the metadata of an object.
pub fn check(object: &Value, kind: &Kind) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_name(object, kind, &mut errors);
    let namespace = text(object, "namespace");
    if kind.namespaced && namespace.is_empty() {
        errors.push(FieldError::new(Cause::Required, "metadata.namespace", ""));
    }
    errors.extend(check_map(object));
    let all = finalizers(object);
    if [ORPHAN, FOREGROUND].iter().all(|one| all.contains(one)) {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            "metadata.finalizers",
            &all.clone().into(),
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
    let generation = object.pointer("/metadata/generation");
    if let Some(generation) = generation.filter(|one| one.as_i64().is_some_and(|one| one < 0)) {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            "metadata.generation",
            generation,
            "must be greater than or equal to 0",
        ));
    }
    for (place, finalizer) in all.into_iter().enumerate() {
        let field = format!("metadata.finalizers[{place}]");
        let wrong = labels::key_errors(finalizer);
        for why in &wrong {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                "metadata.finalizers",
                &finalizer.into(),
                why,
            ));
        }
        let known = STANDARD_FINALIZERS.contains(&finalizer);
        if !known && !finalizer.contains('/') && names_finalizers(kind) {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                field,
                &finalizer.into(),
                "name is neither a standard finalizer name nor is it fully qualified",
            ));
        }
    }
    errors
}

/// Whether finalizers have to be known or qualified: not so of definitions and of what they define.
fn names_finalizers(kind: &Kind) -> bool {
    kind.custom.is_none() && !kind.is("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Validates labels, annotations and owners.
pub fn check_map(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_labels(object, &mut errors);
    check_annotations(object, &mut errors);
    check_owners(object, &mut errors);
    errors
}

/// The rule for names of a kind.
fn name_rule(kind: &Kind) -> fn(&str) -> Vec<String> {
    match (kind.group.as_str(), kind.resource.as_str()) {
        ("", "namespaces" | "services") => names::label,
        ("rbac.authorization.k8s.io" | "certificates.k8s.io", _) => names::path_segment,
        _ => names::subdomain,
    }
}

fn check_name(object: &Value, kind: &Kind, errors: &mut Vec<FieldError>) {
    let name = text(object, "name");
    let base = text(object, "generateName");
    let rule = name_rule(kind);
    if !base.is_empty() {
        // Only the beginning of a name: it may end with a hyphen.
        let beginning = base
            .strip_suffix('-')
            .map_or_else(|| base.to_owned(), |base| format!("{base}a"));
        for why in rule(&beginning) {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                "metadata.generateName",
                &base.into(),
                &why,
            ));
        }
    }
    if name.is_empty() {
        errors.push(FieldError::new(
            Cause::Required,
            "metadata.name",
            "name or generateName is required",
        ));
    } else {
        for why in rule(name) {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                "metadata.name",
                &name.into(),
                &why,
            ));
        }
    }
}

fn check_labels(object: &Value, errors: &mut Vec<FieldError>) {
    let labels = object
        .pointer("/metadata/labels")
        .and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        for why in labels::key_errors(key) {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                "metadata.labels",
                &key.as_str().into(),
                &why,
            ));
        }
        for why in labels::value_errors(value.as_str().unwrap_or_default()) {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                "metadata.labels",
                value,
                &why,
            ));
        }
    }
}

fn check_annotations(object: &Value, errors: &mut Vec<FieldError>) {
    let annotations = object
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    let mut length = 0;
    for (key, value) in annotations.into_iter().flatten() {
        length += key.len() + value.as_str().map_or(0, str::len);
        for why in labels::key_errors(&key.to_lowercase()) {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                "metadata.annotations",
                &key.as_str().into(),
                &why,
            ));
        }
    }
    if length > ANNOTATIONS_LENGTH {
        errors.push(FieldError::new(
            Cause::TooLong,
            "metadata.annotations",
            &format!("may not be more than {ANNOTATIONS_LENGTH} bytes"),
        ));
    }
}

fn check_owners(object: &Value, errors: &mut Vec<FieldError>) {
    let owners = object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    let mut controllers: Vec<String> = Vec::new();
    for owner in owners.into_iter().flatten() {
        let field = "metadata.ownerReferences";
        for (name, why) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            let text = owner.get(name).and_then(Value::as_str).unwrap_or_default();
            if text.is_empty() {
                errors.push(FieldError::of_value(
                    Cause::Invalid,
                    format!("{field}.{name}"),
                    &"".into(),
                    why,
                ));
            }
        }
        let of = |key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default();
        let version = of("apiVersion");
        if version.matches('/').count() > 1 {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                format!("{field}.apiVersion"),
                &version.into(),
                "version must not be empty",
            ));
        }
        if version == "v1" && of("kind") == "Event" {
            errors.push(FieldError {
                cause: Cause::Invalid,
                field: field.to_owned(),
                message: format!(
                    "Invalid value: {}: /v1, Kind=Event is disallowed from being an owner",
                    shown_owner(owner)
                ),
            });
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let of = |key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default();
            controllers.push(format!("{}/{}", of("kind"), of("name")));
        }
    }
    if let [first, second, ..] = controllers.as_slice() {
        let shown: Vec<String> = owners.into_iter().flatten().map(shown_owner).collect();
        errors.push(FieldError {
            cause: Cause::Invalid,
            field: "metadata.ownerReferences".to_owned(),
            message: format!(
                "Invalid value: [{}]: Only one reference can have Controller set to true. Found \"true\" in \
                 references for {first} and {second}",
                shown.join(",")
            ),
        });
    }
}

/// An owner as the server's own type shows it: the fields in its order.
fn shown_owner(owner: &Value) -> String {
    let order = [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ];
    let fields = order
        .into_iter()
        .filter_map(|field| Some(format!("\"{field}\":{}", owner.get(field)?)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// Validates a change of the metadata.
pub fn check_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["name", "namespace"] {
        if text(new, field) != text(old, field) {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                format!("metadata.{field}"),
                &text(new, field).into(),
                "field is immutable",
            ));
        }
    }
    if is_deleted(old) {
        let before = finalizers(old);
        let added: Vec<&str> = finalizers(new)
            .into_iter()
            .filter(|finalizer| !before.contains(finalizer))
            .collect();
        if !added.is_empty() {
            let quoted: Vec<String> = added.iter().map(quote).collect();
            errors.push(FieldError::new(
                Cause::Forbidden,
                "metadata.finalizers",
                &format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                    quoted.join(", ")
                ),
            ));
        }
    }
    errors
}
