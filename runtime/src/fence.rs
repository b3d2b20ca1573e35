//! Holds back requests of a process that is no longer the leader.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, poll_fn};
use http::Request;
use kube::client::Body;
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::{BoxError, Layer, Service};

/// Until when this process may act as the leader; clones share it.
///
/// Aborting the tasks of a lost leader is not enough: a process that was suspended finds its requests ready to be
/// sent before any of its timers has fired. A client with a fence checks the clock before it sends.
#[derive(Clone, Debug, Default)]
pub struct Fence(Arc<Gate>);

#[derive(Debug, Default)]
struct Gate {
    state: Mutex<State>,
    /// The fences of the shards that this process leads or wants to lead.
    parts: Mutex<Vec<Fence>>,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// This process has not led yet, or takes part in no election: a standby may read.
    #[default]
    Open,
    /// It leads until then.
    Until(Instant),
    /// It has lost leadership.
    Closed,
}

/// A request was held back.
#[derive(Debug, thiserror::Error)]
#[error("this process does not lead any more: its lease was not renewed in time")]
pub struct Fenced;

impl Fence {
    /// Whether a request may be sent at `now`.
    pub fn is_open(&self, now: Instant) -> bool {
        let is_open = match *self.0.state.lock() {
            State::Open => true,
            State::Until(at) => now < at,
            State::Closed => false,
        };
        is_open && self.0.parts.lock().iter().all(|part| part.is_open(now))
    }

    /// Makes a fence that closes this one with it, until it is detached.
    pub(super) fn attach(&self) -> Self {
        let part = Self::default();
        self.0.parts.lock().push(part.clone());
        part
    }

    /// Detaches a fence, because no request depends on it any more.
    pub(super) fn detach(&self, part: &Self) {
        let mut parts = self.0.parts.lock();
        parts.retain(|attached| !Arc::ptr_eq(&attached.0, &part.0));
    }

    /// When it closes, if that is known.
    pub(super) fn closes_at(&self) -> Option<Instant> {
        match *self.0.state.lock() {
            State::Until(at) => Some(at),
            State::Open | State::Closed => None,
        }
    }

    pub(super) fn open_until(&self, at: Instant) {
        *self.0.state.lock() = State::Until(at);
    }

    pub(super) fn close(&self) {
        *self.0.state.lock() = State::Closed;
    }
}

impl<S> Layer<S> for Fence {
    type Service = FencedClient<S>;

    fn layer(&self, inner: S) -> FencedClient<S> {
        FencedClient {
            inner,
            fence: self.clone(),
        }
    }
}

/// A client whose requests fail when their process is no longer the leader.
pub struct FencedClient<S> {
    inner: S,
    fence: Fence,
}

impl<S> Service<Request<Body>> for FencedClient<S>
where
    S: Service<Request<Body>, Error = BoxError>,
    S::Response: Send,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (answer, fence) = (self.inner.call(request), self.fence.clone());
        Box::pin(async move {
            let mut answer = pin!(answer);
            // Checked at every poll, because a request is also sent again after a wait that the API server requested.
            poll_fn(|context| {
                if fence.is_open(Instant::now()) {
                    answer.as_mut().poll(context)
                } else {
                    Poll::Ready(Err(Fenced.into()))
                }
            })
            .await
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn attached_fence_closes_whole_until_it_is_detached() {
        let (whole, now) = (Fence::default(), Instant::now());
        let (first, second) = (whole.attach(), whole.attach());
        first.open_until(now + Duration::from_secs(1));
        assert!(whole.is_open(now));
        second.close();
        assert!(!whole.is_open(now));
        whole.detach(&second);
        assert!(whole.is_open(now));
        assert!(!whole.is_open(now + Duration::from_secs(2)));
    }

    #[tokio::test(start_paused = true)]
    async fn requests_are_sent_until_deadline_and_never_again() {
        let (fence, sent) = (Fence::default(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&sent);
        let server = tower::service_fn(move |_: Request<Body>| {
            let sent = Arc::clone(&counted);
            async move {
                sent.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok::<_, BoxError>(())
            }
        });
        let mut client = fence.layer(server);
        let mut ask = async || client.call(Request::new(Body::empty())).await;
        assert!(ask().await.is_ok(), "a standby reads");
        let end = Instant::now() + Duration::from_millis(1_500);
        fence.open_until(end);
        assert!(ask().await.is_ok());
        let error = ask().await.unwrap_err().to_string();
        assert!(error.contains("does not lead any more"), "{error}");
        assert_eq!(sent.load(Ordering::SeqCst), 3, "it was under way");
        assert!(ask().await.is_err());
        fence.close();
        assert!(ask().await.is_err());
        assert_eq!(sent.load(Ordering::SeqCst), 3, "nothing was sent");
    }
}
