//! Objects, bodies and expressions that are nested deeply. The threads of these tests have small stacks, as those of
//! any program that holds a server may have.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use reeve_apiserver::{Data, DataKind, Identity, Options, Server};
use serde_json::{Value, json};

type AdmissionOutcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const TEAS: &str = "/apis/example.com/v1/namespaces/default/teas";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// Levels of an object around what is in its `spec.raw`.
const AROUND: usize = 2;

fn client() -> Client {
    let server = Server::start(Options::default()).unwrap();
    Client::new(server.service(Identity::admin()), "default")
}

/// What is answered to a request, as text: nothing here reads it.
async fn send(
    client: &Client,
    method: Method,
    path: &str,
    of: &str,
    body: String,
) -> AdmissionOutcome<(StatusCode, String)> {
    let accept = if of.contains("as=") || of == "application/yaml;get" {
        of.trim_end_matches(";get")
    } else {
        JSON
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("accept", accept)
        .header("content-type", of);
    let request = request.body(Body::from(body.into_bytes()))?;
    let (parts, body) = client.send(request).await?.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok((parts.status, text))
}

/// The beginning of a text.
fn head(text: &str) -> String {
    text.chars().take(300).collect()
}

async fn succeed(
    client: &Client,
    method: Method,
    path: &str,
    of: &str,
    body: String,
) -> AdmissionOutcome<String> {
    let (status, answer) = send(client, method.clone(), path, of, body).await?;
    assert!(
        status.is_success(),
        "{method} {path} {of}: {status} {}",
        head(&answer)
    );
    Ok(answer)
}

/// Reads a watch of all changes until it has brought `raw`.
async fn watch_brings(client: &Client, raw: &str) -> AdmissionOutcome {
    let watch = format!("{TEAS}?watch=1&timeoutSeconds=300&resourceVersion=1");
    let request = Request::get(watch).body(Body::empty())?;
    let mut body = client.send(request).await?.into_body();
    let mut read = String::new();
    while !read.contains(raw) {
        let frame = tokio::time::timeout(Duration::from_mins(2), body.frame()).await?;
        let frame = frame.ok_or("the watch has ended")??;
        // A line is sent whole.
        let data = frame.into_data().map_err(|_| "no data")?;
        read.push_str(std::str::from_utf8(&data)?);
    }
    Ok(())
}

/// The message of a refusal.
async fn refused(
    client: &Client,
    method: Method,
    path: &str,
    of: &str,
    body: String,
) -> AdmissionOutcome<(u16, String)> {
    let (status, answer) = send(client, method, path, of, body).await?;
    assert!(!status.is_success(), "{status} {}", head(&answer));
    let message = answer.split_once("\"message\":\"");
    let message = message.map_or(answer.as_str(), |(_, message)| message);
    Ok((status.as_u16(), head(message)))
}

fn objects(depth: usize) -> String {
    format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth))
}

fn lists(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// A definition whose objects keep everything in `spec.raw`.
fn definition() -> Value {
    let raw = json!({ "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "metadata": { "name": "teas.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "teas", "kind": "Tea" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": {
                    "raw": raw, "cups": { "type": "integer", "default": 2 } } } } } } }],
        },
    })
}

fn tea(name: &str, raw: &str) -> String {
    format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Tea","metadata":{{"name":"{name}"}},"spec":{{"raw":{raw}}}}}"#
    )
}

async fn with_teas() -> AdmissionOutcome<Client> {
    let client = client();
    define(&client, &definition()).await?;
    Ok(client)
}

async fn define(client: &Client, definition: &Value) -> AdmissionOutcome {
    let body = definition.to_string();
    succeed(client, Method::POST, DEFINITIONS, JSON, body).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_object_is_stored_by_every_write_and_served_by_every_read() -> AdmissionOutcome {
    let client = with_teas().await?;
    for depth in [200, 1_000, 9_990] {
        let raw = objects(depth);
        let name = format!("t{depth}");
        let path = format!("{TEAS}/{name}");
        let whole = tea(&name, &raw);
        for query in ["?dryRun=All", ""] {
            let path = format!("{TEAS}{query}");
            let made = succeed(&client, Method::POST, &path, JSON, whole.clone()).await?;
            assert!(
                made.contains(&raw) && made.contains("\"cups\":2"),
                "{depth}"
            );
        }
        let merge = format!(r#"{{"spec":{{"raw":{raw}}}}}"#);
        let operations = format!(r#"[{{"op":"add","path":"/spec/raw","value":{raw}}}]"#);
        for query in ["?dryRun=All", "?"] {
            for (method, of, body) in [
                (Method::PUT, JSON, &whole),
                (Method::PATCH, MERGE, &merge),
                (Method::PATCH, PATCH, &operations),
                (Method::PATCH, APPLY, &whole),
                (Method::PUT, "application/yaml", &whole),
            ] {
                let shallow = r#"{"spec":{"raw":1}}"#.to_owned();
                let before = succeed(&client, Method::PATCH, &path, MERGE, shallow).await?;
                let (_, before) = before.split_once("\"resourceVersion\":").unwrap();
                let (version, _) = before.split_once(',').unwrap();
                let version = format!(r#""resourceVersion":{version},"name""#);
                let body = match method {
                    Method::PUT => body.replacen("\"name\"", &version, 1),
                    _ => body.clone(),
                };
                let force = if of == APPLY { "&force=true" } else { "" };
                let path = format!("{path}{query}&fieldManager=m{force}");
                let made = succeed(&client, method, &path, of, body).await?;
                assert!(made.contains(&raw), "{depth} {of} {}", head(&made));
            }
        }
        let label = r#"{"metadata":{"labels":{"a":"b"}}}"#.to_owned();
        succeed(&client, Method::PATCH, &path, MERGE, label).await?;
        let applied = format!("{TEAS}/applied{depth}?fieldManager=m");
        let body = tea(&format!("applied{depth}"), &raw);
        let made = succeed(&client, Method::PATCH, &applied, APPLY, body).await?;
        assert!(made.contains(&raw), "{depth}");
        watch_brings(&client, &raw).await?;
        for read in [path.as_str(), TEAS] {
            let found = succeed(&client, Method::GET, read, JSON, String::new()).await?;
            assert!(found.contains(&raw), "{depth} {read}");
        }
        let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
        for as_other in [
            table,
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        ] {
            let found = succeed(&client, Method::GET, TEAS, as_other, String::new()).await?;
            assert!(found.contains(&name), "{depth} {as_other}");
        }
        let whole_table = format!("{TEAS}?includeObject=Object");
        let found = succeed(&client, Method::GET, &whole_table, table, String::new()).await?;
        assert!(found.contains(&raw), "{depth}");
        succeed(&client, Method::DELETE, &path, JSON, String::new()).await?;
    }
    succeed(&client, Method::DELETE, TEAS, JSON, String::new()).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn object_deeper_than_ten_thousand_levels_is_refused() -> AdmissionOutcome {
    let client = with_teas().await?;
    let (deepest, deeper) = (10_000 - AROUND, 10_001 - AROUND);
    let made = tea("a", &objects(deepest));
    succeed(&client, Method::POST, TEAS, JSON, made).await?;
    let body = tea("b", &objects(deeper));
    let unread = "the object provided is unrecognized (must be of type Tea): ";
    let json =
        "couldn't get version/kind; json parse error: invalid character '{' exceeded max depth";
    let shown = r#" ({\"apiVersion\":\"example.com/v1\" ...)"#;
    let answer = refused(&client, Method::POST, TEAS, JSON, body.clone()).await?;
    assert_eq!(answer.0, 400);
    assert!(
        answer.1.starts_with(&format!("{unread}{json}{shown}")),
        "{answer:?}"
    );
    let yaml = "yaml: exceeded max depth of 10000";
    let answer = refused(
        &client,
        Method::POST,
        TEAS,
        "application/yaml",
        body.clone(),
    )
    .await?;
    assert!(
        answer.1.starts_with(&format!("{unread}{yaml}{shown}")),
        "{answer:?}"
    );
    let path = format!("{TEAS}/a");
    let apply = format!("{path}?fieldManager=m");
    let answer = refused(&client, Method::PATCH, &apply, APPLY, body).await?;
    let start = format!("error decoding YAML: error converting YAML to JSON: {yaml}");
    assert!(
        answer.0 == 400 && answer.1.starts_with(&start),
        "{answer:?}"
    );
    let merge = format!(r#"{{"spec":{{"raw":{}}}}}"#, objects(deeper));
    let answer = refused(&client, Method::PATCH, &path, MERGE, merge).await?;
    let start = "error decoding patch: invalid character '{' exceeded max depth";
    assert!(answer.0 == 400 && answer.1.starts_with(start), "{answer:?}");
    // The patch can be read, and what it makes cannot.
    let operations = format!(
        r#"[{{"op":"add","path":"/spec/raw","value":{{"b":{}}}}}]"#,
        objects(9_997)
    );
    let (status, answer) = send(&client, Method::PATCH, &path, PATCH, operations).await?;
    assert_eq!(
        status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{}",
        head(&answer)
    );
    assert!(answer.contains(json), "{}", head(&answer));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn patch_operations_cannot_exceed_the_depth_limit() -> AdmissionOutcome {
    let client = with_teas().await?;
    let made = tea("a", &objects(6_000));
    succeed(&client, Method::POST, TEAS, JSON, made).await?;
    let mut operations = Vec::new();
    let step = "/a".repeat(5_999);
    for _ in 0..12 {
        operations.push(json!({ "op": "copy", "from": "/spec/raw", "path": "/spec/other" }));
        operations.push(json!({ "op": "add", "path": format!("/spec/raw{step}"), "value": {} }));
        operations.push(
            json!({ "op": "move", "from": "/spec/other", "path": format!("/spec/raw{step}/a") }),
        );
    }
    let body = Value::Array(operations).to_string();
    let path = format!("{TEAS}/a");
    let answer = refused(&client, Method::PATCH, &path, PATCH, body).await?;
    assert_eq!(answer.0, 422, "{answer:?}");
    succeed(&client, Method::GET, &path, JSON, String::new()).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_body_does_not_end_the_process() -> AdmissionOutcome {
    let client = with_teas().await?;
    succeed(&client, Method::POST, TEAS, JSON, tea("a", "1")).await?;
    let map = json!({ "metadata": { "name": "a" } }).to_string();
    succeed(&client, Method::POST, MAPS, JSON, map).await?;
    let (tea, map) = (format!("{TEAS}/a"), format!("{MAPS}/a"));
    let (token, scale) = (
        "/api/v1/namespaces/default/serviceaccounts/default/token",
        "/apis/apps/v1/namespaces/default/deployments/x/scale",
    );
    let reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let applied = (
        format!("{tea}?fieldManager=m"),
        format!("{map}?fieldManager=m"),
    );
    for depth in [9_999, 10_000, 10_001, 100_000, 1_000_000] {
        let open = ["[".repeat(depth), "- ".repeat(depth)];
        // What is longer than 3 MiB is not read at all.
        let all = match depth {
            1_000_000 => Vec::new(),
            _ => vec![objects(depth), lists(depth), "{\"a\":".repeat(depth)],
        };
        for body in all.into_iter().chain(open) {
            for (method, path, of) in [
                (Method::POST, TEAS, JSON),
                (Method::POST, MAPS, JSON),
                (Method::POST, TEAS, "application/yaml"),
                (Method::POST, MAPS, "application/yaml"),
                (Method::PUT, tea.as_str(), JSON),
                (Method::PUT, map.as_str(), JSON),
                (Method::PATCH, tea.as_str(), MERGE),
                (Method::PATCH, map.as_str(), MERGE),
                (Method::PATCH, tea.as_str(), PATCH),
                (Method::PATCH, map.as_str(), PATCH),
                (Method::PATCH, map.as_str(), STRATEGIC),
                (Method::PATCH, applied.0.as_str(), APPLY),
                (Method::PATCH, applied.1.as_str(), APPLY),
                (Method::POST, reviews, JSON),
                (Method::POST, token, JSON),
                (Method::PUT, scale, JSON),
                (
                    Method::DELETE,
                    "/api/v1/namespaces/default/configmaps/none",
                    JSON,
                ),
                (Method::DELETE, "/api/v1/namespaces/default/secrets", JSON),
            ] {
                let begun = Instant::now();
                let (status, _) = send(&client, method.clone(), path, of, body.clone()).await?;
                let shown = head(&body);
                assert!(
                    status.as_u16() < 500,
                    "{method} {path} {of} {depth}: {status} {shown}"
                );
                let took = begun.elapsed();
                assert!(
                    took < Duration::from_mins(5),
                    "{method} {path} {of} {depth}: {took:?}"
                );
            }
        }
    }
    succeed(&client, Method::GET, "/livez", JSON, String::new()).await?;
    Ok(())
}

/// Schemas of so many objects inside each other; the innermost has a number with a default.
fn nested(levels: usize) -> String {
    let mut text = String::new();
    for _ in 0..levels {
        text.push_str(r#"{"type":"object","properties":{"a":"#);
    }
    text.push_str(r#"{"type":"object","properties":{"n":{"type":"integer","default":7}}}"#);
    text.push_str(&"}}".repeat(levels));
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_schema_prunes_validates_and_sets_defaults() -> AdmissionOutcome {
    let client = client();
    let levels = 2_000;
    let whole = definition().to_string();
    let (before, after) = whole.split_once(r#""raw":{"#).unwrap();
    let (_, after) = after.split_once('}').unwrap();
    let body = format!(r#"{before}"raw":{}{after}"#, nested(levels));
    succeed(&client, Method::POST, DEFINITIONS, JSON, body).await?;
    let around = |inner: &str| {
        let raw = format!("{}{inner}{}", "{\"a\":".repeat(levels), "}".repeat(levels));
        tea("a", &raw)
    };
    let made = succeed(
        &client,
        Method::POST,
        TEAS,
        JSON,
        around(r#"{"unknown":1}"#),
    )
    .await?;
    assert!(
        made.contains(r#"{"n":7}"#) && !made.contains("unknown"),
        "{}",
        head(&made)
    );
    let path = format!("{TEAS}/a");
    let (status, answer) = send(&client, Method::PUT, &path, JSON, around(r#"{"n":"x"}"#)).await?;
    assert_eq!(
        status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{}",
        head(&answer)
    );
    let applied = format!("{path}?fieldManager=m&force=true");
    succeed(
        &client,
        Method::PATCH,
        &applied,
        APPLY,
        around(r#"{"n":8}"#),
    )
    .await?;
    let found = succeed(&client, Method::GET, &path, JSON, String::new()).await?;
    assert!(found.contains("f:n"), "no managed field");
    succeed(&client, Method::GET, "/openapi/v2", JSON, String::new()).await?;
    let definition = format!("{DEFINITIONS}/teas.example.com");
    succeed(&client, Method::GET, &definition, JSON, String::new()).await?;
    succeed(&client, Method::DELETE, &definition, JSON, String::new()).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_object_is_restored() -> AdmissionOutcome {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let data = Data::open(folder.path(), DataKind::ApiServer).ok()?;
        let server = Server::open(Options::default(), &data.folder("one").ok()?).unwrap();
        Some(Client::new(server.service(Identity::admin()), "default"))
    };
    let raw = objects(9_900);
    let client = open().unwrap();
    define(&client, &definition()).await?;
    succeed(&client, Method::POST, TEAS, JSON, tea("a", &raw)).await?;
    drop(client);
    let begun = Instant::now();
    let client = loop {
        if let Some(client) = open() {
            break client;
        }
        assert!(
            begun.elapsed() < Duration::from_mins(5),
            "the folder is held"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let path = format!("{TEAS}/a");
    let found = succeed(&client, Method::GET, &path, JSON, String::new()).await?;
    assert!(found.contains(&raw));
    succeed(&client, Method::DELETE, &path, JSON, String::new()).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_expression_is_refused() -> AdmissionOutcome {
    let client = client();
    for depth in [300, 5_000, 8_000, 100_000] {
        let round = format!("{}1 == 1{}", "(".repeat(depth), ")".repeat(depth));
        let square = format!("{}{} == 1", "[".repeat(depth), "]".repeat(depth));
        let nots = format!("{}true", "!".repeat(depth));
        let minus = format!("{}1 == 1", "-".repeat(depth));
        let mut chain = String::from("true");
        let mut choice = String::new();
        for _ in 0..depth {
            chain.push_str(" && true");
            let _ = write!(choice, "true ? true : ");
        }
        choice.push_str("true");
        let columns = format!(".spec{}", "[?(@.a==".repeat(depth));
        let indexes = format!(".spec{}", "[0]".repeat(depth));
        for rule in [&round, &square, &nots, &minus, &chain, &choice] {
            let mut made = definition();
            made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] =
                json!([{ "rule": rule }]);
            let (status, answer) =
                send(&client, Method::POST, DEFINITIONS, JSON, made.to_string()).await?;
            assert!(status.as_u16() < 500, "{status} {}", head(&answer));
            if status.is_success() {
                let (status, answer) =
                    send(&client, Method::POST, TEAS, JSON, tea("a", "1")).await?;
                assert!(status.as_u16() < 500, "{status} {}", head(&answer));
                let path = format!("{DEFINITIONS}/teas.example.com");
                succeed(&client, Method::DELETE, &path, JSON, String::new()).await?;
                gone(&client).await?;
            }
            let policy = json!({ "metadata": { "name": format!("p{depth}") }, "spec": {
                "matchConstraints": { "resourceRules": [{ "apiGroups": [""], "apiVersions": ["v1"],
                    "operations": ["CREATE"], "resources": ["configmaps"] }] },
                "validations": [{ "expression": rule }],
                "variables": [{ "name": "v", "expression": rule }],
                "matchConditions": [{ "name": "m", "expression": rule }] } });
            let path =
                "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All";
            let (status, answer) =
                send(&client, Method::POST, path, JSON, policy.to_string()).await?;
            assert!(status.as_u16() < 500, "{status} {}", head(&answer));
        }
        for column in [&columns, &indexes] {
            let mut made = definition();
            made["spec"]["versions"][0]["additionalPrinterColumns"] =
                json!([{ "name": "C", "type": "string", "jsonPath": column }]);
            let (status, answer) =
                send(&client, Method::POST, DEFINITIONS, JSON, made.to_string()).await?;
            assert!(status.as_u16() < 500, "{status} {}", head(&answer));
            if status.is_success() {
                succeed(&client, Method::POST, TEAS, JSON, tea("a", "1")).await?;
                let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
                succeed(&client, Method::GET, TEAS, table, String::new()).await?;
                let path = format!("{DEFINITIONS}/teas.example.com");
                succeed(&client, Method::DELETE, &path, JSON, String::new()).await?;
                gone(&client).await?;
            }
        }
        for selector in ["labelSelector", "fieldSelector", "continue"] {
            for text in ["%28", "a+in+%28", "%5B", "%7B%22a%22%3A", "!", "W1tb"] {
                let path = format!(
                    "{MAPS}?{selector}={}",
                    text.repeat(depth.min(60_000 / text.len()))
                );
                let (status, answer) =
                    send(&client, Method::GET, &path, JSON, String::new()).await?;
                assert!(status.as_u16() < 500, "{status} {}", head(&answer));
            }
        }
    }
    Ok(())
}

/// Waits until the definition of teas is gone.
async fn gone(client: &Client) -> AdmissionOutcome {
    let path = format!("{DEFINITIONS}/teas.example.com");
    let begun = Instant::now();
    while send(client, Method::GET, &path, JSON, String::new())
        .await?
        .0
        != StatusCode::NOT_FOUND
    {
        assert!(
            begun.elapsed() < Duration::from_mins(5),
            "{path} is still there"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}
