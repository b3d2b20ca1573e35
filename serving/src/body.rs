//! The bodies of requests and responses, which record whether they wait for the client.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use crate::activity::{WaitsFor, Work};
use crate::limits::ClosedBecause;
use crate::report::Reporter;

/// Why the body of a request did not arrive.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It took too long.
    #[error("the body of the request did not arrive in time")]
    Timeout,
    /// The connection failed, or the body is malformed.
    #[error(transparent)]
    Connection(#[from] hyper::Error),
}

/// The body of a request, which has to arrive in time.
pub struct RequestBody {
    inner: Incoming,
    work: Arc<Work>,
    deadline: Instant,
    /// Made when the body is waited for.
    timer: Option<Pin<Box<Sleep>>>,
    reporter: Reporter,
}

impl RequestBody {
    pub(crate) fn new(
        inner: Incoming,
        work: Arc<Work>,
        deadline: Instant,
        reporter: Reporter,
    ) -> Self {
        Self {
            inner,
            work,
            deadline,
            timer: None,
            reporter,
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.inner).poll_frame(context);
        let deadline = this.deadline;
        // Also a body that arrives byte by byte, without a pause, ends here.
        let is_late = match &polled {
            Poll::Ready(Some(Ok(_))) => Instant::now() >= deadline,
            Poll::Ready(_) => false,
            Poll::Pending => {
                let timer = this
                    .timer
                    .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
                timer.as_mut().poll(context).is_ready()
            }
        };
        if is_late {
            this.reporter.report(ClosedBecause::SlowBody);
            this.work.wait_for(WaitsFor::Server);
            return Poll::Ready(Some(Err(BodyError::Timeout)));
        }
        this.work.wait_for(if polled.is_pending() {
            WaitsFor::Client
        } else {
            WaitsFor::Server
        });
        polled.map(|frame| frame.map(|frame| frame.map_err(BodyError::from)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.work.wait_for(WaitsFor::Server);
    }
}

/// The body of a response.
pub struct ResponseBody<B> {
    inner: Pin<Box<B>>,
    work: Arc<Work>,
}

impl<B> ResponseBody<B> {
    pub(crate) fn new(inner: B, work: Arc<Work>) -> Self {
        work.wait_for(WaitsFor::Server);
        Self {
            inner: Box::pin(inner),
            work,
        }
    }
}

impl<B: Body> Body for ResponseBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let polled = self.inner.as_mut().poll_frame(context);
        // A connection asks for the next part when its client can take it.
        self.work.wait_for(if polled.is_pending() {
            WaitsFor::Server
        } else {
            WaitsFor::Client
        });
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
