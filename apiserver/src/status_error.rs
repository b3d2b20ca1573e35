//! What the server answers when it refuses: `Status` objects with the reasons and texts of a kube-apiserver.

use std::borrow::Cow;
use std::fmt;

use reeve_go_compat::runes::quote;
use serde_json::{Map, Value, json};

/// Why a field is wrong, as `details.causes[].reason` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It has to be there.
    Required,
    /// It is there twice.
    Duplicate,
    /// It is not what it should be.
    Invalid,
    /// It is not one of the allowed values.
    NotSupported,
    /// It may not be there.
    Forbidden,
    /// What it names is not there.
    NotFound,
    /// It is too long.
    TooLong,
    /// There are too many.
    TooMany,
    /// It has the wrong type.
    TypeInvalid,
}

impl Cause {
    /// The machine-readable name.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::NotFound => "FieldValueNotFound",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Invalid => "FieldValueInvalid",
        }
    }

    /// The beginning of its messages.
    pub fn title(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "Not found",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
        }
    }
}

/// One thing that is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The cause, as in `status.details.causes`.
    pub cause: Cause,
    /// Which, such as `spec.containers[0].name`; `<nil>` of the whole object.
    pub field: String,
    /// The message after the field's name, such as `Required value: must be specified`.
    pub message: String,
}

impl FieldError {
    /// Of a field whose value is shown (`value` as the API server writes it: JSON for structures, quoted for strings).
    pub fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self::of_value(Cause::Invalid, field, value, why)
    }

    /// The same with the value.
    pub fn of_value(cause: Cause, field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::with(
            cause,
            field,
            &format!("{}: {}", cause.title(), shown(value)),
            detail,
        )
    }

    /// Of a field whose value is not shown.
    pub fn new(cause: Cause, field: impl Into<String>, detail: &str) -> Self {
        Self::with(cause, field, cause.title(), detail)
    }

    fn with(cause: Cause, field: impl Into<String>, start: &str, detail: &str) -> Self {
        let message = if detail.is_empty() {
            start.to_owned()
        } else {
            format!("{start}: {detail}")
        };
        Self {
            cause,
            field: field.into(),
            message,
        }
    }

    /// A value that is not one of those that are allowed.
    pub fn not_supported(field: impl Into<String>, value: &Value, allowed: &[&str]) -> Self {
        let detail = if allowed.is_empty() {
            String::new()
        } else {
            let quoted: Vec<String> = allowed.iter().map(quote).collect();
            format!("supported values: {}", quoted.join(", "))
        };
        Self::of_value(Cause::NotSupported, field, value, &detail)
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// A value in the text of an error.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Null => "null".to_owned(),
        other => other.to_string(),
    }
}

/// The kind or resource that a refusal is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupResource {
    /// The API group; empty of the core group.
    pub group: String,
    /// The resource (`pods`), or the kind (`Pod`) where the API server uses it.
    pub kind: String,
}

impl GroupResource {
    /// A group with a resource or kind.
    pub fn new(group: &str, kind: &str) -> Self {
        Self {
            group: group.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// `deployments.apps`, or `pods`.
    fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.kind.clone()
        } else {
            format!("{}.{}", self.kind, self.group)
        }
    }
}

/// An error answer: the content of a `Status` object.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusError {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason; empty if there is none.
    pub reason: Cow<'static, str>,
    /// The text.
    pub message: String,
    /// `details`.
    pub details: Option<Value>,
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StatusError {}

impl StatusError {
    fn of(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
        }
    }

    fn group_resource(mut self, about: &GroupResource, name: &str) -> Self {
        self.details = Some(details(about, name));
        self
    }

    /// 400: the request cannot be understood.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::of(400, "BadRequest", message)
    }

    /// 401.
    pub fn unauthorized() -> Self {
        Self::of(401, "Unauthorized", "Unauthorized")
    }

    /// 500 for what has no time at all.
    pub fn deadline() -> Self {
        Self::of(500, "InternalError", "context deadline exceeded")
    }

    /// 403 with the whole text.
    pub fn forbidden(about: &GroupResource, name: &str, why: &str) -> Self {
        let message = if name.is_empty() {
            format!("{} is forbidden: {why}", about.qualified())
        } else {
            format!("{} {} is forbidden: {why}", about.qualified(), quote(name))
        };
        Self::of(403, "Forbidden", message).group_resource(about, name)
    }

    /// The same with another reason (`Invalid` if it is empty) and its code, and what caused it.
    #[must_use]
    pub fn because(mut self, reason: &str, cause: &str) -> Self {
        let (code, reason) = match reason {
            "Unauthorized" => (401, "Unauthorized"),
            "Forbidden" => (403, "Forbidden"),
            "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
            _ => (422, "Invalid"),
        };
        (self.code, self.reason) = (code, reason.into());
        if let Some(details) = &mut self.details {
            details["causes"] = json!([{ "message": cause }]);
        }
        self
    }

    /// 404: there is no such object.
    pub fn not_found(about: &GroupResource, name: &str) -> Self {
        let message = format!("{} {} not found", about.qualified(), quote(name));
        Self::of(404, "NotFound", message).group_resource(about, name)
    }

    /// 404: there is no such resource.
    pub fn no_such_path() -> Self {
        let mut failure = Self::of(
            404,
            "NotFound",
            "the server could not find the requested resource",
        );
        failure.details = Some(json!({}));
        failure
    }

    /// 405.
    pub fn method_not_allowed() -> Self {
        let mut failure = Self::of(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        );
        failure.details = Some(json!({}));
        failure
    }

    /// 406: the answer has no such form.
    pub fn not_acceptable(message: impl Into<String>) -> Self {
        Self::of(406, "NotAcceptable", message)
    }

    /// 409: it is there already.
    pub fn already_exists(about: &GroupResource, name: &str) -> Self {
        let message = format!("{} {} already exists", about.qualified(), quote(name));
        Self::of(409, "AlreadyExists", message).group_resource(about, name)
    }

    /// 409: the object has changed, or a precondition does not hold.
    pub fn conflict(about: &GroupResource, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {}: {why}",
            about.qualified(),
            quote(name)
        );
        Self::of(409, "Conflict", message).group_resource(about, name)
    }

    /// 410: the resource version or continue token is too old.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::of(410, "Expired", message)
    }

    /// 422: fields are wrong. `about` has the kind, not the resource.
    pub fn invalid(about: &GroupResource, name: &str, errors: &[FieldError]) -> Self {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let mut unique: Vec<&str> = Vec::new();
        for text in &texts {
            if !unique.contains(&text.as_str()) {
                unique.push(text);
            }
        }
        let all = match unique.as_slice() {
            [one] => (*one).to_owned(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{} {} is invalid: {all}", about.qualified(), quote(name));
        let mut failure = Self::of(422, "Invalid", message).group_resource(about, name);
        let causes: Vec<Value> = errors
            .iter()
            .map(|error| {
                json!({ "reason": error.cause.reason(), "message": error.message, "field": error.field })
            })
            .collect();
        if let (Some(Value::Object(details)), false) = (&mut failure.details, causes.is_empty()) {
            details.insert("causes".to_owned(), Value::Array(causes));
        }
        failure
    }

    /// 422: the options of a request are wrong. `kind` is theirs, such as `ListOptions`.
    pub fn invalid_options(kind: &str, errors: &[FieldError]) -> Self {
        Self::invalid(&GroupResource::new("meta.k8s.io", kind), "", errors)
    }

    /// 413: the body is larger than this.
    pub fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::of(413, "RequestEntityTooLarge", message)
    }

    /// 429: other requests have all the memory for bodies.
    pub fn too_many_requests() -> Self {
        let message = "Too many requests, please try again later.";
        let mut failure = Self::of(429, "TooManyRequests", message);
        failure.details = Some(json!({ "retryAfterSeconds": 1 }));
        failure
    }

    /// 504: the body did not arrive in time.
    pub fn slow_body() -> Self {
        let message = "Timeout: the body of the request did not arrive in time";
        Self::of(504, "Timeout", message)
    }

    /// 415.
    pub fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::of(415, "UnsupportedMediaType", message)
    }

    /// 500.
    pub fn internal(message: impl fmt::Display) -> Self {
        Self::of(
            500,
            "InternalError",
            format!("Internal error occurred: {message}"),
        )
    }

    /// The same with a cause.
    pub fn internal_because(cause: &str) -> Self {
        let mut failure = Self::internal(cause);
        failure.details = Some(json!({ "causes": [{ "message": cause }] }));
        failure
    }

    /// Nothing is changed because it cannot be kept on disk.
    pub fn unwritten() -> Self {
        Self::internal("the change could not be written to disk; no changes are accepted any more")
    }

    /// 500 with the whole text, as the server answers errors that it does not know.
    pub fn internal_text(message: &str) -> Self {
        Self::of(500, "", message)
    }

    /// The `Status` object.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if let Value::Object(status) = &mut status {
            if !self.reason.is_empty() {
                status.insert("reason".to_owned(), self.reason.as_ref().into());
            }
            if let Some(details) = &self.details {
                status.insert("details".to_owned(), details.clone());
            }
        }
        status
    }
}

fn details(about: &GroupResource, name: &str) -> Value {
    let mut details = Map::new();
    for (key, text) in [
        ("name", name),
        ("group", &about.group),
        ("kind", &about.kind),
    ] {
        if !text.is_empty() {
            details.insert(key.to_owned(), text.into());
        }
    }
    Value::Object(details)
}
