//! Numbers of clients that are larger than what is computed from them.

use std::time::{Duration, Instant};

use futures::StreamExt as _;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use reeve_apiserver::{Identity, Options, Server};
use serde_json::{Value, json};

type AdmissionOutcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// How long something may take that needs no time.
const SOON: Duration = Duration::from_mins(5);

fn client() -> Client {
    let server = Server::start(Options::default()).unwrap();
    Client::new(server.service(Identity::admin()), "default")
}

async fn send(
    client: &Client,
    request: http::request::Builder,
    body: &Value,
) -> AdmissionOutcome<(StatusCode, Value)> {
    let bytes = match body {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    let request = request.header("content-type", "application/json");
    let response = client.send(request.body(Body::from(bytes))?).await?;
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let answer = serde_json::from_slice(&bytes);
    Ok((parts.status, answer.unwrap_or_default()))
}

async fn create(client: &Client, path: &str, object: &Value) -> AdmissionOutcome {
    let (status, answer) = send(client, Request::post(path), object).await?;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
    Ok(())
}

/// The lines of a watch until it ends; nothing if it goes on after its first line.
async fn watched(client: &Client, seconds: i64) -> AdmissionOutcome<Option<usize>> {
    let path = format!("{MAPS}?watch=1&fieldSelector=metadata.name%3Da&timeoutSeconds={seconds}");
    let request = Request::get(path).body(Body::empty())?;
    let response = client.send(request).await?;
    assert_eq!(response.status(), StatusCode::OK, "{seconds}");
    let mut lines = response.into_body().into_data_stream();
    let mut count = 0;
    loop {
        // The first line comes at once, but on a busy machine.
        let limit = Duration::from_secs(if count == 0 { 60 } else { 2 });
        match tokio::time::timeout(limit, lines.next()).await {
            Ok(Some(line)) => count += usize::from(!line?.is_empty()),
            Ok(None) => return Ok(Some(count)),
            Err(_) => {
                assert_eq!(count, 1, "{seconds}: the watch goes on without an event");
                return Ok(None);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_with_the_longest_timeout_is_served() -> AdmissionOutcome {
    let client = client();
    let map = json!({ "metadata": { "name": "a" } });
    create(&client, MAPS, &map).await?;
    // In nanoseconds, 64 bits have room for 292 years.
    for seconds in [9_223_372_036, 0] {
        let lines = tokio::time::timeout(SOON, watched(&client, seconds)).await;
        assert_eq!(lines??, None, "{seconds}");
    }
    // What has no room wraps around to a time that is over, or to a short one.
    for seconds in [i64::MAX, i64::MIN + 1, -1, 9_223_372_037, 18_446_744_074] {
        let lines = tokio::time::timeout(SOON, watched(&client, seconds)).await;
        assert_eq!(lines??, Some(1), "{seconds}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn token_with_the_longest_lifetime_is_refused() -> AdmissionOutcome {
    let client = client();
    let account = json!({ "metadata": { "name": "a" } });
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    create(&client, accounts, &account).await?;
    for seconds in [i64::MAX, i64::MIN] {
        let request = json!({ "spec": { "expirationSeconds": seconds } });
        let path = format!("{accounts}/a/token");
        let (status, answer) = send(&client, Request::post(path), &request).await?;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pod_with_the_longest_grace_period_is_marked_deleted() -> AdmissionOutcome {
    let client = client();
    let account = "/api/v1/namespaces/default/serviceaccounts/default";
    let begun = Instant::now();
    while send(&client, Request::get(account), &Value::Null).await?.0 != StatusCode::OK {
        assert!(begun.elapsed() < SOON, "no default service account");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({ "metadata": { "name": "a" }, "spec": {
        "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] } });
    create(&client, pods, &pod).await?;
    let path = format!("{pods}/a?gracePeriodSeconds={}", i64::MAX);
    let (status, answer) = send(&client, Request::delete(path), &Value::Null).await?;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["metadata"]["deletionGracePeriodSeconds"], i64::MAX);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn page_with_the_largest_limit_has_all_objects() -> AdmissionOutcome {
    let client = client();
    create(&client, MAPS, &json!({ "metadata": { "name": "a" } })).await?;
    let path = format!("{MAPS}?limit={}", i64::MAX);
    let (status, answer) = send(&client, Request::get(path), &Value::Null).await?;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["items"][0]["metadata"]["name"], "a");
    let path = format!("{MAPS}?limit=9223372036854775808");
    let (status, answer) = send(&client, Request::get(path), &Value::Null).await?;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("value out of range"), "{message}");
    Ok(())
}

/// A definition with a column that shows an element of `spec.list`, by its place.
fn definition(place: i64) -> Value {
    let columns =
        json!([{ "name": "One", "type": "string", "jsonPath": format!(".spec.list[{place}]") }]);
    json!({
        "metadata": { "name": "teas.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "teas", "kind": "Tea" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "additionalPrinterColumns": columns,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } }],
        },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn column_with_the_least_list_index_is_empty() -> AdmissionOutcome {
    let client = client();
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    create(&client, definitions, &definition(i64::MIN)).await?;
    let teas = "/apis/example.com/v1/namespaces/default/teas";
    let tea = json!({ "apiVersion": "example.com/v1", "kind": "Tea", "metadata": { "name": "a" },
        "spec": { "list": ["x"] } });
    create(&client, teas, &tea).await?;
    let table = Request::get(teas).header("accept", "application/json;as=Table;g=meta.k8s.io;v=v1");
    let (status, answer) = send(&client, table, &Value::Null).await?;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["rows"][0]["cells"], json!(["a", null]));
    Ok(())
}
