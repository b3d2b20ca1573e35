//! Requests for certificates.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::certificates::{Request, texts};
use crate::failure::{Cause, FieldError};
use crate::names;

/// A certificate is asked for so many seconds at least.
const SHORTEST: i64 = 600;

/// What is wrong with a new request.
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
    if texts(object, "/spec/usages").is_empty() {
        errors.push(FieldError::new(Cause::Required, "spec.usages", ""));
    }
    let signer = text("/spec/signerName");
    if signer.is_empty() {
        errors.push(FieldError::new(Cause::Required, "spec.signerName", ""));
    } else {
        let whys = match signer.split_once('/') {
            Some((domain, path)) if domain.contains('.') => {
                let mut whys = names::subdomain(domain);
                whys.extend(path.is_empty().then(|| "a path is missing".to_owned()));
                whys
            }
            _ => vec![
                "should be a fully qualified domain and path of the form 'example.com/signer-name'"
                    .to_owned(),
            ],
        };
        for why in whys {
            errors.push(invalid("spec.signerName", &signer.into(), &why));
        }
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
