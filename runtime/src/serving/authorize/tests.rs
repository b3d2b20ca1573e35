use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use futures::future::join_all;
use serde_json::json;
use tower::{BoxError, ServiceExt as _};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// An API server that takes a second for a review. It knows the token `good`, and the user `stranger` without any
/// access.
struct Server {
    authorizer: Authorizer,
    reviews: Arc<AtomicUsize>,
    metrics: Metrics,
}

impl Server {
    fn new() -> Self {
        let reviews = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&reviews);
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let counted = Arc::clone(&counted);
            async move {
                let path = request.uri().path().to_owned();
                let body = request.into_body().collect_bytes().await?;
                let asked: serde_json::Value = serde_json::from_slice(&body)?;
                let status = if path.ends_with("/tokenreviews") {
                    counted.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(SECOND).await;
                    let token = asked["spec"]["token"].as_str().unwrap_or_default();
                    if token == "broken" {
                        return Err(BoxError::from("the API server is away"));
                    }
                    let is_known = ["good", "stranger"].contains(&token);
                    json!({ "authenticated": is_known, "user": { "username": token } })
                } else {
                    json!({ "allowed": asked["spec"]["user"] == "good" })
                };
                let answer = json!({ "metadata": {}, "spec": {}, "status": status });
                let answer =
                    http::Response::new(kube::client::Body::from(answer.to_string().into_bytes()));
                Ok::<_, BoxError>(answer)
            }
        });
        let metrics = Metrics::default();
        let clients = ReviewClients::from(Client::new(service, "default"));
        Self {
            authorizer: Authorizer::new(clients, &metrics).unwrap(),
            reviews,
            metrics,
        }
    }

    /// The status code of a request from an address, and whether it has a `Retry-After`.
    async fn scrape(&self, token: &str, last: u8) -> (u16, bool) {
        let layer = axum::middleware::from_fn_with_state(self.authorizer.clone(), check);
        let router = Router::new()
            .route("/metrics", get(async || "page"))
            .layer(layer);
        let request = Request::get("/metrics")
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .extension(ConnectInfo(SocketAddr::from(([10, 0, 0, last], 1))))
            .body(Body::empty());
        let answer = router.oneshot(request.unwrap()).await.unwrap();
        let again = answer.headers().contains_key(header::RETRY_AFTER);
        (answer.status().as_u16(), again)
    }

    fn reviews(&self) -> usize {
        self.reviews.load(Ordering::SeqCst)
    }
}

#[tokio::test(start_paused = true)]
async fn one_review_serves_concurrent_and_later_requests_for_ten_seconds() {
    for (token, code) in [("good", 200), ("stranger", 403), ("nonsense", 401)] {
        let server = Server::new();
        let answers = join_all((0..50).map(|_| server.scrape(token, 1))).await;
        assert!(
            answers.iter().all(|answer| *answer == (code, false)),
            "{answers:?}"
        );
        assert_eq!(server.scrape(token, 2).await.0, code);
        assert_eq!(server.reviews(), 1, "{token}");
        tokio::time::sleep(11 * SECOND).await;
        assert_eq!(server.scrape(token, 1).await.0, code);
        assert_eq!(server.reviews(), 2, "{token}");
    }
}

#[tokio::test(start_paused = true)]
async fn failed_review_is_not_cached() {
    let server = Server::new();
    assert_eq!(server.scrape("broken", 1).await.0, 500);
    assert_eq!(server.scrape("broken", 1).await.0, 500);
    assert_eq!(server.reviews(), 2);
}

#[tokio::test(start_paused = true)]
async fn malformed_token_is_rejected_without_review() {
    let server = Server::new();
    for token in ["", " ", &"x".repeat(LONGEST_TOKEN + 1)] {
        assert_eq!(server.scrape(token, 1).await.0, 401);
    }
    assert_eq!(server.reviews(), 0);
}

/// Sends requests with new tokens, from many addresses, for a time.
async fn flood(server: &Server, end: Duration) -> Vec<(u16, bool)> {
    let started = Instant::now();
    let waves = (0_u32..).map(|wave| (wave, started + wave * SECOND / 10));
    let waves = waves.take_while(|(_, at)| *at < started + end);
    let requests = waves.flat_map(|(wave, at)| {
        (0_u8..50).map(move |peer| async move {
            tokio::time::sleep_until(at).await;
            server
                .scrape(&format!("bogus-{wave}-{peer}"), 100 + peer)
                .await
        })
    });
    join_all(requests).await
}

#[tokio::test(start_paused = true)]
async fn flood_of_invalid_tokens_is_rejected_and_known_readers_are_served() {
    let server = Server::new();
    assert_eq!(server.scrape("good", 1).await.0, 200);
    let scrapes = async {
        let mut codes = Vec::new();
        for _ in 0..4 {
            tokio::time::sleep(12 * SECOND).await;
            codes.push(server.scrape("good", 100).await.0);
        }
        codes
    };
    let (answers, codes) = tokio::join!(flood(&server, 50 * SECOND), scrapes);
    assert_eq!(codes, [200; 4], "every one was reviewed anew");
    let throttled = answers
        .iter()
        .filter(|answer| **answer == (429, true))
        .count();
    let unknown = answers
        .iter()
        .filter(|answer| **answer == (401, false))
        .count();
    assert_eq!(throttled + unknown, answers.len());
    // Ten at once, each for a second, and those of the known reader.
    assert!(
        server.reviews() <= 10 * 51 + 5,
        "{} reviews",
        server.reviews()
    );
    assert!(throttled > 20_000, "{throttled}");
    let line = format!("reeve_metrics_authorization_total{{result=\"throttled\"}} {throttled}");
    let text = server.metrics.text();
    assert!(text.lines().any(|found| found == line), "{text}");
}

#[tokio::test(start_paused = true)]
async fn flood_from_one_address_does_not_block_new_readers() {
    let server = Server::new();
    let flood = async {
        let tokens: Vec<_> = (0..500).map(|number| format!("bogus-{number}")).collect();
        join_all(tokens.iter().map(|token| server.scrape(token, 66))).await
    };
    let (answers, good) = tokio::join!(flood, server.scrape("good", 1));
    assert_eq!(good, (200, false));
    let throttled = answers.iter().filter(|answer| **answer == (429, true));
    assert_eq!(throttled.count(), 498);
}

#[tokio::test(start_paused = true)]
async fn denied_reader_loses_its_reserved_place() {
    let server = Server::new();
    server.scrape("stranger", 1).await;
    let digest = digest(&server.authorizer.key, "stranger");
    let was_allowed = |server: &Server| {
        let cache = server.authorizer.cache.lock();
        cache.was_allowed(&digest, Instant::now())
    };
    assert!(!was_allowed(&server));
    let allow = |server: &Server| {
        let mut cache = server.authorizer.cache.lock();
        cache.ended(digest, TokenVerdict::Allowed, Instant::now());
    };
    allow(&server);
    assert!(was_allowed(&server));
    tokio::time::sleep(11 * SECOND).await;
    assert_eq!(server.scrape("stranger", 1).await.0, 403);
    assert!(!was_allowed(&server));
}
