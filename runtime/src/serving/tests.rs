//! Many clients of the servers of a process.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::Server;
use super::kind::ServerKind;
use crate::metrics::Metrics;
use crate::probes::Probes;

fn server(kind: ServerKind, router: Router) -> Server {
    Server::bind(kind, ([127, 0, 0, 1], 0).into(), router).unwrap()
}

async fn get_page(mut stream: TcpStream, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n");
    let mut text = String::new();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn kubelet_is_answered_during_flood_of_connections() {
    let server = server(ServerKind::Health, Probes::default().router());
    let address = server.listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let _stop = stop.clone().drop_guard();
    tokio::spawn(server.run(stop));
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(TcpStream::connect(address).await.unwrap());
    }
    let probe = TcpStream::connect(address).await.unwrap();
    assert!(get_page(probe, "/healthz").await.ends_with("ok"));
    let mut open = 0;
    for mut stream in silent {
        let mut byte = [0];
        let read = tokio::time::timeout(Duration::from_millis(20), stream.read(&mut byte));
        open += usize::from(read.await.is_err());
    }
    assert!(open <= 64, "{open} connections are open");
    let closed = r#"reeve_server_closed_total{reason="evicted",server="health"}"#;
    assert!(Metrics::default().text().contains(closed));
}

#[tokio::test]
async fn handler_knows_the_address_of_its_client() {
    use axum::extract::ConnectInfo;
    use std::net::SocketAddr;

    async fn page(ConnectInfo(peer): ConnectInfo<SocketAddr>) -> String {
        peer.to_string()
    }
    let server = server(ServerKind::Own("test"), Router::new().route("/", get(page)));
    let address = server.listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let _stop = stop.clone().drop_guard();
    tokio::spawn(server.run(stop));
    let stream = TcpStream::connect(address).await.unwrap();
    let own = stream.local_addr().unwrap();
    assert!(get_page(stream, "/").await.ends_with(&own.to_string()));
}
