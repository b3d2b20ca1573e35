//! A proxy in front of a server, with faults that a test sets.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::Plane;

/// The state of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkFault {
    /// Connections work.
    None,
    /// Connections are closed, and new ones too: the client gets an error at once.
    Refused,
    /// Nothing arrives, and neither side gets an error. What was sent meanwhile arrives when the fault ends.
    Silent,
}

/// A proxy on 127.0.0.1 to the API server of a plane. It ends when it is dropped.
pub struct FaultProxy {
    address: SocketAddr,
    fault: watch::Sender<NetworkFault>,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.task.abort();
        // Connections outlive the task that took them.
        self.fault.send_replace(NetworkFault::Refused);
    }
}

impl FaultProxy {
    /// A proxy to `plane` without a fault.
    pub async fn to(plane: &Plane) -> Result<Self> {
        let server = plane.server().trim_start_matches("https://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.context("listening in front of a plane")?;
        let address = listener
            .local_addr()
            .context("listening in front of a plane")?;
        let fault = watch::Sender::new(NetworkFault::None);
        let connections = Arc::new(AtomicUsize::new(0));
        let (seen, counted) = (fault.subscribe(), Arc::clone(&connections));
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(forward(client, server.clone(), seen.clone()));
            }
        });
        Ok(Self {
            address,
            fault,
            connections,
            task,
        })
    }

    /// Sets or ends a fault.
    pub fn set(&self, fault: NetworkFault) {
        self.fault.send_replace(fault);
    }

    /// How many connections have been tried so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Writes a kubeconfig beside another one (of the same plane) that uses the proxy.
    pub fn kubeconfig(&self, plane: &Plane, of: &Path) -> Result<PathBuf> {
        let what = || format!("the kubeconfig {}", of.display());
        let text = std::fs::read_to_string(of).with_context(what)?;
        let address_here = format!("https://{}", self.address);
        let path = of.with_extension("through");
        std::fs::write(&path, text.replace(plane.server(), &address_here)).with_context(what)?;
        Ok(path)
    }
}

async fn forward(client: TcpStream, server: String, fault: watch::Receiver<NetworkFault>) {
    // Errors are ends of connections, which is what the other side then sees.
    if wait(&mut fault.clone()).await.is_none() {
        return;
    }
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = copy(from_client, to_server, fault.clone()) => {}
        () = copy(from_server, to_client, fault) => {}
    }
}

async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut fault: watch::Receiver<NetworkFault>,
) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            _ = fault.wait_for(|fault| *fault == NetworkFault::Refused) => return,
        };
        let Some(bytes) = read.ok().and_then(|read| buffer.get(..read)) else {
            return;
        };
        if bytes.is_empty()
            || wait(&mut fault).await.is_none()
            || to.write_all(bytes).await.is_err()
        {
            return;
        }
    }
}

/// Waits until there is no fault; `None` if connections are refused.
async fn wait(fault: &mut watch::Receiver<NetworkFault>) -> Option<()> {
    let decided = fault.wait_for(|fault| *fault != NetworkFault::Silent).await;
    decided
        .is_ok_and(|fault| *fault == NetworkFault::None)
        .then_some(())
}
