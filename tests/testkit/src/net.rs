//! Ports and the smallest HTTP client that can read a health or metrics page.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// `N` different ports of 127.0.0.1 that were free a moment ago. Another process may take one before
/// it is used: callers retry with new ports.
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N]> {
    // All are held until all are chosen, so that the kernel cannot give one twice.
    let mut held = Vec::with_capacity(N);
    let mut ports = [0; N];
    for port in &mut ports {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("looking for a free port")?;
        *port = listener
            .local_addr()
            .context("looking for a free port")?
            .port();
        held.push(listener);
    }
    Ok(ports)
}

/// A port of 127.0.0.1 that was free a moment ago.
pub fn free_port() -> Result<u16> {
    let [port] = free_ports()?;
    Ok(port)
}

/// Status code and body of a plain `http://host:port/path`, for health and metrics pages.
pub async fn http_get(url: &str) -> Result<(u16, String)> {
    let (host, _) = parts(url)?;
    let stream = TcpStream::connect(host)
        .await
        .with_context(|| format!("connecting to {url}"))?;
    ask(stream, url).await
}

/// Host with port, and path without its first slash.
fn parts(url: &str) -> Result<(&str, &str)> {
    let rest = url
        .strip_prefix("http://")
        .with_context(|| format!("{url} is not an http URL"))?;
    Ok(rest.split_once('/').unwrap_or((rest, "")))
}

/// Like [`http_get`], through a connection that is there.
pub(crate) async fn ask(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    url: &str,
) -> Result<(u16, String)> {
    let (host, path) = parts(url)?;
    // HTTP/1.0: the answer ends with the connection and is never chunked.
    let request = format!("GET /{path} HTTP/1.0\r\nHost: {host}\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .with_context(|| format!("asking {url}"))?;
    let mut answer = Vec::new();
    stream
        .read_to_end(&mut answer)
        .await
        .with_context(|| format!("reading {url}"))?;
    let answer = String::from_utf8_lossy(&answer);
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        bail!("{url} did not answer in HTTP");
    };
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    let code = code.with_context(|| format!("{url} answered without a status code"))?;
    Ok((code, body.to_owned()))
}
