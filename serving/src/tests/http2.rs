//! Hostile clients of HTTP/2.

use bytes::Bytes;
use futures::future::poll_fn;
use http::Request;

use super::server::{SHORT, TestServer, generous, until};
use crate::{ClosedBecause, Limits};

fn request(path: &str) -> Request<()> {
    let uri = format!("https://localhost{path}");
    Request::get(uri).body(()).unwrap()
}

#[tokio::test]
async fn requests_of_a_connection_beyond_its_limit_do_not_run() {
    let limits = Limits {
        streams: 5,
        ..generous()
    };
    let server = TestServer::https(limits).await;
    let mut client = server.http2().await;
    let mut responses = Vec::new();
    // The client knows the limit only after its first request.
    for _ in 0..50 {
        let ready = client.requests.clone().ready().await;
        let Ok(mut sender) = ready else { break };
        match sender.send_request(request("/wait"), true) {
            Ok((response, _)) => responses.push(response),
            Err(_) => break,
        }
        if responses.len() == 5 {
            server.until_running(5).await;
            break;
        }
    }
    for _ in 0..45 {
        if let Ok((response, _)) = client.requests.send_request(request("/wait"), true) {
            responses.push(response);
        }
    }
    // Pings go the same way as requests: all of them have arrived.
    let _ = client.pings.ping(h2::Ping::opaque()).await;
    assert!(server.most_running() <= 5, "{}", server.most_running());
    server.open_gate(5);
    for response in responses.into_iter().take(5) {
        assert_eq!(response.await.unwrap().status(), 200);
    }
}

/// CVE-2023-44487: each request is reset at once, so the limit of concurrent requests ends nothing.
#[tokio::test]
async fn rapid_resets_end_the_connection_and_nothing_else() {
    let server = TestServer::https(generous()).await;
    let client = server.http2().await;
    let mut sent = 0_u32;
    while sent < 100_000 {
        let Ok(mut sender) = client.requests.clone().ready().await else {
            break;
        };
        let Ok((response, mut stream)) = sender.send_request(request("/wait"), false) else {
            break;
        };
        stream.send_reset(h2::Reason::CANCEL);
        drop(response);
        sent += 1;
        if sent.is_multiple_of(50) {
            // The task of the connection sends them.
            tokio::task::yield_now().await;
        }
    }
    assert!(sent < 100_000, "the connection is still open");
    let mut other = server.http2().await;
    let (response, _) = other.requests.send_request(request("/"), true).unwrap();
    assert_eq!(response.await.unwrap().status(), 200);
    server.until_running(0).await;
    client.connection.abort();
}

#[tokio::test]
async fn large_head_does_not_reach_a_handler() {
    let limits = Limits {
        head_bytes: 16 << 10,
        ..generous()
    };
    let server = TestServer::https(limits).await;
    let mut client = server.http2().await;
    let mut large = request("/");
    let value = "x".repeat(64 << 10).parse().unwrap();
    large.headers_mut().insert("x", value);
    if let Ok((response, _)) = client.requests.send_request(large, true) {
        let status = response.await.map(|response| response.status().as_u16());
        assert!(matches!(status, Err(_) | Ok(431)), "{status:?}");
    }
    assert_eq!(server.most_running(), 0);
}

#[tokio::test]
async fn pings_are_no_requests() {
    let limits = Limits {
        idle: SHORT,
        ..generous()
    };
    let server = TestServer::https(limits).await;
    let mut client = server.http2().await;
    let (response, _) = client.requests.send_request(request("/"), true).unwrap();
    assert_eq!(response.await.unwrap().status(), 200);
    while client.pings.ping(h2::Ping::opaque()).await.is_ok() {
        tokio::time::sleep(SHORT / 10).await;
    }
    assert_eq!(server.closed(ClosedBecause::Idle), 1);
}

#[tokio::test]
async fn response_without_a_window_is_ended() {
    let limits = Limits {
        idle: SHORT,
        ..generous()
    };
    let server = TestServer::https(limits).await;
    let mut client = server.http2().await;
    let (response, _) = client
        .requests
        .send_request(request("/endless"), true)
        .unwrap();
    let response = response.await.unwrap();
    // Nothing is read, so no window is given back, while the connection itself is alive.
    until(|| server.closed(ClosedBecause::Idle) == 1).await;
    let mut body = response.into_body();
    while let Some(Ok(part)) = poll_fn(|context| body.poll_data(context)).await {
        let part: Bytes = part;
        let _ = body.flow_control().release_capacity(part.len());
    }
}

#[tokio::test]
async fn connection_without_a_request_is_closed() {
    let limits = Limits {
        head: SHORT,
        ..generous()
    };
    let server = TestServer::https(limits).await;
    let client = server.http2().await;
    let _ = client.connection.await;
    assert_eq!(server.closed(ClosedBecause::SlowHead), 1);
}
