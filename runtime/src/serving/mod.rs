//! The HTTP servers of a process: probes, metrics, and what a component adds.

mod authorize;
mod drift;
mod kind;
mod openshift;
mod profile;
#[cfg(test)]
mod tests;
mod tls;

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use axum::extract::{ConnectInfo, State};
use axum::http::header;
use axum::middleware;
use axum::routing::get;
use axum::{Extension, Router};
use reeve_serving::{Limits, Listener, Peer};
use rustls::ServerConfig;
use tokio_util::sync::CancellationToken;
use tower::Layer as _;

use crate::flags::{ListenAddress, TlsArgs};
use crate::metrics::{self, CONTENT_TYPE, Metrics};
use crate::probes::Probes;
use crate::supervisor::Supervisor;
use authorize::Authorizer;
use kind::ServerKind;

pub use authorize::{METRICS_AUTHORIZATIONS, ReviewClients};
pub use openshift::{Settled, openshift_tls_settings};
pub use profile::{TLS_PROFILE, tls_settings};
pub use reeve_serving::Budget;
pub use tls::TlsError;

/// Where kubelet mounts the certificate of the secure metrics endpoint.
pub const METRICS_CERTIFICATE: &str = "/var/run/metrics-cert";

/// Why a server could not start or had to end.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken or not of this host.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The TLS settings or files cannot be used.
    #[error("cannot serve {server} over TLS: {source}")]
    Tls {
        /// The server's name.
        server: &'static str,
        /// The error of the TLS settings.
        source: TlsError,
    },
    /// There are no random numbers for the digests of tokens.
    #[error("cannot authorise readers of metrics: {0}")]
    Random(getrandom::Error),
    /// The server stopped.
    #[error("the server on {address} failed: {source}")]
    Serve {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

/// How metrics are served.
pub struct MetricsOptions {
    /// The address to listen on.
    pub address: ListenAddress,
    /// Whether over HTTPS, to callers whose access to `/metrics` the API server has reviewed.
    pub secure: bool,
    /// TLS settings.
    pub tls: TlsArgs,
    /// Clients for reviews, apart from those of the controllers.
    pub reviews: ReviewClients,
}

/// A server with an open port, so that a taken port is an error at start.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    tls: Option<Arc<ServerConfig>>,
    kind: ServerKind,
    limits: Limits,
}

/// The health server; `None` if it is disabled.
pub fn probes(at: ListenAddress, probes: Probes) -> Result<Option<Server>, ServeError> {
    at.0.map(|address| Server::bind(ServerKind::Health, address, probes.router()))
        .transpose()
}

/// The metrics server; `None` if it is disabled. Its certificate is where the kubelet mounts it.
pub fn metrics(options: MetricsOptions, metrics: Metrics) -> Result<Option<Server>, ServeError> {
    metrics_with_certificate(options, metrics, METRICS_CERTIFICATE.as_ref())
}

/// Like [`metrics`], with `tls.crt` and `tls.key` in another folder.
pub fn metrics_with_certificate(
    options: MetricsOptions,
    series: Metrics,
    certificate: &Path,
) -> Result<Option<Server>, ServeError> {
    let Some(address) = options.address.0 else {
        return Ok(None);
    };
    let mut secured = None;
    if options.secure {
        let authorizer = Authorizer::new(options.reviews, &series).map_err(ServeError::Random)?;
        secured = Some((authorizer, config("metrics", &options.tls, certificate)?));
    }
    let mut router = Router::new()
        .route("/metrics", get(page))
        .with_state(series);
    let mut tls = None;
    if let Some((authorizer, config)) = secured {
        router = router.layer(middleware::from_fn_with_state(authorizer, authorize::check));
        tls = Some(config);
    }
    let server = Server::bind(ServerKind::Metrics, address, router)?;
    Ok(Some(Server { tls, ..server }))
}

/// A server of a component's own pages over HTTPS.
pub struct HttpsOptions<'a> {
    /// The name in messages and metrics.
    pub name: &'static str,
    /// The address to listen on.
    pub address: SocketAddr,
    /// TLS settings.
    pub tls: &'a TlsArgs,
    /// The folder of `tls.crt` and `tls.key`, which are read again when they change.
    pub certificate: &'a Path,
}

/// A server of a component's own pages over HTTPS.
pub fn https(options: &HttpsOptions<'_>, router: Router) -> Result<Server, ServeError> {
    let tls = config(options.name, options.tls, options.certificate)?;
    let kind = ServerKind::Own(options.name);
    let server = Server::bind(kind, options.address, router)?;
    Ok(Server {
        tls: Some(tls),
        ..server
    })
}

fn config(
    server: &'static str,
    tls: &TlsArgs,
    certificate: &Path,
) -> Result<Arc<ServerConfig>, ServeError> {
    tls::config(tls, certificate).map_err(|source| ServeError::Tls { server, source })
}

/// Starts the health and the metrics server, unless they are disabled.
pub fn start(
    health: ListenAddress,
    asked: Probes,
    options: MetricsOptions,
    series: Metrics,
    tasks: &mut Supervisor,
) -> Result<(), ServeError> {
    if let Some(server) = probes(health, asked)? {
        tasks.spawn("the health server", server.run(tasks.stop()));
    }
    if let Some(server) = metrics(options, series)? {
        tasks.spawn("the metrics server", server.run(tasks.stop()));
    }
    Ok(())
}

async fn page(State(metrics): State<Metrics>) -> ([(header::HeaderName, &'static str); 1], String) {
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], metrics.text())
}

impl Server {
    fn bind(kind: ServerKind, address: SocketAddr, router: Router) -> Result<Self, ServeError> {
        let failed = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self {
            listener,
            address,
            router,
            tls: None,
            kind,
            limits: kind.limits(),
        })
    }

    /// Serves until `stop`.
    pub async fn run(self, stop: CancellationToken) -> Result<(), ServeError> {
        let address = self.address;
        let listener = tokio::net::TcpListener::from_std(self.listener)
            .map_err(|source| ServeError::Serve { address, source })?;
        let (name, router) = (self.kind.name(), self.router);
        // The client's address limits its reviews.
        let service = move |peer: &Peer| Extension(ConnectInfo(peer.address)).layer(router.clone());
        Listener::new(name, listener, self.tls, self.limits)
            .reporting(move |because| metrics::closed(name, because.name()))
            .serve(service, stop)
            .await;
        Ok(())
    }
}
