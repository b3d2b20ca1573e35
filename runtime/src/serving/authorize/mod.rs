//! Authorizes readers of metrics: the API server authenticates the caller and reviews its access.
//!
//! Every client that reaches the port can send tokens, valid or not, at any rate. That must cost the controllers
//! nothing, and the API server little: reviews have their own client, few run at once and further requests are
//! rejected ([`places`]), and results are cached for some seconds ([`cache`]).

mod cache;
mod places;
mod review;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt as _;
use kube::Client;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tokio::time::Instant;
use zeroize::Zeroizing;

use crate::client::{self, ClientError, ClientOptions};
use crate::metrics::{Description, Metrics};
use cache::{Answer, Cache, TokenDigest, digest};
use places::{Place, Places};
use review::{TokenVerdict, review};

/// Requests of reviews per second: a token takes two.
const QPS: f32 = 40.0;
const BURST: u32 = 40;
/// The same for tokens that were allowed before.
const KNOWN_QPS: f32 = 10.0;
const KNOWN_BURST: u32 = 20;
/// The longest token. Those of API servers have some kilobytes at most.
const LONGEST_TOKEN: usize = 16 << 10;
/// The `Retry-After` header, in seconds.
const RETRY_AFTER: &str = "1";

/// Clients for reviews of readers of metrics, apart from those of the controllers.
#[derive(Clone)]
pub struct ReviewClients {
    /// For tokens that were allowed before.
    known: Client,
    /// For all others.
    strangers: Client,
}

impl ReviewClients {
    /// Connects to the API server that authenticates the readers. Sends no request.
    pub async fn connect(options: &ClientOptions) -> Result<Self, ClientError> {
        let limited = |qps, burst| ClientOptions {
            qps,
            burst,
            ..options.clone()
        };
        Ok(Self {
            known: client::connect(&limited(KNOWN_QPS, KNOWN_BURST)).await?,
            strangers: client::connect(&limited(QPS, BURST)).await?,
        })
    }
}

impl From<Client> for ReviewClients {
    /// One client for all reviews, with its own limits.
    fn from(client: Client) -> Self {
        Self {
            known: client.clone(),
            strangers: client,
        }
    }
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    result: &'static str,
}

/// Counts requests for metrics over HTTPS.
pub const METRICS_AUTHORIZATIONS: Description = Description::counter(
    "reeve_metrics_authorization",
    &["result"],
    "Requests for metrics over HTTPS by what came of them: allowed, denied, unknown, throttled or failed",
);

/// Authorizes readers of metrics; clones share the cache.
#[derive(Clone)]
pub(super) struct Authorizer {
    clients: ReviewClients,
    key: [u8; 32],
    cache: Arc<Mutex<Cache>>,
    places: Places,
    results: Family<Labels, Counter>,
}

impl Authorizer {
    /// An authorizer with an empty cache.
    pub(super) fn new(clients: ReviewClients, metrics: &Metrics) -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        let results = Family::<Labels, Counter>::default();
        metrics.register(&METRICS_AUTHORIZATIONS, results.clone());
        Ok(Self {
            clients,
            key,
            cache: Arc::default(),
            places: Places::default(),
            results,
        })
    }

    /// The verdict on a token; `None` when too many reviews are in progress.
    async fn verdict(&self, token: &str, peer: IpAddr) -> Option<TokenVerdict> {
        let answer = self.answer(token, peer)?;
        Some(answer.await)
    }

    /// The cached review of a token, or a new one.
    fn answer(&self, token: &str, peer: IpAddr) -> Option<Answer> {
        let (digest, now) = (digest(&self.key, token), Instant::now());
        let mut cache = self.cache.lock();
        if let Some(answer) = cache.answer(&digest, now) {
            return Some(answer);
        }
        let (place, client) = if cache.was_allowed(&digest, now) {
            (self.places.known()?, self.clients.known.clone())
        } else {
            (self.places.stranger(peer)?, self.clients.strangers.clone())
        };
        let token = Zeroizing::new(token.to_owned());
        let review = self.clone().review(client, place, digest, token);
        // A separate task: other requests may wait for the review when the first has been closed.
        let review = tokio::spawn(review).map(|ended| ended.unwrap_or(TokenVerdict::Failed));
        Some(cache.begin(digest, review.boxed(), now))
    }

    async fn review(
        self,
        client: Client,
        place: Place,
        digest: TokenDigest,
        token: Zeroizing<String>,
    ) -> TokenVerdict {
        let verdict = review(client, token).await;
        self.cache.lock().ended(digest, verdict, Instant::now());
        drop(place);
        verdict
    }

    fn count(&self, result: &'static str) {
        self.results.get_or_create(&Labels { result }).inc();
    }
}

/// Lets a request through if its bearer token may `get /metrics`.
pub(super) async fn check(
    State(authorizer): State<Authorizer>,
    request: Request,
    next: Next,
) -> Response {
    let Some(token) = bearer_token(&request) else {
        authorizer.count("unknown");
        return (StatusCode::UNAUTHORIZED, "a bearer token is required\n").into_response();
    };
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip());
    match authorizer.verdict(token, peer).await {
        Some(TokenVerdict::Allowed) => {
            authorizer.count("allowed");
            next.run(request).await
        }
        Some(TokenVerdict::Unknown) => {
            authorizer.count("unknown");
            (StatusCode::UNAUTHORIZED, "unknown token\n").into_response()
        }
        Some(TokenVerdict::Denied) => {
            authorizer.count("denied");
            (StatusCode::FORBIDDEN, "may not get /metrics\n").into_response()
        }
        Some(TokenVerdict::Failed) => {
            authorizer.count("failed");
            let text = "cannot ask the API server\n";
            (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
        }
        None => {
            authorizer.count("throttled");
            let head = [(header::RETRY_AFTER, RETRY_AFTER)];
            let text = "too many tokens are being reviewed\n";
            (StatusCode::TOO_MANY_REQUESTS, head, text).into_response()
        }
    }
}

/// The bearer token of a request, if an API server could have issued it.
fn bearer_token(request: &Request) -> Option<&str> {
    let value = request.headers().get(header::AUTHORIZATION)?;
    let token = value.to_str().ok()?.strip_prefix("Bearer ")?.trim();
    (!token.is_empty() && token.len() <= LONGEST_TOKEN).then_some(token)
}
