//! Probes and hooks of containers.

use serde_json::Value;

use super::common::port_name;
use super::field::{Errors, FieldValue, none_negative, port as port_number, required_one_of};
use crate::status_error::{Cause, FieldError};

const HANDLERS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

/// A probe, if there is one.
pub(super) fn probe(probe: &FieldValue<'_>, must_succeed_once: bool, errors: &mut Errors) {
    if !probe.is_set() {
        return;
    }
    handler(probe, &HANDLERS[..4], errors);
    none_negative(
        probe,
        &[
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ],
        errors,
    );
    let grace_period = probe.get("terminationGracePeriodSeconds");
    if grace_period.number().is_some_and(|seconds| seconds <= 0) {
        errors.push(grace_period.invalid("must be greater than 0"));
    }
    let successes = probe.get("successThreshold");
    if must_succeed_once && successes.number() != Some(1) {
        errors.push(successes.invalid("must be 1"));
    }
}

/// The lifecycle hooks of a container.
pub(super) fn lifecycle(lifecycle: &FieldValue<'_>, errors: &mut Errors) {
    for hook in ["postStart", "preStop"] {
        let hook = lifecycle.get(hook);
        if hook.is_set() {
            handler(&hook, &["exec", "httpGet", "tcpSocket", "sleep"], errors);
        }
    }
}

fn handler(at: &FieldValue<'_>, kinds: &[&str], errors: &mut Errors) {
    let mut count = 0;
    for kind in kinds {
        let one = at.get(kind);
        if !one.is_set() {
            continue;
        }
        count += 1;
        if count > 1 {
            errors.push(one.forbidden("may not specify more than 1 handler type"));
            continue;
        }
        match *kind {
            "exec" if one.get("command").is_empty() => {
                errors.push(one.get("command").required(""));
            }
            "httpGet" => http(&one, errors),
            "tcpSocket" => port(&one.get("port"), errors),
            "grpc" => port_number(&one.get("port"), errors),
            _ => {}
        }
    }
    if count == 0 {
        errors.push(at.required("must specify a handler type"));
    }
}

fn http(get: &FieldValue<'_>, errors: &mut Errors) {
    if get.get("path").is_empty() {
        errors.push(get.get("path").required(""));
    }
    port(&get.get("port"), errors);
    required_one_of(&get.get("scheme"), &["HTTP", "HTTPS"], errors);
    for header in get.get("httpHeaders").items() {
        let name = get.get("httpHeaders").with(header.get("name").value);
        if !is_header(name.text()) {
            errors.push(name.invalid_text(
                "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used \
                 for validation is '[-A-Za-z0-9]+')",
            ));
        }
    }
}

fn is_header(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// A port by its number or name.
pub(super) fn port(at: &FieldValue<'_>, errors: &mut Errors) {
    match at.value {
        Value::String(text) => {
            errors.extend(port_name(text).iter().map(|why| at.invalid(why)));
        }
        Value::Number(_) => port_number(at, errors),
        _ => errors.push(FieldError::of_value(
            Cause::Invalid,
            &at.path,
            &0.into(),
            "must be between 1 and 65535, inclusive",
        )),
    }
}
