//! A way to a server that can be cut.

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

/// How the way is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// It is open.
    Not,
    /// Connections are ended, and new ones too: whoever is behind it knows at once.
    Refused,
    /// Nothing arrives and nobody is told. What was sent meanwhile arrives when the way is open again.
    Silent,
}

/// A way through 127.0.0.1 to the API server of a plane. It ends when it is dropped.
pub struct Way {
    address: SocketAddr,
    cut: watch::Sender<Cut>,
    tries: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Way {
    fn drop(&mut self) {
        self.task.abort();
        // Connections outlive the task that took them.
        self.cut.send_replace(Cut::Refused);
    }
}

impl Way {
    /// An open way to `plane`.
    pub async fn to(plane: &Plane) -> Result<Self> {
        let server = plane.server().trim_start_matches("https://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.context("listening in front of a plane")?;
        let address = listener
            .local_addr()
            .context("listening in front of a plane")?;
        let cut = watch::Sender::new(Cut::Not);
        let tries = Arc::new(AtomicUsize::new(0));
        let (seen, counted) = (cut.subscribe(), Arc::clone(&tries));
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(carry(client, server.clone(), seen.clone()));
            }
        });
        Ok(Self {
            address,
            cut,
            tries,
            task,
        })
    }

    /// Cuts the way, or opens it.
    pub fn set(&self, cut: Cut) {
        self.cut.send_replace(cut);
    }

    /// How many connections have been tried so far.
    pub fn tries(&self) -> usize {
        self.tries.load(Ordering::SeqCst)
    }

    /// Writes a kubeconfig beside another one (of this way's plane) that leads through here.
    pub fn kubeconfig(&self, plane: &Plane, of: &Path) -> Result<PathBuf> {
        let what = || format!("the kubeconfig {}", of.display());
        let text = std::fs::read_to_string(of).with_context(what)?;
        let here = format!("https://{}", self.address);
        let path = of.with_extension("through");
        std::fs::write(&path, text.replace(plane.server(), &here)).with_context(what)?;
        Ok(path)
    }
}

async fn carry(client: TcpStream, server: String, cut: watch::Receiver<Cut>) {
    // Errors are ends of connections, which is what the other side then sees.
    if wait(&mut cut.clone()).await.is_none() {
        return;
    }
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = one_way(from_client, to_server, cut.clone()) => {}
        () = one_way(from_server, to_client, cut) => {}
    }
}

async fn one_way(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut cut: watch::Receiver<Cut>) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            _ = cut.wait_for(|cut| *cut == Cut::Refused) => return,
        };
        let Some(bytes) = read.ok().and_then(|read| buffer.get(..read)) else {
            return;
        };
        if bytes.is_empty() || wait(&mut cut).await.is_none() || to.write_all(bytes).await.is_err()
        {
            return;
        }
    }
}

/// Waits until the way is open; `None` if it refuses instead.
async fn wait(cut: &mut watch::Receiver<Cut>) -> Option<()> {
    let decided = cut.wait_for(|cut| *cut != Cut::Silent).await;
    decided.is_ok_and(|cut| *cut == Cut::Not).then_some(())
}
