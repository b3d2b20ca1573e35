use super::*;

#[test]
fn unknown_member_of_a_request_is_refused() {
    let review = json!({"request": {"uid": "1", "zzz": 1, "object": {}}});
    assert_eq!(
        Review::of_admission(&review).unwrap_err().to_string(),
        "strict decoding error: unknown field \"request.zzz\""
    );
}

#[test]
fn admission_review_without_a_request_is_refused() {
    assert!(Review::of_admission(&json!({})).is_err());
}

#[test]
fn deletion_hides_the_object_from_cel_and_shows_it_to_rego() {
    let old = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "old"}});
    let review = json!({"request": {"operation": "DELETE", "oldObject": old}});
    let review = Review::of_admission(&review).unwrap();
    assert!(review.new_object().is_none());
    assert_eq!(review.object()["metadata"]["name"], "old");
    let document = crate::rego::to_json(review.document());
    assert_eq!(document["object"], document["oldObject"]);
}

#[test]
fn request_of_cel_has_all_members() {
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "n"}});
    let review = Review::of_object(object).unwrap();
    let request = review.cel_request();
    assert_eq!(
        request["kind"],
        json!({"group": "apps", "version": "v1", "kind": "Deployment"})
    );
    assert_eq!(request["operation"], "");
    assert_eq!(request["namespace"], "n");
}
