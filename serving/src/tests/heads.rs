//! Slow handshakes and heads, and connections without a request.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::server::{SHORT, TestServer, generous, rest};
use crate::{ClosedBecause, Limits};

fn head_limit() -> Limits {
    Limits {
        head: SHORT,
        ..generous()
    }
}

#[tokio::test]
async fn connection_that_sends_nothing_is_closed() {
    let server = TestServer::http(head_limit()).await;
    assert_eq!(rest(server.connect().await).await, "");
    assert_eq!(server.closed(ClosedBecause::SlowHead), 1);
}

#[tokio::test]
async fn head_that_ends_in_the_middle_is_closed() {
    let server = TestServer::http(head_limit()).await;
    let stream = server.send("GET / HTTP/1.1\r\nhost: t").await;
    assert_eq!(rest(stream).await, "");
    assert_eq!(server.closed(ClosedBecause::SlowHead), 1);
}

/// A slowloris: each byte in time, the head never.
#[tokio::test]
async fn head_that_comes_byte_by_byte_is_closed() {
    let server = TestServer::http(head_limit()).await;
    let stream = server.send("GET / HTTP/1.1\r\nx: ").await;
    let (reads, mut writes) = stream.into_split();
    let drip = async {
        while writes.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        text = rest(reads) => assert_eq!(text, ""),
        () = drip => {}
    }
    assert_eq!(server.closed(ClosedBecause::SlowHead), 1);
}

#[tokio::test]
async fn second_head_has_the_same_time_as_the_first() {
    let server = TestServer::http(head_limit()).await;
    let mut stream = server.send("GET / HTTP/1.1\r\nhost: t\r\n\r\n").await;
    let mut byte = [0];
    while byte != *b"k" {
        stream.read_exact(&mut byte).await.unwrap();
    }
    // Without a request the connection may stay: that is another limit.
    tokio::time::sleep(2 * SHORT).await;
    assert_eq!(server.closed(ClosedBecause::SlowHead), 0);
    stream.write_all(b"GET / HT").await.unwrap();
    assert_eq!(rest(stream).await, "");
    assert_eq!(server.closed(ClosedBecause::SlowHead), 1);
}

#[tokio::test]
async fn connection_without_another_request_is_closed() {
    let limits = Limits {
        idle: SHORT,
        ..generous()
    };
    let server = TestServer::http(limits).await;
    let stream = server.send("GET / HTTP/1.1\r\nhost: t\r\n\r\n").await;
    assert!(rest(stream).await.ends_with("ok"));
    assert_eq!(server.closed(ClosedBecause::Idle), 1);
}

#[tokio::test]
async fn handshake_that_does_not_begin_is_closed() {
    let limits = Limits {
        handshake: SHORT,
        ..generous()
    };
    let server = TestServer::https(limits).await;
    assert_eq!(rest(server.connect().await).await, "");
    assert_eq!(server.closed(ClosedBecause::SlowHandshake), 1);
}

#[tokio::test]
async fn large_head_is_refused() {
    let limits = Limits {
        head_bytes: 16 << 10,
        ..generous()
    };
    let server = TestServer::http(limits).await;
    let large = "x".repeat(24 << 10);
    let mut stream = server.connect().await;
    let head = format!("GET / HTTP/1.1\r\nx: {large}\r\n\r\n");
    // The server may have closed the connection before everything is sent.
    let _ = stream.write_all(head.as_bytes()).await;
    let response = rest(stream).await;
    assert!(!response.contains("200"), "{response}");
    assert_eq!(server.most_running(), 0);
}
