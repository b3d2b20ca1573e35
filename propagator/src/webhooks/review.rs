//! Decodes admission reviews and encodes the responses.

use kube::core::Status;
use kube::core::admission::{
    AdmissionRequest, AdmissionResponse, AdmissionReview, Operation as Requested,
};
use kube::core::response::StatusSummary;

use reeve_runtime::decode;

use super::{AdmissionDecision, Admit, Operation};
use crate::messages;

/// How many warnings a response has. An API server passes 4 KiB of them on.
const MAX_WARNINGS: usize = 20;

/// Answers an `AdmissionReview` in JSON with another one, in JSON.
///
/// # Errors
/// When `body` is not a review of an object of this kind: the text names the position.
pub(super) fn answer<K: Admit>(body: &[u8]) -> Result<Vec<u8>, String> {
    let malformed =
        |error: &dyn std::fmt::Display| messages::malformed_review(&K::kind(&()), error);
    let body = std::str::from_utf8(body).map_err(|error| malformed(&error))?;
    let review: AdmissionReview<K> = decode::from_str(body).map_err(|error| malformed(&error))?;
    let request: AdmissionRequest<K> = review.try_into().map_err(|error| malformed(&error))?;
    let response = respond(&request).into_review();
    serde_json::to_vec(&response).map_err(|error| malformed(&error))
}

fn respond<K: Admit>(request: &AdmissionRequest<K>) -> AdmissionResponse {
    let mut response = AdmissionResponse::from(request);
    let operation = match request.operation {
        Requested::Create => Operation::Create,
        Requested::Update => Operation::Update,
        // Any object may be deleted.
        Requested::Delete | Requested::Connect => return response,
    };
    let Some(object) = &request.object else {
        return response;
    };
    let AdmissionDecision { denied, warnings } = object.admit(operation);
    if let Some(text) = denied {
        response.allowed = false;
        response.result = forbidden(text);
    }
    response.warnings = (!warnings.is_empty()).then(|| bounded(warnings));
    response
}

/// The first warnings, and how many there are besides: an object of megabytes has tens of thousands.
fn bounded(mut warnings: Vec<String>) -> Vec<String> {
    let more = warnings.len().saturating_sub(MAX_WARNINGS);
    if more > 0 {
        warnings.truncate(MAX_WARNINGS);
        warnings.push(messages::more_warnings(more));
    }
    warnings
}

fn forbidden(message: String) -> Status {
    Status {
        status: Some(StatusSummary::Failure),
        code: 403,
        message,
        reason: "Forbidden".to_owned(),
        ..Status::default()
    }
}

#[cfg(test)]
mod tests {
    use reeve_api::PolicySet;
    use serde_json::{Value, json};

    use super::*;

    fn review(operation: &str, object: &Value) -> Value {
        let kind = json!({ "group": "policy.open-cluster-management.io", "version": "v1beta1", "kind": "PolicySet" });
        let resource = json!({ "group": "policy.open-cluster-management.io", "version": "v1beta1", "resource": "policysets" });
        json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "a-b-c", "kind": kind, "resource": resource, "operation": operation,
                "name": "s", "namespace": "policies", "userInfo": { "username": "u" },
                "object": object, "oldObject": null, "dryRun": false, "options": null
            }
        })
    }

    fn set(excluded: &str) -> Value {
        json!({
            "apiVersion": "policy.open-cluster-management.io/v1beta1", "kind": "PolicySet",
            "metadata": { "name": "s", "namespace": "policies" },
            "spec": {
                "policies": ["a"],
                "exclusions": [{ "policyName": excluded, "clusterNames": ["c"] }]
            }
        })
    }

    fn review_answer(review: &Value) -> Value {
        let body = serde_json::to_vec(review).unwrap();
        serde_json::from_slice(&answer::<PolicySet>(&body).unwrap()).unwrap()
    }

    #[test]
    fn prop_54_valid_sets_are_allowed_invalid_ones_denied_and_deletions_allowed() {
        for operation in ["CREATE", "UPDATE"] {
            let answer = review_answer(&review(operation, &set("a")));
            assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
            assert_eq!(answer["kind"], "AdmissionReview");
            assert_eq!(answer["response"]["uid"], "a-b-c");
            assert_eq!(answer["response"]["allowed"], true, "{answer}");
            let response = &review_answer(&review(operation, &set("b")))["response"];
            assert_eq!(response["allowed"], false, "{response}");
            assert_eq!(response["status"]["code"], 403);
            assert_eq!(response["status"]["reason"], "Forbidden");
            let text = "policy in spec.exclusions is not listed in spec.policies: b";
            assert_eq!(response["status"]["message"], text);
        }
        let mut delete = review("DELETE", &json!(null));
        assert_eq!(review_answer(&delete)["response"]["allowed"], true);
        delete["request"]["oldObject"] = set("b");
        assert_eq!(review_answer(&delete)["response"]["allowed"], true);
    }

    #[test]
    fn prop_55_warnings_are_bounded() {
        let mut object = set("a");
        object["spec"]["exclusions"][0]["clusterNames"] = (0..25).map(|_| "Invalid").collect();
        let response = &review_answer(&review("CREATE", &object))["response"];
        assert_eq!(response["allowed"], true);
        let warnings = response["warnings"].as_array().unwrap();
        assert_eq!(warnings.len(), 21);
        assert_eq!(warnings[20], "5 more warnings");
    }

    #[test]
    fn malformed_review_is_an_error() {
        let no_request = json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview" });
        let no_set = review("CREATE", &json!({ "spec": { "policies": "a" } }));
        for body in [
            "",
            "{",
            "[]",
            "\u{fffd}",
            &no_request.to_string(),
            &no_set.to_string(),
        ] {
            let error = answer::<PolicySet>(body.as_bytes()).unwrap_err();
            assert!(
                error.starts_with("not an AdmissionReview of a PolicySet: "),
                "{error}"
            );
        }
    }
}
