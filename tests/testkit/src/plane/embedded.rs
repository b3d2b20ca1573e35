//! The API server of this workspace, in this process: what the scenarios of a real plane are compared with.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use reeve_apiserver::{AuditLog, Authority, ListenError, Listener, Options, Server};
use tokio::runtime::{Builder, Runtime};

use super::Site;

/// Enough for the processes of a scenario.
const THREADS: usize = 2;

/// A server, and what it listens with.
pub(crate) struct Embedded {
    listener: Option<Listener>,
    server: Server,
    authority: Arc<Authority>,
    /// Its own, so that a test that blocks does not hold it up. Always there, until it is dropped.
    runtime: Option<Runtime>,
}

impl Embedded {
    pub(crate) fn start(site: &Site, audit: Option<&Path>) -> Result<Self> {
        let key = fs::read_to_string(&site.pki.ca_key).context("reading the authority's key")?;
        let authority = Arc::new(Authority::read(&site.pki.ca_pem(), &key)?);
        let audit = match audit {
            Some(path) => Some(Arc::new(
                AuditLog::open(path).context("opening the audit log")?,
            )),
            None => None,
        };
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .enable_all()
            .build()
            .context("starting a runtime")?;
        let server = {
            let _inside = runtime.enter();
            Server::start(Options {
                rbac: true,
                audit,
                authority: authority.pem(),
                signer: Some(Arc::clone(&authority)),
                ..Options::default()
            })?
        };
        let mut embedded = Self {
            listener: None,
            server,
            authority,
            runtime: Some(runtime),
        };
        embedded.listen(site)?;
        Ok(embedded)
    }

    /// Ends all connections, and takes no new ones.
    pub(crate) fn close_listener(&mut self) {
        self.listener = None;
    }

    /// Listens, or does so anew.
    pub(crate) fn listen(&mut self, site: &Site) -> Result<()> {
        self.close_listener();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, site.api_port()));
        let runtime = self.runtime.as_ref().context("the runtime is gone")?;
        let (server, authority) = (&self.server, &self.authority);
        // From a thread of its own: this may be one of another runtime.
        let listener = std::thread::scope(|scope| {
            scope
                .spawn(|| runtime.block_on(listen_with_retries(server, authority, address)))
                .join()
        });
        let listener = listener.map_err(|_| anyhow!("listening panicked"))?;
        self.listener = Some(listener?);
        Ok(())
    }
}

/// Who listened before may have the port for a moment yet.
async fn listen_with_retries(
    server: &Server,
    authority: &Authority,
    address: SocketAddr,
) -> Result<Listener> {
    for _ in 0..100 {
        match server.listen(authority, address).await {
            Ok(listener) => return Ok(listener),
            Err(ListenError::Bind { .. }) => tokio::time::sleep(Duration::from_millis(10)).await,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(server.listen(authority, address).await?)
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.close_listener();
        if let Some(runtime) = self.runtime.take() {
            // Waiting is not allowed where a test drops its plane.
            runtime.shutdown_background();
        }
    }
}
