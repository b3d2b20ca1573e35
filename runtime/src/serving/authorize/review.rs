//! The two requests to the API server: authenticate the token, and review the user's access to metrics.

use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};
use zeroize::Zeroizing;

/// The timeout of both requests. A scraper does not wait longer either.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The API server's review of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenVerdict {
    /// Its user may `get /metrics`.
    Allowed,
    /// Its user may not.
    Denied,
    /// The token is not valid.
    Unknown,
    /// The review failed.
    Failed,
}

/// Reviews a token.
pub(super) async fn review(client: Client, token: Zeroizing<String>) -> TokenVerdict {
    match tokio::time::timeout(TIMEOUT, ask(client, token)).await {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(error)) => {
            tracing::error!(%error, "cannot ask the API server about a reader of metrics");
            TokenVerdict::Failed
        }
        Err(_) => {
            tracing::error!("the API server did not review a reader of metrics");
            TokenVerdict::Failed
        }
    }
}

async fn ask(client: Client, mut token: Zeroizing<String>) -> Result<TokenVerdict, kube::Error> {
    let reviews: Api<TokenReview> = Api::all(client.clone());
    let spec = TokenReviewSpec {
        token: std::mem::take(&mut *token),
        audiences: None,
    };
    let review = TokenReview {
        spec,
        ..TokenReview::default()
    };
    let review = reviews.create(&PostParams::default(), &review).await?;
    let Some(status) = review.status else {
        return Ok(TokenVerdict::Unknown);
    };
    if status.authenticated != Some(true) {
        return Ok(TokenVerdict::Unknown);
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
        TokenVerdict::Allowed
    } else {
        TokenVerdict::Denied
    })
}
