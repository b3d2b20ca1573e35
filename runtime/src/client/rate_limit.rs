//! The rate of requests to an API server. Statuses and events leave a reserve to other requests.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::{Method, Request};
use kube::client::Body;
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::{BoxError, Layer, Service};

use crate::metrics;

/// How long a request waits for the first byte of its response. An API server gives up after a minute; without a byte
/// the connection is dead, and the request would wait for ever.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(90);

/// The part of a burst that statuses and events leave to other requests: a drift is undone at once, whatever there is to report.
const RESERVE: f64 = 1.0 / 3.0;
/// A report waits no longer than this many tokens take, so that at least one request in so many is a report.
const REPORT_SHARE: f64 = 4.0;

/// A token bucket, as client-go's: `burst` requests at once, refilled at `qps`.
#[derive(Debug)]
pub(super) struct Bucket {
    qps: f64,
    burst: f64,
    tokens: f64,
    at: Instant,
}

impl Bucket {
    pub(super) fn new(qps: f32, burst: u32) -> Self {
        let burst = f64::from(burst.max(1));
        Self {
            qps: f64::from(qps),
            burst,
            tokens: burst,
            at: Instant::now(),
        }
    }

    /// Takes one token and returns how long to wait for it. The bucket may go negative, which queues the callers.
    fn take(&mut self, now: Instant) -> Duration {
        if self.qps <= 0.0 {
            return Duration::ZERO;
        }
        self.refill(now);
        self.tokens -= 1.0;
        self.time_of(-self.tokens)
    }

    /// Takes one token if the reserve is left. Otherwise returns how long that takes without other requests.
    fn take_above_reserve(&mut self, now: Instant) -> Result<(), Duration> {
        if self.qps <= 0.0 {
            return Ok(());
        }
        self.refill(now);
        let reserve = (self.burst * RESERVE).min(self.burst - 1.0);
        let missing = 1.0 + reserve - self.tokens;
        if missing > 0.0 {
            return Err(self.time_of(missing));
        }
        self.tokens -= 1.0;
        Ok(())
    }

    fn refill(&mut self, now: Instant) {
        let refill = now.saturating_duration_since(self.at).as_secs_f64() * self.qps;
        self.tokens = (self.tokens + refill).min(self.burst);
        self.at = now;
    }

    /// How long it takes until there are so many more tokens.
    fn time_of(&self, tokens: f64) -> Duration {
        Duration::try_from_secs_f64((tokens / self.qps).max(0.0)).unwrap_or_default()
    }
}

/// Whether a request only reports: it writes a status or an event.
fn is_report(request: &Request<Body>) -> bool {
    let path = request.uri().path();
    match *request.method() {
        Method::PATCH | Method::PUT => path.ends_with("/status"),
        Method::POST => path.ends_with("/events"),
        _ => false,
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the API server did not answer within {} seconds", RESPONSE_TIMEOUT.as_secs())]
struct NoAnswer;

/// Limits the rate of requests, and the time to the first byte of each response.
#[derive(Clone)]
pub(super) struct RateLimitLayer {
    bucket: Arc<Mutex<Bucket>>,
    /// Reports wait for their tokens one after the other.
    reports: Arc<tokio::sync::Mutex<()>>,
    /// The API server, for the metrics.
    host: Arc<str>,
}

impl RateLimitLayer {
    pub(super) fn new(host: &str, bucket: Bucket) -> Self {
        Self {
            bucket: Arc::new(Mutex::new(bucket)),
            reports: Arc::default(),
            host: host.into(),
        }
    }

    /// Waits until a report may be sent: other requests go first, but not for ever.
    async fn wait_to_report(&self) {
        let _turn = self.reports.lock().await;
        let now = Instant::now();
        let last = {
            let bucket = self.bucket.lock();
            now + bucket.time_of(REPORT_SHARE)
        };
        loop {
            let now = Instant::now();
            let Err(wait) = self.bucket.lock().take_above_reserve(now) else {
                return;
            };
            if now >= last {
                // Not behind the requests that wait already: later ones wait the longer.
                self.bucket.lock().take(now);
                return;
            }
            tokio::time::sleep_until(last.min(now + wait)).await;
        }
    }
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimit<S>;

    fn layer(&self, inner: S) -> Self::Service {
        RateLimit {
            inner,
            limit: self.clone(),
        }
    }
}

pub(super) struct RateLimit<S> {
    inner: S,
    limit: RateLimitLayer,
}

impl<S, B> Service<Request<Body>> for RateLimit<S>
where
    S: Service<Request<Body>, Response = http::Response<B>, Error = BoxError>,
    S::Future: Send + 'static,
    B: Send,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let limit = self.limit.clone();
        let wait = (!is_report(&request)).then(|| limit.bucket.lock().take(Instant::now()));
        let (host, method) = (Arc::clone(&self.limit.host), request.method().clone());
        // A future does nothing until it is polled, so the request is sent after the wait.
        let answer = self.inner.call(request);
        Box::pin(async move {
            match wait {
                Some(wait) if wait.is_zero() => {}
                Some(wait) => tokio::time::sleep(wait).await,
                None => limit.wait_to_report().await,
            }
            // A watch sends its response at once, and its body for as long as it is open.
            let answer = match tokio::time::timeout(RESPONSE_TIMEOUT, answer).await {
                Ok(answer) => answer,
                Err(_) => Err(NoAnswer.into()),
            };
            let code = answer.as_ref().ok().map(http::Response::status);
            metrics::requested(&host, &method, code);
            answer
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_beyond_burst_wait() {
        let mut bucket = Bucket::new(10.0, 2);
        let now = Instant::now();
        assert_eq!(bucket.take(now), Duration::ZERO);
        assert_eq!(bucket.take(now), Duration::ZERO);
        assert_eq!(bucket.take(now).as_millis(), 100);
        assert_eq!(bucket.take(now).as_millis(), 200);
        let later = now + Duration::from_mins(1);
        assert_eq!(
            bucket.take(later),
            Duration::ZERO,
            "a pause refills the bucket"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn reports_leave_a_reserve_and_are_sent_all_the_same() {
        let limit = RateLimitLayer::new("test", Bucket::new(10.0, 30));
        let sent = Arc::new(Mutex::new(Vec::new()));
        let server = tower::service_fn({
            let sent = Arc::clone(&sent);
            move |request: Request<Body>| {
                let (sent, path) = (Arc::clone(&sent), request.uri().path().to_owned());
                async move {
                    sent.lock().push((path, Instant::now()));
                    Ok::<_, BoxError>(http::Response::new(Body::empty()))
                }
            }
        });
        let call = |method: Method, path: &str| {
            let request = Request::builder().method(method).uri(path);
            limit
                .layer(server.clone())
                .call(request.body(Body::empty()).unwrap())
        };
        let started = Instant::now();
        let statuses = (0..60).map(|_| call(Method::PATCH, "/apis/g/v1/things/a/status"));
        let statuses = tokio::spawn(futures::future::join_all(statuses.collect::<Vec<_>>()));
        tokio::time::sleep(Duration::from_millis(500)).await;
        let repairs_at = Instant::now();
        for _ in 0..10 {
            call(Method::PUT, "/apis/g/v1/things/a").await.unwrap();
        }
        assert_eq!(repairs_at.elapsed(), Duration::ZERO, "the reserve is there");
        // More than the reserve: these wait, and at least every fifth request is a report meanwhile.
        let more = (0..40).map(|_| call(Method::PUT, "/apis/g/v1/things/b"));
        futures::future::join_all(more.collect::<Vec<_>>()).await;
        statuses.await.unwrap();
        let sent = sent.lock();
        let of = |name: &'static str| {
            let of = sent.iter().filter(move |(path, _)| path.ends_with(name));
            of.map(|(_, at)| *at)
        };
        assert_eq!(of("/status").filter(|at| *at == started).count(), 20);
        assert_eq!(of("/status").count(), 60);
        let between = |at: &Instant| *at > repairs_at && *at <= of("/b").max().unwrap();
        assert!(of("/status").filter(between).count() >= 8);
        let seconds = of("/status")
            .max()
            .unwrap()
            .duration_since(started)
            .as_secs();
        assert!(
            (7..=9).contains(&seconds),
            "110 requests at 10 a second took {seconds} s"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn request_without_response_times_out() {
        let limit = RateLimitLayer::new("test", Bucket::new(1.0, 1));
        let silent = tower::service_fn(|_: Request<Body>| {
            std::future::pending::<Result<http::Response<Body>, BoxError>>()
        });
        let mut client = limit.layer(silent);
        // The second waits for the rate limit first, which does not count.
        for expected in [90, 91] {
            let started = Instant::now();
            let answer = client.call(Request::new(Body::empty())).await;
            assert_eq!(
                answer.err().unwrap().to_string(),
                "the API server did not answer within 90 seconds"
            );
            assert!(started.elapsed().as_secs() <= expected);
        }
    }
}
