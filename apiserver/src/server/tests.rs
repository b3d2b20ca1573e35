//! An operating system without random numbers.

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::Service as _;

use super::Server;
use crate::identity::Identity;
use crate::meta::RANDOMNESS_FAILS;
use crate::state::Options;

async fn send(server: &Server, method: &str, path: &str, body: &Value) -> (StatusCode, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap();
    let mut service = server.service(Identity::admin());
    let Ok(response) = service.call(request).await;
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn server_does_not_start_without_randomness() {
    RANDOMNESS_FAILS.set(true);
    let error = Server::start(Options::default()).err().unwrap();
    let text = error.to_string();
    assert!(text.contains("no random numbers"), "{text}");
}

#[tokio::test]
async fn request_that_needs_randomness_fails_and_changes_nothing() {
    let server = Server::start(Options::default()).unwrap();
    let maps = "/api/v1/namespaces/default/configmaps";
    let (namespace, account) = ("/api/v1/namespaces", "/api/v1/namespaces/default");
    let named = json!({ "metadata": { "name": "a" } });
    let made_up = json!({ "metadata": { "generateName": "a-" } });
    let token = format!("{account}/serviceaccounts/default/token");
    // The account is made by a controller.
    while send(&server, "POST", &token, &json!({})).await.0 != StatusCode::CREATED {
        tokio::task::yield_now().await;
    }
    RANDOMNESS_FAILS.set(true);
    for (path, body) in [
        (maps, &named),
        (maps, &made_up),
        (namespace, &named),
        (&token, &json!({})),
    ] {
        let (status, body) = send(&server, "POST", path, body).await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "{body}");
        assert_eq!(body["reason"], "InternalError");
        let message = body["message"].as_str().unwrap();
        assert!(message.contains("no random numbers"), "{message}");
    }
    // What needs none goes on.
    let (status, list) = send(&server, "GET", maps, &Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    let stored = list["items"].as_array().unwrap();
    assert!(stored.iter().all(|map| map["metadata"]["name"] != "a"));
    RANDOMNESS_FAILS.set(false);
    assert_eq!(
        send(&server, "POST", maps, &named).await.0,
        StatusCode::CREATED
    );
}
