//! One connection, from its handshake to its end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::{Service, ServiceExt as _};

use crate::activity::{Activity, Protocol};
use crate::body::{RequestBody, ResponseBody};
use crate::connections::Slot;
use crate::limits::{ClosedBecause, Limits};
use crate::report::Reporter;
use crate::stream::Metered;

/// The time for responses to end when the connection is closed.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

/// The unread bytes of a connection of HTTP/2, and of one request.
const CONNECTION_WINDOW: u32 = 1 << 20;
const STREAM_WINDOW: u32 = 64 << 10;

/// The interval of pings on a connection of HTTP/2, and the time for the acknowledgement.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// The other end of a connection.
#[derive(Debug)]
pub struct Peer {
    /// The address.
    pub address: SocketAddr,
    /// The certificate chain of the handshake, trusted or not.
    pub certificates: Vec<CertificateDer<'static>>,
}

/// What all connections of a listener share.
pub(crate) struct Shared<M> {
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) limits: Limits,
    pub(crate) make_service: M,
    pub(crate) reporter: Reporter,
    pub(crate) stop: CancellationToken,
}

impl<M> Shared<M> {
    /// Serves a connection.
    pub(crate) async fn attend<S, B>(&self, stream: TcpStream, address: SocketAddr, slot: Slot)
    where
        M: Fn(&Peer) -> S,
        S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + 'static,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let _ = stream.set_nodelay(true);
        let Some(acceptor) = &self.tls else {
            let peer = Peer {
                address,
                certificates: Vec::new(),
            };
            let service = (self.make_service)(&peer);
            return self.serve(stream, Protocol::Http1, service, &slot).await;
        };
        let handshake = tokio::time::timeout(self.limits.handshake, acceptor.accept(stream));
        let stream = tokio::select! {
            biased;
            shaken = handshake => match shaken {
                Ok(Ok(stream)) => stream,
                // The client does not trust the certificate, or does not speak TLS.
                Ok(Err(error)) => return tracing::debug!(%error, "TLS handshake failed"),
                Err(_) => return self.reporter.report(ClosedBecause::SlowHandshake),
            },
            () = slot.evicted() => return,
            () = self.stop.cancelled() => return,
        };
        let session = stream.get_ref().1;
        let protocol = match session.alpn_protocol() {
            Some(b"h2") => Protocol::Http2,
            _ => Protocol::Http1,
        };
        let shown = session.peer_certificates().unwrap_or_default();
        let peer = Peer {
            address,
            certificates: shown.iter().map(|one| one.clone().into_owned()).collect(),
        };
        let service = (self.make_service)(&peer);
        drop(peer);
        self.serve(stream, protocol, service, &slot).await;
    }

    async fn serve<I, S, B>(&self, stream: I, protocol: Protocol, service: S, slot: &Slot)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + 'static,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let activity = Arc::new(Activity::new(protocol));
        slot.established(&activity);
        let service = Tracked {
            inner: service,
            activity: Arc::clone(&activity),
            time: self.limits.body,
            reporter: self.reporter.clone(),
        };
        let stream = TokioIo::new(Metered {
            inner: stream,
            activity: Arc::clone(&activity),
        });
        let builder = builder(protocol, &self.limits);
        let mut connection = std::pin::pin!(builder.serve_connection(stream, service));
        tokio::select! {
            biased;
            served = &mut connection => {
                if let Err(error) = served {
                    tracing::debug!(error, "connection failed");
                }
                return;
            }
            because = self.overdue(&activity) => self.reporter.report(because),
            () = slot.evicted() => {}
            () = self.stop.cancelled() => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(GRACE, connection).await;
    }

    /// Ends when the connection has waited too long for its client.
    async fn overdue(&self, activity: &Activity) -> ClosedBecause {
        loop {
            let at = match activity.deadline(&self.limits) {
                Some((at, because)) if at <= Instant::now() => return because,
                Some((at, _)) => at,
                // A request ends at any time: the connection is idle at the earliest from now on.
                None => Instant::now() + self.limits.idle,
            };
            tokio::select! {
                () = tokio::time::sleep_until(at) => {}
                () = activity.head_started.notified() => {}
            }
        }
    }
}

fn builder(protocol: Protocol, limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    let head_bytes = usize::try_from(limits.head_bytes).unwrap_or(usize::MAX);
    builder
        .http1()
        .timer(TokioTimer::new())
        // The time of a head counts from its first byte, which hyper does not know.
        .header_read_timeout(None)
        .max_buf_size(head_bytes);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(limits.head_bytes)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .initial_stream_window_size(STREAM_WINDOW)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_TIMEOUT);
    // Without TLS nothing is negotiated, so HTTP/1.1.
    match protocol {
        Protocol::Http1 => builder.http1_only(),
        Protocol::Http2 => builder.http2_only(),
    }
}

/// A service whose requests are tracked.
struct Tracked<S> {
    inner: S,
    activity: Arc<Activity>,
    /// The time for the body of a request.
    time: Duration,
    reporter: Reporter,
}

impl<S, B> hyper::service::Service<Request<Incoming>> for Tracked<S>
where
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<ResponseBody<B>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let work = Arc::new(self.activity.begin());
        let deadline = Instant::now() + self.time;
        let request = request
            .map(|body| RequestBody::new(body, Arc::clone(&work), deadline, self.reporter.clone()));
        let answered = self.inner.clone().oneshot(request);
        Box::pin(async move {
            let response = answered.await?;
            Ok(response.map(|body| ResponseBody::new(body, work)))
        })
    }
}
