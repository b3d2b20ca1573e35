//! The webhooks' HTTPS server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Bytes, HttpBody as _};
use axum::extract::{ConnectInfo, DefaultBodyLimit, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use reeve_api::{Policy, PolicySet};
use reeve_runtime::flags::TlsArgs;
use reeve_runtime::manager::ManagerError;
use reeve_runtime::serving::{self, Budget, HttpsOptions};
use reeve_runtime::supervisor::Supervisor;
use tokio::sync::Semaphore;

use super::{Admit, review};
use crate::messages;

// The paths are in manifests that clusters already have.
const POLICY: &str = "/validate-policy-open-cluster-management-io-v1-policy";
const POLICY_SET: &str = "/validate-policy-open-cluster-management-io-v1beta1-policyset";

/// The longest body of a review. It holds the old and the new object, each of which the API server limits to 3 MiB.
const MAX_REVIEW_BYTES: usize = 7 << 20;

/// The bytes of the bodies of all requests, and of those of one address. Clients are not authenticated: bodies that one
/// declares and does not send must not delay the reviews of the API server.
const ALL_BYTES: usize = 64 << 20;
const BYTES_PER_ADDRESS: usize = 16 << 20;

/// How many reviews are evaluated at once.
const EVALUATED_AT_ONCE: usize = 2;

/// How long a request may take, from its head to the response. No API server waits longer for a webhook.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The server of the webhooks, on every interface.
#[derive(Clone, Copy, Debug)]
pub struct Webhooks<'a> {
    /// TCP port.
    pub port: u16,
    /// Folder of `tls.crt` and `tls.key`.
    pub certificate: &'a Path,
    /// TLS settings.
    pub tls: &'a TlsArgs,
}

impl Webhooks<'_> {
    /// Starts the server. The port is taken and the certificate read when this returns.
    pub fn start(self, tasks: &mut Supervisor) -> Result<(), ManagerError> {
        let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, self.port));
        let options = HttpsOptions {
            name: "webhooks",
            address,
            tls: self.tls,
            certificate: self.certificate,
        };
        let server = serving::https(&options, router())?;
        tasks.spawn("the webhook server", server.run(tasks.stop()));
        Ok(())
    }
}

/// What the requests share.
#[derive(Clone)]
struct Places {
    bodies: Arc<Budget<IpAddr>>,
    evaluating: Arc<Semaphore>,
}

/// The two webhooks by their paths.
pub fn router() -> Router {
    let places = Places {
        bodies: Arc::new(Budget::new(ALL_BYTES, BYTES_PER_ADDRESS)),
        evaluating: Arc::new(Semaphore::new(EVALUATED_AT_ONCE)),
    };
    Router::new()
        .route(POLICY, post(handle_review::<Policy>))
        .route(POLICY_SET, post(handle_review::<PolicySet>))
        .layer(DefaultBodyLimit::max(MAX_REVIEW_BYTES))
        .layer(middleware::from_fn_with_state(places.clone(), limit))
        .with_state(places)
}

/// Bounds the bytes of all requests and the time of each.
async fn limit(State(places): State<Places>, request: Request, next: Next) -> Response {
    let response = async {
        let address = request.extensions().get::<ConnectInfo<SocketAddr>>();
        let address = address.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip());
        let declared = request.body().size_hint().upper();
        let declared = declared.and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = declared.map_or(MAX_REVIEW_BYTES, |bytes| bytes.min(MAX_REVIEW_BYTES));
        let _reservation = places.bodies.reserve(address, bytes).await;
        next.run(request).await
    };
    match tokio::time::timeout(TIMEOUT, response).await {
        Ok(response) => response,
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, messages::SLOW_REVIEW).into_response(),
    }
}

async fn handle_review<K: Admit>(State(places): State<Places>, body: Bytes) -> Response {
    let Ok(place) = places.evaluating.acquire_owned().await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    // Not on a thread of the controllers: an object may have megabytes. The place is taken until the evaluation has
    // ended, also when the response comes too late for the API server.
    let answer = tokio::task::spawn_blocking(move || {
        let _place = place;
        review::answer::<K>(&body)
    });
    match answer.await {
        Ok(Ok(answer)) => ([(header::CONTENT_TYPE, "application/json")], answer).into_response(),
        Ok(Err(error)) => {
            tracing::warn!(error, "cannot answer an admission review");
            (StatusCode::BAD_REQUEST, error).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "an admission review was not evaluated");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use axum::body::Body;
    use futures::future::join_all;
    use serde_json::json;
    use tower::ServiceExt as _;

    use super::*;

    /// A review of a set with so many exclusions of policies that it does not have.
    fn large_review(exclusions: u32) -> Request {
        let exclusions: Vec<_> = (0..exclusions)
            .map(|number| json!({ "policyName": format!("policy-{number}"), "clusterNames": ["Invalid"] }))
            .collect();
        let kind = json!({ "group": "policy.open-cluster-management.io", "version": "v1beta1", "kind": "PolicySet" });
        let resource = json!({ "group": "policy.open-cluster-management.io", "version": "v1beta1", "resource": "policysets" });
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "u", "kind": kind, "resource": resource, "operation": "CREATE",
                "name": "s", "namespace": "policies", "userInfo": {},
                "object": {
                    "apiVersion": "policy.open-cluster-management.io/v1beta1", "kind": "PolicySet",
                    "metadata": { "name": "s", "namespace": "policies" },
                    "spec": { "policies": [], "exclusions": exclusions },
                },
            },
        });
        Request::post(POLICY_SET)
            .body(Body::from(review.to_string()))
            .unwrap()
    }

    // One thread, as the busiest process has left for the rest of its work.
    #[tokio::test]
    async fn large_reviews_do_not_hold_up_the_tasks_of_the_process() {
        let router = router();
        let reviews = (0..4).map(|_| router.clone().oneshot(large_review(15_000)));
        let reviews = tokio::spawn(join_all(reviews));
        let mut longest = Duration::ZERO;
        while !reviews.is_finished() {
            let started = Instant::now();
            tokio::time::sleep(Duration::from_millis(5)).await;
            longest = longest.max(started.elapsed());
        }
        for response in reviews.await.unwrap() {
            assert_eq!(response.unwrap().status(), StatusCode::OK);
        }
        assert!(longest < Duration::from_secs(1), "{longest:?}");
    }

    fn from(address: [u8; 4], mut request: Request) -> Request {
        let address = SocketAddr::from((address, 1));
        request.extensions_mut().insert(ConnectInfo(address));
        request
    }

    #[tokio::test]
    async fn bodies_that_do_not_arrive_delay_no_review_from_another_address() {
        let router = router();
        let silent = (0..500).map(|_| {
            let body = futures::stream::pending::<Result<Bytes, std::io::Error>>();
            let request = Request::post(POLICY_SET).body(Body::from_stream(body));
            router
                .clone()
                .oneshot(from([10, 0, 0, 66], request.unwrap()))
        });
        let silent = tokio::spawn(join_all(silent));
        tokio::task::yield_now().await;
        let review = from([10, 0, 0, 1], large_review(1));
        let response = router.clone().oneshot(review).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        silent.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn body_that_never_comes_is_not_waited_for() {
        let body = Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>());
        let request = Request::post(POLICY_SET).body(body).unwrap();
        let response = router().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
