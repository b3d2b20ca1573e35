//! Reviews of identities and rights, and token requests. None of them is stored.

use jiff::Timestamp;
use reeve_go_compat::runes::quote;
use serde_json::{Value, json};

use super::{AdmissionRequest, ObjectRequest, Reply};
use crate::admission::Operation;
use crate::apply;
use crate::auth::{AUDIENCE, AccessRequest};
use crate::identity::Identity;
use crate::meta;
use crate::request::query::WriteOptions;
use crate::status_error::{Cause, FieldError, StatusError};

/// Answers a question.
type Reviewer = fn(&ObjectRequest, Value) -> Result<Value, StatusError>;

/// The default lifetime of a token in seconds.
const LIFETIME: i64 = 3600;
/// The shortest and longest life of a token, in seconds.
const LIFE: std::ops::RangeInclusive<i64> = 600..=4_294_967_296;

impl ObjectRequest {
    /// Whether objects of this kind are questions, which are answered and not kept.
    pub(crate) fn is_review(&self) -> bool {
        self.reviewer().is_some()
    }

    fn reviewer(&self) -> Option<Reviewer> {
        let reviewer: Reviewer = match (self.kind.group.as_str(), self.kind.resource.as_str()) {
            ("authorization.k8s.io", "subjectaccessreviews" | "localsubjectaccessreviews") => {
                Self::of_subject
            }
            ("authorization.k8s.io", "selfsubjectaccessreviews") => Self::of_self,
            ("authorization.k8s.io", "selfsubjectrulesreviews") => {
                |call, review| Ok(call.rules_of_self(review))
            }
            ("authentication.k8s.io", "tokenreviews") => |call, review| Ok(call.of_token(review)),
            ("authentication.k8s.io", "selfsubjectreviews") => {
                |call, review| Ok(call.who_am_i(review))
            }
            _ => return None,
        };
        Some(reviewer)
    }

    /// Answers a review.
    pub(crate) async fn review(&mut self, body: &[u8]) -> Result<Value, StatusError> {
        let reviewer = self.reviewer().ok_or_else(StatusError::no_such_path)?;
        let mut body = crate::decode::parse(&self.content_type, body, &self.kind.kind)?;
        self.check_request(&body)?;
        meta::strip_type(&mut body);
        // As an empty object of Go's types is written.
        meta::metadata(&mut body);
        let options = WriteOptions::of(&self.query, "CreateOptions")?;
        let writer = self.writer(&options);
        apply::track_kind(&self.kind, None, &mut body, &writer);
        if self.kind.resource.ends_with("subjectaccessreviews") {
            body["status"] = json!({ "allowed": false });
        }
        meta::put_type(&mut body, &self.kind.api_version(), &self.kind.kind);
        let body = self.admit_review(body).await?;
        reviewer(self, body)
    }

    /// Runs the admission of a review.
    pub(crate) async fn admit_review(&mut self, mut body: Value) -> Result<Value, StatusError> {
        let (is_mutated, is_judged) = (
            self.has_mutating_admission(),
            self.has_validating_admission(),
        );
        let name = self.name.clone().unwrap_or_default();
        let dry_run = self.query.get("dryRun").is_some();
        for mutates in [true, false] {
            let request = AdmissionRequest {
                operation: Operation::Create,
                name: &name,
                new: &body,
                old: &Value::Null,
                dry_run,
            };
            if mutates && is_mutated {
                body = self.mutate(&request).await?.unwrap_or(body);
            } else if !mutates && is_judged {
                self.validate_admission(&request).await?;
            }
        }
        Ok(body)
    }

    /// Refuses what is no object, or has a spec that is none.
    fn check_request(&self, body: &Value) -> Result<(), StatusError> {
        let spec = body.get("spec").unwrap_or(&Value::Null);
        if body.is_object() && (spec.is_object() || spec.is_null()) {
            return Ok(());
        }
        Err(StatusError::bad_request(format!(
            "{} in version {} cannot be handled as a {}: it and its spec have to be objects",
            self.kind.kind,
            quote(&self.kind.version),
            self.kind.kind
        )))
    }

    fn of_subject(&self, review: Value) -> Result<Value, StatusError> {
        let text = |path: &str| {
            review
                .pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let groups = review.pointer("/spec/groups").and_then(Value::as_array);
        let groups: Vec<String> = groups
            .into_iter()
            .flatten()
            .filter_map(|group| group.as_str().map(str::to_owned))
            .collect();
        if text("/spec/user").is_empty() && groups.is_empty() {
            let error = FieldError::of_value(
                Cause::Invalid,
                "spec.user",
                &"".into(),
                "at least one of user or group must be specified",
            );
            return Err(StatusError::invalid(&nameless(), "", &[error]));
        }
        let user = Identity {
            user: text("/spec/user").to_owned(),
            groups,
            ..Identity::default()
        };
        self.answered(review, &user)
    }

    fn of_self(&self, review: Value) -> Result<Value, StatusError> {
        self.answered(review, &self.user)
    }

    fn answered(&self, mut review: Value, user: &Identity) -> Result<Value, StatusError> {
        let spec = review.get("spec").cloned().unwrap_or_default();
        let asked = match (
            spec.get("resourceAttributes"),
            spec.get("nonResourceAttributes"),
        ) {
            (Some(of), None) => {
                let text = |key: &str| {
                    of.get(key)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned()
                };
                let resource = match text("subresource") {
                    part if part.is_empty() => text("resource"),
                    part => format!("{}/{part}", text("resource")),
                };
                AccessRequest {
                    verb: text("verb"),
                    group: text("group"),
                    resource,
                    namespace: text("namespace"),
                    name: text("name"),
                    path: None,
                }
            }
            (None, Some(of)) => {
                let text = |key: &str| {
                    of.get(key)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned()
                };
                AccessRequest {
                    verb: text("verb"),
                    path: Some(text("path")),
                    ..AccessRequest::default()
                }
            }
            _ => {
                let error = FieldError::of_value(
                    Cause::Invalid,
                    "spec.resourceAttributes",
                    spec.get("resourceAttributes").unwrap_or(&Value::Null),
                    "exactly one of nonResourceAttributes or resourceAttributes must be specified",
                );
                return Err(StatusError::invalid(&nameless(), "", &[error]));
            }
        };
        let decision = self.state.authorizer().decide(user, &asked);
        review["status"] = json!({ "allowed": decision.allowed });
        if !decision.reason.is_empty() {
            review["status"]["reason"] = decision.reason.into();
        }
        Ok(review)
    }

    fn rules_of_self(&self, mut review: Value) -> Value {
        let namespace = review.pointer("/spec/namespace").and_then(Value::as_str);
        let rules = self
            .state
            .authorizer()
            .rules_for(&self.user, namespace.unwrap_or_default());
        let of = |wanted: &str, fields: &[&str]| {
            let has = |rule: &&Value, field| {
                let list = rule.get(field).and_then(Value::as_array);
                list.is_some_and(|list| !list.is_empty())
            };
            let part = |rule: &Value| {
                let given = fields.iter().filter_map(|field| {
                    let value = rule.get(*field)?.clone();
                    Some(((*field).to_owned(), value))
                });
                Value::Object(given.collect())
            };
            let rules = rules.iter().filter(|rule| has(rule, wanted));
            rules.map(part).collect::<Vec<_>>()
        };
        let resources = ["verbs", "apiGroups", "resources", "resourceNames"];
        review["status"] = json!({
            "resourceRules": of("resources", &resources),
            "nonResourceRules": of("nonResourceURLs", &["verbs", "nonResourceURLs"]),
            "incomplete": false,
        });
        review
    }

    fn of_token(&self, mut review: Value) -> Value {
        let token = review
            .pointer("/spec/token")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let wanted = review.pointer("/spec/audiences").and_then(Value::as_array);
        let wanted: Vec<String> = match wanted {
            Some(list) => list
                .iter()
                .filter_map(|one| one.as_str().map(str::to_owned))
                .collect(),
            None => vec![AUDIENCE.to_owned()],
        };
        let claims = self.state.tokens.verify(&self.state.store, token);
        let claims = claims.map(|claims| {
            let common: Vec<String> = wanted
                .iter()
                .filter(|one| claims.audiences.contains(one))
                .cloned()
                .collect();
            (claims, common)
        });
        review["status"] = match claims {
            Some((claims, common)) if !common.is_empty() => json!({
                "authenticated": true, "audiences": common, "user": user_info(&claims.identity),
            }),
            Some(_) => json!({ "user": {}, "error": "token audiences do not match" }),
            None => json!({ "user": {}, "error": "invalid bearer token" }),
        };
        review
    }

    fn who_am_i(&self, mut review: Value) -> Value {
        review["status"] = json!({ "userInfo": user_info(&self.user) });
        review
    }

    /// `serviceaccounts/token`.
    pub(crate) async fn request_token(mut self, body: &[u8]) -> Result<(Self, Reply), StatusError> {
        let mut request = crate::decode::parse(&self.content_type, body, &self.kind.kind)?;
        self.check_request(&request)?;
        let key = self.key();
        let account = self.state.store.get(&self.kind.table, &key);
        let account = account
            .ok_or_else(|| StatusError::not_found(&self.kind.group_resource(), &key.name))?;
        let uid = meta::text(&account.value(), "uid").to_owned();
        meta::put_type(&mut request, "authentication.k8s.io/v1", "TokenRequest");
        let mut request = self.admit_review(request).await?;
        let audiences = request.pointer("/spec/audiences").and_then(Value::as_array);
        let audiences: Vec<String> = match audiences {
            Some(list) if !list.is_empty() => list
                .iter()
                .filter_map(|one| one.as_str().map(str::to_owned))
                .collect(),
            _ => vec![AUDIENCE.to_owned()],
        };
        let seconds = seconds_of(&request)?;
        if !LIFE.contains(&seconds) {
            let why = if seconds < *LIFE.start() {
                "may not specify a duration less than 10 minutes"
            } else {
                "may not specify a duration larger than 2^32 seconds"
            };
            let error = FieldError::of_value(
                Cause::Invalid,
                "spec.expirationSeconds",
                &seconds.into(),
                why,
            );
            let about =
                crate::status_error::GroupResource::new("authentication.k8s.io", "TokenRequest");
            return Err(StatusError::invalid(&about, "", &[error]));
        }
        let identity = Identity::service_account(&key.namespace, &key.name, &uid);
        let token =
            self.state
                .tokens
                .sign(&identity, &key.namespace, &key.name, &audiences, seconds)?;
        let end =
            Timestamp::from_second(Timestamp::now().as_second() + seconds).unwrap_or_default();
        if let Some(metadata) = meta::metadata(&mut request) {
            metadata.insert("name".to_owned(), (*key.name).into());
            metadata.insert("namespace".to_owned(), (*key.namespace).into());
            metadata.insert("creationTimestamp".to_owned(), meta::now().into());
        }
        if request["spec"].is_null() {
            request["spec"] = json!({});
        }
        request["spec"]["audiences"] = audiences.into();
        request["spec"]["expirationSeconds"] = seconds.into();
        request["spec"]["boundObjectRef"] = request["spec"]["boundObjectRef"].take();
        request["status"] = json!({ "token": token, "expirationTimestamp": end.to_string() });
        Ok((self, Reply::Object(201, request)))
    }
}

/// The requested lifetime of a token.
fn seconds_of(request: &Value) -> Result<i64, StatusError> {
    let asked = request.pointer("/spec/expirationSeconds");
    let Some(asked) = asked.filter(|asked| !asked.is_null()) else {
        return Ok(LIFETIME);
    };
    asked.as_i64().ok_or_else(|| {
        let what = match asked {
            Value::Number(number) => format!("number {number}"),
            other => crate::schema::json_kind(other).to_owned(),
        };
        StatusError::bad_request(format!(
            "TokenRequest in version \"v1\" cannot be handled as a TokenRequest: json: cannot unmarshal {what} into Go \
             struct field TokenRequestSpec.spec.expirationSeconds of type int64"
        ))
    })
}

/// A review that is wrong is refused without saying what it is.
fn nameless() -> crate::status_error::GroupResource {
    crate::status_error::GroupResource::new("authorization.k8s.io", "")
}

fn user_info(user: &Identity) -> Value {
    let mut info = json!({ "username": user.user, "groups": user.groups });
    if !user.uid.is_empty() {
        info["uid"] = user.uid.clone().into();
    }
    if !user.extra.is_empty() {
        info["extra"] = json!(user.extra);
    }
    info
}
