//! What a webhook is sent.

use serde_json::{Map, Value, json};

use super::Occasion;
use crate::admission::told_resource;
use crate::kinds::Kind;

/// The kind of reviews.
pub(super) const KIND: &str = "AdmissionReview";

/// The review of a write, of an API version of reviews, as it is shown to a webhook in the version of `kind`.
pub(super) fn asked(
    occasion: &Occasion<'_>,
    kind: &Kind,
    (api_version, uid): (&str, &str),
    (new, old): (&Value, &Value),
) -> Value {
    let of = occasion.of;
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
    let mut request = Map::new();
    put(&mut request, "uid", uid);
    request.insert("kind".to_owned(), of.told_kind(kind));
    request.insert("resource".to_owned(), told_resource(kind));
    request.insert("requestKind".to_owned(), of.told_kind(of.kind));
    request.insert("requestResource".to_owned(), told_resource(of.kind));
    for field in ["subResource", "requestSubResource"] {
        put(&mut request, field, of.subresource.unwrap_or_default());
    }
    put(&mut request, "name", of.name);
    put(&mut request, "namespace", of.told_namespace());
    put(&mut request, "operation", of.action.operation());
    request.insert("userInfo".to_owned(), Value::Object(user));
    request.insert("object".to_owned(), new.clone());
    request.insert("oldObject".to_owned(), old.clone());
    request.insert("dryRun".to_owned(), occasion.dry_run.into());
    request.insert("options".to_owned(), occasion.options.clone());
    json!({ "kind": KIND, "apiVersion": api_version, "request": request })
}

fn put(fields: &mut Map<String, Value>, field: &str, text: &str) {
    if !text.is_empty() {
        fields.insert(field.to_owned(), text.into());
    }
}
