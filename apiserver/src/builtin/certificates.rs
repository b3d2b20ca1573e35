//! Certificate signing requests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reeve_go_compat::runes::quote;
use serde_json::{Map, Value, json};

use crate::identity::Identity;
use crate::pki::csr::{Request, texts};
use crate::status_error::{Cause, FieldError};
use crate::{meta, names};

/// A certificate is asked for so many seconds at least.
const SHORTEST: i64 = 600;

/// What a certificate may be used for.
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// Sets the user of the request, whatever its spec names.
pub(super) fn begin(fields: &mut Map<String, Value>, user: &Identity) {
    fields.insert("status".to_owned(), json!({}));
    let spec = fields.entry("spec").or_insert_with(|| json!({}));
    let Some(spec) = spec.as_object_mut() else {
        return;
    };
    spec.remove("uid");
    spec.remove("extra");
    spec.insert("username".to_owned(), user.user.clone().into());
    spec.insert("groups".to_owned(), user.groups.clone().into());
    if !user.uid.is_empty() {
        spec.insert("uid".to_owned(), user.uid.clone().into());
    }
    if !user.extra.is_empty() {
        spec.insert("extra".to_owned(), json!(user.extra));
    }
}

/// Sets the times of conditions that have none.
pub(crate) fn date(object: &mut Value) {
    let conditions = object.pointer_mut("/status/conditions");
    let conditions = conditions.and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        for field in ["lastUpdateTime", "lastTransitionTime"] {
            if condition.get(field).is_none_or(Value::is_null)
                && let Some(condition) = condition.as_object_mut()
            {
                condition.insert(field.to_owned(), meta::now().into());
            }
        }
    }
}

fn types(object: &Value) -> Vec<&str> {
    let conditions = object.pointer("/status/conditions");
    let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    conditions
        .filter_map(|one| one.get("type")?.as_str())
        .collect()
}

/// Validates a change of a request, by its subresource.
pub(crate) fn check_part(
    part: Option<&str>,
    new: &Value,
    old: &Value,
    errors: &mut Vec<FieldError>,
) {
    const PATH: &str = "status.conditions";
    let (before, after) = (types(old), types(new));
    let mut forbid = |what: &str, of: &str| {
        let why = format!("updates may not {what} a condition of type {}", quote(of));
        errors.push(FieldError::new(Cause::Forbidden, PATH, &why));
    };
    for of in ["Approved", "Denied"] {
        if before.contains(&of) && !after.contains(&of) {
            forbid("remove", of);
        }
        if part != Some("approval") && after.contains(&of) && !before.contains(&of) {
            forbid("add", of);
        }
    }
    if part == Some("approval") && after.contains(&"Failed") && !before.contains(&"Failed") {
        forbid("add", "Failed");
    }
    if let (Some(approved), Some(denied)) = (
        after.iter().position(|of| *of == "Approved"),
        after.iter().position(|of| *of == "Denied"),
    ) {
        let later = if approved > denied {
            "Approved"
        } else {
            "Denied"
        };
        let why = "Approved and Denied conditions are mutually exclusive";
        errors.push(FieldError::of_value(
            Cause::Invalid,
            PATH,
            &later.into(),
            why,
        ));
    }
    let conditions = new.pointer("/status/conditions").and_then(Value::as_array);
    for (place, one) in conditions.into_iter().flatten().enumerate() {
        let known =
            ["Approved", "Denied", "Failed"].map(|of| Some(&Value::from(of)) == one.get("type"));
        let status = one.get("status").unwrap_or(&Value::Null);
        if known.contains(&true) && status != "True" {
            let path = format!("{PATH}[{place}].status");
            errors.push(FieldError::not_supported(path, status, &["True"]));
        }
    }
    let certificate = |object: &Value| object.pointer("/status/certificate").cloned();
    if let Some(Value::String(text)) =
        certificate(new).filter(|_| certificate(new) != certificate(old))
    {
        let pem = STANDARD.decode(text).unwrap_or_default();
        if !String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE-----") {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                "status.certificate",
                &"<certificate data>".into(),
                "must contain at least one CERTIFICATE PEM block",
            ));
        }
    }
}

/// Validates a new request.
pub(super) fn check(object: &Value, errors: &mut Vec<FieldError>) {
    let text = |path: &str| {
        let text = object.pointer(path).and_then(Value::as_str);
        text.unwrap_or_default()
    };
    let invalid = |field: &str, value: &Value, why: &str| {
        FieldError::of_value(Cause::Invalid, field.to_owned(), value, why)
    };
    let bytes = STANDARD.decode(text("/spec/request")).unwrap_or_default();
    if let Err(why) = Request::read(&bytes) {
        let shown = object.pointer("/spec/request").unwrap_or(&Value::Null);
        errors.push(invalid("spec.request", shown, &why));
    }
    let usages = texts(object, "/spec/usages");
    if usages.is_empty() {
        errors.push(FieldError::new(Cause::Required, "spec.usages", ""));
    }
    for (place, usage) in usages.iter().enumerate() {
        let path = format!("spec.usages[{place}]");
        if !USAGES.contains(usage) {
            errors.push(FieldError::not_supported(path, &(*usage).into(), &USAGES));
        } else if usages.iter().take(place).any(|before| before == usage) {
            errors.push(FieldError::of_value(
                Cause::Duplicate,
                path,
                &(*usage).into(),
                "",
            ));
        }
    }
    let signer = text("/spec/signerName");
    if signer.is_empty() {
        errors.push(FieldError::new(Cause::Required, "spec.signerName", ""));
    } else if let Some((shown, why)) = wrong_signer(signer) {
        errors.push(invalid("spec.signerName", &shown.into(), &why));
    }
    let seconds = object.pointer("/spec/expirationSeconds");
    if let Some(seconds) = seconds.filter(|one| one.as_i64().is_some_and(|one| one < SHORTEST)) {
        errors.push(invalid(
            "spec.expirationSeconds",
            seconds,
            "may not specify a duration less than 600 seconds (10 minutes)",
        ));
    }
}

/// Validates the name of a signer, and with what part of it.
fn wrong_signer(signer: &str) -> Option<(&str, String)> {
    if signer == "kubernetes.io/legacy-unknown" {
        let why = "the legacy signerName is not allowed via this API version";
        return Some((signer, why.to_owned()));
    }
    let Some((domain, path)) = signer.split_once('/') else {
        let why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return Some((signer, why.to_owned()));
    };
    for label in domain.split('.') {
        if let Some(why) = names::label(label).first() {
            return Some((domain, format!("validating label {}: {why}", quote(label))));
        }
    }
    if !domain.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        return Some((domain, why.to_owned()));
    }
    let why = names::subdomain(path).into_iter().next()?;
    Some((path, why))
}
