//! The ports that all Pods reach: sockets in a folder, each forwarded to a port of this machine.

use std::path::Path;

use anyhow::{Context, Result};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpStream, UnixListener};
use tokio::task::JoinSet;

/// Listens for each port, in tasks of `tasks`.
pub(super) fn open(folder: &Path, ports: &[u16], tasks: &mut JoinSet<()>) -> Result<()> {
    for port in ports {
        let socket = UnixListener::bind(folder.join(port.to_string()));
        let socket = socket.with_context(|| format!("listening on the socket for port {port}"))?;
        tasks.spawn(forward(socket, *port));
    }
    Ok(())
}

async fn forward(socket: UnixListener, port: u16) {
    // The connections end with their task's set.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = socket.accept() => {
                let Ok((mut from, _)) = accepted else { return };
                connections.spawn(async move {
                    if let Ok(mut to) = TcpStream::connect(("127.0.0.1", port)).await {
                        let _ = copy_bidirectional(&mut from, &mut to).await;
                    }
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
