//! Accepts connections.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::Service;

use crate::body::RequestBody;
use crate::connection::{GRACE, Peer, Shared};
use crate::connections::{Admission, Connections};
use crate::limits::{ClosedBecause, Limits};
use crate::report::{LimitLog, Reporter};

/// The pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// A listening port.
pub struct Listener {
    /// What listens, as the log names it.
    name: &'static str,
    tcp: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    limits: Limits,
    reporter: Reporter,
}

impl Listener {
    /// HTTP on a socket: 1.1, and 2 where the client agrees on it in the handshake of TLS. `name` is for the log.
    pub fn new(
        name: &'static str,
        tcp: TcpListener,
        tls: Option<Arc<ServerConfig>>,
        limits: Limits,
    ) -> Self {
        Self {
            name,
            tcp,
            tls,
            limits,
            reporter: Reporter::new(|_| {}),
        }
    }

    /// Calls `report` for each connection that a limit closes, and for each body that is late.
    #[must_use]
    pub fn reporting(self, report: impl Fn(ClosedBecause) + Send + Sync + 'static) -> Self {
        Self {
            reporter: Reporter::new(report),
            ..self
        }
    }

    /// Serves until `stop`, and then for a moment the requests that have begun. All connections end when this is dropped.
    pub async fn serve<M, S, B>(self, make_service: M, stop: CancellationToken)
    where
        M: Fn(&Peer) -> S + Send + Sync + 'static,
        S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + 'static,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Self {
            name,
            tcp,
            tls,
            limits,
            reporter,
        } = self;
        let open = Connections::new(limits.connections);
        let mut log = LimitLog::default();
        let shared = Arc::new(Shared {
            tls: tls.map(TlsAcceptor::from),
            limits,
            make_service,
            reporter: reporter.clone(),
            stop: stop.clone(),
        });
        // Aborts the tasks of the connections on drop.
        let mut tasks = JoinSet::new();
        loop {
            let (stream, address) = tokio::select! {
                accepted = tcp.accept() => match accepted {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        // For example too many open files.
                        log.write(name, &error);
                        if open.evict_one() {
                            reporter.report(ClosedBecause::Evicted);
                        }
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    }
                },
                Some(_) = tasks.join_next() => continue,
                () = stop.cancelled() => break,
            };
            let (slot, closed) = match open.admit(address.ip()) {
                Admission::Free(slot) => (Some(slot), None),
                Admission::Evicting(slot) => (Some(slot), Some(ClosedBecause::Evicted)),
                Admission::Refused => (None, Some(ClosedBecause::Refused)),
            };
            if let Some(slot) = slot {
                let shared = Arc::clone(&shared);
                tasks.spawn(async move { shared.attend(stream, address, slot).await });
            }
            if let Some(because) = closed {
                reporter.report(because);
                log.write(name, &"too many connections");
                // The task of the closed connection runs before the next connection is accepted.
                tokio::task::yield_now().await;
            }
        }
        drop(tcp);
        let all = async { while tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(GRACE, all).await;
    }
}
