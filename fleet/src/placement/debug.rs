//! Explains which clusters a placement chooses: `GET /debug/placements/<namespace>/<name>` for an existing one, and
//! `POST /debug/placements/` for one in the request's body. Neither writes anything.
//!
//! The server that the router is mounted in authenticates: it puts a [`User`] into the request's extensions.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use jiff::Timestamp;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};
use parking_lot::RwLock;
use reeve_api::ocm::Placement;
use reeve_runtime::object::{ObjectKey, status_message};
use serde_json::{Value, json};

use super::decide::Observed;
use super::index::Index;
use super::schedule::{Schedule, schedule};

const PATH: &str = "/debug/placements/";
/// The largest body of a request, in bytes.
const LARGEST: usize = 1024 * 1024;

/// The authenticated user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The UID; may be empty.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// The other attributes that the authenticator returned.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Serves the explanations.
#[derive(Clone)]
pub struct Debugger {
    client: Client,
    index: Arc<RwLock<Index>>,
}

/// An error response: the body is `{"error": …}`.
#[derive(Debug)]
struct Refused(StatusCode, String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        answer(self.0, &json!({ "error": self.1 }))
    }
}

fn answer(status: StatusCode, body: &Value) -> Response {
    let json = [(header::CONTENT_TYPE, "application/json")];
    (status, json, body.to_string()).into_response()
}

impl Debugger {
    /// Reads the index of a controller; reviews access through `client`.
    pub fn new(client: Client, index: Arc<RwLock<Index>>) -> Self {
        Self { client, index }
    }

    /// The routes.
    pub fn router(self) -> Router {
        Router::new()
            .route("/debug/placements", any(handle))
            .route(PATH, any(handle))
            .route("/debug/placements/{*rest}", any(handle))
            .with_state(self)
    }

    async fn explain(&self, request: Request) -> Result<Value, Refused> {
        let user = request.extensions().get::<User>().cloned();
        let user = user.ok_or_else(|| {
            Refused(
                StatusCode::UNAUTHORIZED,
                "no user is known of the request".to_owned(),
            )
        })?;
        let (placement, key) = match *request.method() {
            Method::GET => {
                let key = key(request.uri().path())?;
                self.may(user, "get", &key).await?;
                let found = self.index.read().placement_of(&key);
                let missing = || Refused(StatusCode::NOT_FOUND, format!("no placement {key}"));
                (found.ok_or_else(missing)?, key)
            }
            Method::POST => {
                let placement = read(request).await?;
                let key = ObjectKey::of(&placement);
                self.may(user, "create", &key).await?;
                (Arc::new(placement), key)
            }
            _ => {
                let text = format!("{} is not allowed", request.method());
                return Err(Refused(StatusCode::METHOD_NOT_ALLOWED, text));
            }
        };
        let index = self.index.read();
        if !index.is_synced() {
            let text = "the objects of the hub are not all known yet".to_owned();
            return Err(Refused(StatusCode::INTERNAL_SERVER_ERROR, text));
        }
        let observed = Observed::dry(&index, Arc::clone(&placement), &key, Timestamp::now());
        drop(index);
        Ok(report(&placement, &schedule(&observed.inputs, &mut |_| {})))
    }

    /// Asks the API server whether the user has access to the placement.
    async fn may(&self, user: User, verb: &str, key: &ObjectKey) -> Result<(), Refused> {
        let attributes = ResourceAttributes {
            group: Some("cluster.open-cluster-management.io".to_owned()),
            resource: Some("placements".to_owned()),
            verb: Some(verb.to_owned()),
            namespace: Some(key.namespace.clone()),
            // An object to create has no name in the review.
            name: (verb == "get").then(|| key.name.clone()),
            ..ResourceAttributes::default()
        };
        let review = review(&user, attributes);
        let api: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let reviewed = api.create(&PostParams::default(), &review).await;
        let reviewed = reviewed.map_err(|error| {
            let text = format!(
                "cannot ask for the rights of {}: {}",
                user.name,
                status_message(&error)
            );
            Refused(StatusCode::INTERNAL_SERVER_ERROR, text)
        })?;
        if reviewed.status.is_some_and(|status| status.allowed) {
            return Ok(());
        }
        let text = format!(
            "user {:?} may not {verb} placements in namespace {:?}",
            user.name, key.namespace
        );
        Err(Refused(StatusCode::FORBIDDEN, text))
    }
}

async fn handle(State(debugger): State<Debugger>, request: Request) -> Response {
    match debugger.explain(request).await {
        Ok(report) => answer(StatusCode::OK, &report),
        Err(refused) => refused.into_response(),
    }
}

/// The review has all attributes of the user.
fn review(user: &User, attributes: ResourceAttributes) -> SubjectAccessReview {
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user.name.clone()),
            uid: Some(user.uid.clone()).filter(|uid| !uid.is_empty()),
            groups: Some(user.groups.clone()),
            extra: Some(user.extra.clone()),
            resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}

fn bad(text: String) -> Refused {
    Refused(StatusCode::BAD_REQUEST, text)
}

fn key(path: &str) -> Result<ObjectKey, Refused> {
    let rest = path.strip_prefix(PATH).unwrap_or_default();
    match rest.split('/').collect::<Vec<_>>().as_slice() {
        [namespace, name] if !namespace.is_empty() && !name.is_empty() => {
            Ok(ObjectKey::new(*namespace, *name))
        }
        _ => Err(bad(format!("the path must be {PATH}<namespace>/<name>"))),
    }
}

async fn read(request: Request) -> Result<Placement, Refused> {
    let body: Bytes = to_bytes(request.into_body(), LARGEST)
        .await
        .map_err(|error| bad(format!("cannot read the body: {error}")))?;
    serde_json::from_slice(&body).map_err(|error| bad(format!("the body is no placement: {error}")))
}

fn report(placement: &Placement, schedule: &Schedule) -> Value {
    let metadata = &placement.metadata;
    let mut totals: Vec<(&String, &i64)> = schedule.totals.iter().collect();
    totals.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    let filters = schedule.filters.iter();
    let prioritizers = schedule.prioritizers.iter();
    let totals = totals.into_iter();
    json!({
        "placement": {
            "metadata": {
                "name": metadata.name,
                "namespace": metadata.namespace,
                "labels": metadata.labels,
                "annotations": metadata.annotations,
            },
            "spec": placement.spec,
        },
        "filteredPipelineResults": filters
            .map(|one| json!({"name": one.name, "filteredClusters": one.clusters}))
            .collect::<Vec<_>>(),
        "prioritizeResults": prioritizers
            .map(|one| json!({"name": one.name, "weight": one.weight, "scores": one.scores}))
            .collect::<Vec<_>>(),
        "aggregatedScores": totals
            .map(|(name, score)| json!({"clusterName": name, "score": score}))
            .collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plc_81_review_has_all_attributes_of_the_user() {
        let user = User {
            name: "alice".to_owned(),
            uid: "u1".to_owned(),
            groups: vec!["g1".to_owned()],
            extra: BTreeMap::from([("scopes".to_owned(), vec!["a".to_owned(), "b".to_owned()])]),
        };
        let asked = review(&user, ResourceAttributes::default()).spec;
        assert_eq!(asked.user.as_deref(), Some("alice"));
        assert_eq!(asked.uid.as_deref(), Some("u1"));
        assert_eq!(
            (asked.groups, asked.extra),
            (Some(user.groups), Some(user.extra))
        );
    }
}
