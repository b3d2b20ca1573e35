//! The HTTP servers of a process: probes, metrics, and what a component adds.

mod authorize;
mod drift;
mod openshift;
mod profile;
mod tls;

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::middleware;
use axum::routing::get;
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use tokio_util::sync::CancellationToken;

use crate::flags::{ListenAddress, TlsArgs};
use crate::metrics::{CONTENT_TYPE, Metrics};
use crate::probes::Probes;
use crate::supervisor::Supervisor;
use authorize::Authorizer;

pub use authorize::{METRICS_AUTHORIZATIONS, ReviewClients};
pub use openshift::{Settled, openshift_tls_settings};
pub use profile::{TLS_PROFILE, tls_settings};
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
    tls: Option<RustlsConfig>,
}

/// The health server; `None` if it is disabled.
pub fn probes(at: ListenAddress, probes: Probes) -> Result<Option<Server>, ServeError> {
    at.0.map(|address| Server::bind(address, probes.router(), None))
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
    Server::bind(address, router, tls).map(Some)
}

/// A server of a component's own pages over HTTPS. `what` names it in messages; `certificate` is the folder of
/// `tls.crt` and `tls.key`, which are read again when they change.
pub fn https(
    what: &'static str,
    address: SocketAddr,
    router: Router,
    tls: &TlsArgs,
    certificate: &Path,
) -> Result<Server, ServeError> {
    let tls = config(what, tls, certificate)?;
    Server::bind(address, router, Some(tls))
}

fn config(
    server: &'static str,
    tls: &TlsArgs,
    certificate: &Path,
) -> Result<RustlsConfig, ServeError> {
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
    fn bind(
        address: SocketAddr,
        router: Router,
        tls: Option<RustlsConfig>,
    ) -> Result<Self, ServeError> {
        let failed = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self {
            listener,
            address,
            router,
            tls,
        })
    }

    /// Serves until `stop`.
    pub async fn run(self, stop: CancellationToken) -> Result<(), ServeError> {
        let address = self.address;
        let failed = |source| ServeError::Serve { address, source };
        let handle = Handle::new();
        // The client's address limits its reviews.
        let service = self
            .router
            .into_make_service_with_connect_info::<SocketAddr>();
        let closer = handle.clone();
        let close = async move {
            stop.cancelled().await;
            closer.graceful_shutdown(Some(std::time::Duration::from_secs(1)));
            std::future::pending::<()>().await;
        };
        let serve = async move {
            match self.tls {
                Some(tls) => {
                    let server = axum_server::from_tcp_rustls(self.listener, tls)?;
                    server.handle(handle).serve(service).await
                }
                None => {
                    axum_server::from_tcp(self.listener)?
                        .handle(handle)
                        .serve(service)
                        .await
                }
            }
        };
        tokio::select! {
            served = serve => served.map_err(failed),
            () = close => Ok(()),
        }
    }
}
