//! How the answer of a webhook is read.

use base64::DecodeError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reeve_go_compat::runes::quote;
use serde_json::Value;

use super::review::KIND;
use crate::decode::unregistered;
use crate::schema::json_kind;
use crate::status_error::StatusError;

/// The response of a webhook.
#[derive(Debug, Default, PartialEq)]
pub(super) struct WebhookResponse {
    /// The JSON patch.
    pub(super) patch: Option<Vec<u8>>,
    /// The declared type of the patch.
    pub(super) patch_type: String,
    /// The warnings for the client.
    pub(super) warnings: Vec<String>,
    /// Why it may not be written.
    pub(super) refusal: Option<StatusError>,
}

/// The expectations on a response.
pub(super) struct Expected<'a> {
    /// The webhook's name.
    pub(super) hook: &'a str,
    /// The API version of the review that was sent.
    pub(super) api_version: &'a str,
    /// The uid of the question.
    pub(super) uid: &'a str,
    /// Whether it may change the object.
    pub(super) may_patch: bool,
}

/// Fields of an answer: where they are, the Go struct that has them, their Go type, and what they are in JSON.
const FIELDS: [(&str, &str, &str, &str); 11] = [
    (
        "response",
        "AdmissionReview",
        "v1.AdmissionResponse",
        "object",
    ),
    ("response.uid", "AdmissionResponse", "types.UID", "string"),
    ("response.allowed", "AdmissionResponse", "bool", "bool"),
    ("response.patch", "AdmissionResponse", "[]uint8", "string"),
    (
        "response.patchType",
        "AdmissionResponse",
        "v1.PatchType",
        "string",
    ),
    (
        "response.warnings",
        "AdmissionResponse",
        "[]string",
        "array",
    ),
    (
        "response.status",
        "AdmissionResponse",
        "v1.Status",
        "object",
    ),
    ("response.status.message", "Status", "string", "string"),
    (
        "response.status.reason",
        "Status",
        "v1.StatusReason",
        "string",
    ),
    ("response.status.code", "Status", "int32", "number"),
    (
        "response.status.details",
        "Status",
        "v1.StatusDetails",
        "object",
    ),
];

/// Reads an answer. The error follows `failed calling webhook "...": `.
pub(super) fn read(expected: &Expected<'_>, review: &Value) -> Result<WebhookResponse, String> {
    check_types(review)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let response = &review["response"];
    let patch = STANDARD.decode(text(&response["patch"]));
    let patch = patch.map_err(|error| uncalled(&undecodable(&error)))?;
    check_kind(expected, review).map_err(|why| uncalled(&why))?;
    let invalid = |why: &str| Err(format!("received invalid webhook response: {why}"));
    if response.is_null() {
        return invalid("webhook response was absent");
    }
    let given = text(&response["uid"]);
    let is_first = expected.api_version.ends_with("/v1");
    if is_first && given != expected.uid {
        return invalid(&format!(
            "expected response.uid={}, got {}",
            quote(expected.uid),
            quote(&given)
        ));
    }
    if is_first && let Err(why) = check_patch(expected, &patch, &response["patchType"]) {
        return invalid(&why);
    }
    let warnings = response["warnings"].as_array().into_iter().flatten();
    let allowed = response["allowed"].as_bool().unwrap_or_default();
    Ok(WebhookResponse {
        patch_type: text(&response["patchType"]),
        patch: Some(patch).filter(|patch| allowed && expected.may_patch && !patch.is_empty()),
        warnings: warnings.map(text).collect(),
        refusal: (!allowed).then(|| refusal(expected.hook, &response["status"])),
    })
}

/// An object without a kind is accepted as the expected one.
fn check_kind(expected: &Expected<'_>, review: &Value) -> Result<(), String> {
    let text = |field: &str, default: &'_ str| {
        let given = review[field].as_str().filter(|text| !text.is_empty());
        given.unwrap_or(default).to_owned()
    };
    let (version, kind) = (text("apiVersion", expected.api_version), text("kind", KIND));
    let number = |version: &str| version.rsplit('/').next().unwrap_or_default().to_owned();
    let is_known = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"].contains(&version.as_str());
    if kind != KIND || !is_known {
        return Err(unregistered(&kind, &version));
    }
    if version != expected.api_version {
        return Err(format!(
            "converting ({}.{KIND}) to ({}.{KIND}): unknown conversion",
            number(&version),
            number(expected.api_version)
        ));
    }
    Ok(())
}

fn uncalled(why: &str) -> String {
    format!("failed to call webhook: {why}")
}

fn check_types(review: &Value) -> Result<(), String> {
    for (path, holder, of_type, json) in FIELDS {
        let value = path
            .split('.')
            .try_fold(review, |value, part| value.get(part));
        let Some(value) = value.filter(|value| !value.is_null()) else {
            continue;
        };
        let given = json_kind(value);
        if given != json {
            return Err(uncalled(&format!(
                "json: cannot unmarshal {given} into Go struct field {holder}.{path} of type {of_type}"
            )));
        }
    }
    Ok(())
}

fn undecodable(error: &DecodeError) -> String {
    let at = match error {
        DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => *at,
        DecodeError::InvalidLength(length) => *length,
        DecodeError::InvalidPadding => 0,
    };
    format!("illegal base64 data at input byte {at}")
}

fn check_patch(expected: &Expected<'_>, patch: &[u8], patch_type: &Value) -> Result<(), String> {
    if !expected.may_patch {
        return match (patch.is_empty(), patch_type) {
            (false, _) => Err("validating webhook may not return response.patch".to_owned()),
            (_, Value::String(_)) => {
                Err("validating webhook may not return response.patchType".to_owned())
            }
            _ => Ok(()),
        };
    }
    match (patch.is_empty(), patch_type.as_str()) {
        (false, None) => {
            Err("webhook returned response.patch but not response.patchType".to_owned())
        }
        (true, Some(_)) => {
            Err("webhook returned response.patchType but not response.patch".to_owned())
        }
        (false, Some("")) => Err("webhook returned invalid response.patchType of \"\"".to_owned()),
        _ => Ok(()),
    }
}

/// The error of a refusal for the client.
fn refusal(hook: &str, status: &Value) -> StatusError {
    let text = |field: &str| status[field].as_str().unwrap_or_default();
    let code = status["code"].as_u64().unwrap_or_default();
    let code = u16::try_from(code).unwrap_or_default();
    StatusError {
        code: if code < 400 { 400 } else { code },
        reason: text("reason").to_owned().into(),
        message: denied(hook, text("message"), text("reason")),
        details: status.get("details").filter(|it| it.is_object()).cloned(),
    }
}

/// The text of a refusal for the client.
pub(super) fn denied(hook: &str, message: &str, reason: &str) -> String {
    let by = format!("admission webhook {} denied the request", quote(hook));
    match (message, reason) {
        ("", "") => format!("{by} without explanation"),
        ("", reason) => format!("{by}: {reason}"),
        (message, _) => format!("{by}: {message}"),
    }
}
