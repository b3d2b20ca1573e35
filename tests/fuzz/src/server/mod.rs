//! The API server in memory: requests of all kinds, and the readers of schemas and rules behind it.

mod answer;
mod protobuf;
mod recorded;
mod schemas;
mod world;

use serde_json::Value as Json;

pub(crate) use recorded::RECORDED;
pub(crate) use schemas::{definition, rule};

use recorded::NAMESPACE;
use world::{RawRequest, send};

/// A whole request: a line with the method and the path, lines of headers, an empty line and the body.
pub(crate) fn request(input: &[u8]) {
    let (head, body) = split_request(input);
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let first = lines.next().unwrap_or_default();
    let (method, path) = first.split_once(' ').unwrap_or(("GET", first));
    let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(": ")).collect();
    send(&RawRequest {
        method,
        path,
        headers: &headers,
        body,
    });
}

fn split_request(input: &[u8]) -> (&[u8], &[u8]) {
    let end = input.windows(2).position(|two| two == b"\n\n");
    let end = end.unwrap_or(input.len());
    let (head, body) = input.split_at(end);
    (head, body.get(2..).unwrap_or_default())
}

const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];
const OBJECTS: &[&str] = &[
    "/api/v1/namespaces/c-fuzz/configmaps/kept",
    "/api/v1/namespaces/c-fuzz/services/kept",
    "/apis/apps/v1/namespaces/c-fuzz/deployments/kept",
    "/apis/custom.example.com/v1/namespaces/c-fuzz/widgets/kept",
    "/apis/custom.example.com/v1/namespaces/c-fuzz/widgets/kept/status",
    "/apis/apps/v1/namespaces/c-fuzz/deployments/kept/scale",
];

/// One of something, by what the input is.
fn one<'a>(these: &[&'a str], input: &[u8], more: usize) -> &'a str {
    let sum = input
        .iter()
        .fold(more, |sum, byte| sum.wrapping_mul(31) + usize::from(*byte));
    these.get(sum % these.len()).copied().unwrap_or_default()
}

/// A patch of one of the kinds, of an object that is there.
pub(crate) fn patch(input: &[u8]) {
    let kind = one(PATCHES, input, 7);
    let path = format!(
        "{}?fieldManager=fuzz{}",
        one(OBJECTS, input, 3),
        one(&["", "&dryRun=All", "&fieldValidation=Strict"], input, 11)
    );
    let force = if kind.contains("apply") {
        "&force=true"
    } else {
        ""
    };
    send(&RawRequest {
        method: "PATCH",
        path: &format!("{path}{force}"),
        headers: &[("content-type", kind)],
        body: input,
    });
}

/// Selectors by labels and by fields, of a list, a watch and a deletion.
pub(crate) fn selector(input: &[u8]) {
    let text = world::encoded(input);
    for name in ["labelSelector", "fieldSelector"] {
        for method in ["GET", "DELETE"] {
            let path =
                format!("/api/v1/namespaces/{NAMESPACE}/configmaps?dryRun=All&{name}={text}");
            send(&RawRequest::plain(method, &path));
        }
        let path = format!("/api/v1/pods?watch=1&{name}={text}");
        send(&RawRequest::plain("GET", &path));
    }
}

/// Tokens of pages: as they are, and in their usual clothes.
pub(crate) fn token(input: &[u8]) {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    for token in [world::encoded(input), URL_SAFE_NO_PAD.encode(input)] {
        for kind in ["configmaps", "namespaces"] {
            let path = format!("/api/v1/{kind}?limit=1&continue={token}");
            send(&RawRequest::plain("GET", &path));
        }
    }
}

/// Bodies in Protobuf.
pub(crate) fn binary(input: &[u8]) {
    let headers = [("content-type", "application/vnd.kubernetes.protobuf")];
    let objects = one(
        &[
            "/api/v1/namespaces/c-fuzz/configmaps",
            "/api/v1/namespaces/c-fuzz/pods",
            "/apis/apps/v1/namespaces/c-fuzz/deployments",
        ],
        input,
        5,
    );
    send(&RawRequest {
        method: "POST",
        path: objects,
        headers: &headers,
        body: input,
    });
    send(&RawRequest {
        method: "DELETE",
        path: "/api/v1/namespaces/c-fuzz/configmaps/a",
        headers: &headers,
        body: input,
    });
}

/// Whether something is a JSON object, to be damaged as one.
pub(crate) fn json(input: &[u8]) -> Option<Json> {
    serde_json::from_slice(input).ok().filter(Json::is_object)
}
