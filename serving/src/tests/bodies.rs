//! Slow bodies, in both directions.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;

use super::server::{SHORT, TestServer, generous, rest, until};
use crate::{ClosedBecause, Limits};

const ECHO: &str =
    "POST /echo HTTP/1.1\r\nhost: t\r\nconnection: close\r\ncontent-length: 1000000\r\n\r\n";

fn body_limit() -> Limits {
    Limits {
        body: SHORT,
        ..generous()
    }
}

#[tokio::test]
async fn body_that_stops_is_not_waited_for() {
    let server = TestServer::http(body_limit()).await;
    let stream = server.send(&format!("{ECHO}x")).await;
    let response = rest(stream).await;
    assert!(response.starts_with("HTTP/1.1 408"), "{response}");
    assert_eq!(server.closed(ClosedBecause::SlowBody), 1);
}

#[tokio::test]
async fn body_that_comes_byte_by_byte_is_not_waited_for() {
    let server = TestServer::http(body_limit()).await;
    let (reads, mut writes) = server.send(ECHO).await.into_split();
    let drip = tokio::spawn(async move {
        while writes.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let response = rest(reads).await;
    drip.abort();
    assert!(response.starts_with("HTTP/1.1 408"), "{response}");
    assert_eq!(server.closed(ClosedBecause::SlowBody), 1);
}

#[tokio::test]
async fn response_that_the_server_works_on_is_not_cut() {
    let limits = Limits {
        head: SHORT,
        body: SHORT,
        idle: SHORT,
        ..generous()
    };
    let server = TestServer::http(limits).await;
    let waiting = server.get("/wait");
    let gate = async {
        tokio::time::sleep(4 * SHORT).await;
        server.open_gate(1);
    };
    let (response, (), events) = tokio::join!(waiting, gate, server.get("/events"));
    assert!(response.ends_with("waited"), "{response}");
    for event in ["event 0", "event 1", "event 2"] {
        assert!(events.contains(event), "{events}");
    }
}

#[tokio::test]
async fn response_that_the_client_does_not_read_is_ended() {
    let limits = Limits {
        idle: SHORT,
        ..generous()
    };
    let server = TestServer::http(limits).await;
    let stream = server
        .send("GET /endless HTTP/1.1\r\nhost: t\r\n\r\n")
        .await;
    until(|| server.closed(ClosedBecause::Idle) == 1).await;
    drop(stream);
}
