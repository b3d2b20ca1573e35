//! Who may read metrics: the API server is asked who the caller is and whether it may.

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};

/// Lets a request through if its bearer token may `get /metrics`.
pub(super) async fn check(State(client): State<Client>, request: Request, next: Next) -> Response {
    let token = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .map(str::to_owned);
    let Some(token) = token else {
        return (StatusCode::UNAUTHORIZED, "a bearer token is required\n").into_response();
    };
    match allowed(client, token).await {
        Ok(Verdict::Allowed) => next.run(request).await,
        Ok(Verdict::Unknown) => (StatusCode::UNAUTHORIZED, "unknown token\n").into_response(),
        Ok(Verdict::Denied) => (StatusCode::FORBIDDEN, "may not get /metrics\n").into_response(),
        Err(error) => {
            tracing::error!(%error, "cannot ask the API server about a reader of metrics");
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                "cannot ask the API server\n",
            )
                .into_response()
        }
    }
}

enum Verdict {
    Allowed,
    Denied,
    Unknown,
}

async fn allowed(client: Client, token: String) -> Result<Verdict, kube::Error> {
    let reviews: Api<TokenReview> = Api::all(client.clone());
    let spec = TokenReviewSpec {
        token,
        audiences: None,
    };
    let review = TokenReview {
        spec,
        ..TokenReview::default()
    };
    let review = reviews.create(&PostParams::default(), &review).await?;
    let Some(status) = review.status else {
        return Ok(Verdict::Unknown);
    };
    if status.authenticated != Some(true) {
        return Ok(Verdict::Unknown);
    }
    let user = status.user.unwrap_or_default();
    let spec = SubjectAccessReviewSpec {
        user: user.username,
        groups: user.groups,
        uid: user.uid,
        extra: user.extra,
        non_resource_attributes: Some(NonResourceAttributes {
            path: Some("/metrics".to_owned()),
            verb: Some("get".to_owned()),
        }),
        ..SubjectAccessReviewSpec::default()
    };
    let reviews: Api<SubjectAccessReview> = Api::all(client);
    let review = SubjectAccessReview {
        spec,
        ..SubjectAccessReview::default()
    };
    let review = reviews.create(&PostParams::default(), &review).await?;
    let allowed = review.status.is_some_and(|status| status.allowed);
    Ok(if allowed {
        Verdict::Allowed
    } else {
        Verdict::Denied
    })
}
