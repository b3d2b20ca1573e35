//! What a webhook is sent.

use serde_json::{Map, Value, json};

use super::WebhookRequest;
use crate::admission::request_resource;
use crate::kinds::Kind;

/// The kind of reviews.
pub(super) const KIND: &str = "AdmissionReview";

/// The review of a write, of an API version of reviews, as it is shown to a webhook in the version of `kind`.
pub(super) fn call(
    request: &WebhookRequest<'_>,
    kind: &Kind,
    (api_version, uid): (&str, &str),
    (new, old): (&Value, &Value),
) -> Value {
    let of = request.of;
    let mut user = Map::new();
    for (field, text) in [("username", &of.user.user), ("uid", &of.user.uid)] {
        put(&mut user, field, text);
    }
    if !of.user.groups.is_empty() {
        user.insert("groups".to_owned(), of.user.groups.clone().into());
    }
    if !of.user.extra.is_empty() {
        user.insert("extra".to_owned(), json!(of.user.extra));
    }
    let mut fields = Map::new();
    put(&mut fields, "uid", uid);
    fields.insert("kind".to_owned(), of.request_kind(kind));
    fields.insert("resource".to_owned(), request_resource(kind));
    fields.insert("requestKind".to_owned(), of.request_kind(of.kind));
    fields.insert("requestResource".to_owned(), request_resource(of.kind));
    for field in ["subResource", "requestSubResource"] {
        put(&mut fields, field, of.subresource.unwrap_or_default());
    }
    put(&mut fields, "name", of.name);
    put(&mut fields, "namespace", of.request_namespace());
    put(&mut fields, "operation", of.operation.as_str());
    fields.insert("userInfo".to_owned(), Value::Object(user));
    fields.insert("object".to_owned(), new.clone());
    fields.insert("oldObject".to_owned(), old.clone());
    fields.insert("dryRun".to_owned(), request.dry_run.into());
    fields.insert("options".to_owned(), request.options.clone());
    json!({ "kind": KIND, "apiVersion": api_version, "request": fields })
}

fn put(fields: &mut Map<String, Value>, field: &str, text: &str) {
    if !text.is_empty() {
        fields.insert(field.to_owned(), text.into());
    }
}
