//! A listener with slow pages, and raw clients.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, StreamExt as _};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use parking_lot::Mutex;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{BodyError, ClosedBecause, Limits, Listener, RequestBody};

/// More than any test waits.
const LONG: Duration = Duration::from_mins(1);

/// Limits that end nothing.
pub(super) fn generous() -> Limits {
    Limits {
        connections: 1_000,
        handshake: LONG,
        head: LONG,
        body: LONG,
        idle: LONG,
        ..Limits::default()
    }
}

/// A short time that a limit ends.
pub(super) const SHORT: Duration = Duration::from_millis(300);

/// A server until it is dropped.
pub(super) struct TestServer {
    pub(super) address: SocketAddr,
    pages: Pages,
    closed: Arc<Mutex<HashMap<ClosedBecause, usize>>>,
    authority: Option<CertificateDer<'static>>,
    _stop: DropGuard,
}

/// What the pages share.
#[derive(Clone)]
struct Pages {
    /// Requests of `/wait` end when they get a permit.
    gate: Arc<Semaphore>,
    /// Requests whose handler runs.
    running: Arc<AtomicUsize>,
    most_running: Arc<AtomicUsize>,
}

type Page = Response<UnsyncBoxBody<Bytes, Infallible>>;

impl TestServer {
    pub(super) async fn http(limits: Limits) -> Self {
        Self::start(limits, None).await
    }

    pub(super) async fn https(limits: Limits) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let chain = vec![made.cert.der().clone()];
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth();
        let mut config = config.with_single_cert(chain.clone(), key.into()).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut server = Self::start(limits, Some(Arc::new(config))).await;
        server.authority = chain.into_iter().next();
        server
    }

    async fn start(limits: Limits, tls: Option<Arc<ServerConfig>>) -> Self {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = tcp.local_addr().unwrap();
        let pages = Pages {
            gate: Arc::new(Semaphore::new(0)),
            running: Arc::default(),
            most_running: Arc::default(),
        };
        let closed: Arc<Mutex<HashMap<ClosedBecause, usize>>> = Arc::default();
        let counts = Arc::clone(&closed);
        let stop = CancellationToken::new();
        let listener = Listener::new("test", tcp, tls, limits);
        let listener =
            listener.reporting(move |because| *counts.lock().entry(because).or_default() += 1);
        let served = pages.clone();
        let service = move |_: &crate::Peer| {
            let pages = served.clone();
            tower::service_fn(move |request| {
                let pages = pages.clone();
                async move { Ok::<_, Infallible>(pages.answer(request).await) }
            })
        };
        tokio::spawn(listener.serve(service, stop.clone()));
        Self {
            address,
            pages,
            closed,
            authority: None,
            _stop: stop.drop_guard(),
        }
    }

    /// How many were closed for this reason.
    pub(super) fn closed(&self, because: ClosedBecause) -> usize {
        self.closed
            .lock()
            .get(&because)
            .copied()
            .unwrap_or_default()
    }

    /// Ends so many requests of `/wait`.
    pub(super) fn open_gate(&self, requests: usize) {
        self.pages.gate.add_permits(requests);
    }

    pub(super) fn most_running(&self) -> usize {
        self.pages.most_running.load(Ordering::SeqCst)
    }

    /// Waits until so many handlers run.
    pub(super) async fn until_running(&self, requests: usize) {
        until(|| self.pages.running.load(Ordering::SeqCst) == requests).await;
    }

    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// A connection on which a text was sent.
    pub(super) async fn send(&self, text: &str) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// The response to a request on a new connection.
    pub(super) async fn get(&self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
        let stream = self.send(&request).await;
        rest(stream).await
    }

    /// A client of HTTP/2. It sends requests while the task of its connection runs.
    pub(super) async fn http2(&self) -> Http2Client {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.clone().unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let tcp = self.connect().await;
        let name = "localhost".try_into().unwrap();
        let tls = TlsConnector::from(Arc::new(config)).connect(name, tcp);
        let (requests, mut connection) = h2::client::handshake(tls.await.unwrap()).await.unwrap();
        let pings = connection.ping_pong().unwrap();
        Http2Client {
            requests,
            pings,
            connection: tokio::spawn(async move { connection.await.err() }),
        }
    }
}

pub(super) struct Http2Client {
    pub(super) requests: h2::client::SendRequest<Bytes>,
    pub(super) pings: h2::PingPong,
    /// Ends with the connection.
    pub(super) connection: tokio::task::JoinHandle<Option<h2::Error>>,
}

impl Pages {
    async fn answer(self, request: Request<RequestBody>) -> Page {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_running.fetch_max(running, Ordering::SeqCst);
        let _running = Running(Arc::clone(&self.running));
        match request.uri().path() {
            "/wait" => {
                self.gate.acquire().await.unwrap().forget();
                text("waited")
            }
            "/echo" => match request.into_body().collect().await {
                Ok(body) => Response::new(Full::new(body.to_bytes()).boxed_unsync()),
                Err(BodyError::Timeout) => code(StatusCode::REQUEST_TIMEOUT),
                Err(_) => code(StatusCode::BAD_REQUEST),
            },
            // Like a watch: now and then an event.
            "/events" => lines(stream::iter(0..3).then(|number| async move {
                tokio::time::sleep(3 * SHORT).await;
                Bytes::from(format!("event {number}\n"))
            })),
            "/endless" => lines(stream::repeat(Bytes::from(vec![b'x'; 64 << 10]))),
            _ => text("ok"),
        }
    }
}

struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn text(text: &'static str) -> Page {
    Response::new(Full::from(text).boxed_unsync())
}

fn code(code: StatusCode) -> Page {
    let mut response = text("");
    *response.status_mut() = code;
    response
}

fn lines(lines: impl futures::Stream<Item = Bytes> + Send + 'static) -> Page {
    let frames = lines.map(|line| Ok::<_, Infallible>(Frame::data(line)));
    Response::new(BodyExt::boxed_unsync(StreamBody::new(frames)))
}

/// What comes until the connection ends, however it ends.
pub(super) async fn rest(mut stream: impl AsyncRead + Unpin) -> String {
    let mut bytes = Vec::new();
    let read = async {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(length @ 1..) = stream.read(&mut buffer).await {
            bytes.extend_from_slice(&buffer[..length]);
        }
    };
    let ended = tokio::time::timeout(LONG / 2, read).await;
    ended.expect("the connection is still open");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits until something is so.
pub(super) async fn until(mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = tokio::time::timeout(LONG / 2, waiting).await;
    waited.expect("it did not become so");
}
