//! Ports and the smallest HTTP client that can read a health or metrics page.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// The first of the ports that are chosen: all are below those that the kernel gives to connections.
const FIRST: u32 = 20_000;
/// How many there are to choose from.
const COUNT: u32 = 12_000;

/// What holds the ports that this process has chosen. UDP is not spoken on any of them: that its port is taken keeps other
/// test programs, of which several may run, from choosing the same one.
static CLAIMS: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());

/// `N` ports of [`free_port`].
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N]> {
    let mut ports = [0; N];
    for port in &mut ports {
        *port = free_port()?;
    }
    Ok(ports)
}

/// A port of 127.0.0.1 on which nothing listens, and which no test program chooses again while this one lives: it stays free
/// until it is listened on, and between a stop and a start.
pub fn free_port() -> Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Programs that run at once rarely meet.
    let start = std::process::id().wrapping_mul(64);
    for _ in 0..COUNT {
        let number = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(FIRST + number % COUNT)?;
        let address = (Ipv4Addr::LOCALHOST, port);
        let Ok(claim) = UdpSocket::bind(address) else {
            continue;
        };
        if TcpListener::bind(address).is_ok() {
            let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
            claims.push(claim);
            return Ok(port);
        }
    }
    bail!("no port is free");
}

/// Status code and body of a plain `http://host:port/path`, for health and metrics pages.
pub async fn http_get(url: &str) -> Result<(u16, String)> {
    let (host, _) = parts(url)?;
    let stream = TcpStream::connect(host)
        .await
        .with_context(|| format!("connecting to {url}"))?;
    get_through(stream, url).await
}

/// Host with port, and path without its first slash.
fn parts(url: &str) -> Result<(&str, &str)> {
    let rest = url
        .strip_prefix("http://")
        .with_context(|| format!("{url} is not an http URL"))?;
    Ok(rest.split_once('/').unwrap_or((rest, "")))
}

/// Like [`http_get`], through a connection that is there.
pub(crate) async fn get_through(
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
