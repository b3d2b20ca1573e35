//! What is reviewed: an object as the audit has it, or the request of an admission review (GK-111).

use std::borrow::Cow;
use std::sync::OnceLock;

use regorus::Value;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Json;
use crate::matching::{Source, Target, group_and_kind, own_name, own_namespace};
use crate::messages;
use crate::rego;

/// Why something cannot be reviewed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReviewError(pub String);

/// What a [`Review`] is made of, to be sent to another process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReviewParts<'a> {
    request: Cow<'a, Json>,
    is_admission: bool,
    object: Option<Cow<'a, Json>>,
    old_object: Option<Cow<'a, Json>>,
    namespace: Option<Cow<'a, Json>>,
}

/// One object to be reviewed. The documents that the engines see are made once, however many constraints there are.
#[derive(Debug)]
pub struct Review {
    /// The request: all of it but `object` and `oldObject`.
    request: Json,
    is_admission: bool,
    object: Option<Json>,
    old_object: Option<Json>,
    namespace: Option<Json>,
    source: Option<Source>,
    document: OnceLock<Value>,
    cel_request: OnceLock<Json>,
}

impl Review {
    /// Reviews an object as audit and command line do.
    pub fn of_object(object: Json) -> Result<Self, ReviewError> {
        let (group, kind) = group_and_kind(&object);
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let version = if version.matches('/').count() > 1 {
            ""
        } else {
            version.rsplit('/').next().unwrap_or_default()
        };
        let mut request = json!({
            "uid": "",
            "kind": {"group": group, "version": version, "kind": kind},
            "resource": {"group": "", "version": "", "resource": ""},
            "operation": "",
            "userInfo": {},
            "options": null,
        });
        for (member, value) in [
            ("name", own_name(&object)),
            ("namespace", own_namespace(&object)),
        ] {
            if !value.is_empty() {
                request[member] = json!(value);
            }
        }
        Self::new(request, Some(object), None, false)
    }

    /// Reviews the request of an `AdmissionReview`.
    pub fn of_admission(review: &Json) -> Result<Self, ReviewError> {
        if let Some(field) = unknown_field(review) {
            return Err(ReviewError(messages::unknown_review_field(&field)));
        }
        let Some(request) = review["request"].as_object() else {
            return Err(ReviewError(messages::REVIEW_WITHOUT_REQUEST.to_owned()));
        };
        // Before anything copies it: that would take a stack as deep.
        if !request.values().all(rego::is_shallow) {
            return Err(ReviewError(messages::OBJECT_TOO_DEEP.to_owned()));
        }
        let mut request = request.clone();
        let mut take = |member: &str| request.remove(member).filter(|value| !value.is_null());
        let object = take("object");
        let old_object = take("oldObject");
        let defaults = [
            ("uid", json!("")),
            ("kind", json!({"group": "", "version": "", "kind": ""})),
            (
                "resource",
                json!({"group": "", "version": "", "resource": ""}),
            ),
            ("operation", json!("")),
            ("userInfo", json!({})),
            ("options", Json::Null),
        ];
        for (member, default) in defaults {
            request.entry(member).or_insert(default);
        }
        for member in ["subResource", "requestSubResource", "name", "namespace"] {
            if request.get(member).and_then(Json::as_str) == Some("") {
                request.remove(member);
            }
        }
        Self::new(Json::Object(request), object, old_object, true)
    }

    /// Reviews an object, or the request of it if it is an `AdmissionReview`.
    pub fn of(object: Json) -> Result<Self, ReviewError> {
        if group_and_kind(&object) == ("admission.k8s.io", "AdmissionReview") {
            return Self::of_admission(&object);
        }
        Self::of_object(object)
    }

    fn new(
        request: Json,
        object: Option<Json>,
        old_object: Option<Json>,
        is_admission: bool,
    ) -> Result<Self, ReviewError> {
        let is_delete = request["operation"].as_str() == Some("DELETE");
        if is_delete && old_object.is_none() {
            let message = messages::DELETE_WITHOUT_OLD_OBJECT;
            return Err(ReviewError(message.to_owned()));
        }
        let documents = [object.as_ref(), old_object.as_ref(), Some(&request)];
        if !documents.into_iter().flatten().all(rego::is_shallow) {
            for document in [object, old_object, Some(request)] {
                rego::discard(document.unwrap_or_default());
            }
            return Err(ReviewError(messages::OBJECT_TOO_DEEP.to_owned()));
        }
        Ok(Self {
            object: if is_delete { None } else { object },
            request,
            is_admission,
            old_object,
            namespace: None,
            source: None,
            document: OnceLock::new(),
            cel_request: OnceLock::new(),
        })
    }

    /// What it is made of, but for the source.
    pub fn parts(&self) -> ReviewParts<'_> {
        ReviewParts {
            request: Cow::Borrowed(&self.request),
            is_admission: self.is_admission,
            object: self.object.as_ref().map(Cow::Borrowed),
            old_object: self.old_object.as_ref().map(Cow::Borrowed),
            namespace: self.namespace.as_ref().map(Cow::Borrowed),
        }
    }

    /// The review of parts, which are those of another one.
    pub fn of_parts(parts: ReviewParts<'_>) -> Self {
        Self {
            request: parts.request.into_owned(),
            is_admission: parts.is_admission,
            object: parts.object.map(Cow::into_owned),
            old_object: parts.old_object.map(Cow::into_owned),
            namespace: parts.namespace.map(Cow::into_owned),
            source: None,
            document: OnceLock::new(),
            cel_request: OnceLock::new(),
        }
    }

    /// Adds the Namespace of the object.
    #[must_use]
    pub fn with_namespace(mut self, namespace: Option<Json>) -> Self {
        self.namespace = match namespace {
            Some(deep) if !rego::is_shallow(&deep) => {
                rego::discard(deep);
                None
            }
            namespace => namespace,
        };
        self.document = OnceLock::new();
        self
    }

    /// Adds where the object comes from.
    #[must_use]
    pub fn with_source(mut self, source: Source) -> Self {
        self.source = Some(source);
        self
    }

    /// The object: on DELETE the old one.
    pub fn object(&self) -> &Json {
        static NULL: Json = Json::Null;
        let object = self.object.as_ref().or(self.old_object.as_ref());
        object.unwrap_or(&NULL)
    }

    /// The object, unless it is deleted.
    pub fn new_object(&self) -> Option<&Json> {
        self.object.as_ref()
    }

    /// The object before the request.
    pub fn old_object(&self) -> Option<&Json> {
        self.old_object.as_ref()
    }

    /// The Namespace of the object.
    pub fn namespace_object(&self) -> Option<&Json> {
        self.namespace.as_ref()
    }

    /// The Namespace that templates see. `gator test` gives an object without a namespace an empty Namespace, so that the selectors of
    /// Namespaces match it; that one is no Namespace of a cluster.
    pub(crate) fn visible_namespace(&self) -> Option<&Json> {
        let is_named = |one: &&Json| {
            one["metadata"]["name"]
                .as_str()
                .is_some_and(|name| !name.is_empty())
        };
        self.namespace.as_ref().filter(is_named)
    }

    /// The operation; empty outside admission.
    pub fn operation(&self) -> &str {
        self.request["operation"].as_str().unwrap_or_default()
    }

    /// Whether it is the request of an admission review.
    pub fn is_admission(&self) -> bool {
        self.is_admission
    }

    /// The name of the object's namespace; empty without one.
    pub fn namespace(&self) -> &str {
        let name = self.request["namespace"].as_str().unwrap_or_default();
        if name.is_empty() {
            own_namespace(self.object())
        } else {
            name
        }
    }

    /// What `spec.match` looks at, in this order: the first that matches decides.
    pub(crate) fn targets<'a>(
        &'a self,
        namespace: Option<&'a Json>,
    ) -> impl Iterator<Item = Target<'a>> {
        let old_object = self.object.as_ref().and(self.old_object.as_ref());
        [Some(self.object()), old_object]
            .into_iter()
            .flatten()
            .map(move |object| Target {
                object,
                namespace,
                source: self.source,
            })
    }

    /// `input.review`.
    pub(crate) fn document(&self) -> &Value {
        self.document.get_or_init(|| {
            let mut document = rego::to_object_value(&self.request);
            let of = |object: Option<&Json>| object.map_or(Value::Null, rego::to_object_value);
            if let Ok(members) = document.as_object_mut() {
                let old = of(self.old_object.as_ref());
                let new = match &self.object {
                    Some(object) => rego::to_object_value(object),
                    None => old.clone(),
                };
                members.insert(Value::from("object"), new);
                members.insert(Value::from("oldObject"), old);
                let namespace = self.visible_namespace();
                let namespace = namespace.map_or_else(Value::new_object, rego::to_object_value);
                members.insert(Value::from("namespaceObject"), namespace);
            }
            document
        })
    }

    /// `request` of CEL expressions: all members present.
    pub(crate) fn cel_request(&self) -> &Json {
        self.cel_request.get_or_init(|| self.complete_request())
    }

    fn complete_request(&self) -> Json {
        let text = |member: &str| json!(self.request[member].as_str().unwrap_or_default());
        let or = |member: &str, default: &Json| match &self.request[member] {
            Json::Null => default.clone(),
            value => value.clone(),
        };
        let kind = json!({"group": "", "version": "", "kind": ""});
        let resource = json!({"group": "", "version": "", "resource": ""});
        let mut user = or("userInfo", &json!({}));
        for (member, default) in [
            ("username", json!("")),
            ("uid", json!("")),
            ("groups", json!([])),
            ("extra", json!({})),
        ] {
            if user[member].is_null() && user.is_object() {
                user[member] = default;
            }
        }
        json!({
            "uid": text("uid"),
            "kind": or("kind", &kind),
            "resource": or("resource", &resource),
            "subResource": text("subResource"),
            "requestKind": or("requestKind", &kind),
            "requestResource": or("requestResource", &resource),
            "requestSubResource": text("requestSubResource"),
            "name": text("name"),
            "namespace": text("namespace"),
            "operation": text("operation"),
            "userInfo": user,
            "dryRun": or("dryRun", &json!(false)),
            "options": self.request["options"].clone(),
        })
    }
}

/// A member that an `AdmissionReview` does not have: it is decoded strictly.
fn unknown_field(review: &Json) -> Option<String> {
    const REVIEW: [&str; 4] = ["apiVersion", "kind", "request", "response"];
    const REQUEST: [&str; 15] = [
        "uid",
        "kind",
        "resource",
        "subResource",
        "requestKind",
        "requestResource",
        "requestSubResource",
        "name",
        "namespace",
        "operation",
        "userInfo",
        "object",
        "oldObject",
        "dryRun",
        "options",
    ];
    let unknown = |value: &Json, known: &[&str]| {
        let mut names = value
            .as_object()
            .into_iter()
            .flat_map(|members| members.keys());
        names.find(|name| !known.contains(&name.as_str())).cloned()
    };
    unknown(review, &REVIEW).or_else(|| {
        let name = unknown(&review["request"], &REQUEST)?;
        Some(format!("request.{name}"))
    })
}

#[cfg(test)]
#[path = "review_tests.rs"]
mod tests;
