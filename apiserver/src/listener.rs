//! Loopback HTTPS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use reeve_serving::Peer;
use rustls::server::danger::ClientCertVerifier;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::pki::identity;
use crate::pki::{Authority, AuthorityError};
use crate::server::Server;

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
        let tcp = TcpListener::bind(address).await.map_err(bind)?;
        let address = tcp.local_addr().map_err(bind)?;
        let limits = self.state.options.limits.connections;
        let listener =
            reeve_serving::Listener::new("API server", tcp, Some(Arc::new(config)), limits);
        let server = self.clone();
        Ok(Listener {
            address,
            task: server.spawn(listener, trusted),
        })
    }

    /// Not async: what it spawns is compiled here once, and not for each crate that listens.
    fn spawn(
        self,
        listener: reeve_serving::Listener,
        trusted: Arc<dyn ClientCertVerifier>,
    ) -> AbortHandle {
        let service = move |peer: &Peer| {
            let user = identity(&*trusted, &peer.certificates);
            self.service_of(user)
        };
        // The listener ends with its task.
        tokio::spawn(listener.serve(service, CancellationToken::new())).abort_handle()
    }
}
