//! Loopback HTTPS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rustls::server::danger::ClientCertVerifier;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::pki::identity;
use crate::pki::{Authority, AuthorityError};
use crate::server::Server;

/// The timeout of a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Why nothing listens.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address cannot be had.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// There is no certificate to show.
    #[error(transparent)]
    Certificate(#[from] AuthorityError),
}

/// A server that listens until this is dropped.
pub struct Listener {
    address: SocketAddr,
    task: AbortHandle,
}

impl Listener {
    /// The address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https://127.0.0.1:6443`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Serves requests over HTTPS. A client with a certificate of the authority is the user that it names, one with a token
    /// the user of the token, any other client is anonymous; any other certificate is answered with 401. Port 0 is any that is
    /// free.
    pub async fn listen(
        &self,
        authority: &Authority,
        address: SocketAddr,
    ) -> Result<Listener, ListenError> {
        let bind = |source| ListenError::Bind { address, source };
        let trusted = authority.client_verifier()?;
        let config = authority.server_config(Arc::clone(&trusted))?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        let task = tokio::spawn(accept(self.clone(), listener, acceptor, trusted));
        Ok(Listener {
            address,
            task: task.abort_handle(),
        })
    }
}

async fn accept(
    server: Server,
    listener: TcpListener,
    acceptor: TlsAcceptor,
    trusted: Arc<dyn ClientCertVerifier>,
) {
    // Ends with this task, and all connections with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let trusted = Arc::clone(&trusted);
                    connections.spawn(attend(server.clone(), stream, acceptor.clone(), trusted));
                }
                // For example too many open files: open connections may end.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn attend(
    server: Server,
    stream: TcpStream,
    acceptor: TlsAcceptor,
    trusted: Arc<dyn ClientCertVerifier>,
) {
    let _ = stream.set_nodelay(true);
    let stream = match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        // A client that does not trust us, or talks something else.
        Ok(Err(error)) => return tracing::debug!(%error, "TLS handshake failed"),
        Err(_) => return tracing::debug!("TLS handshake timed out"),
    };
    let shown = stream.get_ref().1.peer_certificates();
    let user = identity(&*trusted, shown.unwrap_or_default());
    let service = TowerToHyperService::new(server.service_of(user));
    let connection = Builder::new(TokioExecutor::new());
    if let Err(error) = connection
        .serve_connection_with_upgrades(TokioIo::new(stream), service)
        .await
    {
        tracing::debug!(%error, "connection failed");
    }
}
